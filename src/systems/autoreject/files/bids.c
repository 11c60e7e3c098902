#include "systems/autoreject/files/bids.h"

#include "base/status.h"
#include "systems/autoreject/bids/names.h"
#include "systems/autoreject/files/annotations.h"
#include "systems/autoreject/montage/montage.h"
#include "systems/autoreject/text/text_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { MAX_COLUMN = 64 };

// A table with headings.
typedef struct table {
    tess_ar_text text;
    char *fields[MAX_COLUMN];
    int64_t n_field;
    int64_t at[4]; // of the columns asked for; -1: not there
} table;

static tess_status table_open(tess_context *ctx, const char *path, const char *const *names,
                              int n_name, table *t)
{
    TESS_TRY(tess_ar_text_open(ctx, path, &t->text));
    char *line = tess_ar_text_line(&t->text);
    t->n_field = line ? tess_ar_split(line, '\t', t->fields, MAX_COLUMN) : 0;
    for (int k = 0; k < n_name; k++) {
        t->at[k] = -1;
        for (int64_t i = 0; i < t->n_field; i++) {
            t->at[k] = strcasecmp(t->fields[i], names[k]) == 0 ? i : t->at[k];
        }
    }
    if (t->at[0] < 0) {
        const tess_status status =
            line ? tess_error_set(TESS_E_FORMAT,
                                  "%s: line 1: there is no column '%s'; columns are parted by "
                                  "tabs, in UTF-8",
                                  path, names[0])
                 : tess_error_set(TESS_E_FORMAT,
                                  "%s: is empty; expected a table with a column '%s': write it "
                                  "again, or take it away",
                                  path, names[0]);
        tess_ar_text_close(&t->text);
        return status;
    }
    return TESS_OK;
}

static bool table_next(table *t)
{
    char *line = tess_ar_text_line(&t->text);
    t->n_field = line ? tess_ar_split(line, '\t', t->fields, MAX_COLUMN) : 0;
    return line != NULL;
}

// A field of the row, "" where it is not there or not known.
static const char *cell(const table *t, int k)
{
    const bool is_there = t->at[k] >= 0 && t->at[k] < t->n_field;
    return is_there && strcasecmp(t->fields[t->at[k]], "n/a") != 0 ? t->fields[t->at[k]] : "";
}

static tess_autoreject_channel *channel_named(tess_autoreject_channel *channels, int64_t n,
                                              const char *name)
{
    const char *bare = name;
    tess_ar_type_by_prefix(&bare); // EDF's labels lose theirs
    for (int64_t c = 0; c < n; c++) {
        if (strcmp(channels[c].name, name) == 0 || strcmp(channels[c].name, bare) == 0) {
            return &channels[c];
        }
    }
    return NULL;
}

static void take_channel(const table *t, tess_autoreject_channel *channel, uint8_t *known,
                         int64_t *n_type, int64_t *n_bad)
{
    const char *status = cell(t, 2);
    const int32_t type = tess_ar_type_by_word(cell(t, 1));
    int found = TESS_AR_KNOWN_ROW;
    if (type >= 0) {
        *n_type += type != channel->type;
        channel->type = type;
        found |= TESS_AR_KNOWN_TYPE;
    } else if (cell(t, 1)[0]) {
        found |= TESS_AR_KNOWN_ODD_TYPE;
    }
    if (strcasecmp(status, "bad") == 0) {
        channel->is_bad = 1;
        found |= TESS_AR_KNOWN_STATUS;
        ++*n_bad;
    } else if (strcasecmp(status, "good") == 0) {
        channel->is_bad = 0; // the table is the later word
        found |= TESS_AR_KNOWN_STATUS;
    } else if (status[0]) {
        found |= TESS_AR_KNOWN_ODD_STATUS;
    }
    *known |= (uint8_t)found;
}

// One that the file has and that could not be taken along.
static bool is_left_out(const tess_autoreject_epochs *epochs, const char *name)
{
    bool is_there = false;
    for (int64_t i = 0; i < epochs->n_left_out; i++) {
        is_there = is_there || strcmp(epochs->left_out[i], name) == 0;
    }
    return is_there;
}

