// Parameter tables of encoding, detector, prediction and EM: the only place of their defaults.
#include "base/struct_read.h"
#include "tessera/decode/detector.h"

#include <stddef.h>

#define ENC(field) offsetof(tess_decode_encoding_config, field)
#define DET(field) offsetof(tess_decode_detector_config, field)
#define PRE(field) offsetof(tess_decode_predict_config, field)
#define EM(field) offsetof(tess_decode_em_config, field)

static const tess_param encoding_params[] = {
    {"algorithm", TESS_PARAM_CHOICE, ENC(algorithm), TESS_DECODE_CLUSTERLESS_KDE, 0, 3,
     "clusterless_kde|clusterless_gmm|sorted_spikes_kde|sorted_spikes_glm", "",
     "how spikes are related to position"},
    {"mode", TESS_PARAM_CHOICE, ENC(mode), TESS_DECODE_FAST, 0, 2, "exact|fast|bounded:", "",
     "float64 with every pair, float32 kernels, or float32 with expansions within bound"},
    {"bound", TESS_PARAM_REAL, ENC(bound), 1e-6, 1e-12, 1, NULL, "nats",
     "largest error of a spike value by the expansions of mode bounded"},
    {"floor", TESS_PARAM_CHOICE, ENC(floor), TESS_DECODE_FLOOR_AUTO, 0, 3,
     "auto|absolute|relative:|none", "",
     "lowest value of a spike: intensity 1e-15, floor_nats below its best bin, or none; auto is "
     "absolute up to 4 features"},
    {"floor_nats", TESS_PARAM_REAL, ENC(floor_nats), 16, 1e-3, 700, NULL, "nats",
     "depth of the relative floor below a spike's best bin"},
    {"mark_density", TESS_PARAM_CHOICE, ENC(mark_density), TESS_DECODE_MARK_PROBABILITY, 0, 1,
     "probability|unit_peak", "",
     "density per feature unit, or without its normalising factor, comparable across features"},
    {"nan_policy", TESS_PARAM_CHOICE, ENC(nan_policy), TESS_DECODE_NAN_ERROR, 0, 1, "error|drop",
     "", "what a spike with a non-finite time or feature does: stop, or be discarded"},
    {"membership", TESS_PARAM_CHOICE, ENC(membership), TESS_DECODE_MEMBERSHIP_ORIGINAL, 0, 1,
     "original|nearest", "",
     "which spikes belong to training samples: runs widened by a step, or the nearest sample's"},
    {"strict", TESS_PARAM_FLAG, ENC(strict), 0, 0, 1, NULL, "",
     "stop at unsorted spike times and NaN positions instead of warning"},
    {"bin_scale", TESS_PARAM_REAL, ENC(bin_scale), 1, 0, 1e9, NULL, "",
     "width of a decoding bin in position samples; 0 takes it from the data"},
    {"position_std", TESS_PARAM_REAL, ENC(position_std), 6.0, 1e-9, 1e9, NULL, "cm",
     "bandwidth of the position kernel"},
    {"waveform_std", TESS_PARAM_REAL, ENC(waveform_std), 24.0, 1e-9, 1e9, NULL, "uV",
     "bandwidth of the mark kernel"},
    {"gmm_components_occupancy", TESS_PARAM_INT, ENC(gmm_components_occupancy), 32, 1, 4096, NULL,
     "", "mixture components of the occupancy"},
    {"gmm_components_gpi", TESS_PARAM_INT, ENC(gmm_components_gpi), 32, 1, 4096, NULL, "",
     "mixture components of an electrode's spike positions"},
    {"gmm_components_joint", TESS_PARAM_INT, ENC(gmm_components_joint), 64, 1, 4096, NULL, "",
     "mixture components of an electrode's marks and positions"},
    {"gmm_iterations", TESS_PARAM_INT, ENC(gmm_iterations), 200, 1, 100000, NULL, "",
     "most iterations of a mixture fit"},
    {"gmm_tolerance", TESS_PARAM_REAL, ENC(gmm_tolerance), 1e-3, 0, 1e3, NULL, "nats",
     "a mixture fit ends when the mean log likelihood gains less"},
    {"gmm_ridge", TESS_PARAM_REAL, ENC(gmm_ridge), 1e-6, 0, 1e9, NULL, "",
     "added to the diagonal of every covariance"},
    {"seed", TESS_PARAM_INT, ENC(seed), 0, 0, 9e15, NULL, "",
     "seed of the random start of mixtures"},
    {"glm_knot_spacing", TESS_PARAM_REAL, ENC(glm_knot_spacing), 7.0710678118654755, 1e-6, 1e9,
     NULL, "cm", "distance of the knots of the place field's splines"},
    {"glm_penalty", TESS_PARAM_REAL, ENC(glm_penalty), 1e-3, 0, 1e9, NULL, "",
     "weight of the squared spline coefficients"},
};

