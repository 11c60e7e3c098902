#include "unit_golden.h"

#include "runtime/bundle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double *golden_f64(tess_context *ctx, const char *file, const char *name, int64_t *n)
{
    char path[512];
    snprintf(path, sizeof path, TESS_GOLDEN "/%s.npz", file);
    tess_bundle bundle = {0};
    assert_ok(tess_bundle_open(ctx, path, &bundle));
    const tess_bundle_entry *entry = tess_bundle_find(&bundle, name);
    if (!entry) {
        fail_msg("%s: no array '%s'", path, name);
    }
    double *out = malloc((size_t)entry->n_item * sizeof *out + 1);
    assert_non_null(out);
    assert_ok(tess_bundle_read_f64(&bundle, entry, out));
    if (n) {
        *n = entry->n_item;
    }
    tess_bundle_close(&bundle);
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
