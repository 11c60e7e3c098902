#include "systems/autoreject/local/bins.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Products in double, as the original compares.
static tess_status make_levels(tess_blocks *memory, const tess_ar_local_request *request,
                               tess_ar_bins *bins)
{
    const int64_t n = request->n_consensus;
    bins->limits = tess_blocks_alloc(memory, n, sizeof *bins->limits, "levels of consensus");
    bins->level_of = tess_blocks_alloc(memory, n, sizeof *bins->level_of, "levels of consensus");
    if (!bins->limits || !bins->level_of) {
        return TESS_E_MEMORY;
    }
    const double n_chan = (double)request->store->n_chan;
    for (int64_t i = 0; i < n; i++) {
        bins->limits[i] = request->consensus[i] * n_chan;
    }
    qsort(bins->limits, (size_t)n, sizeof *bins->limits, by_value);
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || bins->limits[i] != bins->limits[i - 1]) {
            bins->limits[bins->n_level++] = bins->limits[i];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        while (bins->limits[bins->level_of[i]] != request->consensus[i] * n_chan) {
            bins->level_of[i]++;
        }
    }
    return TESS_OK;
}

static tess_status make_tests(tess_blocks *memory, const tess_ar_local_request *request,
                              tess_ar_bins *bins)
{
    const int64_t n_epoch = request->store->n_epoch;
    int64_t n_test = 0;
    for (int64_t i = 0; i < request->n_fold * n_epoch; i++) {
        n_test += request->folds[i] == 2;
    }
    bins->test_first =
        tess_blocks_alloc(memory, request->n_fold + 1, sizeof *bins->test_first, "folds");
    bins->test = tess_blocks_alloc(memory, n_test, sizeof *bins->test, "folds");
    if (!bins->test_first || !bins->test) {
        return TESS_E_MEMORY;
    }
    n_test = 0;
    for (int64_t f = 0; f < request->n_fold; f++) {
        for (int64_t e = 0; e < n_epoch; e++) {
            if (request->folds[f * n_epoch + e] == 2) {
                bins->test[n_test++] = e;
            }
        }
        const int64_t n = n_test - bins->test_first[f];
        if (n == 0) {
            TESS_FAIL(TESS_E_SHAPE, "folds: fold %lld has no epoch to test with", (long long)f);
        }
        bins->max_test = n > bins->max_test ? n : bins->max_test;
        bins->test_first[f + 1] = n_test;
    }
    return TESS_OK;
}

static bool train_the_same(const tess_ar_local_request *request, int64_t a, int64_t b)
{
    const int64_t n_epoch = request->store->n_epoch;
    for (int64_t f = 0; f < request->n_fold; f++) {
        const uint8_t *fold = request->folds + f * n_epoch;
        if ((fold[a] == 1) != (fold[b] == 1)) {
            return false;
        }
    }
    return true;
}

// Hash of the folds each epoch trains: equal ones are compared in full, others need not be.
static void hash_folds(const tess_ar_local_request *request, uint64_t *hashes)
{
    const int64_t n_epoch = request->store->n_epoch;
    for (int64_t f = 0; f < request->n_fold; f++) {
        for (int64_t e = 0; e < n_epoch; e++) {
            const uint64_t bit = request->folds[f * n_epoch + e] == 1;
            hashes[e] = (hashes[e] ^ (bit + 2)) * UINT64_C(0x9e3779b97f4a7c15);
            hashes[e] ^= hashes[e] >> 29;
        }
    }
}

static int64_t level_of_count(const tess_ar_bins *bins, int64_t count)
{
    int64_t level = 0;
    while (level < bins->n_level && (double)count >= bins->limits[level]) {
        level++;
    }
    return level;
}

