// What draws are made with, and room for them.
#ifndef TESS_XPCS_POSTERIOR_SAMPLE_H
#define TESS_XPCS_POSTERIOR_SAMPLE_H

#include "base/blocks.h"
#include "base/text.h"
#include "runtime/watch.h"
#include "runtime/work.h"
#include "systems/xpcs/pass/pass.h"
#include "systems/xpcs/pass/weights.h"
#include "systems/xpcs/posterior/adjust.h"
#include "systems/xpcs/posterior/coords.h"
#include "tessera/xpcs/posterior.h"

// Points that share a pass, and hills that are told apart.
enum { TESS_XP_MAX_SET = 16, TESS_XP_MAX_MODE = 8 };

// Purposes of random numbers; those of NUTS are 1 and 2.
enum { TESS_XP_RANDOM_STARTS = 3, TESS_XP_RANDOM_SCALING = 4 };

typedef enum tess_xp_chain_state {
    TESS_XP_CHAIN_RUNS = 0,
    TESS_XP_CHAIN_DONE = 1,
    TESS_XP_CHAIN_WAITS = 2 // warm, until all are
} tess_xp_chain_state;

struct tess_xpcs_posterior {
    tess_heap *heap;
    tess_blocks blocks; // everything info points to
    tess_xpcs_posterior_info info;
};

// Ours to fill, though the caller may only look.
#define TESS_XP_OWN(type, pointer) ((type *)(uintptr_t)(pointer))

// Counts of a run, plain bytes in checkpoints.
typedef struct tess_xp_tally {
    int64_t attempt;  // from 0
    int64_t n_scaled; // draws whose contrasts and offsets are drawn
    int64_t n_evaluation;
    int64_t n_gradient;
    int64_t n_pass;
    int64_t is_moving;  // a surrogate proposes
    int64_t n_moved;    // draws of each chain that were made so
    int64_t n_accepted; // of all
    double target_accept;
    double noise; // of the fit's residuals
} tess_xp_tally;

typedef struct tess_xp_sampler {
    tess_context *ctx;
    tess_device *device;
    tess_xpcs_data *data;
    tess_xpcs_data *shard; // the part that is sampled, else NULL
    tess_xpcs_model model;
    tess_xpcs_fit_config fit_config;
    tess_xpcs_sample_config config;
    const tess_xpcs_result_info *fit;
    tess_xp_weights weights;
    tess_xp_pass pass;
    tess_xp_density density;
    tess_xp_coords coords;
    tess_xp_adjust adjust;
    double *weight;     // [n_angle] of the sums with noise frames; NULL: 1
    tess_blocks blocks; // of the sampler alone
    double *sums;       // [TESS_XP_MAX_SET][n_sum] of the pass
    char *chains;       // [n_chain][chain_bytes]
    size_t chain_bytes;
    uint8_t *is_done; // [n_chain] tess_xp_chain_state
    char *before;     // what a round changes, as it was when the round began
    // A surrogate: see moves.h. NULL where there is none.
    double *seen;   // what the chains saw last while they warmed up
    int64_t n_seen; // of each
    char *surrogate;
    char *movers; // [n_chain][chain_bytes] paths on it
    double *at;   // [n_chain][coords.n + 1] where the chains are, and the log density there; of
                  // several hills the gradient, too
    struct tess_xp_modes *modes;
    const struct tess_xp_normal *top; // where chains begin; NULL: at the fit
    tess_xp_tally tally;
    tess_identity id;
    tess_work work;
    double resumed_from;
    int32_t scaling; // tess_xpcs_draw_scaling, settled
    bool is_alone;   // other ranks sample something else
    bool is_resumed;
    tess_watch watch;
    tess_text warnings;
    tess_xpcs_posterior *out;
} tess_xp_sampler;

// --- record.c ---

// Room for what sizes says. To be destroyed even after an error, where *out is set.
TESS_MUST_CHECK tess_status tess_xp_posterior_create(tess_context *ctx,
                                                     const tess_xpcs_posterior_info *sizes,
                                                     tess_xpcs_posterior **out);
// warnings, device, data_path, data_fingerprint, identity; NULL: "".
TESS_MUST_CHECK tess_status tess_xp_posterior_set_texts(tess_xpcs_posterior *posterior,
                                                        const char *const texts[5]);
// Arrays that grow with every draw, to bytes or from them.
size_t tess_xp_posterior_growing_bytes(const tess_xpcs_posterior *posterior);
void tess_xp_posterior_growing(const tess_xpcs_posterior *posterior, unsigned char *bytes,
                               bool is_written);

// --- setup.c ---

