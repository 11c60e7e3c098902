// Bins being closed: the consumer's side. Nothing here waits, allocates or writes to a file.
#include "base/clock.h"
#include "base/status.h"
#include "systems/decode/online/learn.h"

#include <math.h>
#include <string.h>

static const double CREDIBLE_SHARE = 0.95;

// Values of a waiting spike: a helper's, or made now.
static const float *values_of(tess_decode_online *online, int64_t electrode, int64_t index)
{
    const online_ring *ring = &online->rings[electrode];
    const int64_t at = index & ring->mask;
    const int64_t version = atomic_load_explicit(&online->version, memory_order_relaxed);
    if (online->n_helper > 0) {
        const uint64_t note = atomic_load_explicit(&ring->entries[at].note, memory_order_acquire);
        const int64_t row = (int64_t)(note & 0xff) - 1;
        if (note != 0 && note == online_note(index, version, row)) {
            return online->helpers[electrode % online->n_helper].values + row * online->n_value;
        }
    }
    online_load_mark(online->mark, ring->marks + at * ring->n_feature, ring->n_feature);
    tess_de_online_evaluate(online, version, electrode, online->mark, online->spike_scratch,
                            online->values);
    return online->values;
}

// Adds the electrode's spikes before right to the sums; those before left are late.
static tess_status take_electrode(tess_decode_online *online, int64_t electrode, double left,
                                  double right, int64_t *n_spike)
{
    online_ring *ring = &online->rings[electrode];
    const int is_deaf = tess_de_online_is_deaf(online, atomic_load(&online->version), electrode);
    const int64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    int64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    for (; tail < head; tail++) {
        const double time = ring->entries[tail & ring->mask].time;
        if (time >= right) {
            break;
        }
        if (time < left) {
            ring->n_late_seen++;
        } else {
            ++*n_spike;
            const float *values = is_deaf ? NULL : values_of(online, electrode, tail);
            for (int64_t p = 0; values && p < online->n_value; p++) {
                online->sums[p] += (double)values[p];
            }
            TESS_TRY(tess_de_online_local_spike(online, electrode, tail, time));
        }
        atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    }
    return TESS_OK;
}

// The likelihood's columns from the sums.
static void fill_columns(const tess_decode_online *online, int64_t n_spike, float *ll)
{
    const tess_decode_detector *d = online->detector;
    for (int32_t i = 0; i < d->n_block; i++) {
        const tess_de_columns *b = &d->blocks[i];
        if (b->kind == TESS_DE_COLUMNS_NO_SPIKE) {
            const double rho = d->config.no_spike_rate * online->config.bin_width_s;
            ll[b->first] = (float)((double)n_spike * log(rho) - (double)online->n_electrode * rho);
            continue;
        }
        const online_encoding *e = tess_de_online_encoding(online, b);
        if (b->kind == TESS_DE_COLUMNS_LOCAL) {
            ll[b->first] = e->is_lost ? 0 : (float)(e->local_sum - e->scale * e->local_ground);
            continue;
        }
        for (int64_t p = 0; p < b->n_column; p++) {
            ll[b->first + p] = (float)(online->sums[e->first + p] - e->scale * e->ground[p]);
        }
    }
}

static void describe(tess_decode_online *online, online_slot *slot)
{
    const int64_t n = online->detector->info.n_state_bin;
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        best = slot->posterior[i] > slot->posterior[best] ? i : best;
    }
    slot->bin.best_bin = best;
    memcpy(online->order, slot->posterior, (size_t)n * sizeof *online->order);
    slot->bin.credible_size = tess_de_credible_size(online->order, n, CREDIBLE_SHARE);
}

static void note_latency(tess_decode_online *online, const tess_decode_online_bin *bin)
{
    tess_decode_online_stats *stats = &online->stats;
    const double seconds = bin->likelihood_s + bin->filter_s;
    stats->latency[tess_de_latency_bin(seconds)]++;
    stats->latency_max_s = seconds > stats->latency_max_s ? seconds : stats->latency_max_s;
    stats->n_deadline_miss += seconds > online->config.deadline_s;
    stats->n_bin++;
    stats->n_spike += bin->n_spike;
}

