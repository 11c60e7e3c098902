// NWB files, as plain HDF5: a position series, and a units table with ragged spike times and
// features.
#include "base/status.h"
#include "systems/decode/files/recording_input.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES = 512, MAX_FEATURE_COLUMN = 8 };

static const char DATA[] = "/data";

// Factor that brings values of the data set to the unit wanted; says so in the notes.
typedef struct unit_name {
    const char *name;
    double factor;
} unit_name;

static const unit_name LENGTHS[] = {{"m", 100},        {"meter", 100},       {"meters", 100},
                                    {"metre", 100},    {"metres", 100},      {"cm", 1},
                                    {"centimeter", 1}, {"centimeters", 1},   {"centimetres", 1},
                                    {"mm", 0.1},       {"millimeters", 0.1}, {NULL, 1}};
static const unit_name VOLTAGES[] = {
    {"V", 1e6},          {"volt", 1e6}, {"volts", 1e6},    {"mV", 1e3},
    {"millivolts", 1e3}, {"uV", 1},     {"microvolts", 1}, {NULL, 1}};

// conversion and offset bring the stored values to the unit of the attribute.
typedef struct scale {
    double factor;
    double offset;
} scale;

static scale scale_of(tess_de_input *in, const char *object, const unit_name *units,
                      const char *wanted)
{
    char unit[64];
    scale s = {1, 0};
    tess_bundle_number_attribute(&in->bundle, object, "conversion", &s.factor);
    tess_bundle_number_attribute(&in->bundle, object, "offset", &s.offset);
    if (!isfinite(s.factor) || s.factor == 0) {
        s.factor = 1;
    }
    if (!tess_bundle_text_attribute(&in->bundle, object, "unit", unit, sizeof unit)) {
        tess_text_printf(&in->notes, "%s: no unit given, taken as %s\n", object, wanted);
        return s;
    }
    const unit_name *u = units;
    while (u->name && strcasecmp(u->name, unit) != 0) {
        u++;
    }
    if (u->name) {
        tess_text_printf(&in->notes, "%s: unit '%s', converted to %s\n", object, unit, wanted);
    } else {
        tess_log_warn(&in->ctx->log, TESS_W_DECODE_UNIT,
                      "%s: %s: unit '%s' is not known, the values are taken as %s", in->bundle.path,
                      object, unit, wanted);
    }
    s.factor *= u->factor;
    s.offset *= u->factor;
    return s;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text);
    const size_t m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

// "processing/behavior/Position/led/data" and the like, with 1 to 3 coordinates.
static bool is_position(const tess_bundle_entry *entry)
{
    const char *name = entry->name;
    const bool is_place =
        strncmp(name, "processing/", 11) == 0 || strncmp(name, "acquisition/", 12) == 0;
    return is_place && ends_with(name, DATA) && strcasestr(name, "position") &&
           !strcasestr(name, "eye") && entry->rank >= 1 && entry->rank <= 2 &&
           (entry->rank == 1 || (entry->shape[1] >= 1 && entry->shape[1] <= TESS_DECODE_MAX_DIM)) &&
           entry->shape[0] > 1 && (entry->dtype == TESS_F32 || entry->dtype == TESS_F64);
}

static tess_status find_position(tess_de_input *in, const tess_bundle_entry **out)
{
    *out = NULL;
    for (int64_t i = 0; i < in->bundle.n_entry; i++) {
        const tess_bundle_entry *entry = &in->bundle.entries[i];
        if (!is_position(entry)) {
            continue;
        }
        if (*out) {
            tess_text_printf(&in->notes, "%s: another position series, left out\n", entry->name);
        } else {
            *out = entry;
            tess_text_printf(&in->notes, "%s: taken as the position\n", entry->name);
        }
    }
    if (!*out) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: no position found; expected a series of 1 to %d coordinates such as "
                  "/processing/behavior/Position/<name>/data",
                  in->bundle.path, TESS_DECODE_MAX_DIM);
    }
    return TESS_OK;
}

