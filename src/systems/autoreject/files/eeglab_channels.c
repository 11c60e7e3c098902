#include "base/status.h"
#include "systems/autoreject/files/annotations.h"
#include "systems/autoreject/files/eeglab.h"
#include "systems/autoreject/text/text_input.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static tess_status read_position(tess_mat *mat, const tess_mat_struct *locs, int64_t c,
                                 tess_autoreject_channel *channel)
{
    static const char *const axes[] = {"X", "Y", "Z"};
    double xyz[3] = {0};
    int n_there = 0;
    for (int i = 0; i < 3; i++) {
        tess_mat_array field;
        bool is_there = false;
        TESS_TRY(tess_mat_field(locs, c, axes[i], &field));
        TESS_TRY(tess_mat_scalar(mat, &field, &xyz[i], &is_there));
        n_there += is_there && isfinite(xyz[i]) && fabs(xyz[i]) < 1e9;
    }
    if (n_there == 3 && (xyz[0] != 0 || xyz[1] != 0 || xyz[2] != 0)) {
        // X to the nose, Y to the left ear.
        const double position[3] = {-xyz[1], xyz[0], xyz[2]};
        tess_ar_channel_set_position(channel, position);
    }
    return TESS_OK;
}

// The type field, or what the name speaks of where it is empty or nobody's word.
static tess_status read_type(tess_mat *mat, const tess_mat_struct *locs, int64_t c,
                             tess_autoreject_channel *channel, tess_ar_names *unknown)
{
    tess_mat_array field;
    char word[64];
    TESS_TRY(tess_mat_field(locs, c, "type", &field));
    TESS_TRY(tess_mat_text(mat, &field, word, sizeof word));
    int32_t type = tess_ar_type_by_word(word);
    if (type < 0 && word[0]) {
        tess_ar_names_add(unknown, channel->name);
    }
    type = type < 0 ? tess_ar_type_by_name(channel->name) : type;
    channel->type = type < 0 ? TESS_AUTOREJECT_EEG : type;
    return TESS_OK;
}

// Positions come in no particular unit; a head tells which.
static void scale_positions(tess_autoreject_epochs *epochs, tess_autoreject_channel *channels,
                            int64_t n)
{
    double sum = 0;
    int64_t n_placed = 0;
    for (int64_t c = 0; c < n; c++) {
        const double *p = channels[c].loc;
        if (tess_ar_channel_has_position(&channels[c])) {
            sum += sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
            n_placed++;
        }
    }
    if (n_placed == 0) {
        return;
    }
    const double radius = sum / (double)n_placed;
    const double unit = radius < 0.25 ? 1 : radius < 2.5 ? 10 : radius < 25 ? 100 : 1000;
    for (int64_t c = 0; c < n; c++) {
        for (int i = 0; i < 3; i++) {
            channels[c].loc[i] /= unit;
        }
    }
    tess_ar_epochs_note(epochs, "positions have a mean radius of %g, taken as %s", radius,
                        unit == 1     ? "metres"
                        : unit == 10  ? "decimetres"
                        : unit == 100 ? "centimetres"
                                      : "millimetres");
}

static tess_status read_channels(tess_eeglab *set, const tess_mat_struct *locs,
                                 tess_autoreject_channel *channels)
{
    tess_ar_names unknown = {0};
    for (int64_t c = 0; c < set->n_channel; c++) {
        tess_mat_array label;
        char name[512];
        TESS_TRY(tess_mat_field(locs, c, "labels", &label));
        TESS_TRY(tess_mat_text(&set->mat, &label, name, sizeof name));
        channels[c].name = tess_ar_epochs_text(set->epochs, name);
        if (!channels[c].name) {
            return TESS_E_MEMORY;
        }
        TESS_TRY(read_type(&set->mat, locs, c, &channels[c], &unknown));
        TESS_TRY(read_position(&set->mat, locs, c, &channels[c]));
    }
    if (unknown.n > 0) {
        tess_ar_epochs_note(set->epochs,
                            "channels of a type that is not known, taken by their "
                            "names: %s",
                            unknown.text);
    }
    scale_positions(set->epochs, channels, set->n_channel);
    return TESS_OK;
}

static tess_status number_channels(tess_eeglab *set, tess_autoreject_channel *channels)
{
    tess_ar_epochs_note(set->epochs,
                        "the data set names no channels; they are called 'EEG 000' ...");
    for (int64_t c = 0; c < set->n_channel; c++) {
        char name[32];
        snprintf(name, sizeof name, "EEG %03" PRId64, c);
        channels[c].name = tess_ar_epochs_text(set->epochs, name);
        if (!channels[c].name) {
            return TESS_E_MEMORY;
        }
    }
    return TESS_OK;
}

tess_status tess_eeglab_channels(tess_eeglab *set, tess_autoreject_sensors *sensors)
{
    tess_mat_struct locs = {0};
    tess_autoreject_channel *channels = tess_ar_channels_create(set->epochs, set->n_channel);
    if (!channels) {
        return TESS_E_MEMORY;
    }
    const tess_mat_array *array = &set->fields[TESS_EEGLAB_CHANLOCS];
    if (array->array_class == TESS_MAT_STRUCT) {
        TESS_TRY(tess_mat_struct_open(&set->mat, array, &locs));
    }
    tess_status status = TESS_OK;
    if (locs.n_item == 0) {
        status = number_channels(set, channels);
    } else if (locs.n_item != set->n_channel) {
        status = tess_error_set(TESS_E_FORMAT,
                                "%s: chanlocs describes %" PRId64 " channels, nbchan is %" PRId64
                                "; repair the data set in EEGLAB (eeg_checkset)",
                                set->path, locs.n_item, set->n_channel);
    } else {
        status = read_channels(set, &locs, channels);
    }
    tess_mat_struct_close(&locs);
    TESS_TRY(status);
    tess_autoreject_sensors_init(sensors, sizeof *sensors);
    sensors->n_chan = set->n_channel;
    sensors->channels = channels;
    return tess_ar_points_of_channels(set->epochs, sensors);
}
