// Configuration files: parsing, the tables' judgement, and applying what was accepted.

#include "document/config.h"
#include "fuzz_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    int64_t n_fold;
    double rate_hz;
    int32_t verbose;
    int32_t method;
    uint64_t tile_bytes;
} settings;

static const tess_param fit_params[] = {
    {"n_fold", TESS_PARAM_INT, offsetof(settings, n_fold), 10, 2, 100, NULL, "", ""},
    {"rate_hz", TESS_PARAM_REAL, offsetof(settings, rate_hz), 1, 1e-6, 1e6, NULL, "", ""},
    {"verbose", TESS_PARAM_FLAG, offsetof(settings, verbose), 0, 0, 1, NULL, "", ""},
    {"method", TESS_PARAM_CHOICE, offsetof(settings, method), 0, 0, 2, "exact|compat|off", "", ""},
    {"tile_bytes", TESS_PARAM_BYTES, offsetof(settings, tile_bytes), 1e6, 1, 1e12, NULL, "", ""},
};
static const tess_param_table fit_table = {"demo.fit", fit_params, 5};
static const tess_param_table run_table = {"demo", fit_params, 2};
static const tess_param_table *const tables[] = {&fit_table, &run_table};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tess_heap heap;
    tess_heap_init(&heap, NULL);
    tess_config *config = NULL;
    if (tess_config_load_with(&heap, fuzz_file_of(data, size), tables, 2, &config) == TESS_OK) {
        settings s;
        tess_params_defaults(&fit_table, &s);
        // What was accepted must apply, and leave every field in range.
        if (tess_config_apply(config, &fit_table, &s) != TESS_OK ||
            tess_params_check(&fit_table, &s) != TESS_OK) {
            abort();
        }
        const char *warnings = tess_config_warnings(config);
        if (warnings[0] != '\0' && warnings[strlen(warnings) - 1] != '\n') {
            abort(); // whole lines only
        }
    }
    tess_config_destroy(config);
    if (atomic_load(&heap.now_bytes) != 0) {
        abort();
    }
    return 0;
}
