#include "systems/autoreject/interpolation/field_sets.h"

#include "base/status.h"
#include "runtime/watch.h"

#include <string.h>

// Sets per call of the stage: enough for the threads, few enough to stop in a fifth of a second.
enum { SETS_AT_ONCE = 32 };

tess_status tess_ar_field_sets_create(tess_context *ctx, tess_device *device,
                                      const tess_autoreject_sensors *sensors,
                                      const int64_t *channels, int64_t n,
                                      const tess_autoreject_interpolation_config *config,
                                      tess_ar_field_sets *sets)
{
    *sets = (tess_ar_field_sets){.n_word = tess_ar_set_words(n)};
    return tess_ar_field_create(ctx, device, sensors, channels, n, config, &sets->field);
}

void tess_ar_field_sets_destroy(tess_ar_field_sets *sets)
{
    if (!sets->field.ctx) {
        return;
    }
    tess_heap *heap = &sets->field.ctx->heap;
    for (int64_t i = 0; i < sets->n_known; i++) {
        tess_heap_free(heap, sets->known[i].words, sets->known[i].bytes, TESS_TAG_PLAN);
    }
    tess_heap_free(heap, sets->known, (size_t)sets->capacity * sizeof *sets->known, TESS_TAG_PLAN);
    tess_ar_field_destroy(&sets->field);
}

// What the bad channels bad[n_bad] of one set are predicted from, and the way of the weights from
// columns of the good channels (map.w) to all columns (to).
typedef struct set_job {
    tess_ar_map map;
    double *to; // [n_bad][n]
} set_job;

static void spread(const set_job *job, int64_t n)
{
    const tess_ar_map *map = &job->map;
    memset(job->to, 0, (size_t)(map->n_to * n) * sizeof *job->to);
    for (int64_t k = 0; k < map->n_to; k++) {
        for (int64_t i = 0; i < map->n_from; i++) {
            job->to[k * n + map->from[i]] = map->w[k * map->n_from + i];
        }
    }
}

// A set as lists; lists has room for n numbers. Returns the number of bad channels.
static int64_t list_set(const uint64_t *words, int64_t n, int32_t *lists, tess_ar_map *map)
{
    int64_t n_bad = 0;
    for (int64_t c = 0; c < n; c++) {
        n_bad += (int64_t)(words[c / 64] >> (c % 64) & 1);
    }
    int32_t *bad = lists;
    int32_t *good = lists + n_bad;
    map->to = bad, map->n_to = n_bad;
    map->from = good, map->n_from = n - n_bad;
    for (int32_t c = 0; c < n; c++) {
        if (words[c / 64] >> (c % 64) & 1) {
            *bad++ = c;
        } else {
            *good++ = c;
        }
    }
    return n_bad;
}

// words [n_set][n_word] are n_set <= SETS_AT_ONCE sets, to[i] [n_bad][n] their weights.
static tess_status compute(const tess_ar_field_sets *sets, const uint64_t *words, int64_t n_set,
                           double *const *to)
{
    tess_heap *heap = &sets->field.ctx->heap;
    const int64_t n = sets->field.n;
    set_job jobs[SETS_AT_ONCE] = {0};
    tess_ar_map maps[SETS_AT_ONCE];
    const size_t list_bytes = (size_t)(n_set * n) * sizeof(int32_t);
    int32_t *lists = tess_heap_alloc(heap, list_bytes, TESS_TAG_SCRATCH, "lists of channels");
    if (!lists) {
        return TESS_E_MEMORY;
    }
    int64_t n_weight = 0;
    for (int64_t i = 0; i < n_set; i++) {
        n_weight += n * list_set(words + i * sets->n_word, n, lists + i * n, &jobs[i].map);
        jobs[i].to = to[i];
    }
    const size_t bytes = (size_t)n_weight * sizeof(double);
    double *w = tess_heap_alloc(heap, bytes, TESS_TAG_SCRATCH, "weights of sets");
    tess_status status = w ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        double *at = w;
        for (int64_t i = 0; i < n_set; i++) {
            jobs[i].map.w = at;
            at += n * jobs[i].map.n_to;
            maps[i] = jobs[i].map;
        }
        status = tess_ar_field_map(&sets->field, maps, n_set);
    }
    for (int64_t i = 0; status == TESS_OK && i < n_set; i++) {
        spread(&jobs[i], n);
    }
    tess_heap_free(heap, w, bytes, TESS_TAG_SCRATCH);
    tess_heap_free(heap, lists, list_bytes, TESS_TAG_SCRATCH);
    return status;
}

