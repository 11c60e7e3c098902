// Tables with a row per epoch, as JSON lists.
#include "systems/autoreject/files/recording.h"
#include "systems/autoreject/text/json_list.h"

#include <string.h>

tess_status tess_ar_metadata_rows(tess_text *out, const char *table, const int64_t *kept, int64_t n)
{
    const char *item = NULL;
    size_t bytes;
    int64_t k = 0;
    tess_text_add(out, "[");
    for (int64_t row = 0; k < n && tess_ar_json_next(&table, &item, &bytes); row++) {
        if (row == kept[k]) {
            tess_text_add(out, k > 0 ? "," : "");
            tess_text_append(out, item, bytes);
            k++;
        }
    }
    tess_text_add(out, "]");
    const char *chars;
    return tess_text_finish(out, &chars);
}

tess_status tess_ar_keep_rows(tess_autoreject_epochs *epochs, const int64_t *kept, int64_t n)
{
    if (!epochs->info.metadata) {
        return TESS_OK;
    }
    tess_text text;
    tess_text_init(&text, &epochs->ctx->heap);
    tess_status status = tess_ar_metadata_rows(&text, epochs->info.metadata, kept, n);
    if (status == TESS_OK) {
        epochs->info.metadata = tess_ar_epochs_text(epochs, text.chars);
        status = epochs->info.metadata ? TESS_OK : TESS_E_MEMORY;
    }
    tess_text_destroy(&text);
    return status;
}