// timestamps, or starting_time with its rate.
static tess_status read_time(tess_de_input *in, const char *series, int64_t n, const double **out)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%.480s/timestamps", series);
    const tess_bundle_entry *entry = tess_bundle_find(&in->bundle, name);
    if (entry) {
        TESS_TRY(tess_de_input_vector(in, entry, n, "one per position sample"));
        return tess_de_input_f64(in, entry, out);
    }
    double start = 0;
    double rate = 0;
    snprintf(name, sizeof name, "%.480s/starting_time", series);
    entry = tess_bundle_find(&in->bundle, name);
    if (!entry || entry->n_item != 1 ||
        !tess_bundle_number_attribute(&in->bundle, name, "rate", &rate) || !(rate > 0)) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: /%s has neither timestamps nor starting_time with a rate above 0",
                  in->bundle.path, series);
    }
    TESS_TRY(tess_bundle_read_f64(&in->bundle, entry, &start));
    double *times = tess_blocks_alloc(&in->recording->blocks, n, sizeof *times, "times");
    if (!times) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        times[i] = start + (double)i / rate;
    }
    *out = times;
    return TESS_OK;
}

static tess_status read_scaled(tess_de_input *in, const tess_bundle_entry *entry, scale s,
                               const double **out)
{
    double *values =
        tess_blocks_alloc(&in->recording->blocks, entry->n_item, sizeof *values, "values");
    if (!values) {
        return TESS_E_MEMORY;
    }
    *out = values;
    TESS_TRY(tess_bundle_read_f64(&in->bundle, entry, values));
    for (int64_t i = 0; i < entry->n_item; i++) {
        values[i] = values[i] * s.factor + s.offset;
    }
    return TESS_OK;
}

static tess_status read_position(tess_de_input *in)
{
    tess_decode_position *position = &in->recording->info.training.position;
    const tess_bundle_entry *entry = NULL;
    char series[NAME_BYTES];

    TESS_TRY(find_position(in, &entry));
    snprintf(series, sizeof series, "%.*s", (int)(strlen(entry->name) - strlen(DATA)), entry->name);
    position->n_sample = entry->shape[0];
    position->n_dim = entry->rank == 2 ? entry->shape[1] : 1;
    const scale s = scale_of(in, entry->name, LENGTHS, "cm");
    TESS_TRY(read_scaled(in, entry, s, &position->position));
    return read_time(in, series, position->n_sample, &position->time);
}

// A feature column has one row per spike and the same index as the spike times.
static tess_status is_feature(tess_de_input *in, const tess_bundle_entry *entry,
                              const int64_t *ends, int64_t n_unit, int64_t n_spike, bool *out)
{
    static const char *const others[] = {"units/spike_times", "units/obs_intervals",
                                         "units/electrodes",  "units/waveform_mean",
                                         "units/waveform_sd", "units/waveforms"};
    char name[NAME_BYTES];
    *out = false;
    if (strncmp(entry->name, "units/", 6) != 0 || ends_with(entry->name, "_index") ||
        entry->rank < 1 || entry->rank > 2 ||
        (entry->dtype != TESS_F32 && entry->dtype != TESS_F64)) {
        return TESS_OK;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(entry->name, others[i]) == 0) {
            return TESS_OK;
        }
    }
    snprintf(name, sizeof name, "%.480s_index", entry->name);
    const tess_bundle_entry *index = tess_bundle_find(&in->bundle, name);
    if (!index) {
        return TESS_OK; // one value per unit, not per spike
    }
    const int64_t *its_ends = NULL;
    *out = entry->shape[0] == n_spike && index->n_item == n_unit;
    if (*out) {
        TESS_TRY(tess_de_input_i64(in, index, &its_ends));
        *out = n_unit == 0 || memcmp(its_ends, ends, (size_t)n_unit * sizeof *ends) == 0;
    }
    if (!*out) {
        tess_text_printf(&in->notes, "%s: left out, it does not have one row per spike\n",
                         entry->name);
    }
    return TESS_OK;
}

typedef struct columns {
    const double *values[MAX_FEATURE_COLUMN];
    int64_t width[MAX_FEATURE_COLUMN];
    int n_column;
    int64_t n_feature;
} columns;

