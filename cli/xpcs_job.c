// Opens what the xpcs commands work on: configuration, session, data.

#include "xpcs.h"

#include "job.h"
#include "paths.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// What the command line says of an entry of a table; NULL: nothing.
static const char *flag_of(const cli *c, const char *name)
{
    for (int i = 0; i < CLI_MAX_TABLE && c->system[i].table; i++) {
        for (int64_t k = 0; k < c->system[i].table->n_param; k++) {
            if (strcmp(c->system[i].table->params[k].name, name) == 0) {
                return c->system[i].flag_text[k];
            }
        }
    }
    return NULL;
}

static int has_flag(const cli *c, const char *name)
{
    return flag_of(c, name) != NULL;
}

// Two ways to say one thing, of which one would be dropped without a word.
static int check_conflicts(const cli *c)
{
    const cli_values *v = &c->values;
    const cli_xpcs_values *x = &v->xpcs;
    const char *mode = flag_of(c, "sigma_mode");
    const int is_fit = xpcs_is_fit(c);
    const struct {
        int is_both;
        const char *one;
        const char *other;
        const char *one_value; // NULL: not worth a word
        const char *other_value;
    } pairs[] = {
        {is_fit && v->output && x->output_dir, "--output", "--output-dir", v->output,
         x->output_dir},
        {is_fit && c->n_operand > 0 && x->data_file, "the operand", "--data-file",
         c->n_operand > 0 ? c->operands[0] : NULL, x->data_file},
        {x->save_surfaces && x->no_surfaces, "--save-surfaces", "--no-surfaces", NULL, NULL},
        {x->force_cpu && v->device && strcmp(v->device, "cpu") != 0, "--force-cpu", "--device",
         NULL, NULL},
        {x->cache && x->no_cache, "--cache", "--no-cache", NULL, NULL},
        {x->models && has_flag(c, "mode"), "--models", "--mode", NULL, NULL},
        {x->qs && has_flag(c, "q"), "--qs", "--q", NULL, NULL},
        {x->max_iterations && has_flag(c, "max_nfev"), "--max-iterations", "--max-nfev", NULL,
         NULL},
        {is_fit && mode && has_flag(c, "sigma") && strcmp(mode, "constant") != 0, "--sigma",
         "--sigma-mode", NULL, NULL},
        {mode && x->sigma_dataset && strcmp(mode, "dataset") != 0, "--sigma-dataset",
         "--sigma-mode", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (pairs[i].is_both) {
            const char *one = pairs[i].one_value;
            const char *other = pairs[i].other_value;
            return cli_usage_error(c, "%s%s%s and %s%s%s exclude each other: give one of them",
                                   pairs[i].one, one ? " " : "", one ? one : "", pairs[i].other,
                                   other ? " " : "", other ? other : "");
        }
    }
    return 0;
}

// The original's spellings, as keys of its configuration.
static int apply_original_flags(const cli *c, tess_xpcs_settings *file)
{
    const cli_xpcs_values *v = &c->values.xpcs;

    if (v->static_mode && v->laminar_flow) {
        return cli_usage_error(c, "--static-mode and --laminar-flow exclude each other");
    }
    if ((v->static_mode || v->laminar_flow) && has_flag(c, "mode")) {
        return cli_usage_error(c, "give the mode once: --mode, --static-mode or --laminar-flow");
    }
    // Two components have parameters of their own, which a file is read for.
    const char *mode = flag_of(c, "mode");
    const int is_two = mode && strcmp(mode, "two_component") == 0;
    const struct {
        const char *option;
        const char *key;
        const char *text;
    } values[] = {
        {"--mode", "analysis_mode", is_two ? mode : NULL},
        {"--static-mode", "analysis_mode", v->static_mode ? "static_anisotropic" : NULL},
        {"--laminar-flow", "analysis_mode", v->laminar_flow ? "laminar_flow" : NULL},
        {"--max-iterations", "optimization.nlsq.max_iterations", v->max_iterations},
        {"--tolerance", "optimization.nlsq.tolerance", v->tolerance},
        {"--tolerance", "optimization.nlsq.xtol", v->tolerance},
        {"--tolerance", "optimization.nlsq.gtol", v->tolerance},
        {"--seed", "optimization.mcmc.seed", flag_of(c, "seed")},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (!values[i].text) {
            continue;
        }
        const tess_status status = tess_xpcs_settings_set(file, values[i].key, values[i].text);
        if (status == TESS_E_CONFIG) { // the key is the file's, the user typed an option
            return cli_usage_error(c, "%s: %s", values[i].option, tess_last_error());
        }
        CLI_CALL(status);
    }
    return xpcs_apply_draw_options(c, file); // --mcmc-seed over --seed
}

static int load_settings(cli *c, xpcs_job *j)
{
    tess_context_config config;

    tess_context_config_init(&config, sizeof config);
    config.n_thread = 1;
    CLI_CALL(tess_context_create(&config, &j->reader));
    CLI_CALL(
        tess_xpcs_settings_load(j->reader, c->values.config, has_flag(c, "lenient"), &j->settings));
    CLI_TRY(apply_original_flags(c, j->settings));
    if (c->values.config) {
        console_notes(tess_xpcs_settings_get_info(j->settings)->notices);
    }
    return 0;
}

// What the configuration says of the machine holds unless a flag or the environment says otherwise.
static void take_run_value(cli *c, int index, const char *text)
{
    const char *variable = settings_variable(c->run.table, &c->run.table->params[index]);
    const char *set = variable ? getenv(variable) : NULL;

    if (!c->run.flag_text[index] && !(set && set[0])) {
        c->run.flag_text[index] = text;
    }
}

static void take_machine(cli *c, const tess_xpcs_settings_info *info, char threads[32],
                         char limit[32])
{
    enum { THREADS = 0, MEMORY_LIMIT = 1 }; // rows of table "run"

    if (info->n_thread > 0) {
        snprintf(threads, 32, "%lld", (long long)info->n_thread);
        take_run_value(c, THREADS, threads);
    }
    if (info->memory_limit_bytes > 0) {
        snprintf(limit, 32, "%llu", (unsigned long long)info->memory_limit_bytes);
        take_run_value(c, MEMORY_LIMIT, limit);
    }
    if (c->values.xpcs.force_cpu) {
        c->values.device = "cpu";
    } else if (info->device[0] && !c->values.device) {
        c->values.device = info->device;
    }
}

// What the command line leaves open is where the configuration says.
static int take_paths(cli *c, const tess_xpcs_settings_info *info)
{
    cli_values *v = &c->values;

    if (xpcs_is_fit(c)) {
        v->output = v->output ? v->output : v->xpcs.output_dir;
        v->xpcs.output_dir = NULL; // one place, named once
        const char *configured = info->output_folder[0] ? info->output_folder : "homodyne_results";
        v->output = v->output ? v->output : configured;
        v->checkpoint = v->checkpoint ? v->checkpoint : info->fit.checkpoint_dir;
        if (!v->xpcs.data_file && c->n_operand == 0 && info->data_path[0]) {
            v->xpcs.data_file = info->data_path;
        }
    }
    v->xpcs.cache = v->xpcs.cache ? v->xpcs.cache : info->data.cache_folder;
    return paths_check(c);
}

static void take_data_options(const cli *c, xpcs_job *j)
{
    const cli_xpcs_values *v = &c->values.xpcs;
    tess_xpcs_data_config *config = &j->data_config;

    config->keep_t0 = j->model.keep_t0;
    config->dt_s = j->model.dt_s;
    config->gap_angstrom = j->model.gap_angstrom;
    if (j->lists.n_phi_range > 0) {
        config->phi_ranges = j->lists.phi_ranges;
        config->n_phi_range = j->lists.n_phi_range;
    }
    if (v->data_filter) {
        config->filter = &j->filter;
    }
    if (j->lists.n_bad_frame > 0) {
        config->bad_frames = j->lists.bad_frames;
        config->n_bad_frame = j->lists.n_bad_frame;
    }
    if (j->lists.n_phi > 0) {
        config->phi = j->lists.phi;
        config->n_phi = j->lists.n_phi;
    }
    config->c2_path = v->c2_path ? v->c2_path : config->c2_path;
    config->angles_last |= v->angles_last;
    config->cache_folder = v->cache ? v->cache : config->cache_folder;
    config->no_cache |= v->no_cache;
    config->sigma_dataset = v->sigma_dataset ? v->sigma_dataset : config->sigma_dataset;
    if (v->sigma_dataset && !has_flag(c, "sigma_mode")) {
        j->fit_config.sigma_mode = TESS_XPCS_SIGMA_DATASET; // or why name it?
    }
}

// Files NULL: the command line alone.
static int fill_structs(cli *c, xpcs_job *j, const settings_files *files)
{
    for (int i = 0; i < CLI_MAX_TABLE && c->system[i].table; i++) {
        CLI_TRY(settings_apply(&c->system[i], files, xpcs_struct_of(j, c->system[i].table)));
    }
    take_data_options(c, j);
    xpcs_warn_unused(c, j);
    if (!xpcs_is_fit(c)) {
        return 0;
    }
    CLI_TRY(xpcs_take_starts(c, j));
    return xpcs_take_sampling(c, j);
}

int xpcs_open_session(cli *c, xpcs_job *j)
{
    const int has_config = c->values.config != NULL;
    j->config = c->values.config;
    char threads[32];
    char limit[32];

    CLI_TRY(xpcs_parse_lists(c, &j->lists));
    if (c->values.xpcs.data_filter) {
        CLI_TRY(xpcs_parse_filter(c, c->values.xpcs.data_filter, &j->filter));
    }
    CLI_TRY(check_conflicts(c));
    CLI_TRY(load_settings(c, j));
    const tess_xpcs_settings_info *info = tess_xpcs_settings_get_info(j->settings);
    take_machine(c, info, threads, limit);
    CLI_TRY(take_paths(c, info));
    c->values.config = NULL; // it is the original's, not Tessera's
    j->model = info->model;
    j->data_config = info->data;
    j->fit_config = info->fit;
    j->sample_config = *info->sample;
    tess_xpcs_simulation_init(&j->simulation, sizeof j->simulation);
    j->fit_config.has_sigma |= has_flag(c, "sigma");
    if (has_config) {
        // Tessera's own files speak only where no configuration of the original does.
        CLI_TRY(fill_structs(c, j, NULL));
        CLI_TRY(xpcs_record_config(c, j));
        return session_open(c, NULL);
    }
    CLI_TRY(session_open(c, NULL));
    return fill_structs(c, j, &c->files);
}

int xpcs_status(const cli *c, const xpcs_job *j, tess_status status)
{
    if (status == TESS_E_CONFIG && !j->config && !c->files.file && !c->files.user) {
        console_erase_bar();
        return cli_usage_error(c, "%s", tess_last_error());
    }
    return job_status(c, status);
}

// A plain data set has no q, and that of the table is of another experiment.
static int check_q(const cli *c, const tess_xpcs_data_info *info, int has_config)
{
    if (strcmp(info->layout, "dataset") != 0 || has_config || has_flag(c, "q") ||
        c->values.xpcs.q) {
        return 0;
    }
    return cli_usage_error(c,
                           "q: missing; %s does not say it: give the scattering vector in 1/Å "
                           "(--q, analyzer_parameters.scattering.wavevector_q)",
                           info->path);
}

int xpcs_open_data(cli *c, xpcs_job *j, const char *path)
{
    CLI_TRY(xpcs_status(c, j, tess_xpcs_data_open(c->ctx, path, &j->data_config, &j->data)));
    const tess_xpcs_data_info *info = tess_xpcs_data_get_info(j->data);
    CLI_TRY(check_q(c, info, j->config != NULL));
    console_notes(info->notes);
    if (j->model.dt_s == 0) {
        j->model.dt_s = info->dt_s;
    }
    if (j->model.gap_angstrom == 0) {
        j->model.gap_angstrom = info->gap_angstrom;
    }
    j->model.keep_t0 = info->keep_t0;
    return 0;
}

static void write_passes(tess_json *json, const void *self)
{
    const tess_xpcs_fit_plan *plan = self;
    tess_json_uint(json, "original_bytes", plan->original_bytes);
    tess_json_real(json, "pass_s", plan->pass_s);
}

int xpcs_announce(cli *c, xpcs_job *j)
{
    tess_xpcs_fit_plan plan;
    char memory[32];
    char limit[32];
    char original[32];
    char line[512];

    CLI_TRY(xpcs_status(
        c, j,
        tess_xpcs_fit_get_plan(c->ctx, j->data, &j->model, &j->fit_config, &plan, sizeof plan)));
    text_bytes(memory, sizeof memory, plan.memory_bytes);
    text_bytes(limit, sizeof limit, plan.limit_bytes);
    text_bytes(original, sizeof original, plan.original_bytes);
    snprintf(line, sizeof line,
             "plan: %s (%s), %lld tiles, %lld at a time; %s of %s (the original: %s); about %.2g s "
             "a pass",
             tess_strategy_name((tess_strategy)plan.strategy), plan.reason, (long long)plan.n_tile,
             (long long)plan.tiles_per_chunk, memory, limit, original, plan.pass_s);
    const int64_t at_once = plan.tiles_per_chunk > 0 ? plan.tiles_per_chunk : 1;
    const plan_facts facts = {.strategy = (tess_strategy)plan.strategy,
                              .reason = plan.reason,
                              .unit = "tiles of points",
                              .n_item = plan.n_tile,
                              .items_per_tile = at_once,
                              .n_tile = (plan.n_tile + at_once - 1) / at_once,
                              .memory_bytes = plan.memory_bytes,
                              .limit_bytes = plan.limit_bytes,
                              .write_system = write_passes,
                              .self = &plan};
    return job_announce_plan(c, &facts, line);
}

void xpcs_close(xpcs_job *j)
{
    free(j->draws_folder);
    tess_xpcs_diagnosis_destroy(j->diagnosis);
    tess_xpcs_posterior_destroy(j->posterior);
    tess_xpcs_result_destroy(j->result);
    tess_xpcs_data_destroy(j->data);
    tess_xpcs_settings_destroy(j->settings);
    tess_context_destroy(j->reader);
    free(j->lists.phi_ranges);
    free(j->lists.bad_frames);
    free(j->lists.phi);
    free(j->lists.theta);
    free(j->lists.contrasts);
    free(j->lists.offsets);
    for (int i = 0; i < j->n_recorded; i++) {
        free(j->recorded[i]);
    }
}