// All n_set sets by batches, with progress.
static tess_status compute_all(const tess_ar_field_sets *sets, const uint64_t *words, int64_t n_set,
                               double *const *to)
{
    tess_watch progress;
    tess_watch_begin(&progress, sets->field.ctx, "autoreject.mapping", "sets", 0,
                     (uint64_t)(n_set * sets->field.n) * (uint64_t)sets->field.n * 8,
                     TESS_STRATEGY_LARGE);
    for (int64_t i = 0; i < n_set; i += SETS_AT_ONCE) {
        const int64_t count = n_set - i < SETS_AT_ONCE ? n_set - i : SETS_AT_ONCE;
        TESS_TRY(compute(sets, words + i * sets->n_word, count, to + i));
        TESS_TRY(tess_watch_poll(&progress, i + count, n_set));
    }
    return TESS_OK;
}

tess_status tess_ar_field_sets_leave_one_out(const tess_ar_field_sets *sets, double *r)
{
    tess_heap *heap = &sets->field.ctx->heap;
    const int64_t n = sets->field.n;
    const size_t word_bytes = (size_t)(n * sets->n_word) * sizeof(uint64_t);
    const size_t to_bytes = (size_t)n * sizeof(double *);
    uint64_t *words = tess_heap_alloc_zero(heap, word_bytes, TESS_TAG_SCRATCH, "sets of channels");
    double **to = tess_heap_alloc(heap, to_bytes, TESS_TAG_SCRATCH, "rows of weights");
    tess_status status = words && to ? TESS_OK : TESS_E_MEMORY;
    if (status == TESS_OK) {
        for (int64_t c = 0; c < n; c++) {
            words[c * sets->n_word + c / 64] = UINT64_C(1) << (c % 64);
            to[c] = r + c * n;
        }
        status = compute_all(sets, words, n, to);
    }
    tess_heap_free(heap, words, word_bytes, TESS_TAG_SCRATCH);
    tess_heap_free(heap, to, to_bytes, TESS_TAG_SCRATCH);
    return status;
}

