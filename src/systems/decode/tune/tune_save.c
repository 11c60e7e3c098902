// The choice of a tuning as a configuration file.
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "base/text.h"
#include "runtime/origin.h"
#include "systems/decode/tune/tuning.h"

#include <string.h>

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text);
    const size_t m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static tess_status add_origin(tess_context *ctx, tess_text *text)
{
    char *origin = NULL;
    size_t bytes = 0;
    TESS_TRY(tess_origin_make(ctx, &(tess_origin){.stage = "decode.tune", .with_run = true},
                              &origin, &bytes));
    tess_text_add(text, "# " TESS_ORIGIN_NAME " ");
    tess_text_add(text, origin);
    tess_text_add(text, "\n");
    tess_heap_free(&ctx->heap, origin, bytes, TESS_TAG_RESULT);
    return TESS_OK;
}

static tess_status add_choice(tess_context *ctx, const tess_decode_tuning_info *info,
                              tess_text *text)
{
    tess_json *json = NULL;
    const char *chosen = NULL;
    TESS_TRY(tess_json_create_on(&ctx->heap, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_object_begin(json, "decode");
    tess_json_object_begin(json, "encoding");
    if (!info->has_waveform) {
        tess_json_text(json, "algorithm", "sorted_spikes_kde");
    }
    tess_json_real(json, "position_std", info->position_std);
    if (info->has_waveform) {
        tess_json_real(json, "waveform_std", info->waveform_std);
    }
    tess_json_object_end(json);
    tess_json_object_end(json);
    tess_json_object_end(json);
    const tess_status status = tess_json_finish(json, &chosen);
    if (status == TESS_OK) {
        tess_text_add(text, chosen);
        tess_text_add(text, "\n");
    }
    tess_json_destroy(json);
    return status;
}

tess_status tess_decode_tuning_save(tess_context *ctx, const tess_decode_tuning *tuning,
                                    const char *path, int overwrite)
{
    tess_error_clear();
    tess_text text;
    const char *finished = NULL;
    tess_text_init(&text, &ctx->heap);
    tess_status status = ends_with(path, ".json") ? TESS_OK : add_origin(ctx, &text);
    if (status == TESS_OK) {
        status = add_choice(ctx, &tuning->info, &text);
    }
    if (status == TESS_OK) {
        status = tess_text_finish(&text, &finished);
    }
    if (status == TESS_OK) {
        status = tess_file_write_text(path, finished, overwrite);
    }
    tess_text_destroy(&text);
    return status;
}