// continuous NULL: the file holds epochs.
static tess_status read_channels(tess_context *ctx, const char *path,
                                 tess_autoreject_epochs *epochs, tess_ar_continuous *continuous)
{
    static const char *const columns[] = {"name", "type", "status", "units"};
    tess_autoreject_sensors *sensors = continuous ? &continuous->sensors : &epochs->sensors;
    const bool takes_units = continuous && continuous->take_unit;
    const size_t bytes = (size_t)sensors->n_chan * sizeof(tess_autoreject_channel);
    tess_autoreject_channel *channels = tess_ar_epochs_alloc(epochs, bytes);
    uint8_t *known = tess_ar_epochs_alloc(epochs, (size_t)sensors->n_chan);
    tess_ar_names unknown = {0};
    table t;
    int64_t n_type = 0;
    int64_t n_bad = 0;
    int64_t n_unit = 0;
    epochs->table = tess_ar_epochs_text(epochs, path);
    if (!channels || !known || !epochs->table) {
        return TESS_E_MEMORY;
    }
    memcpy(channels, sensors->channels, bytes);
    TESS_TRY(table_open(ctx, path, columns, 4, &t));
    while (table_next(&t)) {
        const char *name = cell(&t, 0);
        tess_autoreject_channel *channel = channel_named(channels, sensors->n_chan, name);
        if (channel) {
            take_channel(&t, channel, &known[channel - channels], &n_type, &n_bad);
            n_unit += takes_units &&
                      continuous->take_unit(continuous->impl, channel - channels, cell(&t, 3));
        } else if (name[0] && !is_left_out(epochs, name)) {
            tess_ar_names_add(&unknown, name);
        }
    }
    sensors->channels = channels;
    epochs->known = known;
    tess_ar_epochs_note(epochs, "%s: %" PRId64 " types and %" PRId64 " bad channels taken", path,
                        n_type, n_bad);
    if (n_unit > 0) {
        tess_ar_epochs_note(epochs,
                            "%s: units of %" PRId64 " channels taken, the recording has none", path,
                            n_unit);
    }
    if (unknown.n > 0) {
        tess_ar_epochs_warn(epochs, TESS_W_AUTOREJECT_TABLE,
                            "%s: rows of channels that the recording has not: %s", path,
                            unknown.text);
    }
    tess_ar_text_close(&t.text);
    return TESS_OK;
}

// n_unknown: of the rows that are left out.
static tess_status add_rows(table *t, tess_ar_annotation_list *list, int64_t *n_unknown)
{
    while (table_next(t)) {
        double onset = 0;
        double duration = 0;
        const char *text = cell(t, 2)[0] ? cell(t, 2) : cell(t, 3)[0] ? cell(t, 3) : "n/a";
        if (t->n_field == 1 && t->fields[0][0] == '\0') {
            continue;
        }
        if (cell(t, 0)[0] == '\0') {
            ++*n_unknown; // an event of an unknown time
            continue;
        }
        if (!tess_ar_number(cell(t, 0), &onset) ||
            (cell(t, 1)[0] && !tess_ar_number(cell(t, 1), &duration))) {
            TESS_FAIL(TESS_E_FORMAT, "%s: line %" PRId64 ": onset or duration is not a number",
                      t->text.path, t->text.line);
        }
        TESS_TRY(tess_ar_annotations_add(list, onset, duration, text, strlen(text)));
    }
    return TESS_OK;
}

static tess_status read_events(tess_context *ctx, const char *path,
                               const tess_autoreject_epochs_config *config,
                               tess_autoreject_epochs *epochs, tess_ar_continuous *continuous)
{
    static const char *const columns[] = {"onset", "duration", "trial_type", "value"};
    tess_ar_annotation_list list = {.epochs = epochs};
    table t;
    TESS_TRY(table_open(ctx, path, columns, 4, &t));
    int64_t n_unknown = 0;
    tess_status status = add_rows(&t, &list, &n_unknown);
    const int64_t n = list.n;
    for (int64_t i = 0; i < continuous->n_annotation && status == TESS_OK; i++) {
        const tess_ar_annotation *own = &continuous->annotations[i];
        if (strncasecmp(own->text, "bad", 3) == 0) {
            status = tess_ar_annotations_add(&list, own->onset_s - continuous->first_s,
                                             own->duration_s, own->text, strlen(own->text));
        }
    }
    if (status == TESS_OK) {
        status = tess_ar_annotations_finish(&list, continuous);
        continuous->has_told_events = n > 0;
        continuous->has_empty_table = n == 0;
    }
    const bool is_for_epochs = config->window == 0 && !config->stim;
    if (status == TESS_OK) {
        tess_ar_epochs_note(epochs, "%s: %" PRId64 " events taken%s", path, n,
                            is_for_epochs ? " instead of the recording's own"
                                          : " as annotations, no epoch is cut around them");
    }
    if (status == TESS_OK && n_unknown > 0) {
        tess_ar_epochs_tell(epochs, "%s: %" PRId64 " event%s left out: the onset is n/a", path,
                            n_unknown, n_unknown == 1 ? "" : "s");
    }
    tess_ar_annotations_destroy(&list);
    tess_ar_text_close(&t.text);
    return status;
}

