// Spikes of our own layout: flat arrays with offsets, or one pair of arrays per electrode.
#include "base/status.h"
#include "systems/decode/files/recording_input.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64, MAX_ELECTRODES = 1 << 20 };

// Names of one flat set of spikes.
typedef struct flat_names {
    const char *times;
    const char *offsets;
    const char *marks;
} flat_names;

static const flat_names ENCODING = {"spike_times", "spike_offsets", "marks"};
static const flat_names DECODING = {"decode_spike_times", "decode_spike_offsets", "decode_marks"};

static tess_status check_offsets(const tess_de_input *in, const flat_names *names,
                                 const int64_t *offsets, int64_t n_electrode, int64_t n_spike)
{
    const char *path = in->bundle.path;
    if (offsets[0] != 0 || offsets[n_electrode] != n_spike) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: data set '%s' runs from %lld to %lld; expected 0 to %lld, the number of "
                  "values of '%s'",
                  path, names->offsets, (long long)offsets[0], (long long)offsets[n_electrode],
                  (long long)n_spike, names->times);
    }
    for (int64_t e = 0; e < n_electrode; e++) {
        if (offsets[e + 1] < offsets[e]) {
            TESS_FAIL(TESS_E_FORMAT, "%s: data set '%s' falls from %lld to %lld at electrode %lld",
                      path, names->offsets, (long long)offsets[e], (long long)offsets[e + 1],
                      (long long)e);
        }
    }
    return TESS_OK;
}

// Features of every electrode: the columns of marks, or n_feature where they differ.
static tess_status read_feature_counts(tess_de_input *in, const tess_bundle_entry *marks,
                                       const int64_t *offsets, int64_t n_electrode,
                                       int64_t *n_feature)
{
    const char *path = in->bundle.path;
    const tess_bundle_entry *counts = tess_bundle_find(&in->bundle, "n_feature");
    const int64_t n_spike = offsets[n_electrode];
    if (marks->rank == 2) {
        if (marks->shape[0] != n_spike) {
            TESS_FAIL(TESS_E_SHAPE, "%s: data set '%s' has %lld rows; expected %lld, one per spike",
                      path, marks->name, (long long)marks->shape[0], (long long)n_spike);
        }
        for (int64_t e = 0; e < n_electrode; e++) {
            n_feature[e] = marks->shape[1];
        }
        return TESS_OK;
    }
    if (marks->rank != 1 || !counts) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: data set '%s' has %d axes; expected [spikes][features], or one axis and the "
                  "features of every electrode in 'n_feature'",
                  path, marks->name, (int)marks->rank);
    }
    TESS_TRY(tess_de_input_vector(in, counts, n_electrode, "one per electrode"));
    TESS_TRY(tess_bundle_read_i64(&in->bundle, counts, n_feature));
    int64_t n_value = 0;
    for (int64_t e = 0; e < n_electrode; e++) {
        if (n_feature[e] < 0 || n_feature[e] > 65536) {
            TESS_FAIL(TESS_E_FORMAT, "%s: data set 'n_feature': electrode %lld has %lld features",
                      path, (long long)e, (long long)n_feature[e]);
        }
        n_value += n_feature[e] * (offsets[e + 1] - offsets[e]);
    }
    if (n_value != marks->n_item) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: data set '%s' has %lld values; 'n_feature' and the spike counts make %lld",
                  path, marks->name, (long long)marks->n_item, (long long)n_value);
    }
    return TESS_OK;
}