// What the bins that an advance closes depend on; n_row 0: on nothing.
typedef struct covariates {
    const double *design; // [n_row][n_coefficient]
    int64_t n_row;
} covariates;

// The transitions out of the bin that is the k-th of an advance.
static const double *transition_of(tess_decode_online *online, const covariates *given, int64_t k)
{
    const tess_decode_detector *d = online->detector;
    if (given->n_row == 0) {
        return d->discrete_transition;
    }
    tess_de_transition_rows(d, given->design, given->n_row == 1 ? 0 : k, 1, online->transition);
    return online->transition;
}

static tess_status close_bin(tess_decode_online *online, double now, const covariates *given,
                             int64_t k)
{
    const tess_decode_detector *d = online->detector;
    const int64_t number = online->n_bin;
    const double width = online->config.bin_width_s;
    const double left = online->config.start_s + (double)number * width;
    const double right = online->config.start_s + (double)(number + 1) * width;
    online_slot *slot = &online->history[number % online->config.n_history];
    const int64_t begin_ns = tess_now_ns();
    atomic_store_explicit(&online->open_from, right, memory_order_release);
    slot->bin = (tess_decode_online_bin){.struct_size = sizeof slot->bin,
                                         .bin = number,
                                         .start_s = left,
                                         .posterior = slot->posterior,
                                         .state_probabilities = slot->states,
                                         .log_likelihood = slot->ll};
    memset(online->sums, 0, (size_t)online->n_value * sizeof *online->sums);
    TESS_TRY(tess_de_online_local_row(online, left));
    for (int64_t e = 0; e < online->n_electrode; e++) {
        int64_t n_taken = 0;
        TESS_TRY(take_electrode(online, e, left, right, &n_taken));
        slot->bin.n_spike += n_taken;
        slot->bin.n_electrode_active += n_taken > 0;
    }
    fill_columns(online, slot->bin.n_spike, slot->ll);
    TESS_TRY(tess_de_online_modify(online, left, slot->ll));
    const int64_t middle_ns = tess_now_ns();
    slot->bin.log_norm =
        tess_de_hmm_step(&online->device, d->hmm, transition_of(online, given, k), slot->ll,
                         online->predicted, slot->posterior, slot->states, online->step_scratch);
    describe(online, slot);
    const int64_t end_ns = tess_now_ns();
    slot->bin.likelihood_s = 1e-9 * (double)(middle_ns - begin_ns);
    slot->bin.filter_s = 1e-9 * (double)(end_ns - middle_ns);
    note_latency(online, &slot->bin);
    online->n_bin++;
    tess_de_online_trigger(online, slot, now, begin_ns);
    return TESS_OK;
}

// Whether a bin, counted from the open one, is due.
static int is_due(const tess_decode_online *online, int64_t bin, double now)
{
    const tess_decode_online_config *c = &online->config;
    return c->start_s + (double)(online->n_bin + bin + 1) * c->bin_width_s + c->delay_s <= now;
}

static tess_status advance(tess_decode_online *online, double now, const covariates *given,
                           int64_t *n_bin)
{
    const tess_decode_online_config *c = &online->config;
    while (is_due(online, 0, now)) {
        TESS_TRY(close_bin(online, now, given, *n_bin));
        ++*n_bin;
    }
    if (online->learner && *n_bin > 0) {
        tess_de_learn_after_bin(online, c->start_s + (double)online->n_bin * c->bin_width_s);
    }
    return TESS_OK;
}

tess_status tess_decode_online_advance(tess_decode_online *online, double now, int64_t *n_bin)
{
    tess_error_clear();
    *n_bin = 0;
    if (!isfinite(now)) {
        TESS_FAIL(TESS_E_ARGUMENT, "now is %g; a time is expected", now);
    }
    if (online->detector->info.n_coefficient > 0 && is_due(online, 0, now)) {
        TESS_FAIL(TESS_E_ARGUMENT, "the model's transitions depend on covariates; give those of "
                                   "the bins that are closed, with tess_decode_online_advance_with "
                                   "or discrete_transition_covariate_data");
    }
    const covariates none = {0};
    return advance(online, now, &none, n_bin);
}

