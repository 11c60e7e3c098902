// Pictures alone: of the data, or of the model at the starts of a configuration.

#include "xpcs.h"

#include "job.h"

#include <math.h>
#include <stdlib.h>

// The original's defaults.
static const double DEFAULT_CONTRAST = 0.3, DEFAULT_OFFSET = 1;

static int one_real(const cli *c, const char *option, const char *text, double *value)
{
    double *values = NULL;
    int64_t n = 0;
    if (!text) {
        return 0;
    }
    CLI_TRY(cli_parse_reals(c, option, text, &values, &n));
    *value = values[0];
    free(values);
    return n == 1 ? 0 : cli_usage_error(c, "--%s takes one number, got '%s'", option, text);
}

// What the model needs and nobody fits: every parameter has to be said.
static int check_starts(const cli *c, const xpcs_job *j)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)j->model.mode, &n);
    for (int64_t k = 0; k < n; k++) {
        if (!isfinite(j->start[k])) {
            return cli_usage_error(c,
                                   "--plot-simulated-data: the value of %s is missing; give "
                                   "initial_parameters.values in the configuration, or "
                                   "--initial-...",
                                   params[k].name);
        }
    }
    return 0;
}

static int simulate(const cli *c, xpcs_job *j)
{
    const cli_xpcs_values *v = &c->values.xpcs;
    tess_xpcs_simulation *s = &j->simulation;
    const tess_xpcs_data_config *data = &j->data_config;

    CLI_TRY(check_starts(c, j));
    s->model = j->model;
    s->model.dt_s = s->model.dt_s > 0 ? s->model.dt_s : 0.1;
    s->model.gap_angstrom = s->model.gap_angstrom > 0 ? s->model.gap_angstrom : 2e6;
    s->theta = j->start;
    s->q = data->q;
    s->sigma = 0;
    s->spike = 0;
    s->contrast = DEFAULT_CONTRAST;
    s->offset = DEFAULT_OFFSET;
    if (data->end_frame > data->start_frame) {
        s->n_frame = data->end_frame - data->start_frame + 1;
    }
    CLI_TRY(one_real(c, "contrast", v->contrast, &s->contrast));
    CLI_TRY(one_real(c, "offset", v->offset, &s->offset));
    if (v->phi_angles) {
        free(j->lists.phi);
        j->lists.phi = NULL;
        CLI_TRY(cli_parse_reals(c, "phi-angles", v->phi_angles, &j->lists.phi, &j->lists.n_phi));
    }
    if (j->lists.n_phi > 0) {
        s->phi = j->lists.phi;
        s->n_angle = j->lists.n_phi;
    }
    return job_status(c, tess_xpcs_simulate(c->ctx, s, 1, &j->data));
}

int xpcs_check_drawing(const cli *c)
{
    const cli_xpcs_values *v = &c->values.xpcs;
    const char *option = v->contrast     ? "contrast"
                         : v->offset     ? "offset"
                         : v->phi_angles ? "phi-angles"
                                         : NULL;
    if (!option || v->plot_simulated) {
        return 0;
    }
    return cli_usage_error(c, "--%s is of --plot-simulated-data alone; did you mean '--%s'?",
                           option,
                           v->contrast ? "contrasts"
                           : v->offset ? "offsets"
                                       : "phi-ranges");
}

int xpcs_draw(cli *c, xpcs_job *j, const char *folder, const char *path)
{
    const cli_xpcs_values *v = &c->values.xpcs;
    if (v->plot_experimental && v->plot_simulated) {
        return cli_usage_error(c, "--plot-experimental-data and --plot-simulated-data: give one");
    }
    if (v->plot_experimental) {
        CLI_TRY(xpcs_open_data(c, j, path));
    } else {
        CLI_TRY(simulate(c, j));
    }
    if (c->values.dry_run) {
        console_note("pictures of %lld angles would be written to %s",
                     (long long)tess_xpcs_data_get_info(j->data)->n_angle, folder);
        return 0;
    }
    CLI_TRY(job_status(
        c, tess_xpcs_figures(c->ctx, NULL, j->data, &j->model, folder, c->values.overwrite)));
    console_note("pictures written to %s", folder);
    if (!c->values.quiet) {
        xpcs_print_data(tess_xpcs_data_get_info(j->data));
    }
    return 0;
}
