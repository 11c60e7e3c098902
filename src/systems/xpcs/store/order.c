#include "systems/xpcs/store/order.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    RUN = TESS_STAGE_XPCS_RUN,
    MOST_ITEMS = 1 << 14,
    FEWEST_ITEMS = 1 << 6,
    ALL_ITEMS = 1 << 21
};

typedef enum phase { COUNT, COLLECT, DONE } phase;

typedef struct search {
    phase phase;
    int shift;    // a bin holds 2^shift keys
    uint64_t low; // window, inclusive
    uint64_t high;
    int64_t rank;     // wanted: this one and the next
    int64_t n_below;  // values below the window
    int64_t n_window; // values in it
    int64_t n_item;   // collected so far
    uint64_t above;   // least key above the window
    uint64_t *items;  // [n_item of the job] counts of bins, or collected keys
} search;

typedef struct order_job {
    int64_t n_angle;
    int64_t n_set;
    tess_comm_deal angles;
    int64_t items_per_search;
    tess_xp_values values;
    const void *self;
    search *searches; // [n_angle][n_set]
} order_job;

static uint64_t key_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double value_of(uint64_t key)
{
    const uint64_t bits = key >> 63 ? key ^ UINT64_C(1) << 63 : ~key;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double tess_xp_lerp(double a, double b, double t)
{
    const double difference = b - a;
    return t >= 0.5 ? b - difference * (1 - t) : a + difference * t;
}

// Bins for the window, or the last pass where few values are left in it.
static void prepare(search *s, int64_t n_item)
{
    s->above = UINT64_MAX;
    s->n_item = 0;
    if (s->low == s->high || s->n_window <= n_item) {
        s->phase = COLLECT;
        return;
    }
    s->phase = COUNT;
    s->shift = 0;
    while ((s->high - s->low) >> s->shift >= (uint64_t)n_item) {
        s->shift++;
    }
    memset(s->items, 0, (size_t)n_item * sizeof *s->items);
}

static void visit(void *self, int64_t angle, const tess_xp_tile *tile, const double *y)
{
    const order_job *job = self;
    double values[RUN];
    for (int64_t set = 0; set < job->n_set; set++) {
        search *s = &job->searches[angle * job->n_set + set];
        if (s->phase == DONE) {
            continue;
        }
        const int64_t n = job->values(job->self, angle, set, tile, y, values);
        for (int64_t k = 0; k < n; k++) {
            const uint64_t key = key_of(values[k]);
            if (key > s->high) {
                s->above = key < s->above ? key : s->above;
            } else if (key >= s->low && s->phase == COUNT) {
                s->items[(key - s->low) >> s->shift]++;
            } else if (key >= s->low && s->low < s->high && s->n_item < job->items_per_search) {
                s->items[s->n_item++] = key;
            }
        }
    }
}

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// The bin that holds the rank becomes the window.
static void narrow(search *s, int64_t n_item)
{
    int64_t bin = 0;
    while (bin < n_item - 1 && s->n_below + (int64_t)s->items[bin] <= s->rank) {
        s->n_below += (int64_t)s->items[bin++];
    }
    const uint64_t low = s->low + ((uint64_t)bin << s->shift);
    const uint64_t width = (UINT64_C(1) << s->shift) - 1;
    s->high = s->high - low > width ? low + width : s->high;
    s->low = low;
    s->n_window = (int64_t)s->items[bin];
    prepare(s, n_item);
}

static void finish(search *s, tess_xp_quantile *quantile)
{
    const int64_t at = s->rank - s->n_below;
    const bool is_one_value = s->low == s->high;
    if (!is_one_value) {
        qsort(s->items, (size_t)s->n_item, sizeof *s->items, by_key);
    }
    const double value = value_of(is_one_value ? s->low : s->items[at]);
    double next = value;
    if (s->rank + 1 < quantile->n && at + 1 >= s->n_window) {
        next = value_of(s->above);
    } else if (s->rank + 1 < quantile->n && !is_one_value) {
        next = value_of(s->items[at + 1]);
    }
    const double position = (double)(quantile->n - 1) * quantile->fraction;
    quantile->value = tess_xp_lerp(value, next, position - floor(position));
    s->phase = DONE;
}

static tess_status run(tess_context *ctx, tess_xpcs_data *data, const char *stage, order_job *job,
                       tess_xp_quantile *quantiles)
{
    const int64_t n = job->n_angle * job->n_set;
    for (;;) {
        int64_t n_open = 0;
        for (int64_t k = 0; k < n; k++) {
            n_open += job->searches[k].phase != DONE;
        }
        if (n_open == 0) {
            return TESS_OK;
        }
        TESS_TRY(tess_xp_scan(ctx, data, job->angles, stage, visit, job));
        for (int64_t k = 0; k < n; k++) {
            search *s = &job->searches[k];
            if (s->phase == COUNT) {
                narrow(s, job->items_per_search);
            } else if (s->phase == COLLECT) {
                finish(s, &quantiles[k]);
            }
        }
    }
}

static int64_t items_of(int64_t n_search)
{
    const int64_t items = ALL_ITEMS / n_search;
    return items > MOST_ITEMS ? MOST_ITEMS : items < FEWEST_ITEMS ? FEWEST_ITEMS : items;
}

uint64_t tess_xp_order_bytes(int64_t n_search)
{
    const uint64_t each = sizeof(search) + (uint64_t)items_of(n_search) * sizeof(uint64_t);
    return (uint64_t)n_search * each;
}

tess_status tess_xp_order(tess_context *ctx, tess_xpcs_data *data, tess_comm_deal angles,
                          const char *stage, int64_t n_set, tess_xp_values values, const void *self,
                          tess_xp_quantile *quantiles)
{
    order_job job = {.n_angle = data->info.n_angle,
                     .n_set = n_set,
                     .angles = angles,
                     .values = values,
                     .self = self};
    const int64_t n = job.n_angle * n_set;
    const int64_t items = items_of(n);
    job.items_per_search = items;
    tess_heap *heap = &ctx->heap;
    const size_t bytes = (size_t)tess_xp_order_bytes(n);
    job.searches = tess_heap_alloc_zero(heap, bytes, TESS_TAG_SCRATCH, "quantiles");
    if (!job.searches) {
        return TESS_E_MEMORY;
    }
    uint64_t *buffer = (uint64_t *)(void *)(job.searches + n);
    for (int64_t k = 0; k < n; k++) {
        const tess_xp_quantile *quantile = &quantiles[k];
        search *s = &job.searches[k];
        *s = (search){.phase = DONE, .items = buffer + k * items};
        if (quantile->n > 0) {
            s->low = key_of(quantile->low);
            s->high = key_of(quantile->high);
            s->rank = (int64_t)floor((double)(quantile->n - 1) * quantile->fraction);
            s->n_window = quantile->n;
            prepare(s, items);
        }
    }
    const tess_status status = run(ctx, data, stage, &job, quantiles);
    tess_heap_free(heap, job.searches, bytes, TESS_TAG_SCRATCH);
    return status;
}
