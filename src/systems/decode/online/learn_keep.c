// Which samples and spikes are kept, and the sums of their place kernels.
#include "base/rng.h"
#include "systems/decode/online/learn.h"

#include <math.h>
#include <string.h>

enum { PURPOSE_SPIKES = 0x1EA21, PURPOSE_SAMPLES = 0x1EA22 };

// exp(-q) beyond is below the least part of a sum.
static const double FARTHEST = 112;

static void add_kernels(const online_learner *learner, exact_sum *sums, const double *place,
                        int sign)
{
    for (int64_t p = 0; p < learner->n_bin; p++) {
        double q = 0;
        for (int64_t d = 0; d < learner->n_dim; d++) {
            const double u =
                learner->bin_place[d * learner->n_bin + p] - place[d] * learner->place_scale[d];
            q += u * u;
        }
        if (q < FARTHEST) {
            tess_de_exact_add(&sums[p], exp(-q), sign);
        }
    }
}

// A kept item's slot is filled anew, or filled at all.
static void put(const online_learner *learner, exact_sum *sums, double *slots, int64_t slot,
                bool is_taken, const double *place)
{
    double *at = slots + slot * learner->n_dim;
    if (is_taken) {
        add_kernels(learner, sums, at, -1);
    }
    memcpy(at, place, (size_t)learner->n_dim * sizeof *at);
    add_kernels(learner, sums, at, 1);
}

// The slot of item number n (from 0) of those that came; -1: it is not kept.
static int64_t choose(const online_learner *learner, int64_t capacity, int64_t n, uint64_t seed,
                      uint32_t item, uint32_t purpose)
{
    if (n < capacity) {
        return n;
    }
    switch ((tess_decode_learn)learner->policy) {
    case TESS_DECODE_LEARN_WINDOW:
        return n % capacity;
    case TESS_DECODE_LEARN_RESERVOIR: {
        const tess_philox_stream stream = tess_philox_open(seed, item, purpose);
        const double share = tess_philox_uniform(&stream, (uint64_t)n);
        const int64_t slot = (int64_t)(share * (double)(n + 1));
        return slot < capacity ? slot : -1;
    }
    case TESS_DECODE_LEARN_GROW:
    case TESS_DECODE_LEARN_NONE:
        break;
    }
    return -1;
}

void tess_de_learn_keep_sample(online_learner *learner, uint64_t seed, const double *place)
{
    const int64_t n = learner->n_sample_seen++;
    if (learner->sample_capacity == 0) {
        add_kernels(learner, learner->sums, place, 1);
        learner->n_sample_kept++;
        return;
    }
    const int64_t slot = choose(learner, learner->sample_capacity, n, seed, 0, PURPOSE_SAMPLES);
    if (slot >= 0) {
        const bool is_taken = slot < learner->n_sample_kept;
        put(learner, learner->sums, learner->sample_place, slot, is_taken, place);
        learner->n_sample_kept += !is_taken;
    }
}

int64_t tess_de_learn_keep_spike(online_learner *learner, uint64_t seed, int64_t electrode,
                                 int64_t n_sample_seen, const double *place)
{
    learn_electrode *e = &learner->electrodes[electrode];
    const int64_t slot =
        choose(learner, learner->capacity, e->n_counted, seed, (uint32_t)electrode, PURPOSE_SPIKES);
    if (slot < 0 && learner->policy == TESS_DECODE_LEARN_GROW) {
        // Full: its rate is that of the time until now.
        e->sample_end = e->sample_end < 0 ? n_sample_seen : e->sample_end;
        return -1;
    }
    e->n_counted++;
    if (slot < 0) {
        return -1;
    }
    const bool is_taken = slot < e->n_kept;
    if (is_taken && learner->policy == TESS_DECODE_LEARN_WINDOW) {
        e->sample_first = e->slot_sample[slot];
    }
    put(learner, e->sums, e->slot_place, slot, is_taken, place);
    e->slot_sample[slot] = n_sample_seen;
    e->n_kept += !is_taken;
    return slot;
}
