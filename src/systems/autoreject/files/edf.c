#include "systems/autoreject/files/edf.h"

#include "base/status.h"
#include "systems/autoreject/files/annotations.h"
#include "systems/autoreject/text/text_input.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { BUFFER_BYTES = 1 << 19 };

static int probe(const char *path, const uint8_t *head, size_t head_bytes)
{
    (void)path;
    static const uint8_t edf[8] = "0       ";
    static const uint8_t bdf[8] = {0xff, 'B', 'I', 'O', 'S', 'E', 'M', 'I'};
    return head_bytes >= sizeof edf &&
           (memcmp(head, edf, sizeof edf) == 0 || memcmp(head, bdf, sizeof bdf) == 0);
}

static int32_t stored(const tess_edf *edf, const uint8_t *at)
{
    if (edf->is_bdf) {
        const uint32_t bits = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
        return (int32_t)(bits ^ 0x800000u) - 0x800000;
    }
    const uint32_t bits = (uint32_t)at[0] | (uint32_t)at[1] << 8;
    return (int32_t)(bits ^ 0x8000u) - 0x8000;
}

static double trigger_bits(double value)
{
    return fabs(value) < 9e15 ? (double)((uint64_t)(int64_t)value & TESS_EDF_STATUS_MASK) : 0;
}

static void convert(const tess_edf *edf, const tess_edf_scale *scale, const uint8_t *src, int64_t n,
                    double *dst)
{
    for (int64_t i = 0; i < n; i++) {
        const double value =
            (double)stored(edf, src + i * edf->sample_bytes) * scale->factor + scale->shift;
        dst[i] = scale->is_status ? trigger_bits(value) : value * scale->unit;
    }
}

// A stretch of samples within whole records: records k0..k1 through the buffer.
typedef struct stretch {
    int64_t first, count; // samples wanted
    const int64_t *channels;
    int64_t n_channel;
    double *dst;
} stretch;

static void take_record(const tess_edf *edf, const stretch *wanted, int64_t record,
                        const uint8_t *bytes)
{
    const int64_t begin = record * edf->n_time;
    const int64_t from = wanted->first > begin ? wanted->first - begin : 0;
    const int64_t last = wanted->first + wanted->count - begin;
    const int64_t to = last < edf->n_time ? last : edf->n_time;
    for (int64_t c = 0; c < wanted->n_channel; c++) {
        const tess_edf_scale *scale = &edf->channels[wanted->channels[c]];
        convert(edf, scale,
                bytes + edf->signals[scale->signal].offset + (uint64_t)(from * edf->sample_bytes),
                to - from, wanted->dst + c * wanted->count + begin + from - wanted->first);
    }
}

// Records larger than the buffer are read channel by channel, piece by piece.
static tess_status take_large_record(tess_edf *edf, const stretch *wanted, int64_t record)
{
    const int64_t begin = record * edf->n_time;
    const int64_t step = (int64_t)edf->buffer_bytes / edf->sample_bytes;
    const int64_t last = wanted->first + wanted->count - begin;
    const int64_t to = last < edf->n_time ? last : edf->n_time;
    for (int64_t c = 0; c < wanted->n_channel; c++) {
        const tess_edf_scale *scale = &edf->channels[wanted->channels[c]];
        const uint64_t at = (uint64_t)edf->header_bytes + (uint64_t)record * edf->record_bytes +
                            edf->signals[scale->signal].offset;
        for (int64_t from = wanted->first > begin ? wanted->first - begin : 0; from < to;
             from += step) {
            const int64_t n = to - from < step ? to - from : step;
            TESS_TRY(tess_infile_read(edf->file, edf->buffer, (size_t)(n * edf->sample_bytes),
                                      at + (uint64_t)(from * edf->sample_bytes)));
            convert(edf, scale, edf->buffer, n,
                    wanted->dst + c * wanted->count + begin + from - wanted->first);
        }
    }
    return TESS_OK;
}

static tess_status read_samples(tess_context *ctx, void *impl, int64_t first, int64_t count,
                                const int64_t *channels, int64_t n_channel, double *dst)
{
    tess_edf *edf = impl;
    const stretch wanted = {first, count, channels, n_channel, dst};
    const int64_t end = (first + count + edf->n_time - 1) / edf->n_time;
    const int64_t step = (int64_t)(edf->buffer_bytes / edf->record_bytes);
    for (int64_t k = first / edf->n_time; k < end && count > 0;) {
        TESS_TRY(tess_context_check_cancel(ctx));
        if (step == 0) {
            TESS_TRY(take_large_record(edf, &wanted, k++));
            continue;
        }
        const int64_t n = end - k < step ? end - k : step;
        TESS_TRY(tess_infile_read(edf->file, edf->buffer, (size_t)((uint64_t)n * edf->record_bytes),
                                  (uint64_t)edf->header_bytes + (uint64_t)k * edf->record_bytes));
        for (int64_t i = 0; i < n; i++) {
            take_record(edf, &wanted, k + i, edf->buffer + (uint64_t)i * edf->record_bytes);
        }
        k += n;
    }
    return TESS_OK;
}

