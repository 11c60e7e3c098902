#include "base/status.h"
#include "systems/autoreject/files/annotations.h"
#include "systems/autoreject/files/brainvision.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

// MkN=type,description,position (from 1),length,channel: an annotation "type/description". The
// first marker of most files, "New Segment", tells when the recording began: nothing happens there.
static tess_status take_marker(tess_ar_annotation_list *list, const tess_ar_text *text,
                               const tess_bv_entry *entry, double sampling_hz, bool is_first)
{
    char *rest = entry->value;
    const char *type = tess_bv_part(&rest);
    const char *description = tess_bv_part(&rest);
    const char *position = tess_bv_part(&rest);
    const char *length = tess_bv_part(&rest);
    double first = 0;
    double count = 0;
    char label[1024];
    if (!position || !tess_ar_number(position, &first) ||
        (length && !tess_ar_number(length, &count))) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: line %" PRId64 ": marker %s has no position or one that is not a number",
                  text->path, text->line, entry->key);
    }
    if (is_first && strcmp(type, "New Segment") == 0) {
        return TESS_OK;
    }
    const int n = snprintf(label, sizeof label, "%s/%s", type, description);
    const size_t n_label = (size_t)n < sizeof label ? (size_t)n : sizeof label - 1;
    return tess_ar_annotations_add(list, (first - 1) / sampling_hz, count / sampling_hz, label,
                                   n_label);
}

static tess_status take_markers(tess_ar_annotation_list *list, tess_ar_text *text,
                                tess_ar_continuous *continuous)
{
    tess_bv_entry entry = {{0}, NULL, NULL};
    bool is_first = true;
    while (tess_bv_next(text, &entry)) {
        if (strcasecmp(entry.section, "Marker Infos") == 0 &&
            strncasecmp(entry.key, "Mk", 2) == 0) {
            TESS_TRY(take_marker(list, text, &entry, continuous->sampling_hz, is_first));
            is_first = false;
        }
    }
    return tess_ar_annotations_finish(list, continuous);
}

tess_status tess_bv_read_markers(tess_context *ctx, tess_autoreject_epochs *epochs,
                                 const char *path, tess_ar_continuous *continuous)
{
    tess_ar_text text;
    tess_ar_annotation_list list = {.epochs = epochs};
    TESS_TRY(tess_ar_text_open(ctx, path, &text));
    const tess_status status = take_markers(&list, &text, continuous);
    tess_ar_annotations_destroy(&list);
    tess_ar_text_close(&text);
    return status;
}
