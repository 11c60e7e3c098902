#include "systems/autoreject/epochs/channels.h"

#include "base/status.h"
#include "systems/autoreject/text/text_input.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

tess_status tess_ar_check_distinct(const tess_autoreject_epochs *epochs, const int64_t *channels,
                                   int64_t n_channel)
{
    const int64_t n_all = epochs->info.sensors->n_chan;
    if (!channels || n_channel < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "channels: none are given; name one at least");
    }
    for (int64_t i = 0; i < n_channel; i++) {
        if (channels[i] < 0 || channels[i] >= n_all) {
            TESS_FAIL(TESS_E_RANGE, "channels[%lld]: %lld, but the epochs have channels 0 to %lld",
                      (long long)i, (long long)channels[i], (long long)n_all - 1);
        }
        for (int64_t j = 0; j < i; j++) {
            if (channels[j] == channels[i]) {
                TESS_FAIL(TESS_E_ARGUMENT, "channels: '%s' (%lld) occurs twice; name it once",
                          epochs->info.sensors->channels[channels[i]].name, (long long)channels[i]);
            }
        }
    }
    return TESS_OK;
}

bool tess_ar_type_is_predictable(int32_t type)
{
    return type == TESS_AUTOREJECT_EEG || type == TESS_AUTOREJECT_MAG ||
           type == TESS_AUTOREJECT_GRAD;
}

bool tess_ar_type_is_solvable(int32_t type)
{
    return type >= 0 && type < TESS_AUTOREJECT_N_SOLVABLE;
}

void tess_ar_names_add(tess_ar_names *names, const char *name)
{
    static const char more[] = " ...";
    const size_t n = strlen(name);
    const size_t comma = names->used > 0 ? 2 : 0;
    if (names->n++ > 0 && names->used + comma + n + sizeof more > sizeof names->text) {
        if (names->used + sizeof more <= sizeof names->text) {
            strcpy(names->text + names->used, more);
            names->used = sizeof names->text; // full
        }
        return;
    }
    names->used += (size_t)snprintf(names->text + names->used, sizeof names->text - names->used,
                                    "%s%.100s", comma > 0 ? ", " : "", name);
}

tess_autoreject_channel *tess_ar_channels_create(tess_autoreject_epochs *epochs, int64_t n)
{
    tess_autoreject_channel *channels = tess_ar_epochs_alloc(epochs, (size_t)n * sizeof *channels);
    for (int64_t c = 0; channels && c < n; c++) {
        channels[c].name = "";
        channels[c].type = TESS_AUTOREJECT_EEG;
        for (int i = 0; i < 12; i++) {
            channels[c].loc[i] = (double)NAN;
        }
    }
    return channels;
}

const char *tess_ar_channel_name(tess_autoreject_epochs *epochs, const char *bytes, size_t n)
{
    char *name = tess_ar_epochs_alloc(epochs, 2 * n + 1);
    if (name) {
        tess_ar_utf8(bytes, n, name);
        name = tess_ar_trim(name);
    }
    return name;
}

void tess_ar_channel_set_position(tess_autoreject_channel *channel, const double position[3])
{
    for (int i = 0; i < 12; i++) {
        channel->loc[i] = i < 3 ? position[i] : i < 6 ? 0 : (double)NAN;
    }
}

bool tess_ar_channel_has_position(const tess_autoreject_channel *channel)
{
    return isfinite(channel->loc[0]) && isfinite(channel->loc[1]) && isfinite(channel->loc[2]);
}

tess_status tess_ar_points_of_channels(tess_autoreject_epochs *epochs,
                                       tess_autoreject_sensors *sensors)
{
    tess_autoreject_point *points =
        tess_ar_epochs_alloc(epochs, (size_t)sensors->n_chan * sizeof *points + 1);
    if (!points) {
        return TESS_E_MEMORY;
    }
    int64_t n = 0;
    for (int64_t c = 0; c < sensors->n_chan; c++) {
        const tess_autoreject_channel *channel = &sensors->channels[c];
        if (channel->type == TESS_AUTOREJECT_EEG && tess_ar_channel_has_position(channel)) {
            points[n] = (tess_autoreject_point){.kind = 3, .ident = (int32_t)n + 1};
            memcpy(points[n++].position, channel->loc, sizeof points->position);
        }
    }
    sensors->points = points;
    sensors->n_point = n;
    return TESS_OK;
}
