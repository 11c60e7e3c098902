// From what was learned to the model that is decoded with next: samples and spikes of the logs are
// kept, then densities, rates and offsets follow. A step is one of them, or an electrode's
// densities.
#include "systems/decode/density/density.h"
#include "systems/decode/online/learn.h"

#include <math.h>

static const double LOG_SQRT_2PI = 0.91893853320467274178;

static void set_occupancy(const online_learner *learner, learn_model *model)
{
    const double log_n = log((double)learner->n_sample_kept);
    for (int64_t p = 0; p < learner->n_bin; p++) {
        const double sum = tess_de_exact_value(&learner->sums[p]);
        const double value = sum > 0 ? exp(log(sum) - log_n - learner->log_norm) : 0;
        model->occupancy[p] = value < TESS_DE_LEAST_OCCUPANCY ? 0 : value;
        model->log_occupancy[p] = log(model->occupancy[p]);
        model->intensity[p] = 0;
    }
    model->n_sample = learner->n_sample_kept;
    model->n_sample_seen = learner->n_sample_seen;
}

static double rate_of(const online_learner *learner, const learn_electrode *e)
{
    const int64_t end = e->sample_end < 0 ? learner->n_sample_seen : e->sample_end;
    const int64_t n_sample = end - e->sample_first;
    // A full window holds what it keeps; else all that were counted.
    const int64_t n = learner->policy == TESS_DECODE_LEARN_WINDOW ? e->n_kept : e->n_counted;
    return (double)n / (double)(n_sample > 0 ? n_sample : 1);
}

static double mark_norm(const online_learner *learner, const learn_electrode *e)
{
    double norm = 0;
    for (int64_t f = 0; f < e->n_feature; f++) {
        norm += LOG_SQRT_2PI - log(e->scale[f]) + log(0.70710678118654752440);
    }
    const bool is_probability =
        learner->encoding->config.mark_density == TESS_DECODE_MARK_PROBABILITY;
    return is_probability ? norm : 0;
}

static void set_electrode(const online_learner *learner, learn_model *model, int64_t electrode)
{
    const learn_electrode *e = &learner->electrodes[electrode];
    const learn_store *store = &model->stores[electrode];
    const double rate = rate_of(learner, e);
    const double log_n = log((double)e->n_kept);
    const double log_rate = log(rate) - log_n - learner->log_norm;
    const double norm = learner->is_sorted ? 0 : mark_norm(learner, e);
    model->mean_rates[electrode] = rate;
    model->n_spike[electrode] = e->n_kept;
    model->is_deaf[electrode] =
        e->n_kept == 0 && learner->encoding->info.floor != TESS_DECODE_FLOOR_ABSOLUTE;
    for (int64_t p = 0; p < learner->n_bin; p++) {
        const double pi = model->occupancy[p];
        const double sum = tess_de_exact_value(&e->sums[p]);
        const double ground = pi > 0 ? (sum > 0 ? exp(log_rate + log(sum)) / pi : 0)
                                     : (learner->is_sorted ? 0 : rate * TESS_DE_EPS);
        const double floored = ground > TESS_DE_EPS ? ground : TESS_DE_EPS;
        model->intensity[p] += floored;
        if (learner->is_sorted) {
            model->log_field[electrode * learner->n_bin + p] = log(floored);
            continue;
        }
        store->offset[p] =
            pi > 0 && e->n_kept > 0 ? log_rate - norm - model->log_occupancy[p] : -(double)INFINITY;
        store->offset_f32[p] = (float)store->offset[p];
    }
    if (!learner->is_sorted) {
        tess_de_learn_show_cells(learner, model, electrode);
    }
}

// An electrode's next spike; those before fresh are kept already, and this model lacks them.
static void take_item(online_learner *learner, uint64_t seed, learn_model *model, int64_t electrode)
{
    learn_electrode *e = &learner->electrodes[electrode];
    const int64_t number = learner->progress++;
    const int64_t at = number % learner->log_capacity;
    learn_item *item = &e->items[at];
    if (number >= e->fresh) {
        item->slot =
            tess_de_learn_keep_spike(learner, seed, electrode, item->n_sample, item->place);
        learner->n_full += item->slot < 0 && learner->policy == TESS_DECODE_LEARN_GROW;
    }
    if (item->slot >= 0 && !learner->is_sorted) {
        tess_de_learn_store(learner, model, electrode, item->slot, item->place,
                            e->item_mark + at * e->n_feature);
    }
}

static void start_electrode(online_learner *learner, int64_t electrode)
{
    learner->phase = 2 + electrode;
    if (electrode < learner->n_electrode) {
        learner->progress = learner->electrodes[electrode].first;
    }
}

// True when the model is whole.
static bool step(online_learner *learner, uint64_t seed, learn_model *model)
{
    learner->n_left--;
    if (learner->phase == 0 && learner->n_sample_seen < learner->sample_due) {
        const int64_t at = learner->n_sample_seen % learner->log_capacity;
        tess_de_learn_keep_sample(learner, seed, learner->log_place + at * learner->n_dim);
        return false;
    }
    if (learner->phase < 2) {
        set_occupancy(learner, model);
        start_electrode(learner, 0);
        return false;
    }
    const int64_t electrode = learner->phase - 2;
    if (learner->progress < learner->electrodes[electrode].due) {
        take_item(learner, seed, model, electrode);
        return false;
    }
    set_electrode(learner, model, electrode);
    start_electrode(learner, electrode + 1);
    model->n_full = learner->n_full;
    return electrode + 1 == learner->n_electrode;
}

// A helper may still be at a spike with the model before, which is the one to be written.
static bool is_read(tess_decode_online *online)
{
    const int64_t now = atomic_load(&online->version) + 1;
    for (int32_t k = 0; k < online->n_helper; k++) {
        const int64_t used = atomic_load(&online->helpers[k].version_in_use);
        if (used != 0 && used != now) {
            return true;
        }
    }
    return false;
}

bool tess_de_learn_step(tess_decode_online *online)
{
    online_learner *learner = online->learner;
    bool has_worked = false;
    if (!learner || atomic_load(&learner->n_done) == atomic_load(&learner->n_ordered) ||
        atomic_exchange(&learner->is_held, 1)) {
        return false;
    }
    if (atomic_load(&learner->n_done) != atomic_load(&learner->n_ordered) && !is_read(online)) {
        const int64_t next = atomic_load(&online->version) + 1;
        if (step(learner, (uint64_t)online->config.learn_seed, learn_model_of(learner, next))) {
            atomic_fetch_add(&learner->n_done, 1);
        }
        has_worked = true;
    }
    atomic_store(&learner->is_held, 0);
    return has_worked;
}