static tess_status check_design(const tess_decode_online *online, double now, const double *design,
                                int64_t n_row, int64_t n_coefficient)
{
    if (n_coefficient != online->detector->info.n_coefficient || n_coefficient == 0) {
        TESS_FAIL(TESS_E_SHAPE, "design has %lld columns; the model's transitions depend on %lld",
                  (long long)n_coefficient, (long long)online->detector->info.n_coefficient);
    }
    if (n_row < 1 ||
        (n_row > 1 && (is_due(online, n_row, now) || !is_due(online, n_row - 1, now)))) {
        int64_t n_due = 0;
        while (is_due(online, n_due, now)) {
            n_due++;
        }
        TESS_FAIL(TESS_E_SHAPE, "design has %lld rows and %lld bins are due; give one or as many",
                  (long long)n_row, (long long)n_due);
    }
    for (int64_t i = 0; i < n_row * n_coefficient; i++) {
        if (!isfinite(design[i])) {
            TESS_FAIL(TESS_E_NUMERIC, "design: row %lld holds %g; finite numbers expected",
                      (long long)(i / n_coefficient), design[i]);
        }
    }
    return TESS_OK;
}

tess_status tess_decode_online_advance_with(tess_decode_online *online, double now,
                                            const double *design, int64_t n_row,
                                            int64_t n_coefficient, int64_t *n_bin)
{
    tess_error_clear();
    *n_bin = 0;
    if (!isfinite(now)) {
        TESS_FAIL(TESS_E_ARGUMENT, "now is %g; a time is expected", now);
    }
    TESS_TRY(check_design(online, now, design, n_row, n_coefficient));
    const covariates given = {design, n_row};
    return advance(online, now, &given, n_bin);
}

tess_status tess_decode_online_get(const tess_decode_online *online, int64_t bin,
                                   tess_decode_online_bin *out, size_t struct_size)
{
    tess_error_clear();
    const int64_t kept = online->n_bin - online->config.n_history;
    const int64_t oldest = kept > online->first_kept ? kept : online->first_kept;
    if (bin < oldest || bin >= online->n_bin) {
        if (online->n_bin == online->first_kept) {
            TESS_FAIL(TESS_E_RANGE, "bin %lld: no bin is finished yet", (long long)bin);
        }
        TESS_FAIL(TESS_E_RANGE, "bin %lld is not kept; bins %lld to %lld are", (long long)bin,
                  (long long)oldest, (long long)online->n_bin - 1);
    }
    const tess_decode_online_bin *found = &online->history[bin % online->config.n_history].bin;
    memset(out, 0, struct_size);
    memcpy(out, found, struct_size < sizeof *found ? struct_size : sizeof *found);
    out->struct_size = (uint32_t)struct_size;
    return TESS_OK;
}

tess_status tess_decode_online_get_stats(const tess_decode_online *online,
                                         tess_decode_online_stats *stats, size_t struct_size)
{
    tess_error_clear();
    tess_decode_online_stats all = online->stats;
    for (int64_t e = 0; e < online->n_electrode; e++) {
        const online_ring *ring = &online->rings[e];
        all.n_late += ring->n_late_seen + atomic_load_explicit(&ring->n_late, memory_order_relaxed);
        all.n_duplicate += atomic_load_explicit(&ring->n_duplicate, memory_order_relaxed);
        all.n_dropped += atomic_load_explicit(&ring->n_dropped, memory_order_relaxed);
    }
    memset(stats, 0, struct_size);
    memcpy(stats, &all, struct_size < sizeof all ? struct_size : sizeof all);
    stats->struct_size = (uint32_t)struct_size;
    return TESS_OK;
}