static const tess_param detector_params[] = {
    {"no_spike_rate", TESS_PARAM_REAL, DET(no_spike_rate), 1e-10, 1e-300, 1e9, NULL, "spikes/s",
     "rate of every electrode in the no-spike state"},
    {"non_local_position_penalty", TESS_PARAM_REAL, DET(non_local_position_penalty), 0, 0, 1e9,
     NULL, "nats", "taken from non-local states at the animal's own position"},
    {"non_local_penalty_std", TESS_PARAM_REAL, DET(non_local_penalty_std), 1, 1e-9, 1e9, NULL, "cm",
     "width of the non-local penalty"},
    {"local_position_std", TESS_PARAM_REAL, DET(local_position_std), -1, -1, 1e9, NULL, "cm",
     "spread of the local state around the animal; negative makes it a single bin"},
};

static const tess_param predict_params[] = {
    {"chunks", TESS_PARAM_INT, PRE(n_chunk), 0, 0, 1e15, NULL, "",
     "pieces of the time axis; 0 chooses from the memory limit; changes no result"},
};

static const tess_param em_params[] = {
    {"estimate_initial_conditions", TESS_PARAM_FLAG, EM(estimate_initial_conditions), 1, 0, 1, NULL,
     "", "update the initial conditions"},
    {"estimate_discrete_transition", TESS_PARAM_FLAG, EM(estimate_discrete_transition), 1, 0, 1,
     NULL, "", "update the transitions between discrete states"},
    {"max_iterations", TESS_PARAM_INT, EM(max_iterations), 20, 1, 1000000, NULL, "",
     "most iterations"},
    {"tolerance", TESS_PARAM_REAL, EM(tolerance), 1e-4, 0, 1, NULL, "",
     "relative change of the log evidence that ends the iterations"},
    {"regularization", TESS_PARAM_REAL, EM(regularization), 1e-10, 0, 1e9, NULL, "",
     "weight of the squared coefficients of covariate-dependent transitions"},
};

#define TABLE(text, params)                                                                        \
    {                                                                                              \
        text, params, sizeof(params) / sizeof *(params)                                            \
    }

static const tess_param_table encoding_table = TABLE("decode.encoding", encoding_params);
static const tess_param_table detector_table = TABLE("decode.detector", detector_params);
static const tess_param_table predict_table = TABLE("decode.predict", predict_params);
static const tess_param_table em_table = TABLE("decode.em", em_params);

const tess_param_table *tess_decode_encoding_params(void)
{
    return &encoding_table;
}

const tess_param_table *tess_decode_detector_params(void)
{
    return &detector_table;
}

const tess_param_table *tess_decode_predict_params(void)
{
    return &predict_table;
}

const tess_param_table *tess_decode_em_params(void)
{
    return &em_table;
}

void tess_decode_encoding_config_init(tess_decode_encoding_config *config, size_t struct_size)
{
    tess_decode_encoding_config defaults = {0};
    tess_params_defaults(&encoding_table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

void tess_decode_detector_config_init(tess_decode_detector_config *config, size_t struct_size)
{
    tess_decode_detector_config defaults = {0};
    tess_params_defaults(&detector_table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

void tess_decode_predict_config_init(tess_decode_predict_config *config, size_t struct_size)
{
    tess_decode_predict_config defaults = {0};
    tess_params_defaults(&predict_table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

void tess_decode_em_config_init(tess_decode_em_config *config, size_t struct_size)
{
    tess_decode_em_config defaults = {.checkpoint_every_s = 60};
    tess_params_defaults(&em_table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

// Plain descriptions of data: nothing but their sizes, marks being doubles unless said otherwise.

static const tess_decode_spikes no_spikes = {.struct_size = sizeof no_spikes,
                                             .mark_dtype = TESS_F64};
static const tess_decode_position no_position = {.struct_size = sizeof no_position};

void tess_decode_spikes_init(tess_decode_spikes *spikes, size_t struct_size)
{
    tess_struct_init(spikes, struct_size, &no_spikes, sizeof no_spikes);
}

void tess_decode_position_init(tess_decode_position *position, size_t struct_size)
{
    tess_struct_init(position, struct_size, &no_position, sizeof no_position);
}

void tess_decode_training_init(tess_decode_training *training, size_t struct_size)
{
    const tess_decode_training defaults = {.spikes = no_spikes, .position = no_position};
    tess_struct_init(training, struct_size, &defaults, sizeof defaults);
}

void tess_decode_observation_init(tess_decode_observation *observation, size_t struct_size)
{
    const tess_decode_observation defaults = {.spikes = no_spikes, .position = no_position};
    tess_struct_init(observation, struct_size, &defaults, sizeof defaults);
}
