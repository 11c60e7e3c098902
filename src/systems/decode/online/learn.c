// What a learning decoder is told: checked first, so that a refused call leaves it as it was.
#include "systems/decode/online/learn.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/places/environment.h"

#include <math.h>
#include <string.h>

static tess_status check_learns(const tess_decode_online *online)
{
    if (!online->learner) {
        TESS_FAIL(TESS_E_ARGUMENT, "learn: this decoder does not learn; create it with learn "
                                   "grow, window or reservoir");
    }
    return TESS_OK;
}

static const learn_sample *sample(const online_learner *learner, int64_t number)
{
    return &learner->history[number % LEARN_HISTORY];
}

static tess_status check_position(const tess_decode_online *online, double time,
                                  const double *position, int64_t n_dim, double *place)
{
    const online_learner *learner = online->learner;
    if (n_dim != learner->env->n_dim) {
        TESS_FAIL(TESS_E_ARGUMENT, "position: the environment has %lld coordinates, got %lld",
                  (long long)learner->env->n_dim, (long long)n_dim);
    }
    const double last =
        learner->n_history > 0 ? sample(learner, learner->n_history - 1)->time : -(double)INFINITY;
    if (!isfinite(time) || time <= last) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "position: time %.6f does not come after the one before, %.6f; hand positions "
                  "in in the order of time",
                  time, last);
    }
    for (int64_t d = 0; d < n_dim; d++) {
        if (!isfinite(position[d])) {
            TESS_FAIL(TESS_E_NUMERIC,
                      "position, t = %.6f: coordinate %lld is %g; leave out samples at which the "
                      "animal was not seen",
                      time, (long long)d, position[d]);
        }
    }
    TESS_TRY(tess_decode_place(learner->encoding->env, position, 1, place));
    if (!tess_de_is_on_track(learner->env, place)) {
        TESS_FAIL(TESS_E_RANGE,
                  "position, t = %.6f: %.6g%s is off the track, in no interior bin; leave the "
                  "sample out, or make the environment larger",
                  time, position[0], n_dim > 1 ? ", ..." : "");
    }
    return TESS_OK;
}

static bool is_fast_enough(const tess_decode_online *online, double time, const double *position)
{
    const online_learner *learner = online->learner;
    const double least = online->config.learn_min_speed;
    if (least <= 0) {
        return true;
    }
    if (learner->n_history == 0) {
        return false; // no speed yet
    }
    const learn_sample *before = sample(learner, learner->n_history - 1);
    double square = 0;
    for (int64_t d = 0; d < learner->env->n_dim; d++) {
        square += (position[d] - before->at[d]) * (position[d] - before->at[d]);
    }
    return sqrt(square) >= least * (time - before->time);
}

static void log_sample(tess_decode_online *online, const double *place)
{
    online_learner *learner = online->learner;
    if (learner->n_sample_told - learner->sample_first == learner->log_capacity) {
        tess_de_learn_empty_logs(online);
    }
    const int64_t at = learner->n_sample_told++ % learner->log_capacity;
    memcpy(learner->log_place + at * learner->n_dim, place, (size_t)learner->n_dim * sizeof *place);
    learner->is_changed = 1;
}

static void log_spike(tess_decode_online *online, learn_electrode *e, const double *place,
                      const float *mark)
{
    online_learner *learner = online->learner;
    if (e->n_item - e->first == learner->log_capacity) {
        tess_de_learn_empty_logs(online);
    }
    const int64_t at = e->n_item++ % learner->log_capacity;
    e->items[at].n_sample = learner->n_sample_told;
    memcpy(e->items[at].place, place, (size_t)learner->n_dim * sizeof *place);
    if (e->n_feature > 0) {
        memcpy(e->item_mark + at * e->n_feature, mark, (size_t)e->n_feature * sizeof *mark);
    }
    learner->stats.n_spike++;
    learner->is_changed = 1;
}

// A spike's place between two samples of the history, and what becomes of it. The sample at or
// after it decides whether the animal was fast enough.
static tess_status place_spike(tess_decode_online *online, int64_t electrode, double time,
                               const float *mark)
{
    online_learner *learner = online->learner;
    learn_electrode *e = &learner->electrodes[electrode];
    const int64_t oldest =
        learner->n_history > LEARN_HISTORY ? learner->n_history - LEARN_HISTORY : 0;
    int64_t after = learner->n_history - 1;
    while (after > oldest && sample(learner, after - 1)->time >= time) {
        after--;
    }
    const learn_sample *to = sample(learner, after);
    const learn_sample *from = after > oldest ? sample(learner, after - 1) : to;
    if (time < from->time || !to->is_learned) {
        learner->stats.n_unplaced += time < from->time;
        learner->stats.n_slow += time >= from->time;
        return TESS_OK;
    }
    const double times[2] = {from->time, to->time};
    double at[2 * TESS_DECODE_MAX_DIM];
    double raw[TESS_DECODE_MAX_DIM];
    double place[TESS_DECODE_MAX_DIM];
    const int64_t n_dim = learner->env->n_dim;
    memcpy(at, from->at, (size_t)n_dim * sizeof *at);
    memcpy(at + n_dim, to->at, (size_t)n_dim * sizeof *at);
    if (from == to) {
        memcpy(raw, to->at, (size_t)n_dim * sizeof *raw);
    } else {
        TESS_TRY(tess_decode_position_at(times, at, 2, n_dim, &time, 1, raw));
    }
    TESS_TRY(tess_decode_place(learner->encoding->env, raw, 1, place));
    log_spike(online, e, place, mark);
    return TESS_OK;
}