tess_status tess_ar_bids_sidecars(tess_context *ctx, const char *path,
                                  const tess_autoreject_epochs_config *config,
                                  tess_autoreject_epochs *epochs, tess_ar_continuous *continuous)
{
    char sidecar[TESS_AR_BIDS_PATH];
    if (tess_ar_bids_sidecar(path, "channels", ".tsv", false, sidecar)) {
        TESS_TRY(read_channels(ctx, sidecar, epochs, continuous));
    }
    if (continuous && !config->events &&
        tess_ar_bids_sidecar(path, "events", ".tsv", false, sidecar)) {
        TESS_TRY(read_events(ctx, sidecar, config, epochs, continuous));
    }
    return TESS_OK;
}

void tess_ar_bids_warn(tess_autoreject_epochs *epochs)
{
    static const struct {
        int bits; // of what is known of a channel
        int open; // what they are where it is left open
        bool is_of_bad;
        const char *text;
    } gaps[] = {
        {TESS_AR_KNOWN_ODD_TYPE | TESS_AR_KNOWN_TYPE, TESS_AR_KNOWN_ODD_TYPE, false,
         "types that are not known, of channels that are taken as the file has them"},
        {TESS_AR_KNOWN_ODD_STATUS | TESS_AR_KNOWN_STATUS, TESS_AR_KNOWN_ODD_STATUS, true,
         "status is none of good, bad and n/a, of channels that are marked as the file has them"},
        {TESS_AR_KNOWN_ROW, 0, false,
         "no rows of channels that the recording has, which are taken as the file has them"},
    };
    for (size_t i = 0; epochs->known && i < sizeof gaps / sizeof *gaps; i++) {
        tess_ar_names names = {0};
        for (int64_t c = 0; c < epochs->sensors.n_chan; c++) {
            const tess_autoreject_channel *channel = &epochs->sensors.channels[c];
            if ((epochs->known[c] & gaps[i].bits) == gaps[i].open &&
                tess_ar_type_is_solvable(channel->type) &&
                (gaps[i].is_of_bad || !channel->is_bad)) {
                tess_ar_names_add(&names, channel->name);
            }
        }
        if (names.n > 0) {
            tess_ar_epochs_warn(epochs, TESS_W_AUTOREJECT_TABLE, "%s: %s: %s", epochs->table,
                                gaps[i].text, names.text);
        }
    }
}

tess_status tess_ar_bids_electrodes(tess_context *ctx, const char *path,
                                    tess_autoreject_epochs *epochs)
{
    char sidecar[TESS_AR_BIDS_PATH];
    int64_t n_unplaced = 0;
    for (int64_t c = 0; c < epochs->sensors.n_chan; c++) {
        const tess_autoreject_channel *channel = &epochs->sensors.channels[c];
        n_unplaced +=
            channel->type == TESS_AUTOREJECT_EEG && !tess_ar_channel_has_position(channel);
    }
    // A recording of the tree's own kind has no other positions: those a device writes are not
    // measured ones.
    tess_ar_bids_name name;
    const bool is_eeg = tess_ar_bids_parse(path, &name) && name.n_suffix == 3 &&
                        strncmp(name.suffix, "eeg", 3) == 0;
    if ((n_unplaced > 0 || is_eeg) &&
        tess_ar_bids_sidecar(path, "electrodes", ".tsv", true, sidecar)) {
        TESS_TRY(tess_ar_apply_montage(ctx, sidecar, epochs));
        tess_ar_epochs_note(epochs, "%s: positions taken", sidecar);
    }
    return TESS_OK;
}
