// Options of decode that what else is asked for makes idle, or that contradict it.

#include "decode.h"
#include "unused.h"

#include <string.h>

// What a model is fitted with: one that is fitted already has its own.
static int is_of_fits(const tess_param_table *table)
{
    return table == tess_decode_model_params() || table == tess_decode_environment_params() ||
           table == tess_decode_encoding_params() || table == tess_decode_detector_params();
}

int decode_check_model_file(const cli *c)
{
    if (!c->values.model_file) {
        return 0;
    }
    if (c->values.covariates) {
        return cli_usage_error(c, "--covariates: the model of --model-file knows its own; give "
                                  "them to 'fit', or leave --model-file out");
    }
    for (int i = 0; i < CLI_MAX_TABLE && c->system[i].table; i++) {
        const settings *values = &c->system[i];
        for (int64_t k = 0; is_of_fits(values->table) && k < values->table->n_param; k++) {
            if (values->flag_text[k]) {
                char option[64];
                unused_option(values->table->params[k].name, option);
                return cli_usage_error(c,
                                       "--%s: the model of --model-file is fitted already; give "
                                       "it to 'fit', or leave --model-file out",
                                       option);
            }
        }
    }
    return 0;
}

// Whether intensities of clusterless spikes have a floor that --floor-nats is the depth of.
static int has_depth(const tess_decode_encoding_config *e, const tess_decode_spikes *spikes)
{
    int has_many = 0; // features: from 5 on auto is relative
    for (int64_t i = 0; spikes->n_feature && i < spikes->n_electrode; i++) {
        has_many |= spikes->n_feature[i] > 4;
    }
    return e->floor == TESS_DECODE_FLOOR_RELATIVE ||
           (e->floor == TESS_DECODE_FLOOR_AUTO && has_many);
}

static void warn_of_encoding(const cli *c, const decode_job *j)
{
    const tess_decode_encoding_config *e = &j->config.encoding;
    const tess_decode_observation *seen =
        &tess_decode_recording_get_info(j->recording)->observation;
    const int is_kde = e->algorithm == TESS_DECODE_CLUSTERLESS_KDE;
    const int is_gmm = e->algorithm == TESS_DECODE_CLUSTERLESS_GMM;
    const int is_glm = e->algorithm == TESS_DECODE_SORTED_SPIKES_GLM;
    const int is_sorted_kde = e->algorithm == TESS_DECODE_SORTED_SPIKES_KDE;
    const int has_marks = is_kde || is_gmm;
    const char *kde = "without --algorithm clusterless_kde";
    const char *gmm = "without --algorithm clusterless_gmm";
    const char *glm = "without --algorithm sorted_spikes_glm";
    const int has_rows = !unused_has_table(c, tess_decode_events_params()) &&
                         !unused_has_table(c, tess_decode_tune_params());
    const char *sorted = "of sorted spikes, whose floor is absolute";
    const unused_rule rules[] = {
        {"mode", is_kde || e->mode != TESS_DECODE_BOUNDED,
         "where it is bounded without --algorithm clusterless_kde"},
        {"bin_scale", has_rows, "where no time bins of the recording are decoded"},
        {"bound", is_kde, kde},
        {"bound", !is_kde || e->mode == TESS_DECODE_BOUNDED, "without --mode bounded"},
        {"floor", has_marks, sorted},
        {"floor_nats", has_marks, sorted},
        {"floor_nats", !has_marks || has_depth(e, &seen->spikes),
         "with a --floor that is not relative"},
        {"position_std", is_kde || is_sorted_kde, "with mixtures and GLMs"},
        {"waveform_std", is_kde, kde},
        {"mark_density", is_kde, kde},
        {"gmm_components_occupancy", is_gmm, gmm},
        {"gmm_components_gpi", is_gmm, gmm},
        {"gmm_components_joint", is_gmm, gmm},
        {"gmm_iterations", is_gmm, gmm},
        {"gmm_tolerance", is_gmm, gmm},
        {"gmm_ridge", is_gmm, gmm},
        {"seed", is_gmm, gmm},
        {"glm_knot_spacing", is_glm, glm},
        {"glm_penalty", is_glm, glm},
    };
    unused_warn(c, rules, sizeof rules / sizeof *rules);
}