// Volts: the micro sign comes in latin-1, UTF-8, as the Greek letter and in Shift JIS.
static bool unit_factor(const char *unit, double *factor)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {
        {"uV", 1e-6},        {"\xb5V", 1e-6}, {"\xc2\xb5V", 1e-6}, {"\xce\xbcV", 1e-6},
        {"\x83\xcaV", 1e-6}, {"mV", 1e-3},    {"nV", 1e-9},        {"V", 1},
    };
    *factor = 1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcasecmp(unit, units[i].unit) == 0) {
            *factor = units[i].factor;
            return true;
        }
    }
    return unit[0] == '\0';
}

static bool take_unit(void *impl, int64_t channel, const char *unit)
{
    const tess_edf *edf = impl;
    tess_edf_scale *scale = &edf->channels[channel];
    double factor = 1;
    if (scale->is_status || edf->signals[scale->signal].unit[0] != '\0' || unit[0] == '\0' ||
        !unit_factor(unit, &factor)) {
        return false;
    }
    scale->unit = factor;
    return true;
}

// What is said once of all channels it is true of.
typedef struct remarks {
    tess_ar_names no_scale, reversed, no_unit, other_rate;
} remarks;

static void say(tess_edf *edf, const remarks *r)
{
    if (r->no_scale.n > 0) {
        tess_ar_epochs_warn(edf->epochs, TESS_W_AUTOREJECT_SCALE,
                            "no scale (a range of width 0), taken as 1: %s", r->no_scale.text);
    }
    if (r->reversed.n > 0) {
        tess_ar_epochs_warn(edf->epochs, TESS_W_AUTOREJECT_SCALE,
                            "digital minimum above the maximum, signal inverted: %s",
                            r->reversed.text);
    }
    if (r->no_unit.n > 0) {
        tess_ar_epochs_warn(edf->epochs, TESS_W_AUTOREJECT_UNIT,
                            "unit not known, taken as volts: %s", r->no_unit.text);
    }
    if (r->other_rate.n > 0) {
        tess_ar_epochs_warn(edf->epochs, TESS_W_AUTOREJECT_CHANNELS,
                            "of another sampling rate, left out: %s", r->other_rate.text);
    }
}

static void set_scale(tess_edf *edf, int64_t c, const tess_autoreject_channel *channel, remarks *r)
{
    tess_edf_scale *scale = &edf->channels[c];
    const tess_edf_signal *signal = &edf->signals[scale->signal];
    double physical = signal->physical_max - signal->physical_min;
    double digital = signal->digital_max - signal->digital_min;
    scale->is_status = channel->type == TESS_AUTOREJECT_STIM;
    if (scale->is_status && edf->is_bdf) {
        scale->factor = 1;
        return;
    }
    if (digital == 0 || physical == 0) {
        tess_ar_names_add(&r->no_scale, channel->name);
        digital = digital == 0 ? 1 : digital;
        physical = physical == 0 ? 1 : physical;
    }
    if (digital < 0) {
        tess_ar_names_add(&r->reversed, channel->name);
    }
    scale->factor = physical / digital;
    scale->shift = signal->physical_min - signal->digital_min * scale->factor;
    if (!unit_factor(signal->unit, &scale->unit) && channel->type == TESS_AUTOREJECT_EEG) {
        tess_ar_names_add(&r->no_unit, channel->name);
    }
}

static tess_status name_channel(tess_edf *edf, const tess_edf_signal *signal,
                                tess_autoreject_channel *channel)
{
    channel->name = tess_ar_channel_name(edf->epochs, signal->label, strlen(signal->label));
    if (!channel->name) {
        return TESS_E_MEMORY;
    }
    int32_t type = tess_ar_type_by_prefix(&channel->name);
    if (type < 0) {
        type = tess_ar_type_by_name(channel->name);
    }
    channel->type = type < 0 ? TESS_AUTOREJECT_EEG : type;
    return TESS_OK;
}

// 1 if the types option makes this channel none of the recording's: "misc=..." or "other=...".
static bool is_set_aside(const tess_autoreject_epochs_config *config, const char *name)
{
    const char *types = config ? config->types : NULL;
    const size_t n = strlen(name);
    for (const char *group = types; group && *group;) {
        const size_t n_group = strcspn(group, ";");
        const bool is_aside = strncmp(group, "misc=", 5) == 0 || strncmp(group, "other=", 6) == 0;
        const char *end = group + n_group;
        const char *item = memchr(group, '=', n_group);
        for (item = item ? item + 1 : end; is_aside && item < end;) {
            const size_t n_item = strcspn(item, ",;");
            if (n_item == n && strncmp(item, name, n) == 0) {
                return true;
            }
            item += n_item + 1;
        }
        group += n_group + (group[n_group] == ';');
    }
    return false;
}

