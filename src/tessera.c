// The one file that knows everybody: built-in backends, formats and parameter tables.
#include "tessera/tessera.h"
#include "backend/cpu/cpu_backend.h"
#include "base/status.h"
#include "document/config.h"
#include "io/formats.h"
#include "runtime/context.h"
#include "tessera/sys/clifford_check.h"

#include <string.h>

tess_status tess_context_create(const tess_context_config *config, tess_context **out)
{
    static const tess_backend *const backends[] = {&tess_backend_cpu};
    static const tess_format *const formats[] = {&tess_format_npy, &tess_format_npz,
                                                 &tess_format_hdf5};
    static const tess_builtins builtins = {.backends = backends,
                                           .n_backend = sizeof backends / sizeof *backends,
                                           .n_format = sizeof formats / sizeof *formats,
                                           .formats = formats};
    return tess_context_create_with(config, &builtins, out);
}

const tess_param_table *const *tess_param_tables(int64_t *n_table)
{
    static const tess_param_table *tables[40];
    int64_t n = 0;
    tables[n++] = tess_autoreject_ptp_params();
    tables[n++] = tess_autoreject_simulate_params();
    tables[n++] = tess_autoreject_epochs_params();
    tables[n++] = tess_autoreject_fit_params();
    tables[n++] = tess_autoreject_interpolation_params();
    tables[n++] = tess_autoreject_global_params();
    tables[n++] = tess_autoreject_ransac_params();
    tables[n++] = tess_autoreject_transform_params();
    tables[n++] = tess_autoreject_report_params();
    tables[n++] = tess_autoreject_study_params();
    tables[n++] = tess_decode_environment_params();
    tables[n++] = tess_decode_simulate_params();
    tables[n++] = tess_decode_encoding_params();
    tables[n++] = tess_decode_detector_params();
    tables[n++] = tess_decode_predict_params();
    tables[n++] = tess_decode_em_params();
    tables[n++] = tess_decode_online_params();
    tables[n++] = tess_decode_model_params();
    tables[n++] = tess_decode_tune_params();
    tables[n++] = tess_decode_report_params();
    tables[n++] = tess_decode_events_params();
    tables[n++] = tess_xpcs_model_params();
    tables[n++] = tess_xpcs_data_params();
    tables[n++] = tess_xpcs_fit_params();
    tables[n++] = tess_xpcs_sample_params();
    tables[n++] = tess_xpcs_simulation_params();
    tables[n++] = tess_clifford_params();
    tables[n++] = tess_clifford_check_params();
    *n_table = n;
    return tables;
}

tess_status tess_config_load(tess_context *ctx, const char *path,
                             const tess_param_table *const *extra, int64_t n_extra,
                             tess_config **out)
{
    tess_error_clear();
    *out = NULL;
    int64_t n_own = 0;
    const tess_param_table *const *own = tess_param_tables(&n_own);
    const size_t bytes = (size_t)(n_own + n_extra) * sizeof *own;
    const tess_param_table **tables =
        tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_IO, "parameter tables");
    if (tables == NULL) {
        return TESS_E_MEMORY;
    }
    memcpy(tables, own, (size_t)n_own * sizeof *own);
    if (n_extra > 0) {
        memcpy(tables + n_own, extra, (size_t)n_extra * sizeof *extra);
    }
    const tess_status status =
        tess_config_load_with(&ctx->heap, path, tables, n_own + n_extra, out);
    tess_heap_free(&ctx->heap, tables, bytes, TESS_TAG_IO);
    return status;
}
