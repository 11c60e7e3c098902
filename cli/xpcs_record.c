// What a configuration of the original says, as options of the command.
//
// Results keep the words that decide them, and people edit one configuration again and again: the
// file of then may be another by now, so that its settings are kept, not its name.

#include "xpcs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int xpcs_is_fit(const cli *c)
{
    return strcmp(c->command->name, "xpcs fit") == 0 ||
           strcmp(c->command->name, "xpcs mcmc") == 0 ||
           strcmp(c->command->name, "xpcs watch") == 0;
}

// Keeps the text until the command ends. NULL without memory.
static char *keep(xpcs_job *j, char *text)
{
    if (text && j->n_recorded < XPCS_MAX_RECORDED) {
        j->recorded[j->n_recorded++] = text;
        return text;
    }
    free(text);
    return NULL;
}

static const char *keep_copy(void *self, const char *text)
{
    return keep(self, strdup(text));
}

static void real_text(double value, char text[64])
{
    static const tess_param real = {.name = "", .type = TESS_PARAM_REAL};
    tess_param_get_text(&real, &value, text, 64);
}

static void put_real(FILE *file, double value)
{
    char text[64];
    real_text(value, text);
    fputs(text, file);
}

void *xpcs_struct_of(xpcs_job *j, const tess_param_table *table)
{
    const struct {
        const tess_param_table *table;
        void *structure;
    } structs[] = {{tess_xpcs_model_params(), &j->model},
                   {tess_xpcs_data_params(), &j->data_config},
                   {tess_xpcs_fit_params(), &j->fit_config},
                   {tess_xpcs_sample_params(), &j->sample_config},
                   {tess_xpcs_simulation_params(), &j->simulation}};

    for (size_t k = 0; k < sizeof structs / sizeof *structs; k++) {
        if (structs[k].table == table) {
            return structs[k].structure;
        }
    }
    return NULL;
}

// Not on the command line, and of no effect there or decided by another option.
static int is_silent(const xpcs_job *j, const char *name)
{
    if (strcmp(name, "sigma") == 0) {
        return !j->fit_config.has_sigma || j->fit_config.sigma_mode != TESS_XPCS_SIGMA_CONSTANT;
    }
    return 0;
}

// Where nobody is asked again: a plain data set has no q of its own, and a sigma given is no
// default.
static int is_always_said(const char *name)
{
    return strcmp(name, "q") == 0 || strcmp(name, "sigma") == 0;
}

static int record_table(xpcs_job *j, settings *values, const void *structure)
{
    for (int64_t i = 0; i < values->table->n_param; i++) {
        const tess_param *param = &values->table->params[i];
        char text[64];
        char default_text[64];
        tess_param_get_text(param, structure, text, sizeof text);
        settings_default_text(values->table, i, default_text, sizeof default_text);
        if (values->flag_text[i] || is_silent(j, param->name) ||
            (strcmp(text, default_text) == 0 && !is_always_said(param->name))) {
            continue;
        }
        values->flag_text[i] = keep(j, strdup(text));
        if (!values->flag_text[i]) {
            return console_fail(71, "no memory for the value of %s", param->name);
        }
    }
    return 0;
}

// Writes one option's value; 0: there is nothing to say.
typedef int value_fn(FILE *file, const xpcs_job *j);

static const tess_xpcs_param_info *params_of(const xpcs_job *j, int64_t *n)
{
    return tess_xpcs_params((tess_xpcs_mode)j->model.mode, n);
}

static int write_fixed(FILE *file, const xpcs_job *j)
{
    int64_t n = 0;
    int count = 0;
    const tess_xpcs_param_info *params = params_of(j, &n);

    for (int64_t k = 0; k < n; k++) {
        if (j->is_fixed[k] == 1) {
            fprintf(file, "%s%s", count++ ? "," : "", params[k].name);
            if (isfinite(j->start[k])) {
                fputc('=', file);
                put_real(file, j->start[k]);
            }
        }
    }
    return count;
}

static void put_bounds(FILE *file, int *count, const tess_xpcs_param_info *param, double lower,
                       double upper)
{
    if (lower != param->lower || upper != param->upper) {
        fprintf(file, "%s%s=", (*count)++ ? "," : "", param->name);
        put_real(file, lower);
        fputc(':', file);
        put_real(file, upper);
    }
}

static int write_bounds(FILE *file, const xpcs_job *j)
{
    int64_t n = 0;
    int count = 0;
    const tess_xpcs_param_info *params = params_of(j, &n);

    for (int64_t k = 0; k < n; k++) {
        put_bounds(file, &count, &params[k], j->lower[k], j->upper[k]);
    }
    for (int which = 0; which < 2; which++) {
        put_bounds(file, &count, tess_xpcs_scaling_param(which), j->fit_config.scaling_lower[which],
                   j->fit_config.scaling_upper[which]);
    }
    return count;
}

static int write_scales(FILE *file, const xpcs_job *j)
{
    int64_t n = 0;
    int count = 0;
    const tess_xpcs_param_info *params = params_of(j, &n);

    for (int64_t k = 0; j->fit_config.x_scale && k < n; k++) {
        if (isfinite(j->x_scale[k])) {
            fprintf(file, "%s%s=", count++ ? "," : "", params[k].name);
            put_real(file, j->x_scale[k]);
        }
    }
    return count;
}

