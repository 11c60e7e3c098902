// tess_config_load(): the tables of the whole library and those of the caller.

#include "base/status.h"
#include "io/config.h"
#include "runtime/context.h"

#include <string.h>

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
