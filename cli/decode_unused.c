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

void decode_warn_unused(const cli *c, const decode_job *j)
{
    const tess_decode_model_config *config = &j->config;
    const tess_decode_encoding_config *e = &config->encoding;
    const int is_kde = e->algorithm == TESS_DECODE_CLUSTERLESS_KDE;
    const int is_gmm = e->algorithm == TESS_DECODE_CLUSTERLESS_GMM;
    const int is_glm = e->algorithm == TESS_DECODE_SORTED_SPIKES_GLM;
    const int is_sorted_kde = e->algorithm == TESS_DECODE_SORTED_SPIKES_KDE;
    const int is_local = config->model == TESS_DECODE_MODEL_NON_LOCAL; // by kernels, too
    const int has_depth = e->floor == TESS_DECODE_FLOOR_AUTO || // relative from 5 features on
                          e->floor == TESS_DECODE_FLOOR_RELATIVE;
    const int is_plane =
        tess_decode_recording_get_info(j->recording)->observation.position.n_dim > 1;
    const char *gmm = "without --algorithm clusterless_gmm";
    const char *glm = "without --algorithm sorted_spikes_glm";
    const char *plane = "where position has one coordinate";
    const unused_rule rules[] = {
        {"bound", e->mode == TESS_DECODE_BOUNDED, "without --mode bounded"},
        {"floor_nats", has_depth, "with a --floor that is not relative"},
        {"position_std", is_kde || is_sorted_kde || is_local, "with mixtures and GLMs"},
        {"waveform_std", is_kde || is_local, "without --algorithm clusterless_kde"},
        {"mark_density", is_kde || is_gmm, "of sorted spikes, which have no marks"},
        {"gmm_components_occupancy", is_gmm, gmm},
        {"gmm_components_gpi", is_gmm, gmm},
        {"gmm_components_joint", is_gmm, gmm},
        {"gmm_iterations", is_gmm, gmm},
        {"gmm_tolerance", is_gmm, gmm},
        {"gmm_ridge", is_gmm, gmm},
        {"seed", is_gmm, gmm},
        {"glm_knot_spacing", is_glm, glm},
        {"glm_penalty", is_glm, glm},
        {"no_spike_rate", config->model == TESS_DECODE_MODEL_NO_SPIKE_CONT_FRAG,
         "without --model no-spike-cont-frag"},
        {"local_position_std", is_local, "without --model non-local"},
        {"non_local_penalty_std", config->detector.non_local_position_penalty > 0,
         "without --non-local-position-penalty"},
        {"fill_holes", is_plane, plane},
        {"dilate", is_plane, plane},
    };
    unused_warn(c, rules, sizeof rules / sizeof *rules);
}
