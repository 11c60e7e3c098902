#include "systems/autoreject/montage/montage.h"

#include "base/status.h"
#include "systems/autoreject/epochs/channels.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

// Where only directions are known, and for the rule: the original's head.
static const double HEAD_RADIUS = 0.095;

// Nearer to the origin and farther no electrode is, in metres: the head of a mouse has 5 mm.
static const double NEAREST = 1e-3;
static const double FARTHEST = 1;

static double distance(const tess_ar_place *place)
{
    const double *p = place->position;
    return sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
}

// Whether electrodes can lie so in the unit that the file tells: most of them, as a row may hold
// a number that stands for none.
static bool is_possible(const tess_ar_montage *m)
{
    int64_t n_near = 0;
    int64_t n_far = 0;
    for (int64_t i = 0; i < m->n; i++) {
        const double metres = distance(&m->places[i]) * m->unit;
        n_near += metres < NEAREST;
        n_far += metres > FARTHEST;
    }
    return 2 * n_near <= m->n && 2 * n_far <= m->n;
}

// The factor to metres: as the file tells, else by the size of a head.
static double factor_of(const tess_ar_montage *m, double radius)
{
    if (m->unit > 0 && !m->is_directions && is_possible(m)) {
        return m->unit;
    }
    return radius < 0.25 ? 1 : radius < 2.5 ? HEAD_RADIUS / radius : radius < 25 ? 1e-2 : 1e-3;
}

// A unit that was told and cannot be, or one that should have been told, is worth a warning.
static void tell_unit(tess_ar_montage *m, double radius, double factor)
{
    const size_t n = strlen(m->doubt);
    if (m->is_directions || factor == m->unit) {
        m->doubt[0] = '\0';
    } else if (n > 0) {
        snprintf(m->doubt + n, sizeof m->doubt - n,
                 "; electrodes lie %.3g from the origin on average, and are taken %s", radius,
                 factor == 1      ? "in m"
                 : factor == 1e-2 ? "in cm"
                 : factor == 1e-3 ? "in mm"
                                  : "as directions, on a head of 95 mm");
    }
}

static void to_metres(tess_ar_montage *m)
{
    double sum = 0;
    for (int64_t i = 0; i < m->n; i++) {
        sum += distance(&m->places[i]);
    }
    const double radius = m->n > 0 ? sum / (double)m->n : 0;
    const double unit = factor_of(m, radius);
    tell_unit(m, radius, unit);
    for (int64_t i = 0; i < m->n; i++) {
        double *p = m->places[i].position;
        const double x = p[0] * unit;
        const double y = p[1] * unit;
        p[0] = m->nose_is_x ? -y : x;
        p[1] = m->nose_is_x ? x : y;
        p[2] *= unit;
    }
}

static tess_status read_by_name(tess_ar_montage *m)
{
    static const struct {
        const char *extension;
        tess_status (*read)(tess_ar_montage *montage);
    } formats[] = {
        {".loc", tess_ar_read_locs},  {".locs", tess_ar_read_locs}, {".eloc", tess_ar_read_locs},
        {".sfp", tess_ar_read_sfp},   {".elc", tess_ar_read_elc},   {".ced", tess_ar_read_table},
        {".tsv", tess_ar_read_table}, {".csv", tess_ar_read_table}, {".txt", tess_ar_read_table},
    };
    m->nose_is_x = tess_ar_has_extension(m->path, ".ced");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (tess_ar_has_extension(m->path, formats[i].extension)) {
            return formats[i].read(m);
        }
    }
    TESS_FAIL(
        TESS_E_FORMAT,
        "%s: not a file of positions that is read (.tsv, .csv, .txt, .locs, .loc, .eloc, .ced, "
        ".sfp, .elc); save name,x,y,z as .csv, or use the rule \"1005\"",
        m->path);
}

static tess_status read_places(tess_ar_montage *m)
{
    TESS_TRY(tess_ar_text_open(m->ctx, m->path, &m->text));
    TESS_TRY(read_by_name(m));
    TESS_TRY(tess_ar_read_coordsystem(m));
    if (m->n == 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: no positions in this file", m->path);
    }
    to_metres(m);
    return TESS_OK;
}