// All bins of a track graph's corridors are places; elsewhere those that were visited, or all.
static void warn_of_places(const cli *c, const decode_job *j)
{
    const tess_decode_recording_info *info = tess_decode_recording_get_info(j->recording);
    const int has_grid = !info->has_track;
    const int is_plane = info->observation.position.n_dim > 1;
    const int is_inferred = !has_grid || j->config.environment.infer_track_interior;
    const char *graph = "on a track graph, whose bins are all of its corridors";
    const char *line = "where position has one coordinate";
    const char *all = "with --infer-track-interior=no";
    const unused_rule rules[] = {
        {"infer_track_interior", has_grid, graph},
        {"bin_count_threshold", has_grid, graph},
        {"fill_holes", has_grid, graph},
        {"dilate", has_grid, graph},
        {"fill_holes", is_plane, line},
        {"dilate", is_plane, line},
        {"bin_count_threshold", is_inferred, all},
        {"fill_holes", is_inferred || !is_plane, all},
        {"dilate", is_inferred || !is_plane, all},
    };
    unused_warn(c, rules, sizeof rules / sizeof *rules);
}

static void warn_of_states(const cli *c, const decode_job *j)
{
    const tess_decode_model_config *config = &j->config;
    const int has_states = !unused_has_table(c, tess_decode_events_params()) ||
                           j->events.decoder == TESS_DECODE_EVENT_STATES;
    const int is_local = config->model == TESS_DECODE_MODEL_NON_LOCAL;
    const char *alone = "with --decoder memoryless, which knows no states";
    const unused_rule of_all[] = {
        {"model", 0, alone},
        {"movement_variance", 0, alone},
        {"no_spike_rate", 0, alone},
        {"non_local_position_penalty", 0, alone},
        {"non_local_penalty_std", 0, alone},
        {"local_position_std", 0, alone},
    };
    const unused_rule of_some[] = {
        {"no_spike_rate", is_local || config->model == TESS_DECODE_MODEL_NO_SPIKE_CONT_FRAG,
         "without --model no-spike-cont-frag or non-local"},
        {"local_position_std", is_local, "without --model non-local"},
        {"non_local_penalty_std", config->detector.non_local_position_penalty > 0,
         "without --non-local-position-penalty"},
    };
    if (has_states) {
        unused_warn(c, of_some, sizeof of_some / sizeof *of_some);
    } else {
        unused_warn(c, of_all, sizeof of_all / sizeof *of_all);
    }
}

static void warn_of_events(const cli *c, const decode_job *j)
{
    const int is_found = !c->values.intervals && !c->values.result;
    const int is_tested = j->events.n_shuffle > 0;
    const char *told = "where --intervals or --result tell events";
    const unused_rule rules[] = {
        {"threshold_z", is_found, told},
        {"join", is_found, told},
        {"state_threshold", c->values.result != NULL, "without --result"},
        {"shuffle_seed", is_tested, "with --shuffles 0"},
        {"report_events", c->values.report != NULL, "without --report"},
    };
    unused_warn(c, rules, sizeof rules / sizeof *rules);
    if (c->values.kinds && !is_tested) {
        console_note("warning: --kinds changes nothing with --shuffles 0");
    }
}

static void warn_of_learning(const cli *c, const decode_job *j)
{
    const int32_t learn = j->online.learn;
    const int learns = learn != TESS_DECODE_LEARN_NONE;
    const char *none = "without --learn";
    const unused_rule rules[] = {
        {"learn_from_nothing", learns, none},
        {"learn_capacity", learns, none},
        {"learn_min_speed", learns, none},
        {"learn_refresh", learns, none},
        {"learn_samples", learn == TESS_DECODE_LEARN_WINDOW || learn == TESS_DECODE_LEARN_RESERVOIR,
         "without --learn window or reservoir"},
        {"learn_seed", learn == TESS_DECODE_LEARN_RESERVOIR, "without --learn reservoir"},
    };
    unused_warn(c, rules, sizeof rules / sizeof *rules);
}

static void warn_of_em(const cli *c, const decode_job *j)
{
    const int has_covariates = c->values.covariates || c->values.model_file; // which may have some
    const int is_estimated = j->em.estimate_discrete_transition;
    const unused_rule rules[] = {
        {"estimate_discrete_transition",
         c->values.model_file || j->config.model != TESS_DECODE_MODEL_DECODER,
         "with --model decoder, which has one state"},
        {"regularization", has_covariates, "without --covariates"},
        {"regularization", is_estimated || !has_covariates,
         "with --estimate-discrete-transition=no"},
    };
    unused_warn(c, rules, sizeof rules / sizeof *rules);
}

void decode_warn_unused(const cli *c, const decode_job *j)
{
    warn_of_encoding(c, j);
    warn_of_places(c, j);
    warn_of_states(c, j);
    warn_of_events(c, j);
    warn_of_learning(c, j);
    warn_of_em(c, j);
}
