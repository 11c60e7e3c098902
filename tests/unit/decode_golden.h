// Golden data of decode: arrays of an .npz as doubles, and the structs made of them.
#ifndef TESS_TESTS_DECODE_GOLDEN_H
#define TESS_TESTS_DECODE_GOLDEN_H

#include "unit.h"

#include "tessera/decode.h"
#include "tessera/io.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct golden_array {
    int64_t n; // items
    int64_t shape[TESS_MAX_RANK];
    double *data; // free() it
} golden_array;

// Any numeric member as doubles; n -1 if there is no such member.
static inline golden_array golden_try(tess_context *ctx, const char *file, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, TESS_GOLDEN "/decode/%s", file);
    tess_source_config config;
    tess_source_config_init(&config, sizeof config);
    config.dataset = name;
    tess_source *source = NULL;
    golden_array a = {.n = -1};
    if (tess_source_open(ctx, path, &config, &source) != TESS_OK) {
        return a;
    }
    const tess_source_info *info = tess_source_get_info(source);
    a.n = 1;
    for (int32_t k = 0; k < info->rank; k++) {
        a.shape[k] = info->shape[k];
        a.n *= info->shape[k];
    }
    char *raw = malloc((size_t)(a.n * info->item_bytes) + 1);
    a.data = malloc((size_t)a.n * sizeof(double) + 8);
    assert_non_null(raw);
    assert_non_null(a.data);
    if (a.n > 0) {
        assert_ok(tess_source_read(source, 0, info->rank > 0 ? info->shape[0] : 1, raw,
                                   (uint64_t)(a.n * info->item_bytes)));
    }
    for (int64_t i = 0; i < a.n; i++) {
        switch (info->dtype) {
        case TESS_F64:
            a.data[i] = ((const double *)raw)[i];
            break;
        case TESS_I64:
            a.data[i] = (double)((const int64_t *)raw)[i];
            break;
        case TESS_BOOL:
            a.data[i] = raw[i] != 0;
            break;
        default:
            fail_msg("%s: %s has dtype %s", file, name, tess_dtype_name((tess_dtype)info->dtype));
        }
    }
    free(raw);
    tess_source_close(source);
    return a;
}

static inline golden_array golden(tess_context *ctx, const char *file, const char *name)
{
    const golden_array a = golden_try(ctx, file, name);
    if (a.n < 0) {
        fail_msg("%s has no %s: %s", file, name, tess_last_error());
    }
    return a;
}

// e{k}_{what} of electrode k.
static inline golden_array golden_electrode(tess_context *ctx, const char *file, int64_t k,
                                            const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "e%lld_%s", (long long)k, what);
    return golden_try(ctx, file, name);
}

enum { GOLDEN_MAX_ELECTRODE = 16 };

// Spike lists with the arrays they point to.
typedef struct golden_spikes {
    tess_decode_spikes spikes;
    int64_t n_spike[GOLDEN_MAX_ELECTRODE];
    int64_t n_feature[GOLDEN_MAX_ELECTRODE];
    const double *times[GOLDEN_MAX_ELECTRODE];
    const void *marks[GOLDEN_MAX_ELECTRODE];
} golden_spikes;

// prefix "" or "dec_"; electrodes without such a list fall back to the one for both.
static inline void golden_read_spikes(tess_context *ctx, const char *file, const char *prefix,
                                      golden_spikes *out)
{
    tess_decode_spikes_init(&out->spikes, sizeof out->spikes);
    int64_t n = 0;
    for (; n < GOLDEN_MAX_ELECTRODE; n++) {
        char what[32];
        snprintf(what, sizeof what, "%stimes", prefix);
        golden_array times = golden_electrode(ctx, file, n, what);
        snprintf(what, sizeof what, "%smarks", prefix);
        golden_array marks = golden_electrode(ctx, file, n, what);
        if (times.n < 0) {
            times = golden_electrode(ctx, file, n, "times");
            marks = golden_electrode(ctx, file, n, "marks");
        }
        if (times.n < 0) {
            break;
        }
        out->n_spike[n] = times.n;
        out->n_feature[n] = marks.shape[1];
        out->times[n] = times.data;
        out->marks[n] = marks.data;
    }
    out->spikes.n_electrode = n;
    out->spikes.n_spike = out->n_spike;
    out->spikes.n_feature = out->n_feature;
    out->spikes.times = out->times;
    out->spikes.marks = out->marks;
}

static inline void golden_free_spikes(golden_spikes *spikes)
{
    for (int64_t e = 0; e < spikes->spikes.n_electrode; e++) {
        free((void *)(uintptr_t)spikes->times[e]);
        free((void *)(uintptr_t)spikes->marks[e]);
    }
}

// Largest |got - want| / (absolute + relative * |want|); equal values, infinities among them, are
// 0.
static inline double golden_worst(const double *got, const double *want, int64_t n, double absolute,
                                  double relative)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        if (got[i] == want[i]) {
            continue;
        }
        const double error = fabs(got[i] - want[i]) / (absolute + relative * fabs(want[i]));
        worst = error > worst || isnan(error) ? error : worst;
        if (isnan(error)) {
            return (double)INFINITY;
        }
    }
    return worst;
}

#endif
