#include "systems/decode/files/recording_size.h"

#include <ctype.h>
#include <string.h>

static uint64_t items_of(const tess_bundle *bundle, const char *name)
{
    const tess_bundle_entry *entry = tess_bundle_find(bundle, name);
    return entry ? (uint64_t)entry->n_item : 0;
}

static uint64_t item_bytes(const tess_bundle_entry *marks)
{
    return marks->dtype == TESS_F32 ? sizeof(float) : sizeof(double);
}

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name);
    return n > strlen(end) && strcmp(name + n - strlen(end), end) == 0;
}

// One pair of data sets per electrode: "e12_times", "e12_marks", "e12_dec_times", "e12_dec_marks".
static void add_ragged(const tess_bundle *bundle, tess_de_recording_size *out)
{
    for (int64_t i = 0; i < bundle->n_entry; i++) {
        const tess_bundle_entry *entry = &bundle->entries[i];
        const uint64_t n = (uint64_t)entry->n_item;
        if (entry->name[0] != 'e' || !isdigit((unsigned char)entry->name[1])) {
            continue;
        }
        const bool is_decoded = strstr(entry->name, "_dec_") != NULL;
        if (ends_with(entry->name, "_times")) {
            out->bytes += n * sizeof(double);
            out->n_spike += is_decoded ? 0 : n;
        } else if (ends_with(entry->name, "_marks")) {
            out->bytes += n * item_bytes(entry);
            out->n_mark += is_decoded ? 0 : n;
            out->mark_bytes = item_bytes(entry);
        }
    }
}

static void add_flat(const tess_bundle *bundle, const char *times, const char *marks,
                     tess_de_recording_size *out)
{
    const tess_bundle_entry *entry = tess_bundle_find(bundle, marks);
    out->bytes += items_of(bundle, times) * sizeof(double);
    out->bytes += entry ? (uint64_t)entry->n_item * item_bytes(entry) : 0;
}

static void size_arrays(const tess_bundle *bundle, tess_de_recording_size *out)
{
    static const char *const reals[] = {
        "position_time",     "position",          "time",          "dec_position",
        "dec_position_time", "interior_position", "true_position", "represented_position"};
    static const char *const flags[] = {"is_training", "is_missing", "is_replay"};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        out->bytes += items_of(bundle, reals[i]) * sizeof(double);
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        out->bytes += items_of(bundle, flags[i]);
    }
    out->bytes += items_of(bundle, "unit") * (sizeof(int64_t) + sizeof(int32_t));
    out->n_sample = items_of(bundle, "position_time");
    out->n_dim = out->n_sample > 0 ? items_of(bundle, "position") / out->n_sample : 0;
    out->n_place_dim = tess_bundle_find(bundle, "node_positions") ||
                               tess_bundle_find(bundle, "track_node_position")
                           ? 1
                           : out->n_dim;
    out->is_selected = tess_bundle_find(bundle, "is_training") != NULL;
    out->n_time = tess_bundle_find(bundle, "time") ? items_of(bundle, "time") : out->n_sample;
    if (!tess_bundle_find(bundle, "true_position")) { // found by interpolation
        out->bytes += out->n_time * out->n_dim * sizeof(double);
    }
    const tess_bundle_entry *marks = tess_bundle_find(bundle, "marks");
    if (!tess_bundle_find(bundle, "spike_times")) {
        add_ragged(bundle, out);
        return;
    }
    add_flat(bundle, "spike_times", "marks", out);
    add_flat(bundle, "decode_spike_times", "decode_marks", out);
    out->n_spike = items_of(bundle, "spike_times");
    out->n_mark = marks ? (uint64_t)marks->n_item : 0;
    out->mark_bytes = marks ? item_bytes(marks) : 0;
}

// Which series is the position and which columns are features is found out by reading: what is
// sure are the spikes.
static void size_nwb(const tess_bundle *bundle, tess_de_recording_size *out)
{
    out->n_spike = items_of(bundle, "units/spike_times");
    out->bytes = out->n_spike * sizeof(double);
}

void tess_de_size_recording(const tess_bundle *bundle, tess_de_recording_size *out)
{
    *out = (tess_de_recording_size){0};
    if (tess_bundle_find(bundle, "units/spike_times")) {
        size_nwb(bundle, out);
    } else {
        size_arrays(bundle, out);
    }
}