static tess_status read_flat(tess_de_input *in, const flat_names *names, tess_decode_spikes *spikes)
{
    const tess_bundle_entry *times = NULL;
    const tess_bundle_entry *starts = NULL;
    const tess_bundle_entry *marks = tess_bundle_find(&in->bundle, names->marks);
    const int64_t *offsets = NULL;
    const double *all_times = NULL;
    char *all_marks = NULL;
    tess_de_spike_lists lists;

    TESS_TRY(tess_de_input_need(in, names->times, &times));
    TESS_TRY(tess_de_input_need(in, names->offsets, &starts));
    TESS_TRY(tess_de_input_vector(in, times, -1, ""));
    TESS_TRY(tess_de_input_vector(in, starts, -1, ""));
    const int64_t n_electrode = starts->n_item - 1;
    if (n_electrode < 0) {
        TESS_FAIL(TESS_E_SHAPE, "%s: data set '%s' is empty; expected electrodes + 1 values",
                  in->bundle.path, names->offsets);
    }
    TESS_TRY(tess_de_input_i64(in, starts, &offsets));
    TESS_TRY(check_offsets(in, names, offsets, n_electrode, times->n_item));
    TESS_TRY(tess_de_input_f64(in, times, &all_times));
    const int32_t dtype = marks ? tess_de_mark_dtype(marks) : TESS_F64;
    TESS_TRY(tess_de_recording_spikes(in->recording, spikes, n_electrode, dtype, &lists));
    if (marks) {
        TESS_TRY(read_feature_counts(in, marks, offsets, n_electrode, lists.n_feature));
        TESS_TRY(tess_de_input_marks(in, marks, dtype, (void **)&all_marks));
    } else {
        spikes->marks = NULL; // sorted spikes
    }
    for (int64_t e = 0; e < n_electrode; e++) {
        lists.n_spike[e] = offsets[e + 1] - offsets[e];
        lists.times[e] = all_times + offsets[e];
        lists.marks[e] = all_marks;
        if (all_marks) {
            all_marks += lists.n_spike[e] * lists.n_feature[e] *
                         (int64_t)tess_dtype_bytes((tess_dtype)dtype);
        }
    }
    return TESS_OK;
}

static const tess_bundle_entry *find_electrode(const tess_de_input *in, int64_t e,
                                               const char *suffix, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "e%lld_%s", (long long)e, suffix);
    return tess_bundle_find(&in->bundle, name);
}

// Number of the electrode that an array is named after, as "e4_times"; -1: none.
static int64_t electrode_of(const char *name)
{
    static const char *const suffixes[] = {"_times", "_marks", "_dec_times", "_dec_marks"};
    char *end = NULL;
    if (name[0] != 'e' || !isdigit((unsigned char)name[1])) {
        return -1;
    }
    const long long number = strtoll(name + 1, &end, 10);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (strcmp(end, suffixes[i]) == 0) {
            return number;
        }
    }
    return -1;
}

// Electrodes are counted from e0 on: what lies behind a gap would be left out without a word.
static tess_status check_numbers(const tess_de_input *in, int64_t n_electrode)
{
    for (int64_t i = 0; i < in->bundle.n_entry; i++) {
        const char *name = in->bundle.entries[i].name;
        if (electrode_of(name) >= n_electrode) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: data set '%s' would not be used, for there is no 'e%lld_times': number "
                      "electrodes from e0 without gaps, and give those without spikes empty arrays",
                      in->bundle.path, name, (long long)n_electrode);
        }
    }
    return TESS_OK;
}

// One electrode's times; and marks, unless no electrode has them.
static tess_status read_electrode(tess_de_input *in, int64_t e, const char *times_suffix,
                                  const char *marks_suffix, int32_t dtype, bool has_marks,
                                  tess_de_spike_lists *lists)
{
    char name[NAME_BYTES];
    const tess_bundle_entry *marks = find_electrode(in, e, marks_suffix, name);
    if (!marks && has_marks) {
        return tess_de_input_need(in, name, &marks);
    }
    const tess_bundle_entry *times = find_electrode(in, e, times_suffix, name);
    if (!times) {
        return tess_de_input_need(in, name, &times);
    }
    TESS_TRY(tess_de_input_vector(in, times, -1, ""));
    if (!marks) {
        lists->n_spike[e] = times->n_item;
        return tess_de_input_f64(in, times, &lists->times[e]);
    }
    if (marks->rank != 2 || marks->shape[0] != times->n_item) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: electrode %lld: %lld spike times but %lld feature rows in '%s'; expected "
                  "[spikes][features]",
                  in->bundle.path, (long long)e, (long long)times->n_item,
                  (long long)(marks->rank > 0 ? marks->shape[0] : 1), marks->name);
    }
    void *values = NULL;
    TESS_TRY(tess_de_input_f64(in, times, &lists->times[e]));
    TESS_TRY(tess_de_input_marks(in, marks, dtype, &values));
    lists->marks[e] = values;
    lists->n_spike[e] = times->n_item;
    lists->n_feature[e] = marks->shape[1];
    return TESS_OK;
}

