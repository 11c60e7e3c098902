// Curves of g2 as files.
#include "base/status.h"
#include "base/text.h"
#include "runtime/bundle.h"
#include "systems/xpcs/result/g2.h"
#include "tessera/io.h"

#include <math.h>
#include <string.h>

enum { N_ARRAY = 7 };

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path);
    return n > strlen(ending) && strcmp(path + n - strlen(ending), ending) == 0;
}

static void add_real(tess_text *text, double x)
{
    if (isnan(x)) {
        tess_text_add(text, ",");
    } else {
        tess_text_printf(text, ",%.9g", x);
    }
}

static void write_lines(const tess_xpcs_g2_info *info, tess_text *text)
{
    tess_text_add(text, "phi,q,age_from,age_to,tau,g2,g2_error,n_pair\n");
    for (int64_t a = 0; a < info->n_angle; a++) {
        for (int64_t w = 0; w < info->n_window; w++) {
            for (int64_t k = 0; k < info->n_lag; k++) {
                const int64_t at = (a * info->n_window + w) * info->n_lag + k;
                tess_text_printf(text, "%.9g,%.9g,%.9g,%.9g,%.9g", info->phi[a], info->q[a],
                                 info->age[w], info->age[w + 1], info->tau[k]);
                add_real(text, info->g2[at]);
                add_real(text, info->error[at]);
                tess_text_printf(text, ",%lld\n", (long long)info->n_pair[at]);
            }
        }
    }
}

static tess_status save_csv(tess_context *ctx, const tess_xpcs_g2_info *info, const char *path,
                            int overwrite)
{
    tess_text text;
    const char *chars = NULL;
    tess_text_init(&text, &ctx->heap);
    write_lines(info, &text);
    tess_status status = tess_text_finish(&text, &chars);
    if (status == TESS_OK) {
        status = tess_text_save(ctx, path, "xpcs.g2", chars, overwrite);
    }
    tess_text_destroy(&text);
    return status;
}

static tess_status save_arrays(tess_context *ctx, const tess_xpcs_g2_info *info, const char *path,
                               int overwrite)
{
    const int64_t shape[3] = {info->n_angle, info->n_window, info->n_lag};
    const int64_t n_edge = info->n_window + 1;
    const tess_origin origin = {.stage = "xpcs.g2"};
    tess_format_writer_input inputs[N_ARRAY];
    tess_bundle_input(&inputs[0], "g2", TESS_F64, 3, shape, info->g2);
    tess_bundle_input(&inputs[1], "g2_error", TESS_F64, 3, shape, info->error);
    tess_bundle_input(&inputs[2], "n_pair", TESS_I64, 3, shape, info->n_pair);
    tess_bundle_input(&inputs[3], "tau", TESS_F64, 1, &info->n_lag, info->tau);
    tess_bundle_input(&inputs[4], "age", TESS_F64, 1, &n_edge, info->age);
    tess_bundle_input(&inputs[5], "phi", TESS_F64, 1, &info->n_angle, info->phi);
    tess_bundle_input(&inputs[6], "q", TESS_F64, 1, &info->n_angle, info->q);
    return tess_bundle_write_from(ctx, &origin, path, inputs, N_ARRAY, overwrite);
}

tess_status tess_xpcs_g2_save(tess_context *ctx, const tess_xpcs_g2 *g2, const char *path,
                              int overwrite)
{
    tess_error_clear();
    if (ends_with(path, ".csv")) {
        return save_csv(ctx, &g2->info, path, overwrite);
    }
    if (ends_with(path, ".npz")) {
        return save_arrays(ctx, &g2->info, path, overwrite);
    }
    TESS_FAIL(TESS_E_ARGUMENT, "%s: the name must end in .csv or .npz", path);
}
