// coordsystem.json beside an electrodes.tsv.
#include "base/status.h"
#include "systems/autoreject/bids/names.h"
#include "systems/autoreject/montage/montage.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

// The text value of a key at any depth of a JSON file; false if there is none. Enough for a file
// whose keys are unique by its standard.
static bool text_value(const char *json, const char *key, char *value, size_t capacity)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *at = strstr(json, quoted);
    at = at ? at + strlen(quoted) : NULL;
    at = at ? at + strspn(at, " \t\r\n") : NULL;
    if (!at || *at != ':') {
        return false;
    }
    at += 1 + strspn(at + 1, " \t\r\n");
    if (*at != '"') {
        return false;
    }
    snprintf(value, capacity, "%.*s",
             (int)(strcspn(at + 1, "\"") < 64 ? strcspn(at + 1, "\"") : 64), at + 1);
    return true;
}

static void take(tess_ar_montage *m, const char *json)
{
    // Those with x to the nose and y to the left ear.
    static const char *const noses[] = {"CTF", "4DBti", "EEGLAB", "EEGLAB-HJ"};
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"m", 1}, {"cm", 1e-2}, {"mm", 1e-3}};
    char value[72];
    if (text_value(json, "EEGCoordinateUnits", value, sizeof value) ||
        text_value(json, "iEEGCoordinateUnits", value, sizeof value)) {
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            m->unit = strcmp(value, units[i].name) == 0 ? units[i].factor : m->unit;
        }
    }
    if (text_value(json, "EEGCoordinateSystem", value, sizeof value)) {
        for (size_t i = 0; i < sizeof noses / sizeof *noses; i++) {
            m->nose_is_x = m->nose_is_x || strcasecmp(value, noses[i]) == 0;
        }
    }
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
    take(m, text.chars);
    tess_ar_text_close(&text);
    return TESS_OK;
}