tess_status tess_decode_online_learn_position(tess_decode_online *online, double time,
                                              const double *position, int64_t n_dim)
{
    tess_error_clear();
    double place[TESS_DECODE_MAX_DIM];
    TESS_TRY(check_learns(online));
    TESS_TRY(check_position(online, time, position, n_dim, place));
    online_learner *learner = online->learner;
    if (learner->is_frozen) {
        learner->stats.n_ignored++;
        return TESS_OK;
    }
    learn_sample *now = &learner->history[learner->n_history % LEARN_HISTORY];
    const bool is_learned = is_fast_enough(online, time, position);
    *now = (learn_sample){.time = time, .is_learned = is_learned};
    memcpy(now->at, position, (size_t)n_dim * sizeof *position);
    learner->n_history++;
    if (is_learned) {
        log_sample(online, place);
    } else {
        learner->stats.n_slow_sample++;
    }
    for (int64_t k = 0; k < learner->n_electrode; k++) {
        learn_electrode *e = &learner->electrodes[k];
        for (; e->tail < e->head && e->wait_time[e->tail % learner->max_wait] <= time; e->tail++) {
            const int64_t i = e->tail % learner->max_wait;
            TESS_TRY(place_spike(online, k, e->wait_time[i], e->wait_mark + i * e->n_feature));
        }
    }
    return TESS_OK;
}

tess_status tess_decode_online_learn_spike(tess_decode_online *online, double time,
                                           int64_t electrode, const float *mark, int64_t n_feature)
{
    tess_error_clear();
    TESS_TRY(check_learns(online));
    TESS_TRY(tess_de_online_check_spike(online, time, electrode, mark, n_feature));
    online_learner *learner = online->learner;
    learn_electrode *e = &learner->electrodes[electrode];
    if (time < e->last_time) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "electrode %lld: a spike at %.6f s comes after one at %.6f s; hand an "
                  "electrode's spikes in in the order of time",
                  (long long)electrode, time, e->last_time);
    }
    if (learner->is_frozen) {
        learner->stats.n_ignored++;
        return TESS_OK;
    }
    const bool can_wait = e->head - e->tail < learner->max_wait;
    const bool is_placeable =
        learner->n_history > 0 && time <= sample(learner, learner->n_history - 1)->time;
    if (is_placeable) {
        TESS_TRY(place_spike(online, electrode, time, mark));
    } else if (can_wait) {
        const int64_t i = e->head++ % learner->max_wait;
        e->wait_time[i] = time;
        if (n_feature > 0) {
            memcpy(e->wait_mark + i * n_feature, mark, (size_t)n_feature * sizeof *mark);
        }
    } else {
        learner->stats.n_dropped++;
    }
    e->last_time = time;
    return TESS_OK;
}

tess_status tess_decode_online_refresh(tess_decode_online *online)
{
    tess_error_clear();
    TESS_TRY(check_learns(online));
    tess_de_learn_refresh(online);
    return TESS_OK;
}

tess_status tess_decode_online_set_frozen(tess_decode_online *online, int is_frozen)
{
    tess_error_clear();
    TESS_TRY(check_learns(online));
    online_learner *learner = online->learner;
    if (is_frozen && !learner->is_frozen) {
        tess_de_learn_refresh(online);
        // What waits would be placed across the gap.
        for (int64_t k = 0; k < learner->n_electrode; k++) {
            learner->stats.n_unplaced += learner->electrodes[k].head - learner->electrodes[k].tail;
            learner->electrodes[k].tail = learner->electrodes[k].head;
        }
        learner->n_history = 0;
    }
    learner->is_frozen = is_frozen != 0;
    return TESS_OK;
}

tess_status tess_decode_online_get_learned(const tess_decode_online *online,
                                           tess_decode_online_learned *out, size_t struct_size)
{
    tess_error_clear();
    TESS_TRY(check_learns(online));
    const online_learner *learner = online->learner;
    const learn_model *model = &learner->models[atomic_load(&online->version) & 1];
    tess_decode_online_learned all = {.struct_size = (uint32_t)struct_size,
                                      .is_frozen = learner->is_frozen,
                                      .n_bin = learner->n_bin,
                                      .n_electrode = learner->n_electrode,
                                      .n_sample = model->n_sample,
                                      .n_sample_seen = model->n_sample_seen,
                                      .occupancy = model->occupancy,
                                      .summed_ground_intensity = model->intensity,
                                      .mean_rates = model->mean_rates,
                                      .n_spike = model->n_spike,
                                      .stats = learner->stats};
    all.stats.n_full = model->n_full;
    memset(out, 0, struct_size);
    memcpy(out, &all, struct_size < sizeof all ? struct_size : sizeof all);
    return TESS_OK;
}