static int compare_words(const uint64_t *a, const uint64_t *b, int64_t n_word)
{
    for (int64_t i = 0; i < n_word; i++) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

// Where the set is, or where it would be: *is_known says which.
static int64_t find(const tess_ar_field_sets *sets, const uint64_t *words, bool *is_known)
{
    int64_t low = 0;
    *is_known = false;
    for (int64_t high = sets->n_known; low < high;) {
        const int64_t middle = low + (high - low) / 2;
        const int order = compare_words(sets->known[middle].words, words, sets->n_word);
        *is_known = *is_known || order == 0;
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static int64_t count_bits(const uint64_t *words, int64_t n_word)
{
    int64_t n = 0;
    for (int64_t i = 0; i < n_word; i++) {
        n += __builtin_popcountll(words[i]);
    }
    return n;
}

// A place for a set that is not known, its weights not computed yet.
static tess_status insert(tess_ar_field_sets *sets, const uint64_t *words, int64_t at)
{
    tess_heap *heap = &sets->field.ctx->heap;
    if (sets->n_known == sets->capacity) {
        const int64_t capacity = sets->capacity > 0 ? 2 * sets->capacity : 64;
        tess_ar_field_set *grown = tess_heap_alloc(heap, (size_t)capacity * sizeof *grown,
                                                   TESS_TAG_PLAN, "sets of bad channels");
        if (!grown) {
            return TESS_E_MEMORY;
        }
        if (sets->n_known > 0) {
            memcpy(grown, sets->known, (size_t)sets->n_known * sizeof *grown);
        }
        tess_heap_free(heap, sets->known, (size_t)sets->capacity * sizeof *grown, TESS_TAG_PLAN);
        sets->known = grown;
        sets->capacity = capacity;
    }
    const size_t word_bytes = (size_t)sets->n_word * sizeof *words;
    tess_ar_field_set set = {.n_bad = count_bits(words, sets->n_word)};
    set.bytes = word_bytes + (size_t)(set.n_bad * sets->field.n) * sizeof(double);
    set.words = tess_heap_alloc(heap, set.bytes, TESS_TAG_PLAN, "weights of a set of bad channels");
    if (!set.words) {
        return TESS_E_MEMORY;
    }
    memcpy(set.words, words, word_bytes);
    set.weights = (double *)(set.words + sets->n_word);
    memmove(sets->known + at + 1, sets->known + at,
            (size_t)(sets->n_known - at) * sizeof *sets->known);
    sets->known[at] = set;
    sets->n_known++;
    return TESS_OK;
}

// Those that came in this call, as lists for compute_all(); their places may move while others
// come.
typedef struct new_sets {
    uint64_t *words; // [n_wanted][n_word]
    double **to;
    int64_t n;
} new_sets;

static tess_status take_new(tess_ar_field_sets *sets, const tess_ar_bad_set *wanted,
                            int64_t n_wanted, new_sets *fresh)
{
    for (int64_t i = 0; i < n_wanted; i++) {
        const int64_t n_bad = count_bits(wanted[i].words, sets->n_word);
        bool is_known = false;
        const int64_t at = find(sets, wanted[i].words, &is_known);
        if (is_known || n_bad == 0 || n_bad >= sets->field.n) {
            continue; // nothing to predict, or nothing to predict from: weights() says so
        }
        TESS_TRY(insert(sets, wanted[i].words, at));
        memcpy(fresh->words + fresh->n * sets->n_word, wanted[i].words,
               (size_t)sets->n_word * sizeof(uint64_t));
        fresh->to[fresh->n++] = sets->known[at].weights;
    }
    return TESS_OK;
}

// Sets whose weights were not computed must not be found.
static void forget(tess_ar_field_sets *sets, const new_sets *fresh)
{
    for (int64_t i = 0; i < fresh->n; i++) {
        bool is_known = false;
        const int64_t at = find(sets, fresh->words + i * sets->n_word, &is_known);
        tess_heap_free(&sets->field.ctx->heap, sets->known[at].words, sets->known[at].bytes,
                       TESS_TAG_PLAN);
        sets->n_known--;
        memmove(sets->known + at, sets->known + at + 1,
                (size_t)(sets->n_known - at) * sizeof *sets->known);
    }
}

tess_status tess_ar_field_sets_prepare(tess_ar_field_sets *sets, const tess_ar_bad_set *wanted,
                                       int64_t n_wanted)
{
    tess_heap *heap = &sets->field.ctx->heap;
    const size_t word_bytes = (size_t)(n_wanted * sets->n_word) * sizeof(uint64_t);
    const size_t to_bytes = (size_t)n_wanted * sizeof(double *);
    new_sets fresh = {0};
    fresh.words = tess_heap_alloc(heap, word_bytes, TESS_TAG_SCRATCH, "sets of channels");
    fresh.to = tess_heap_alloc(heap, to_bytes, TESS_TAG_SCRATCH, "rows of weights");
    tess_status status = TESS_E_MEMORY;
    if (fresh.words && fresh.to) {
        status = take_new(sets, wanted, n_wanted, &fresh);
        if (status == TESS_OK) {
            status = compute_all(sets, fresh.words, fresh.n, fresh.to);
        }
        if (status != TESS_OK) {
            forget(sets, &fresh);
        }
    }
    tess_heap_free(heap, fresh.words, word_bytes, TESS_TAG_SCRATCH);
    tess_heap_free(heap, fresh.to, to_bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_ar_field_sets_weights(const tess_ar_field_sets *sets, const int32_t *bad,
                                       int64_t n_bad, uint64_t *words, double *weights)
{
    memset(words, 0, (size_t)sets->n_word * sizeof *words);
    for (int64_t k = 0; k < n_bad; k++) {
        words[bad[k] / 64] |= UINT64_C(1) << (bad[k] % 64);
    }
    bool is_known = false;
    const int64_t at = find(sets, words, &is_known);
    if (!is_known) {
        TESS_FAIL(TESS_E_INTERNAL, "weights of a set of %lld bad MEG channels were not prepared",
                  (long long)n_bad);
    }
    memcpy(weights, sets->known[at].weights, (size_t)(n_bad * sets->field.n) * sizeof *weights);
    return TESS_OK;
}
