// Data that went through a .txc2 file on their way to another process.
#include "base/status.h"
#include "systems/xpcs/store/txc2.h"

#include <string.h>

// The library's own word for a layout, which outlives the caller's.
static tess_status known_layout(const char *layout, const char **out)
{
    static const char *const known[] = {"aps-u", "aps-legacy", "cache",  "txc2",
                                        "array", "simulation", "dataset"};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        if (strcmp(layout, known[k]) == 0) {
            *out = known[k];
            return TESS_OK;
        }
    }
    TESS_FAIL(TESS_E_ARGUMENT, "layout: '%s' is not one that data have", layout);
}

// From the file into memory; the file is not needed any more.
static void move_to_memory(tess_xpcs_data *data)
{
    data->records = atomic_exchange(&data->file->held, NULL);
    data->record_bytes = data->info.bytes;
    data->info.residency = TESS_XPCS_IN_MEMORY;
    tess_xp_txc2_close(data->file);
    data->file = NULL;
}

static tess_status restore(tess_context *ctx, tess_xpcs_data *data, const char *path,
                           const char *layout)
{
    TESS_TRY(known_layout(layout, &data->info.layout));
    TESS_TRY(tess_xp_data_set_path(data, path));
    data->origin[0] = '\0'; // the file's, which is not where the data are from
    const tess_status status = tess_xp_data_hold(ctx, data, 0);
    if (status == TESS_E_MEMORY || status == TESS_E_LIMIT) {
        tess_error_clear(); // they stay in the file, as data that are too large do
        return TESS_OK;
    }
    TESS_TRY(status);
    move_to_memory(data);
    return TESS_OK;
}

tess_status tess_xpcs_data_restore(tess_context *ctx, const char *file, const char *path,
                                   const char *layout, tess_xpcs_data **out)
{
    tess_error_clear();
    *out = NULL;
    tess_xpcs_data *data = NULL;
    TESS_TRY(tess_xp_txc2_open(ctx, file, &data));
    const tess_status status = restore(ctx, data, path, layout);
    if (status != TESS_OK) {
        tess_xpcs_data_destroy(data);
        return status;
    }
    *out = data;
    return TESS_OK;
}
