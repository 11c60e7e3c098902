// Block bootstrap: frames come in blocks, drawn with replacement; a pair of frames counts as often
// as both were drawn. Points that share a frame are correlated, which the covariance ignores and
// this does not.
#include "base/rng.h"
#include "base/status.h"
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

tess_status tess_xp_bootstrap_begin(tess_xp_engine *e, int64_t replicate)
{
    const size_t bytes = (size_t)e->problem->n_angle * sizeof *e->contrast;
    e->head->phase = TESS_XP_PHASE_BOOTSTRAP;
    e->head->index = replicate;
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
    if (head->index + 1 < e->problem->config.n_bootstrap) {
        return tess_xp_bootstrap_begin(e, head->index + 1);
    }
    head->phase = TESS_XP_PHASE_DONE;
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
