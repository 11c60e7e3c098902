// Covariates out of a file: an intercept, and data sets with a number for every time bin.
#include "systems/decode/files/covariates.h"

#include "base/blocks.h"
#include "runtime/bundle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COVARIATES = 64, MOST_CHARS = 256 };

struct tess_decode_covariates {
    tess_heap *heap;
    tess_blocks blocks;
    double *design; // [n_time][n_coefficient]
    int64_t n_coefficient;
};

const char *tess_de_covariates_name(const char *names, int64_t k, size_t *length)
{
    for (; k > 0; k--) {
        names += strcspn(names, ",") + 1;
    }
    *length = strcspn(names, ",");
    return names;
}

tess_status tess_de_covariates_check(const char *names, int64_t *n)
{
    *n = 1;
    for (const char *at = names; *at; at++) {
        *n += *at == ',';
    }
    if (*n > MOST_COVARIATES) {
        TESS_FAIL(TESS_E_ARGUMENT, "covariates: %lld are named; there can be %d", (long long)*n,
                  (int)MOST_COVARIATES);
    }
    for (int64_t i = 0; i < *n; i++) {
        size_t length = 0;
        size_t other = 0;
        const char *name = tess_de_covariates_name(names, i, &length);
        if (length == 0 || length >= MOST_CHARS) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "covariates: name %lld of '%.200s' is empty or too long; give names of data "
                      "sets, separated by commas",
                      (long long)i + 1, names);
        }
        for (int64_t k = 0; k < i; k++) {
            const char *before = tess_de_covariates_name(names, k, &other);
            if (other == length && strncmp(before, name, length) == 0) {
                TESS_FAIL(TESS_E_ARGUMENT, "covariates: '%.*s' is named twice", (int)length, name);
            }
        }
    }
    return TESS_OK;
}

// The data sets that could be meant.
static void list_candidates(const tess_bundle *bundle, int64_t n_time, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < bundle->n_entry; i++) {
        const tess_bundle_entry *entry = &bundle->entries[i];
        if (entry->dtype == 0 || entry->n_item != n_time || used + 64 > size) {
            continue;
        }
        used +=
            (size_t)snprintf(text + used, size - used, "%s%.40s", used ? ", " : "", entry->name);
    }
}

static tess_status find_set(const tess_bundle *bundle, const char *name, int64_t n_time,
                            const tess_bundle_entry **entry)
{
    *entry = tess_bundle_find(bundle, name);
    if (!*entry) {
        char there[400];
        list_candidates(bundle, n_time, there, sizeof there);
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: has no data set '%s' for covariates; with a number for each of the %lld "
                  "time bins it has %s",
                  bundle->path, name, (long long)n_time, there[0] ? there : "none");
    }
    if ((*entry)->n_item != n_time) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: %s has %lld values, and there are %lld time bins; a covariate has one for "
                  "each of them",
                  bundle->path, name, (long long)(*entry)->n_item, (long long)n_time);
    }
    return TESS_OK;
}

static tess_status read_column(const tess_bundle *bundle, const char *name, int64_t n_time,
                               double *values, double *column, int64_t n_coefficient)
{
    const tess_bundle_entry *entry = NULL;
    TESS_TRY(find_set(bundle, name, n_time, &entry));
    TESS_TRY(tess_bundle_read_f64(bundle, entry, values));
    for (int64_t t = 0; t < n_time; t++) {
        if (!isfinite(values[t])) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: %s is not finite in time bin %lld; transitions need a number in every "
                      "bin: interpolate it, or leave such bins out",
                      bundle->path, name, (long long)t);
        }
        column[t * n_coefficient] = values[t];
    }
    return TESS_OK;
}

static tess_status read_all(const tess_bundle *bundle, const char *names, int64_t n_name,
                            int64_t n_time, tess_decode_covariates *c)
{
    c->n_coefficient = n_name + 1;
    c->design =
        tess_blocks_alloc(&c->blocks, n_time * c->n_coefficient, sizeof *c->design, "covariates");
    double *values = tess_blocks_alloc(&c->blocks, n_time, sizeof *values, "covariates");
    if (!c->design || !values) {
        return TESS_E_MEMORY;
    }
    for (int64_t t = 0; t < n_time; t++) {
        c->design[t * c->n_coefficient] = 1;
    }
    for (int64_t i = 0; i < n_name; i++) {
        char name[MOST_CHARS];
        size_t length = 0;
        const char *at = tess_de_covariates_name(names, i, &length);
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        TESS_TRY(read_column(bundle, name, n_time, values, c->design + i + 1, c->n_coefficient));
    }
    return tess_bundle_check(bundle);
}

tess_status tess_decode_covariates_open(tess_context *ctx, const char *path, const char *names,
                                        int64_t n_time, tess_decode_covariates **out)
{
    tess_error_clear();
    tess_bundle bundle;
    int64_t n_name = 0;
    *out = NULL;
    TESS_TRY(tess_de_covariates_check(names, &n_name));
    TESS_TRY(tess_bundle_open(ctx, path, &bundle));
    tess_decode_covariates *c =
        tess_heap_alloc_zero(&ctx->heap, sizeof *c, TESS_TAG_RESULT, "covariates");
    tess_status status = c ? TESS_OK : TESS_E_MEMORY;
    if (c) {
        c->heap = &ctx->heap;
        tess_blocks_init(&c->blocks, &ctx->heap);
        status = read_all(&bundle, names, n_name, n_time, c);
    }
    tess_bundle_close(&bundle);
    if (status != TESS_OK) {
        tess_decode_covariates_close(c);
        return status;
    }
    *out = c;
    return TESS_OK;
}

const double *tess_decode_covariates_design(const tess_decode_covariates *covariates,
                                            int64_t *n_coefficient)
{
    if (n_coefficient) {
        *n_coefficient = covariates->n_coefficient;
    }
    return covariates->design;
}

void tess_decode_covariates_close(tess_decode_covariates *covariates)
{
    if (covariates) {
        tess_blocks_free(&covariates->blocks);
        tess_heap_free(covariates->heap, covariates, sizeof *covariates, TESS_TAG_RESULT);
    }
}