// Everything but the chains. What is open is closed by tess_xp_sampler_close(), even after an
// error.
TESS_MUST_CHECK tess_status tess_xp_sampler_open(tess_xp_sampler *sampler);
void tess_xp_sampler_close(tess_xp_sampler *sampler);
// Angles of which this process estimates something.
tess_comm_deal tess_xp_sampler_angles(const tess_xp_sampler *sampler);
// Coordinates that bend, if they do, with the rates of theta.
void tess_xp_sampler_make_coords(tess_xp_sampler *sampler, const double *theta);

// --- scaled.c ---

// What is sampled of contrast and offset, and their values where they are known. Of the data that
// are sampled in the end, and before a shard is made of them.
TESS_MUST_CHECK tess_status tess_xp_sampler_set_scaled(tess_xp_sampler *sampler);

// --- sample.c ---

// Options, checked; ctx, data and fit are there.
TESS_MUST_CHECK tess_status tess_xp_sampler_begin(tess_xp_sampler *sampler,
                                                  const tess_xpcs_model *model,
                                                  const tess_xpcs_fit_config *fit_config,
                                                  const tess_xpcs_sample_config *config);
// The draws of what began. The sampler is closed afterwards.
TESS_MUST_CHECK tess_status tess_xp_sampler_draw(tess_xp_sampler *sampler,
                                                 tess_xpcs_posterior **out);

// --- evaluate.c ---

// Log densities [n] and gradients [n][coords.n] (NULL: not wanted) at points u [n] in as few passes
// as can be. What has no density is -inf.
TESS_MUST_CHECK tess_status tess_xp_sampler_evaluate(tess_xp_sampler *sampler,
                                                     const double *const *u, int64_t n,
                                                     double *log_density, double *gradient);
// Sums of a pass [n_sum], weighed as the fit did.
void tess_xp_sampler_weigh(const tess_xp_sampler *sampler, double *sums);
// Coordinates u of theta for chains to begin at: what is on a bound, or nearer than its error, is
// moved inside by that, a thousandth of the range at most.
void tess_xp_sampler_start(const tess_xp_sampler *sampler, const double *theta, double noise,
                           double *u);
// Noise of the residuals of the fit, whatever it took the noise to be.
TESS_MUST_CHECK tess_status tess_xp_sampler_find_noise(tess_xp_sampler *sampler);
// Covariance [n][n] of the coordinates u at the minimum, from that of the fit; correlations times
// trust. False: it cannot be had there.
bool tess_xp_sampler_covariance(const tess_xp_sampler *sampler, const double *u, double trust,
                                double *covariance);
// The same of a fit with noise frames, if its points were independent.
bool tess_xp_sampler_independent(const tess_xp_sampler *sampler, const double *u, double trust,
                                 double *covariance);

// --- adjusted.c ---

// Weights of a fit with noise frames, once the pass is open; nothing of others.
TESS_MUST_CHECK tess_status tess_xp_sampler_take_weights(tess_xp_sampler *sampler);
// What its likelihood is flattened by, in the coordinates as they are now and once the noise is
// known.
TESS_MUST_CHECK tess_status tess_xp_sampler_place_adjust(tess_xp_sampler *sampler);

// --- chains.c ---

// Draws of theta and noise of all chains.
TESS_MUST_CHECK tess_status tess_xp_sampler_run(tess_xp_sampler *sampler);

// --- scaling.c ---

// Contrast and offset of every draw, within their bounds.
TESS_MUST_CHECK tess_status tess_xp_sampler_draw_scaling(tess_xp_sampler *sampler);

// --- scaling_frames.c ---

// The same of a fit with noise frames, by its covariance. outside_angle counts tries, as above.
TESS_MUST_CHECK tess_status tess_xp_sampler_draw_scaling_frames(tess_xp_sampler *sampler);

// --- keep.c ---

// Room for what a round changes; movers and places are there.
TESS_MUST_CHECK tess_status tess_xp_sampler_open_rounds(tess_xp_sampler *sampler);
// A round that fails has not been: chains that asked for what nobody told them would go on
// elsewhere.
void tess_xp_sampler_begin_round(tess_xp_sampler *sampler);
TESS_MUST_CHECK tess_status tess_xp_sampler_end_round(tess_xp_sampler *sampler, tess_status status);
// Takes the checkpoint folder; goes on from what is there.
TESS_MUST_CHECK tess_status tess_xp_sampler_open_work(tess_xp_sampler *sampler);
// Between two rounds: a checkpoint if one is due, progress, cancel.
TESS_MUST_CHECK tess_status tess_xp_sampler_between(tess_xp_sampler *sampler);
void tess_xp_sampler_save(tess_xp_sampler *sampler);

#endif
