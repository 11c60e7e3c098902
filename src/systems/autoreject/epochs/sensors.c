// Copies of what is known of the sensors.
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/autoreject/epochs/epochs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A name and where it stands, to find names that occur twice.
typedef struct named {
    const char *name;
    int64_t index;
} named;

static int by_name(const void *a, const void *b)
{
    const named *x = a;
    const named *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static bool is_name(const named *sorted, int64_t n, const char *name)
{
    int64_t low = 0;
    for (int64_t high = n; low < high;) {
        const int64_t middle = low + (high - low) / 2;
        if (strcmp(sorted[middle].name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < n && strcmp(sorted[low].name, name) == 0;
}

// "A", "A" become "A-0", "A-1".
static tess_status number_repeated(tess_autoreject_epochs *epochs, const named *sorted, int64_t n,
                                   tess_autoreject_channel *channels)
{
    char list[256] = "";
    size_t used = 0;
    int64_t n_name = 0;
    for (int64_t i = 0; i < n;) {
        int64_t end = i + 1;
        while (end < n && strcmp(sorted[end].name, sorted[i].name) == 0) {
            end++;
        }
        int64_t suffix = 0;
        for (int64_t k = i; end - i > 1 && k < end; k++) {
            const size_t room = strlen(sorted[i].name) + 24;
            char *name = tess_ar_epochs_alloc(epochs, room);
            if (!name) {
                return TESS_E_MEMORY;
            }
            do {
                snprintf(name, room, "%s-%lld", sorted[i].name, (long long)suffix++);
            } while (is_name(sorted, n, name));
            channels[sorted[k].index].name = name;
        }
        if (end - i > 1 && used + 64 < sizeof list) {
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%.60s", n_name ? ", " : "",
                                     sorted[i].name);
        }
        n_name += end - i > 1;
        i = end;
    }
    if (n_name > 0) {
        tess_ar_epochs_note(epochs,
                            "%lld names are those of several channels: %s%s; these were "
                            "numbered",
                            (long long)n_name, list, used + 64 < sizeof list ? "" : " ...");
    }
    return TESS_OK;
}

static tess_status copy_channels(tess_autoreject_epochs *epochs,
                                 const tess_autoreject_sensors *given)
{
    const int64_t n = given->n_chan;
    tess_autoreject_channel *channels = tess_ar_epochs_items(epochs, n, sizeof *channels);
    named *sorted = tess_ar_epochs_items(epochs, n, sizeof *sorted);
    if (!channels || !sorted) {
        return TESS_E_MEMORY;
    }
    for (int64_t c = 0; c < n; c++) {
        channels[c] = given->channels[c];
        if (!channels[c].name) {
            TESS_FAIL(TESS_E_ARGUMENT, "sensors: channel %lld has no name", (long long)c);
        }
        if (channels[c].type < 0 || channels[c].type > TESS_AUTOREJECT_OTHER) {
            TESS_FAIL(TESS_E_RANGE, "sensors: channel '%.60s' has type %d, which is none",
                      channels[c].name, (int)channels[c].type);
        }
        channels[c].name = tess_ar_epochs_text(epochs, channels[c].name);
        if (!channels[c].name) {
            return TESS_E_MEMORY;
        }
        sorted[c] = (named){channels[c].name, c};
    }
    epochs->sensors.n_chan = n;
    epochs->sensors.channels = channels;
    qsort(sorted, (size_t)n, sizeof *sorted, by_name);
    return number_repeated(epochs, sorted, n, channels);
}

static tess_status copy_projector(tess_autoreject_epochs *epochs,
                                  tess_autoreject_projector *projector)
{
    const tess_autoreject_projector given = *projector;
    const char **names = tess_ar_epochs_items(epochs, given.n_chan, sizeof *names);
    uint64_t n_value = 0;
    if (given.n_vector < 0 ||
        __builtin_mul_overflow((uint64_t)given.n_vector, (uint64_t)given.n_chan, &n_value)) {
        TESS_FAIL(TESS_E_SHAPE, "projector '%.60s': %lld vectors", given.name ? given.name : "",
                  (long long)given.n_vector);
    }
    double *vectors = tess_ar_epochs_items(epochs, (int64_t)n_value, sizeof *vectors);
    projector->name = tess_ar_epochs_text(epochs, given.name ? given.name : "");
    if (!names || !vectors || !projector->name) {
        return TESS_E_MEMORY;
    }
    for (int64_t c = 0; c < given.n_chan; c++) {
        names[c] = tess_ar_epochs_text(epochs, given.channel_names[c]);
        if (!names[c]) {
            return TESS_E_MEMORY;
        }
    }
    if (n_value > 0) {
        memcpy(vectors, given.vectors, (size_t)n_value * sizeof *vectors);
    }
    projector->channel_names = names;
    projector->vectors = vectors;
    return TESS_OK;
}

tess_status tess_ar_epochs_set_sensors(tess_autoreject_epochs *epochs,
                                       const tess_autoreject_sensors *given)
{
    tess_autoreject_sensors sensors;
    tess_autoreject_sensors_init(&sensors, sizeof sensors);
    TESS_TRY(tess_struct_read(given, &sensors, sizeof sensors, "sensors"));
    tess_autoreject_projector *projectors =
        tess_ar_epochs_items(epochs, sensors.n_projector, sizeof *projectors);
    tess_autoreject_point *points = tess_ar_epochs_items(epochs, sensors.n_point, sizeof *points);
    if (!projectors || !points) {
        return TESS_E_MEMORY;
    }
    epochs->sensors = sensors;
    epochs->sensors.struct_size = sizeof sensors;
    TESS_TRY(copy_channels(epochs, &sensors));
    if (sensors.n_point > 0) {
        memcpy(points, sensors.points, (size_t)sensors.n_point * sizeof *points);
    }
    for (int64_t k = 0; k < sensors.n_projector; k++) {
        projectors[k] = sensors.projectors[k];
        TESS_TRY(copy_projector(epochs, &projectors[k]));
    }
    epochs->sensors.points = points;
    epochs->sensors.projectors = projectors;
    return TESS_OK;
}
