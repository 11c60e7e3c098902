// Configurations of xpcs: reading, what follows, JSON, and setting what was read once more.

#include "fuzz_file.h"
#include "runtime/context.h"
#include "tessera/device.h"
#include "tessera/tessera.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tess_context *context(void)
{
    static tess_context *ctx;
    if (ctx == NULL) {
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.n_thread = 1;
        config.device = "cpu";
        if (tess_context_create(&config, &ctx) != TESS_OK) {
            abort();
        }
    }
    return ctx;
}

// Whatever a file says, what is handed on must be usable.
static void check_info(const tess_xpcs_settings_info *info)
{
    if (tess_params_check(tess_xpcs_model_params(), &info->model) != TESS_OK ||
        tess_params_check(tess_xpcs_data_params(), &info->data) != TESS_OK ||
        tess_params_check(tess_xpcs_fit_params(), &info->fit) != TESS_OK) {
        fprintf(stderr, "%s\n", tess_last_error());
        abort();
    }
    int64_t n = 0;
    tess_xpcs_params((tess_xpcs_mode)info->model.mode, &n);
    for (int64_t i = 0; i < n; i++) {
        const int is_fixed = info->fit.is_fixed != NULL && info->fit.is_fixed[i];
        if (!(info->fit.lower[i] <= info->fit.upper[i]) ||
            (is_fixed && !isfinite(info->fit.start[i]))) {
            abort();
        }
    }
    const size_t length = strlen(info->notices);
    if (length > 0 && info->notices[length - 1] != '\n') {
        abort(); // whole lines only
    }
}

static void use(tess_context *ctx, tess_xpcs_settings *settings)
{
    char *text = NULL;
    char *again = NULL;
    check_info(tess_xpcs_settings_get_info(settings));
    if (tess_xpcs_settings_json(ctx, settings, &text) != TESS_OK) {
        abort();
    }
    // What fails must leave no trace; what succeeds must leave something usable.
    if (tess_xpcs_settings_set(settings, "optimization.nlsq.xtol", "no number") == TESS_OK ||
        tess_xpcs_settings_json(ctx, settings, &again) != TESS_OK || strcmp(text, again) != 0) {
        abort();
    }
    if (tess_xpcs_settings_set(settings, "analysis_mode", "static_isotropic") == TESS_OK) {
        check_info(tess_xpcs_settings_get_info(settings));
    }
    tess_text_free(text);
    tess_text_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tess_context *ctx = context();
    const uint64_t before = atomic_load(&ctx->heap.now_bytes);
    tess_xpcs_settings *settings = NULL;
    const int lenient = size > 0 && data[0] == '#';
    if (tess_xpcs_settings_load(ctx, fuzz_file_of(data, size), lenient, &settings) == TESS_OK) {
        use(ctx, settings);
    }
    tess_xpcs_settings_destroy(settings);
    if (atomic_load(&ctx->heap.now_bytes) != before) {
        fprintf(stderr, "blocks were not given back\n");
        abort();
    }
    return 0;
}