// The rate of the recording is that of its first signal which is not set aside; signals of another
// rate are left out if they are set aside, else they are an error.
static tess_status choose_rate(tess_edf *edf, const tess_autoreject_epochs_config *config,
                               const tess_autoreject_channel *all)
{
    const tess_edf_signal *first = NULL;
    for (int64_t s = 0; s < edf->n_signal; s++) {
        const tess_edf_signal *signal = &edf->signals[s];
        if (signal->is_annotations || signal->n_sample == 0 || is_set_aside(config, all[s].name)) {
            continue;
        }
        if (!first) {
            first = signal;
            edf->n_time = signal->n_sample;
        } else if (signal->n_sample != first->n_sample) {
            TESS_FAIL(
                TESS_E_FORMAT,
                "%s: channel '%s' has %g samples a second, channel '%s' %g; resampling is not "
                "done: leave the channels of the other rate out with types "
                "\"misc=NAME,NAME\"",
                edf->path, all[s].name, (double)signal->n_sample / edf->record_s,
                all[first - edf->signals].name, (double)first->n_sample / edf->record_s);
        }
    }
    if (!first) {
        TESS_FAIL(TESS_E_FORMAT, "%s: no signal to read, only annotations or channels set aside",
                  edf->path);
    }
    return TESS_OK;
}

static tess_status set_channels(tess_edf *edf, const tess_autoreject_epochs_config *config,
                                tess_autoreject_sensors *sensors)
{
    remarks r = {0};
    tess_autoreject_channel *channels = tess_ar_channels_create(edf->epochs, edf->n_signal);
    edf->channels =
        tess_ar_epochs_alloc(edf->epochs, (size_t)edf->n_signal * sizeof *edf->channels);
    const char **left_out = tess_ar_epochs_items(edf->epochs, edf->n_signal, sizeof *left_out);
    if (!channels || !edf->channels || !left_out) {
        return TESS_E_MEMORY;
    }
    edf->epochs->left_out = left_out;
    for (int64_t s = 0; s < edf->n_signal; s++) {
        TESS_TRY(name_channel(edf, &edf->signals[s], &channels[s]));
    }
    TESS_TRY(choose_rate(edf, config, channels));
    for (int64_t s = 0; s < edf->n_signal; s++) {
        const tess_edf_signal *signal = &edf->signals[s];
        if (signal->is_annotations) {
            continue;
        }
        if (signal->n_sample != edf->n_time) {
            tess_ar_names_add(&r.other_rate, channels[s].name);
            left_out[edf->epochs->n_left_out++] = channels[s].name;
            continue;
        }
        const int64_t c = edf->n_channel++;
        edf->channels[c].signal = s;
        channels[c] = channels[s];
        set_scale(edf, c, &channels[c], &r);
    }
    say(edf, &r);
    tess_autoreject_sensors_init(sensors, sizeof *sensors);
    sensors->n_chan = edf->n_channel;
    sensors->channels = channels;
    return TESS_OK;
}

static tess_status read_recording(tess_context *ctx, tess_edf *edf,
                                  const tess_autoreject_epochs_config *config,
                                  tess_ar_continuous *continuous)
{
    TESS_TRY(tess_edf_read_header(ctx, edf));
    TESS_TRY(set_channels(edf, config, &continuous->sensors));
    TESS_TRY(tess_edf_read_annotations(ctx, edf, continuous));
    edf->buffer_bytes = BUFFER_BYTES;
    edf->buffer = tess_ar_epochs_alloc(edf->epochs, edf->buffer_bytes);
    if (!edf->buffer) {
        return TESS_E_MEMORY;
    }
    continuous->sampling_hz = (double)edf->n_time / edf->record_s;
    continuous->n_sample = edf->n_record * edf->n_time;
    continuous->read = read_samples;
    continuous->take_unit = take_unit;
    continuous->impl = edf;
    edf->epochs->info.format = edf->is_bdf ? "bdf" : "edf";
    edf->epochs->info.stored_dtype = edf->is_bdf ? TESS_I32 : TESS_I16;
    return TESS_OK;
}

static tess_status open_edf(tess_context *ctx, const char *path,
                            const tess_autoreject_epochs_config *config,
                            tess_autoreject_epochs *epochs, tess_ar_continuous *continuous,
                            bool *is_continuous)
{
    *is_continuous = true;
    tess_edf *edf = tess_ar_epochs_alloc(epochs, sizeof *edf);
    if (!edf) {
        return TESS_E_MEMORY;
    }
    edf->epochs = epochs;
    TESS_TRY(tess_ar_epochs_open_input(epochs, path, &edf->file));
    edf->path = edf->file->path;
    return read_recording(ctx, edf, config, continuous);
}

const tess_ar_file_format tess_ar_edf = {"edf", probe, open_edf};