static tess_status read_ragged(tess_de_input *in, const char *times_suffix,
                               const char *marks_suffix, int64_t n_electrode,
                               tess_decode_spikes *spikes)
{
    char name[NAME_BYTES];
    int32_t dtype = TESS_F32;
    bool has_marks = false;
    tess_de_spike_lists lists;
    for (int64_t e = 0; e < n_electrode; e++) {
        const tess_bundle_entry *marks = find_electrode(in, e, marks_suffix, name);
        has_marks = has_marks || marks;
        if (!marks || tess_de_mark_dtype(marks) != TESS_F32) {
            dtype = TESS_F64;
        }
    }
    TESS_TRY(tess_de_recording_spikes(in->recording, spikes, n_electrode, dtype, &lists));
    for (int64_t e = 0; e < n_electrode; e++) {
        TESS_TRY(read_electrode(in, e, times_suffix, marks_suffix, dtype, has_marks, &lists));
    }
    if (!has_marks) {
        spikes->marks = NULL; // sorted spikes
    }
    return TESS_OK;
}

// The unit of every decoding spike, for scoring simulations.
static tess_status read_units(tess_de_input *in)
{
    const tess_decode_spikes *spikes = &in->recording->info.observation.spikes;
    const tess_bundle_entry *entry = tess_bundle_find(&in->bundle, "unit");
    tess_blocks *blocks = &in->recording->blocks;
    const int64_t *units = NULL;
    int64_t n_spike = 0;
    if (!entry) {
        return TESS_OK;
    }
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        n_spike += spikes->n_spike[e];
    }
    TESS_TRY(tess_de_input_vector(in, entry, n_spike, "one per decoding spike"));
    TESS_TRY(tess_de_input_i64(in, entry, &units));
    int32_t *narrow = tess_blocks_alloc(blocks, n_spike, sizeof *narrow, "units");
    const int32_t **list =
        tess_blocks_alloc(blocks, spikes->n_electrode, sizeof(int32_t *), "units");
    if (!narrow || !list) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n_spike; i++) {
        narrow[i] = (int32_t)units[i];
    }
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        list[e] = narrow;
        narrow += spikes->n_spike[e];
    }
    in->recording->info.unit = list;
    return TESS_OK;
}

static tess_status check_electrodes(const tess_de_input *in)
{
    const tess_decode_recording_info *info = &in->recording->info;
    const int64_t expected = info->training.spikes.n_electrode;
    const int64_t found = info->observation.spikes.n_electrode;
    if (found != expected) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: data set 'decode_spike_offsets' has %lld electrodes, 'spike_offsets' %lld; "
                  "both must list the same electrodes in the same order",
                  in->bundle.path, (long long)found, (long long)expected);
    }
    return TESS_OK;
}

tess_status tess_de_read_spikes(tess_de_input *in)
{
    tess_decode_recording_info *info = &in->recording->info;
    tess_decode_spikes *decoding = &info->observation.spikes;
    char name[NAME_BYTES];
    int64_t n_ragged = 0;
    while (n_ragged < MAX_ELECTRODES && find_electrode(in, n_ragged, "times", name)) {
        n_ragged++;
    }
    const bool is_flat = tess_bundle_find(&in->bundle, ENCODING.times) != NULL;
    if (!is_flat) {
        TESS_TRY(check_numbers(in, n_ragged));
    }
    if (n_ragged > 0 && !is_flat) {
        TESS_TRY(read_ragged(in, "times", "marks", n_ragged, &info->training.spikes));
        if (find_electrode(in, 0, "dec_times", name)) {
            TESS_TRY(read_ragged(in, "dec_times", "dec_marks", n_ragged, decoding));
        } else {
            *decoding = info->training.spikes;
        }
        return read_units(in);
    }
    TESS_TRY(read_flat(in, &ENCODING, &info->training.spikes));
    if (tess_bundle_find(&in->bundle, DECODING.times)) {
        TESS_TRY(read_flat(in, &DECODING, decoding));
        TESS_TRY(check_electrodes(in));
    } else {
        *decoding = info->training.spikes;
    }
    return read_units(in);
}