static int write_reals(FILE *file, const double *values, int64_t n)
{
    for (int64_t i = 0; values && i < n; i++) {
        fputs(i > 0 ? "," : "", file);
        put_real(file, values[i]);
    }
    return values && n > 0;
}

static int write_contrasts(FILE *file, const xpcs_job *j)
{
    return write_reals(file, j->fit_config.contrast, j->fit_config.n_scaling);
}

static int write_offsets(FILE *file, const xpcs_job *j)
{
    return write_reals(file, j->fit_config.offset, j->fit_config.n_scaling);
}

static int write_phi(FILE *file, const xpcs_job *j)
{
    return write_reals(file, j->data_config.phi, j->data_config.n_phi);
}

static int write_ranges(FILE *file, const xpcs_job *j)
{
    const tess_xpcs_data_config *data = &j->data_config;

    for (int64_t i = 0; i < data->n_phi_range; i++) {
        fputs(i > 0 ? "," : "", file);
        put_real(file, data->phi_ranges[i].minimum);
        fputc(':', file);
        put_real(file, data->phi_ranges[i].maximum);
    }
    return data->n_phi_range > 0;
}

static int write_frames(FILE *file, const xpcs_job *j)
{
    for (int64_t i = 0; i < j->data_config.n_bad_frame; i++) {
        fprintf(file, "%s%lld", i > 0 ? "," : "", (long long)j->data_config.bad_frames[i]);
    }
    return j->data_config.n_bad_frame > 0;
}

static int write_c2_path(FILE *file, const xpcs_job *j)
{
    fputs(j->data_config.c2_path ? j->data_config.c2_path : "", file);
    return j->data_config.c2_path != NULL;
}

static int write_sigma_dataset(FILE *file, const xpcs_job *j)
{
    fputs(j->data_config.sigma_dataset ? j->data_config.sigma_dataset : "", file);
    return j->data_config.sigma_dataset != NULL;
}

static int write_seed(FILE *file, const xpcs_job *j)
{
    fprintf(file, "%lld", (long long)j->sample_config.seed);
    return j->method != XPCS_NLSQ && j->sample_config.seed != j->fit_config.seed;
}

static int write_method(FILE *file, const xpcs_job *j)
{
    fputs(j->method == XPCS_CMC ? "cmc" : "both", file);
    return j->method != XPCS_NLSQ;
}

static int record_value(xpcs_job *j, const char **target, value_fn *write)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    const int is_said = file && write(file, j);

    if (!file || fclose(file) != 0) {
        free(text);
        return console_fail(71, "no memory for what the configuration says");
    }
    if (!is_said) {
        free(text);
        return 0;
    }
    *target = keep(j, text);
    return *target ? 0 : console_fail(71, "no memory for what the configuration says");
}

static int record_starts(xpcs_job *j, cli_xpcs_values *v)
{
    int64_t n = 0;
    params_of(j, &n);
    n = j->model.mode == TESS_XPCS_TWO_COMPONENT ? 0 : n; // whose starts have no options

    for (int64_t k = 0; k < n && k < CLI_XPCS_STARTS; k++) {
        const int is_start = isfinite(j->start[k]) && !j->is_fixed[k];
        char text[64];
        real_text(j->start[k], text);
        v->starts[k] = is_start ? keep(j, strdup(text)) : NULL;
        if (is_start && !v->starts[k]) {
            return console_fail(71, "no memory for what the configuration says");
        }
    }
    return 0;
}

int xpcs_record_config(cli *c, xpcs_job *j)
{
    cli_xpcs_values *v = &c->values.xpcs;
    const int is_fit = xpcs_is_fit(c);
    const struct {
        int is_of_fit;
        const char **target;
        value_fn *write;
    } lists[] = {
        {1, &v->fixed, write_fixed},
        {1, &v->bounds, write_bounds},
        {1, &v->x_scale, write_scales},
        {1, &v->contrasts, write_contrasts},
        {1, &v->offsets, write_offsets},
        {1, &v->prior, xpcs_write_priors},
        {1, &v->mcmc_seed, write_seed},
        {1, &v->method, write_method},
        {0, &v->phi_ranges, write_ranges},
        {0, &v->bad_frames, write_frames},
        {0, &v->phi, write_phi},
        {0, &v->c2_path, write_c2_path},
        {0, &v->sigma_dataset, write_sigma_dataset},
        {0, &v->data_filter, xpcs_write_filter},
    };

    v->has_config = 1;
    for (int i = 0; i < CLI_MAX_TABLE && c->system[i].table; i++) {
        CLI_TRY(record_table(j, &c->system[i], xpcs_struct_of(j, c->system[i].table)));
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (is_fit || !lists[i].is_of_fit) {
            CLI_TRY(record_value(j, lists[i].target, lists[i].write));
        }
    }
    if (is_fit && j->method != XPCS_NLSQ) {
        CLI_TRY(xpcs_record_draws(j, v, keep_copy, j));
    }
    v->angles_last = j->data_config.angles_last;
    if (is_fit) {
        v->save_plots |= tess_xpcs_settings_get_info(j->settings)->save_plots == 1;
        CLI_TRY(record_starts(j, v));
    }
    // They are in the tables by now, under the names of Tessera.
    v->static_mode = 0;
    v->laminar_flow = 0;
    v->max_iterations = NULL;
    v->tolerance = NULL;
    return 0;
}