tess_status tess_ar_montage_open(tess_context *ctx, const char *path, tess_ar_montage *out)
{
    *out = (tess_ar_montage){.ctx = ctx, .path = path};
    // Others have named montages inside; a word that is no file was meant as one.
    if (!strpbrk(path, "./") && access(path, F_OK) != 0) {
        TESS_FAIL(TESS_E_NOT_FOUND,
                  "%s: is neither a file nor a montage that is built in; 1005 is: the geometric "
                  "rule for names of the 10-20, 10-10 and 10-05 systems",
                  path);
    }
    const tess_status status = read_places(out);
    if (status != TESS_OK) {
        tess_ar_montage_close(out);
    }
    return status;
}

// A place by a channel's name, or by its other name. m NULL: the rule.
static bool find_place(tess_ar_montage *m, const char *name, double position[3])
{
    char key[TESS_AR_KEY_BYTES];
    tess_ar_name_key(name, key);
    if (!m) {
        const bool is_known = tess_ar_rule_1005(key, position);
        for (int i = 0; i < 3 && is_known; i++) {
            position[i] *= HEAD_RADIUS;
        }
        return is_known;
    }
    const char *alias = tess_ar_name_alias(key);
    const tess_ar_place *place = tess_ar_montage_find(m, key);
    place = !place && alias ? tess_ar_montage_find(m, alias) : place;
    if (place) {
        memcpy(position, place->position, sizeof place->position);
    }
    return place != NULL;
}

// Types that a montage speaks of; a MEG coil's place is the device's.
static bool is_placed_type(int32_t type)
{
    return type == TESS_AUTOREJECT_EEG || type == TESS_AUTOREJECT_ECOG ||
           type == TESS_AUTOREJECT_SEEG || type == TESS_AUTOREJECT_CSD ||
           type == TESS_AUTOREJECT_EOG || type == TESS_AUTOREJECT_MISC;
}

static tess_status keep_names(tess_autoreject_epochs *epochs,
                              const tess_autoreject_channel *channels, int64_t n)
{
    const char **names = tess_ar_epochs_items(epochs, n, sizeof *names);
    for (int64_t c = 0; names && c < n; c++) {
        names[c] = channels[c].name;
    }
    epochs->former_names = names;
    return names ? TESS_OK : TESS_E_MEMORY;
}

// An array without names takes names and places of a montage in its order.
static tess_status take_in_order(tess_autoreject_epochs *epochs, const tess_ar_montage *m,
                                 tess_autoreject_channel *channels)
{
    TESS_TRY(keep_names(epochs, channels, m->n));
    for (int64_t i = 0; i < m->n; i++) {
        const tess_ar_place *place = &m->places[i];
        tess_autoreject_channel *channel = &channels[place->order];
        channel->name = tess_ar_channel_name(epochs, place->name, strlen(place->name));
        if (!channel->name) {
            return TESS_E_MEMORY;
        }
        tess_ar_channel_set_position(channel, place->position);
    }
    tess_ar_epochs_note(epochs,
                        "%s: the array has no names; the %" PRId64 " channels were named and "
                        "placed in the order of this file",
                        m->path, m->n);
    return TESS_OK;
}

