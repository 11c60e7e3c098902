// Spikes and positions on their way in. Nothing here waits, allocates or writes to a file.
#include "base/status.h"
#include "systems/decode/online/online.h"

#include <math.h>
#include <string.h>

tess_status tess_de_online_check_spike(const tess_decode_online *online, double time,
                                       int64_t electrode, const float *mark, int64_t n_feature)
{
    if (electrode < 0 || electrode >= online->n_electrode) {
        TESS_FAIL(TESS_E_ARGUMENT, "electrode: %lld is unknown; the model has %lld",
                  (long long)electrode, (long long)online->n_electrode);
    }
    const online_ring *ring = &online->rings[electrode];
    if (n_feature != ring->n_feature) {
        TESS_FAIL(TESS_E_ARGUMENT, "electrode %lld: fitted with %lld features%s, got %lld",
                  (long long)electrode, (long long)ring->n_feature,
                  ring->n_feature == 0 ? " (sorted spikes have none)" : "", (long long)n_feature);
    }
    if (!isfinite(time)) {
        TESS_FAIL(TESS_E_ARGUMENT, "electrode %lld: time of a spike is %g", (long long)electrode,
                  time);
    }
    for (int64_t f = 0; f < n_feature; f++) {
        if (!isfinite(mark[f])) {
            TESS_FAIL(TESS_E_ARGUMENT, "electrode %lld, t = %.6f: feature %lld is %g",
                      (long long)electrode, time, (long long)f, (double)mark[f]);
        }
    }
    return TESS_OK;
}

// One more, by the only thread that writes the counter.
static void count(_Atomic int64_t *counter)
{
    const int64_t value = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, value + 1, memory_order_relaxed);
}

tess_status tess_decode_online_push_spike(tess_decode_online *online, double time,
                                          int64_t electrode, const float *mark, int64_t n_feature)
{
    tess_error_clear();
    TESS_TRY(tess_de_online_check_spike(online, time, electrode, mark, n_feature));
    online_ring *ring = &online->rings[electrode];
    const size_t mark_bytes = (size_t)n_feature * sizeof *mark;
    if (ring->has_last && time == ring->last_time &&
        (n_feature == 0 || memcmp(mark, ring->last_mark, mark_bytes) == 0)) {
        count(&ring->n_duplicate);
        return TESS_OK;
    }
    ring->has_last = 1;
    ring->last_time = time;
    if (n_feature > 0) {
        memcpy(ring->last_mark, mark, mark_bytes);
    }
    if (time < atomic_load_explicit(&online->open_from, memory_order_acquire)) {
        count(&ring->n_late);
        return TESS_OK;
    }
    const int64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    const int64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    if (head - tail >= online->config.max_pending) {
        count(&ring->n_dropped);
        return TESS_OK;
    }
    ring->entries[head & ring->mask].time = time;
    online_store_mark(ring->marks + (head & ring->mask) * n_feature, mark, n_feature);
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return TESS_OK;
}

tess_status tess_decode_online_push_position(tess_decode_online *online, double time,
                                             const double *position, int64_t n_dim)
{
    tess_error_clear();
    if (online->n_dim == 0) {
        return TESS_OK; // nothing depends on it
    }
    if (n_dim != online->n_dim) {
        TESS_FAIL(TESS_E_ARGUMENT, "position: the environment has %lld coordinates, got %lld",
                  (long long)online->n_dim, (long long)n_dim);
    }
    const int64_t n = atomic_load_explicit(&online->n_position, memory_order_relaxed);
    if (!isfinite(time) || (n > 0 && time <= online->positions[(n - 1) % ONLINE_POSITIONS].time)) {
        TESS_FAIL(TESS_E_ARGUMENT, "position: time %.6f does not come after the one before", time);
    }
    online_position *to = &online->positions[n % ONLINE_POSITIONS];
    to->time = time;
    memcpy(to->at, position, (size_t)n_dim * sizeof *position);
    atomic_store_explicit(&online->n_position, n + 1, memory_order_release);
    return TESS_OK;
}
