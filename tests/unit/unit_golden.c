#include "unit_golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void *read_all(tess_context *ctx, const char *file, const char *name, int64_t *n,
                      tess_dtype *dtype)
{
    char path[512];
    snprintf(path, sizeof path, TESS_GOLDEN_DECODE "/%s.npz", file);
    tess_source_config config;
    tess_source_config_init(&config, sizeof config);
    config.dataset = name;
    tess_source *source = NULL;
    assert_ok(tess_source_open(ctx, path, &config, &source));
    const tess_source_info *info = tess_source_get_info(source);
    int64_t n_item = 1;
    for (int32_t i = 0; i < info->rank; i++) {
        n_item *= info->shape[i];
    }
    const size_t bytes = (size_t)(n_item * info->item_bytes);
    void *data = malloc(bytes + 1);
    assert_non_null(data);
    assert_ok(tess_source_read(source, 0, info->rank ? info->shape[0] : 1, data, bytes));
    *n = n_item;
    *dtype = (tess_dtype)info->dtype;
    tess_source_close(source);
    return data;
}

double *golden_f64(tess_context *ctx, const char *file, const char *name, int64_t *n)
{
    int64_t n_item = 0;
    tess_dtype dtype;
    void *data = read_all(ctx, file, name, &n_item, &dtype);
    double *out = malloc((size_t)n_item * sizeof *out + 1);
    assert_non_null(out);
    for (int64_t i = 0; i < n_item; i++) {
        out[i] = dtype == TESS_F64   ? ((const double *)data)[i]
                 : dtype == TESS_I64 ? (double)((const int64_t *)data)[i]
                                     : (double)((const uint8_t *)data)[i];
    }
    free(data);
    if (n) {
        *n = n_item;
    }
    return out;
}

int64_t *golden_i64(tess_context *ctx, const char *file, const char *name, int64_t *n)
{
    int64_t n_item = 0;
    double *values = golden_f64(ctx, file, name, &n_item);
    int64_t *out = malloc((size_t)n_item * sizeof *out + 1);
    assert_non_null(out);
    for (int64_t i = 0; i < n_item; i++) {
        out[i] = (int64_t)values[i];
    }
    free(values);
    if (n) {
        *n = n_item;
    }
    return out;
}

double golden_scalar(tess_context *ctx, const char *file, const char *name)
{
    int64_t n = 0;
    double *values = golden_f64(ctx, file, name, &n);
    assert_int_equal(n, 1);
    const double value = values[0];
    free(values);
    return value;
}

void golden_check_near(const double *got, const double *want, int64_t n, double tolerance,
                       const char *what, const char *file, int line)
{
    for (int64_t i = 0; i < n; i++) {
        const int same = got[i] == want[i] || (isnan(got[i]) && isnan(want[i]));
        if (!same && !(fabs(got[i] - want[i]) <= tolerance)) {
            print_error("%s[%lld]: got %.17g, want %.17g\n", what, (long long)i, got[i], want[i]);
            _fail(file, line);
        }
    }
}