static tess_status place_channels(tess_autoreject_epochs *epochs, const char *montage,
                                  tess_ar_montage *m, tess_autoreject_channel *channels)
{
    const int64_t n = epochs->sensors.n_chan;
    tess_ar_names missing = {0};
    int64_t n_found = 0;
    for (int64_t c = 0; c < n; c++) {
        double position[3];
        if (!is_placed_type(channels[c].type)) {
            continue;
        }
        if (find_place(m, channels[c].name, position)) {
            tess_ar_channel_set_position(&channels[c], position);
            n_found++;
        } else if (channels[c].type != TESS_AUTOREJECT_EOG &&
                   channels[c].type != TESS_AUTOREJECT_MISC) {
            tess_ar_names_add(&missing, channels[c].name);
            for (int i = 0; i < 12; i++) {
                channels[c].loc[i] = (double)NAN;
            }
        }
    }
    if (n_found == 0 && m && m->n == n && strcmp(epochs->info.format, "npy") == 0) {
        return take_in_order(epochs, m, channels);
    }
    if (n_found == 0) {
        TESS_FAIL(
            TESS_E_FORMAT,
            "%s: no channel has a position there (%s); names are compared without case, blanks, "
            "dots and a leading \"EEG \"",
            montage, missing.n > 0 ? missing.text : "no EEG channels");
    }
    if (missing.n > 0) {
        tess_ar_epochs_warn(epochs, TESS_W_AUTOREJECT_POSITION,
                            "%s: %" PRId64 " channels have no position there: %s", montage,
                            missing.n, missing.text);
    }
    return TESS_OK;
}

static bool knows_any(tess_ar_montage *m, const tess_autoreject_sensors *sensors)
{
    double position[3];
    for (int64_t c = 0; c < sensors->n_chan; c++) {
        if (find_place(m, sensors->channels[c].name, position)) {
            return true;
        }
    }
    return false;
}

// Channels to be changed, in memory of the epochs; NULL with the message recorded.
static tess_autoreject_channel *copy_channels(tess_autoreject_epochs *epochs,
                                              const tess_autoreject_sensors *sensors)
{
    const size_t bytes = (size_t)sensors->n_chan * sizeof(tess_autoreject_channel);
    tess_autoreject_channel *channels = tess_ar_epochs_alloc(epochs, bytes);
    if (channels) {
        memcpy(channels, sensors->channels, bytes);
    }
    return channels;
}

tess_status tess_ar_name_by_montage(tess_context *ctx, const char *montage,
                                    tess_autoreject_epochs *epochs,
                                    tess_autoreject_sensors *sensors)
{
    if (strcmp(montage, "1005") == 0 || strcmp(epochs->info.format, "npy") != 0) {
        return TESS_OK;
    }
    tess_ar_montage m;
    tess_status status = TESS_OK;
    TESS_TRY(tess_ar_montage_open(ctx, montage, &m));
    if (m.n == sensors->n_chan && !knows_any(&m, sensors)) {
        tess_autoreject_channel *channels = copy_channels(epochs, sensors);
        status = channels ? take_in_order(epochs, &m, channels) : TESS_E_MEMORY;
        sensors->channels = status == TESS_OK ? channels : sensors->channels;
    }
    tess_ar_montage_close(&m);
    return status;
}

static tess_status apply(tess_context *ctx, const char *montage, tess_autoreject_epochs *epochs,
                         tess_autoreject_channel *channels)
{
    if (strcmp(montage, "1005") == 0) {
        TESS_TRY(place_channels(epochs, montage, NULL, channels));
        tess_ar_epochs_note(epochs, "positions by the rule of the 10-05 system on a sphere, not "
                                    "measured on this head");
        return TESS_OK;
    }
    tess_ar_montage m;
    TESS_TRY(tess_ar_montage_open(ctx, montage, &m));
    const tess_status status = place_channels(epochs, montage, &m, channels);
    if (status == TESS_OK && m.doubt[0]) {
        tess_ar_epochs_warn(epochs, TESS_W_AUTOREJECT_SCALE, "%s", m.doubt);
    }
    tess_ar_montage_close(&m);
    return status;
}

tess_status tess_ar_apply_montage(tess_context *ctx, const char *montage,
                                  tess_autoreject_epochs *epochs)
{
    if (!epochs->former_names) { // else they are placed already
        tess_autoreject_channel *channels = copy_channels(epochs, &epochs->sensors);
        if (!channels) {
            return TESS_E_MEMORY;
        }
        TESS_TRY(apply(ctx, montage, epochs, channels));
        epochs->sensors.channels = channels;
    }
    return tess_ar_points_of_channels(epochs, &epochs->sensors);
}
