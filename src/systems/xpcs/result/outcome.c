#include "systems/xpcs/result/outcome.h"

#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "runtime/origin.h"
#include "runtime/provenance.h"
#include "tessera/device.h"

#include <stdio.h>
#include <unistd.h>

static tess_status make_origin(tess_context *ctx, const tess_xp_outcome *outcome, char **text,
                               size_t *bytes)
{
    const tess_origin origin = {.stage = outcome->stage, .identity = outcome->identity};
    return tess_origin_make(ctx, &origin, text, bytes);
}

tess_status tess_xp_outcome_json(tess_context *ctx, const tess_xp_outcome *outcome, char **text)
{
    tess_json *json = NULL;
    char *origin = NULL;
    size_t bytes = 0;
    TESS_TRY(make_origin(ctx, outcome, &origin, &bytes));
    const tess_status status = tess_json_create(ctx, 2, &json);
    if (status == TESS_OK) {
        tess_json_object_begin(json, NULL);
        tess_json_raw(json, TESS_ORIGIN_NAME, origin);
        outcome->put(json, outcome->info);
        tess_json_object_end(json);
    }
    tess_heap_free(&ctx->heap, origin, bytes, TESS_TAG_RESULT);
    return status == TESS_OK ? tess_json_hand_out(json, text) : status;
}

tess_status tess_xp_outcome_begin(tess_context *ctx, const tess_xp_outcome *outcome,
                                  const char *folder, const char *const *names, int n,
                                  int overwrite, char (*paths)[TESS_XP_OUTCOME_PATH], int *replace)
{
    for (int i = 0; i < n; i++) {
        if (snprintf(paths[i], TESS_XP_OUTCOME_PATH, "%s/%s", folder, names[i]) >=
            TESS_XP_OUTCOME_PATH) {
            TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", folder);
        }
    }
    *replace = overwrite == 1 ||
               (overwrite == 2 && tess_provenance_is_of(ctx, paths[0], outcome->identity));
    for (int i = 0; i < n; i++) {
        if (!*replace && access(paths[i], F_OK) == 0) {
            TESS_FAIL(TESS_E_EXISTS, "%s: exists already; pass --overwrite to replace it",
                      paths[i]);
        }
    }
    return tess_file_make_folders(folder);
}

tess_status tess_xp_outcome_write_json(tess_context *ctx, const tess_xp_outcome *outcome,
                                       const char *path, int replace)
{
    char *text = NULL;
    TESS_TRY(tess_xp_outcome_json(ctx, outcome, &text));
    const tess_status status = tess_file_write_text(path, text, replace);
    tess_text_free(text);
    return status;
}

tess_status tess_xp_outcome_write_arrays(const tess_xp_outcome *outcome, tess_xp_arrays *arrays,
                                         const char *path, int replace)
{
    char *origin = NULL;
    size_t bytes = 0;
    TESS_TRY(make_origin(arrays->ctx, outcome, &origin, &bytes));
    const tess_status status = tess_xp_arrays_write(arrays, path, origin, replace);
    tess_heap_free(&arrays->ctx->heap, origin, bytes, TESS_TAG_RESULT);
    return status;
}
