// coordsystem.json beside an electrodes.tsv.
#include "base/json_read.h"
#include "base/status.h"
#include "systems/autoreject/bids/names.h"
#include "systems/autoreject/montage/montage.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

// The text of a member; "" if there is none.
static const char *text_of(const tess_json_value *root, const char *key)
{
    const tess_json_value *value = tess_json_find(root, key);
    return value && value->kind == TESS_JSON_TEXT ? value->text : "";
}

static void take(tess_ar_montage *m, const char *path, const tess_json_value *root)
{
    // Those with x to the nose and y to the left ear.
    static const char *const noses[] = {"CTF", "4DBti", "EEGLAB", "EEGLAB-HJ"};
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"m", 1}, {"cm", 1e-2}, {"mm", 1e-3}};
    const char *system = text_of(root, "EEGCoordinateSystem");
    const char *unit = text_of(root, "EEGCoordinateUnits");
    unit = unit[0] ? unit : text_of(root, "iEEGCoordinateUnits");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        m->unit = strcmp(unit, units[i].name) == 0 ? units[i].factor : m->unit;
    }
    for (size_t i = 0; i < sizeof noses / sizeof *noses; i++) {
        m->nose_is_x = m->nose_is_x || strcasecmp(system, noses[i]) == 0;
    }
    snprintf(m->doubt, sizeof m->doubt, "%.400s: %s%.40s%s", path,
             !root     ? "is no valid JSON"
             : unit[0] ? "the unit of positions is '"
                       : "no unit of positions (EEGCoordinateUnits)",
             unit, unit[0] ? "'" : "");
}

tess_status tess_ar_read_coordsystem(tess_ar_montage *m)
{
    static const char tail[] = "electrodes.tsv";
    const size_t n = strlen(m->path);
    const size_t n_tail = sizeof tail - 1;
    char path[TESS_AR_BIDS_PATH];
    tess_ar_text text;
    if (n < n_tail || strcmp(m->path + n - n_tail, tail) != 0 || n >= sizeof path - 8) {
        return TESS_OK;
    }
    snprintf(path, sizeof path, "%.*scoordsystem.json", (int)(n - n_tail), m->path);
    if (!tess_ar_file_exists(path) &&
        !tess_ar_bids_sidecar(m->path, "coordsystem", ".json", false, path)) {
        return TESS_OK;
    }
    TESS_TRY(tess_ar_text_open(m->ctx, path, &text));
    tess_blocks memory;
    const tess_json_value *root = NULL;
    tess_blocks_init(&memory, &m->ctx->heap);
    // Behind a byte order mark, where there is one.
    const size_t bytes = text.bytes - (size_t)(text.next - text.chars);
    tess_status status = tess_json_parse(&memory, path, text.next, bytes, &root);
    if (status == TESS_E_FORMAT) {
        tess_error_clear(); // positions are of use without it, too
        root = NULL;
        status = TESS_OK;
    }
    if (status == TESS_OK) {
        take(m, path, root);
    }
    tess_blocks_free(&memory);
    tess_ar_text_close(&text);
    return status;
}