// Bins by level, then by the epoch that comes first.
static void number_bins(const tess_ar_local_request *request, const uint64_t *hashes,
                        tess_ar_bins *bins)
{
    const int64_t n_epoch = request->store->n_epoch;
    for (int64_t e = 0; e < n_epoch; e++) {
        bins->bin[e] = -1;
        bins->level[e] = level_of_count(bins, request->counts[e]);
    }
    for (int64_t l = 0; l < bins->n_level; l++) {
        bins->bin_first[l] = bins->n_bin;
        for (int64_t e = 0; e < n_epoch; e++) {
            if (bins->level[e] != l) {
                continue;
            }
            int64_t b = bins->bin_first[l];
            while (b < bins->n_bin && (hashes[bins->bin_epoch[b]] != hashes[e] ||
                                       !train_the_same(request, bins->bin_epoch[b], e))) {
                b++;
            }
            if (b == bins->n_bin) {
                bins->bin_epoch[bins->n_bin++] = e;
            }
            bins->bin[e] = b;
        }
    }
    bins->bin_first[bins->n_level] = bins->n_bin;
}

tess_status tess_ar_bins_make(tess_blocks *memory, const tess_ar_local_request *request,
                              tess_ar_bins *bins)
{
    const int64_t n_epoch = request->store->n_epoch;
    *bins = (tess_ar_bins){0};
    TESS_TRY(make_levels(memory, request, bins));
    TESS_TRY(make_tests(memory, request, bins));
    uint64_t *hashes = tess_blocks_alloc(memory, n_epoch, sizeof *hashes, "bins of epochs");
    bins->bin = tess_blocks_alloc(memory, n_epoch, sizeof *bins->bin, "bins of epochs");
    bins->level = tess_blocks_alloc(memory, n_epoch, sizeof *bins->level, "bins of epochs");
    bins->bin_epoch = tess_blocks_alloc(memory, n_epoch, sizeof *bins->bin_epoch, "bins of epochs");
    bins->bin_first =
        tess_blocks_alloc(memory, bins->n_level + 1, sizeof *bins->bin_first, "bins of epochs");
    if (!hashes || !bins->bin || !bins->level || !bins->bin_epoch || !bins->bin_first) {
        return TESS_E_MEMORY;
    }
    hash_folds(request, hashes);
    number_bins(request, hashes, bins);
    bins->train = tess_blocks_alloc(memory, request->n_fold * (bins->n_bin + 1),
                                    sizeof *bins->train, "bins of epochs");
    if (!bins->train) {
        return TESS_E_MEMORY;
    }
    for (int64_t f = 0; f < request->n_fold; f++) {
        for (int64_t b = 0; b < bins->n_bin; b++) {
            bins->train[f * bins->n_bin + b] =
                request->folds[f * n_epoch + bins->bin_epoch[b]] == 1;
        }
    }
    return TESS_OK;
}

// True if some consensus keeps epochs at all in this column: consensus * n_chan > n_interpolate.
static bool is_wanted(const tess_ar_local_request *request, const tess_ar_bins *bins,
                      int64_t column)
{
    return bins->limits[bins->n_level - 1] > (double)request->n_interpolate[column];
}

static int64_t list_bad(const int8_t *labels, int64_t n_chan, int32_t *bad)
{
    int64_t n = 0;
    for (int64_t c = 0; c < n_chan; c++) {
        if (labels[c] == 2) {
            bad[n++] = (int32_t)c;
        }
    }
    return n;
}

// Adds the repairs of one column whose labels are given.
static void add_column(const tess_ar_local_request *request, const tess_ar_bins *bins,
                       int64_t column, const int8_t *labels, int32_t *scratch,
                       tess_ar_repairs *repairs)
{
    const int64_t n_epoch = request->store->n_epoch;
    const int64_t n_chan = request->store->n_chan;
    int64_t *of_epoch = repairs->of_epoch + column * n_epoch;
    for (int64_t e = 0; e < n_epoch; e++) {
        const int64_t n_bad = list_bad(labels + e * n_chan, n_chan, scratch);
        of_epoch[e] = -1;
        if (n_bad == 0 || bins->bin[e] < 0 || !is_wanted(request, bins, column)) {
            continue;
        }
        if (n_chan - n_bad < tess_ar_least_sources(request->rho_mode)) {
            of_epoch[e] = -2;
            repairs->n_left_out++;
            continue;
        }
        const int64_t before = column > 0 ? of_epoch[e - n_epoch] : -1;
        if (before >= 0 && repairs->first[before + 1] - repairs->first[before] == n_bad &&
            memcmp(repairs->bad + repairs->first[before], scratch,
                   (size_t)n_bad * sizeof *scratch) == 0) {
            of_epoch[e] = before;
            continue;
        }
        of_epoch[e] = repairs->n_repair;
        repairs->epoch[repairs->n_repair] = e;
        memcpy(repairs->bad + repairs->n_row, scratch, (size_t)n_bad * sizeof *scratch);
        repairs->n_row += n_bad;
        repairs->first[++repairs->n_repair] = repairs->n_row;
        repairs->max_bad = n_bad > repairs->max_bad ? n_bad : repairs->max_bad;
    }
}

