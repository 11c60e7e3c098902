// tessera xpcs simulate.

#include "xpcs.h"

#include "job.h"
#include "text.h"

#include <string.h>

// Index of text in "a|b|c"; fallback where text is NULL. The parser has checked the choice.
static int choice_of(const char *choices, const char *text, int fallback)
{
    int index = 0;
    for (const char *at = choices; text && *at; index++) {
        const size_t length = strcspn(at, "|");
        if (strlen(text) == length && strncmp(at, text, length) == 0) {
            return index;
        }
        at += length + (at[length] == '|');
    }
    return fallback;
}

static int check_count(const cli *c, const char *option, int64_t n, int64_t wanted)
{
    return n == 0 || n == wanted ? 0
                                 : cli_usage_error(c, "--%s has %lld values, %lld are wanted",
                                                   option, (long long)n, (long long)wanted);
}

static int complete_simulation(const cli *c, xpcs_job *j)
{
    tess_xpcs_simulation *s = &j->simulation;
    int64_t n_param = 0;

    s->model = j->model;
    (void)tess_xpcs_params((tess_xpcs_mode)j->model.mode, &n_param);
    if (s->model.dt_s == 0) {
        s->model.dt_s = 0.1;
    }
    if (s->model.gap_angstrom == 0) {
        s->model.gap_angstrom = 2e6;
    }
    if (j->lists.n_phi > 0) {
        s->n_angle = j->lists.n_phi;
    }
    CLI_TRY(check_count(c, "theta", j->lists.n_theta, n_param));
    CLI_TRY(check_count(c, "contrasts", j->lists.n_contrast, s->n_angle));
    CLI_TRY(check_count(c, "offsets", j->lists.n_offset, s->n_angle));
    s->theta = j->lists.theta;
    s->phi = j->lists.phi;
    s->contrasts = j->lists.contrasts;
    s->offsets = j->lists.offsets;
    s->bad_frames = j->lists.bad_frames;
    s->n_bad_frame = j->lists.n_bad_frame;
    return 0;
}

static int print_simulated(cli *c, const xpcs_job *j)
{
    const tess_xpcs_simulation *s = &j->simulation;
    tess_json *json = NULL;

    if (!c->values.json && c->values.quiet) {
        return 0;
    }
    if (!c->values.json) {
        printf("%s: %s, %lld angles of %lld frames, dt %g s, q %g 1/Å, ", c->values.output,
               tess_xpcs_mode_name((tess_xpcs_mode)s->model.mode), (long long)s->n_angle,
               (long long)s->n_frame, s->model.dt_s, s->q);
        if (s->speckle) {
            printf("speckle of %lld pixels with %g photons, ", (long long)s->n_pixel, s->photons);
        } else {
            printf("noise %g, ", s->sigma);
        }
        printf("seed %lld\n", (long long)s->seed);
        return 0;
    }
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.xpcs.simulate/1");
    tess_json_text(json, "path", c->values.output);
    tess_json_text(json, "mode", tess_xpcs_mode_name((tess_xpcs_mode)s->model.mode));
    tess_json_int(json, "n_angle", s->n_angle);
    tess_json_int(json, "n_frame", s->n_frame);
    tess_json_real(json, "dt_s", s->model.dt_s);
    tess_json_real(json, "gap_angstrom", s->model.gap_angstrom);
    tess_json_real(json, "q", s->q);
    if (s->speckle) {
        tess_json_real(json, "photons", s->photons);
        tess_json_int(json, "n_pixel", s->n_pixel);
    } else {
        tess_json_real(json, "sigma", s->sigma);
    }
    tess_json_int(json, "seed", s->seed);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int run_simulate(cli *c, xpcs_job *j)
{
    const char *output = c->values.output;

    if (!output) {
        return cli_usage_error(c, "-o FILE is missing: where shall the correlations go?");
    }
    CLI_TRY(xpcs_open_session(c, j));
    CLI_TRY(complete_simulation(c, j));
    const int layout =
        choice_of("aps-u|aps-legacy|txc2", c->values.xpcs.layout,
                  text_ends_with(output, ".txc2") ? TESS_XPCS_TXC2 : TESS_XPCS_APS_U);
    const int filter = choice_of("lzf|deflate|none", c->values.xpcs.filter, TESS_XPCS_FILTER_LZF);
    CLI_TRY(job_status(
        c, tess_xpcs_simulate_file(c->ctx, &j->simulation, (tess_xpcs_file_layout)layout,
                                   (tess_xpcs_filter)filter, output, c->values.overwrite)));
    return print_simulated(c, j);
}

int cmd_xpcs_simulate(cli *c)
{
    xpcs_job j = {0};
    const int code = run_simulate(c, &j);
    xpcs_close(&j);
    return code;
}
