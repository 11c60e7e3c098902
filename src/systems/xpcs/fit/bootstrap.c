// Block bootstrap: frames come in blocks, drawn with replacement; a pair of frames counts as often
// as both were drawn. Points that share a frame are correlated, which the covariance ignores and
// this does not.
#include "base/rng.h"
#include "base/status.h"
#include "systems/xpcs/fit/lanes.h"
#include "systems/xpcs/fit/phases.h"

#include <math.h>
#include <string.h>

enum { PURPOSE_BLOCKS = 0x58500002, BLOCKS = 20 };

void tess_xp_bootstrap_weights(const tess_xp_problem *problem, int64_t replicate, double *weight)
{
    const int64_t n_frame = problem->data->info.n_frame;
    int64_t length = problem->config.block_frames;
    if (length == 0) {
        length = n_frame / BLOCKS > 0 ? n_frame / BLOCKS : 1;
    }
    length = length < n_frame ? length : n_frame;
    const int64_t n_block = (n_frame + length - 1) / length;
    const tess_philox_stream stream =
        tess_philox_open((uint64_t)problem->config.seed, (uint32_t)replicate, PURPOSE_BLOCKS);
    memset(weight, 0, (size_t)n_frame * sizeof *weight);
    for (int64_t k = 0; k < n_block; k++) {
        const double u = tess_philox_uniform(&stream, (uint64_t)k);
        const int64_t begin = (int64_t)(u * (double)n_block) * length;
        for (int64_t i = begin; i < begin + length && i < n_frame; i++) {
            weight[i] += 1;
        }
    }
}

// The next replicate in the lane at work; none is left: nothing.
static tess_status begin_replicate(tess_xp_engine *e)
{
    const size_t bytes = (size_t)e->problem->n_angle * sizeof *e->contrast;
    if (e->head->n_begun >= e->problem->config.n_bootstrap) {
        e->head->index = -1;
        return TESS_OK;
    }
    e->head->index = e->head->n_begun++;
    memcpy(e->offset, e->final.offset, bytes);
    if (tess_xp_step_is_robust(e)) {
        memcpy(e->contrast, e->final.contrast, bytes);
    } else {
        tess_xp_step_weigh(e, e->final.contrast);
    }
    return tess_xp_step_begin_run(e, e->final_theta);
}

tess_status tess_xp_bootstrap_fitted(tess_xp_engine *e)
{
    tess_xp_state *head = e->head;
    double *row = e->bootstrap + head->index * e->problem->n_param;
    for (int64_t k = 0; k < e->problem->n_param; k++) {
        row[k] = head->status > 0 ? e->kept_theta[k] : (double)NAN;
    }
    return begin_replicate(e);
}

tess_status tess_xp_bootstrap_begin(tess_xp_engine *e)
{
    const tess_xp_state before = *e->head;
    e->head->phase = TESS_XP_PHASE_BOOTSTRAP;
    tess_xp_lanes_clear(e);
    for (int64_t k = 0; k < e->n_lane; k++) {
        tess_xp_lane_enter(e, k);
        TESS_TRY(begin_replicate(e));
        tess_xp_lane_leave(e);
    }
    tess_xp_lane_bind(e, 0);
    // What the fit says of itself is not that of a replicate.
    e->head->status = before.status;
    e->head->kept_cost = before.kept_cost;
    e->head->gradient_norm = before.gradient_norm;
    return TESS_OK;
}

void tess_xp_bootstrap_sd(const tess_xp_engine *e, double *sd, int64_t *n_good)
{
    const int64_t p = e->problem->n_param;
    const int64_t n = e->problem->config.n_bootstrap;
    for (int64_t k = 0; k < p; k++) {
        double mean = 0;
        double square = 0;
        *n_good = 0;
        for (int64_t b = 0; b < n; b++) {
            const double x = e->bootstrap[b * p + k];
            if (isfinite(x)) {
                *n_good += 1;
                const double step = x - mean;
                mean += step / (double)*n_good;
                square += step * (x - mean);
            }
        }
        sd[k] = *n_good > 1 ? sqrt(square / (double)(*n_good - 1)) : (double)NAN;
    }
}