// Rows that the repairs of all columns can have at most.
static int64_t most_rows(const tess_ar_local_request *request)
{
    int64_t n = 0;
    int64_t carried = 0;
    for (int64_t j = 0; j < request->n_n_interpolate; j++) {
        const int64_t own = request->n_interpolate[j];
        carried = request->rho_mode == TESS_AUTOREJECT_RHO_CUMULATIVE ? carried + own : own;
        for (int64_t e = 0; e < request->store->n_epoch; e++) {
            n += request->counts[e] < carried ? request->counts[e] : carried;
        }
    }
    return n;
}

tess_status tess_ar_repairs_make(tess_blocks *memory, const tess_ar_local_request *request,
                                 const tess_ar_bins *bins, tess_ar_repairs *repairs)
{
    const int64_t n_epoch = request->store->n_epoch;
    const int64_t n_chan = request->store->n_chan;
    const int64_t n_column = request->n_n_interpolate;
    *repairs = (tess_ar_repairs){0};
    repairs->of_epoch =
        tess_blocks_alloc(memory, n_column * n_epoch, sizeof *repairs->of_epoch, "repairs");
    repairs->epoch =
        tess_blocks_alloc(memory, n_column * n_epoch, sizeof *repairs->epoch, "repairs");
    repairs->first =
        tess_blocks_alloc(memory, n_column * n_epoch + 1, sizeof *repairs->first, "repairs");
    repairs->bad = tess_blocks_alloc(memory, most_rows(request), sizeof *repairs->bad, "repairs");
    int32_t *scratch = tess_blocks_alloc(memory, n_chan, sizeof *scratch, "repairs");
    int8_t *labels = tess_blocks_copy(memory, request->labels, n_epoch * n_chan, 1, "labels");
    if (!repairs->of_epoch || !repairs->epoch || !repairs->first || !repairs->bad || !scratch ||
        !labels) {
        return TESS_E_MEMORY;
    }
    for (int64_t j = 0; j < n_column; j++) {
        if (!tess_ar_repairer_can(request->repairer)) {
            memset(repairs->of_epoch + j * n_epoch, 0xff, (size_t)n_epoch * sizeof(int64_t));
            continue;
        }
        if (request->rho_mode != TESS_AUTOREJECT_RHO_CUMULATIVE) {
            memcpy(labels, request->labels, (size_t)(n_epoch * n_chan));
        }
        tess_ar_select_repairs(labels, request->store->delta, n_epoch, n_chan,
                               request->n_interpolate[j]);
        add_column(request, bins, j, labels, scratch, repairs);
    }
    return TESS_OK;
}

void tess_ar_count_kept(const tess_ar_local_request *request, const tess_ar_bins *bins,
                        const tess_ar_repairs *repairs, int64_t *n_kept)
{
    const int64_t n_epoch = request->store->n_epoch;
    for (int64_t j = 0; j < request->n_n_interpolate; j++) {
        for (int64_t f = 0; f < request->n_fold; f++) {
            int64_t *row = n_kept + (j * request->n_fold + f) * bins->n_level;
            memset(row, 0, (size_t)bins->n_level * sizeof *row);
            for (int64_t e = 0; e < n_epoch; e++) {
                if (bins->bin[e] >= 0 && request->folds[f * n_epoch + e] == 1 &&
                    repairs->of_epoch[j * n_epoch + e] != -2) {
                    row[bins->level[e]]++;
                }
            }
            for (int64_t l = 1; l < bins->n_level; l++) {
                row[l] += row[l - 1];
            }
            for (int64_t l = 0; l < bins->n_level; l++) {
                if (!(bins->limits[l] > (double)request->n_interpolate[j])) {
                    row[l] = 0;
                }
            }
        }
    }
}