static tess_status read_columns(tess_de_input *in, const int64_t *ends, int64_t n_unit,
                                int64_t n_spike, columns *out)
{
    for (int64_t i = 0; i < in->bundle.n_entry; i++) {
        const tess_bundle_entry *entry = &in->bundle.entries[i];
        bool take = false;
        TESS_TRY(is_feature(in, entry, ends, n_unit, n_spike, &take));
        if (!take) {
            continue;
        }
        if (out->n_column == MAX_FEATURE_COLUMN) {
            tess_text_printf(&in->notes, "%s: left out, more than %d feature columns\n",
                             entry->name, MAX_FEATURE_COLUMN);
            continue;
        }
        tess_text_printf(&in->notes, "%s: taken as features\n", entry->name);
        const scale s = scale_of(in, entry->name, VOLTAGES, "uV");
        const int k = out->n_column++;
        out->width[k] = entry->rank == 2 ? entry->shape[1] : 1;
        out->n_feature += out->width[k];
        TESS_TRY(read_scaled(in, entry, s, &out->values[k]));
    }
    return TESS_OK;
}

// Feature columns side by side: [n_spike][n_feature].
static double *join_columns(tess_de_input *in, const columns *c, int64_t n_spike)
{
    double *marks =
        tess_blocks_alloc(&in->recording->blocks, n_spike * c->n_feature, sizeof *marks, "marks");
    double *at = marks;
    for (int64_t i = 0; marks && i < n_spike; i++) {
        for (int k = 0; k < c->n_column; k++) {
            memcpy(at, c->values[k] + i * c->width[k], (size_t)c->width[k] * sizeof *at);
            at += c->width[k];
        }
    }
    return marks;
}

static tess_status check_ends(const tess_de_input *in, const int64_t *ends, int64_t n_unit,
                              int64_t n_spike)
{
    int64_t last = 0;
    for (int64_t u = 0; u < n_unit; u++) {
        if (ends[u] < last || ends[u] > n_spike) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: data set 'units/spike_times_index': unit %lld ends at %lld; expected "
                      "%lld to %lld",
                      in->bundle.path, (long long)u, (long long)ends[u], (long long)last,
                      (long long)n_spike);
        }
        last = ends[u];
    }
    return TESS_OK;
}

static tess_status read_units(tess_de_input *in)
{
    tess_decode_recording_info *info = &in->recording->info;
    const tess_bundle_entry *times = tess_bundle_find(&in->bundle, "units/spike_times");
    const tess_bundle_entry *index = NULL;
    const int64_t *ends = NULL;
    const double *all_times = NULL;
    tess_de_spike_lists lists;
    columns c = {.n_column = 0};

    TESS_TRY(tess_de_input_need(in, "units/spike_times_index", &index));
    TESS_TRY(tess_de_input_vector(in, times, -1, ""));
    TESS_TRY(tess_de_input_vector(in, index, -1, ""));
    TESS_TRY(tess_de_input_i64(in, index, &ends));
    TESS_TRY(check_ends(in, ends, index->n_item, times->n_item));
    TESS_TRY(tess_de_input_f64(in, times, &all_times));
    TESS_TRY(read_columns(in, ends, index->n_item, times->n_item, &c));
    TESS_TRY(tess_de_recording_spikes(in->recording, &info->training.spikes, index->n_item,
                                      TESS_F64, &lists));
    const double *marks = c.n_column > 0 ? join_columns(in, &c, times->n_item) : NULL;
    if (c.n_column > 0 && !marks) {
        return TESS_E_MEMORY;
    }
    if (!marks) {
        tess_text_printf(&in->notes, "no feature column: taken as sorted spikes, one unit a row\n");
        info->training.spikes.marks = NULL;
    }
    for (int64_t e = 0; e < index->n_item; e++) {
        const int64_t first = e > 0 ? ends[e - 1] : 0;
        lists.n_spike[e] = ends[e] - first;
        lists.n_feature[e] = c.n_feature;
        lists.times[e] = all_times + first;
        lists.marks[e] = marks ? marks + first * c.n_feature : NULL;
    }
    return TESS_OK;
}

tess_status tess_de_read_nwb(tess_de_input *in)
{
    tess_decode_recording_info *info = &in->recording->info;
    TESS_TRY(read_position(in));
    TESS_TRY(read_units(in));
    info->observation.n_time = info->training.position.n_sample;
    info->observation.time = info->training.position.time;
    info->observation.position = info->training.position;
    info->observation.spikes = info->training.spikes;
    return tess_de_read_ids(in, "units/id");
}
