#include "base/status.h"
#include "systems/autoreject/files/annotations.h"
#include "systems/autoreject/files/brainvision.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const double PI = 3.14159265358979323846;
// Idealised coordinates (radius 1) are put on a head of this size, as the original does.
static const double HEAD_RADIUS_MM = 95;

bool tess_bv_next(tess_ar_text *text, tess_bv_entry *entry)
{
    for (char *line; (line = tess_ar_text_line(text)) != NULL;) {
        line = tess_ar_trim(line);
        if (line[0] == '[') {
            char *end = strchr(line, ']');
            snprintf(entry->section, sizeof entry->section, "%.*s",
                     end ? (int)(end - line - 1) : 60, line + 1);
            continue;
        }
        char *equals = strchr(line, '=');
        if (line[0] == ';' || line[0] == '\0' || !equals || entry->section[0] == '\0' ||
            strcasecmp(entry->section, "Comment") == 0) {
            continue;
        }
        *equals = '\0';
        entry->key = tess_ar_trim(line);
        entry->value = tess_ar_trim(equals + 1);
        return true;
    }
    return false;
}

char *tess_bv_part(char **rest)
{
    char *part = *rest;
    if (!part) {
        return NULL;
    }
    char *comma = strchr(part, ',');
    *rest = comma ? comma + 1 : NULL;
    if (comma) {
        *comma = '\0';
    }
    for (char *code = part; (code = strstr(code, "\\1")) != NULL; code++) {
        *code = ',';
        memmove(code + 1, code + 2, strlen(code + 2) + 1);
    }
    return part;
}

static void keep(char *dst, size_t capacity, const char *value)
{
    snprintf(dst, capacity, "%s", value);
}

static tess_status read_number(const tess_ar_text *text, const tess_bv_entry *entry, double least,
                               double most, double *out)
{
    if (!tess_ar_number(entry->value, out) || *out < least || *out > most) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: line %" PRId64 ": %s is '%.40s', expected a number from %g to %g",
                  text->path, text->line, entry->key, entry->value, least, most);
    }
    return TESS_OK;
}

static tess_status take_common(const tess_ar_text *text, const tess_bv_entry *entry,
                               tess_bv_header *header)
{
    double number = 0;
    if (strcasecmp(entry->key, "DataFile") == 0) {
        keep(header->data_file, sizeof header->data_file, entry->value);
    } else if (strcasecmp(entry->key, "MarkerFile") == 0) {
        keep(header->marker_file, sizeof header->marker_file, entry->value);
    } else if (strcasecmp(entry->key, "DataFormat") == 0) {
        keep(header->data_format, sizeof header->data_format, entry->value);
    } else if (strcasecmp(entry->key, "DataOrientation") == 0) {
        keep(header->orientation, sizeof header->orientation, entry->value);
    } else if (strcasecmp(entry->key, "NumberOfChannels") == 0) {
        TESS_TRY(read_number(text, entry, 1, TESS_BV_MAX_CHANNEL, &number));
        header->n_channel = (int64_t)number;
    } else if (strcasecmp(entry->key, "DataPoints") == 0) {
        TESS_TRY(read_number(text, entry, 0, 9e15, &number));
        header->n_point = (int64_t)number;
    } else if (strcasecmp(entry->key, "SamplingInterval") == 0) {
        TESS_TRY(read_number(text, entry, 1e-3, 1e12, &header->interval_us));
    } else if (strcasecmp(entry->key, "DataType") == 0 &&
               strcasecmp(entry->value, "TIMEDOMAIN") != 0) {
        snprintf(header->unsupported, sizeof header->unsupported, "DataType=%.40s", entry->value);
    }
    return TESS_OK;
}

tess_status tess_bv_read_header(tess_ar_text *text, tess_bv_header *header)
{
    tess_bv_entry entry = {{0}, NULL, NULL};
    *header =
        (tess_bv_header){.n_point = -1, .data_format = "BINARY", .orientation = "MULTIPLEXED"};
    while (tess_bv_next(text, &entry)) {
        if (strcasecmp(entry.section, "Common Infos") == 0) {
            TESS_TRY(take_common(text, &entry, header));
        } else if (strcasecmp(entry.section, "Binary Infos") == 0) {
            if (strcasecmp(entry.key, "BinaryFormat") == 0) {
                keep(header->binary_format, sizeof header->binary_format, entry.value);
            } else if (strcasecmp(entry.key, "UseBigEndianOrder") == 0 &&
                       strcasecmp(entry.value, "YES") == 0) {
                keep(header->unsupported, sizeof header->unsupported, "UseBigEndianOrder=YES");
            }
        } else if (strcasecmp(entry.section, "Coordinates") == 0) {
            header->has_coordinates = true;
        }
    }
    if (header->n_channel == 0 || header->interval_us == 0 || header->data_file[0] == '\0') {
        TESS_FAIL(TESS_E_FORMAT, "%s: [Common Infos] has no %s", text->path,
                  header->n_channel == 0     ? "NumberOfChannels"
                  : header->interval_us == 0 ? "SamplingInterval"
                                             : "DataFile");
    }
    return TESS_OK;
}

// The channel a key "Ch12" speaks of, -1 if none.
static int64_t channel_of(const char *key, int64_t n_channel)
{
    int64_t number = 0;
    const bool is_channel = strncasecmp(key, "Ch", 2) == 0 && tess_ar_integer(key + 2, &number) &&
                            number >= 1 && number <= n_channel;
    return is_channel ? number - 1 : -1;
}

// Volts and what else occurs; the micro sign in UTF-8, as the Greek letter or in latin-1.
static void unit_factor(const char *unit, double *factor, bool *is_volt)
{
    static const struct {
        const char *unit;
        double factor;
        bool is_volt;
    } units[] = {
        {"", 1e-6, true},          {"uV", 1e-6, true},    {"\xc2\xb5V", 1e-6, true},
        {"\xce\xbcV", 1e-6, true}, {"\xb5V", 1e-6, true}, {"mV", 1e-3, true},
        {"nV", 1e-9, true},        {"V", 1, true},        {"\xc2\xb5S", 1e-6, false},
        {"\xb5S", 1e-6, false},    {"uS", 1e-6, false},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(unit, units[i].unit) == 0) {
            *factor = units[i].factor;
            *is_volt = units[i].is_volt;
            return;
        }
    }
    *factor = 1;
    *is_volt = false;
}

// ChN=name,reference,resolution,unit
static tess_status take_channel(tess_autoreject_epochs *epochs, const tess_ar_text *text,
                                const tess_bv_entry *entry, tess_autoreject_channel *channel,
                                tess_bv_channel *line)
{
    char *rest = entry->value;
    char *name = tess_bv_part(&rest);
    tess_bv_part(&rest); // the reference
    const char *resolution = tess_bv_part(&rest);
    char *unit = tess_bv_part(&rest);
    double scale = 1;
    double factor = 1e-6;
    bool is_volt = true;
    if (resolution && resolution[strspn(resolution, " \t")] &&
        !tess_ar_number(resolution, &scale)) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: line %" PRId64 ": the resolution of %s is '%.40s', expected a "
                  "number or nothing",
                  text->path, text->line, entry->key, resolution);
    }
    channel->name = tess_ar_channel_name(epochs, name, strlen(name));
    if (!channel->name) {
        return TESS_E_MEMORY;
    }
    unit_factor(unit ? tess_ar_trim(unit) : "", &factor, &is_volt);
    const int32_t type = tess_ar_type_by_name(channel->name);
    channel->type = type >= 0 ? type : is_volt ? TESS_AUTOREJECT_EEG : TESS_AUTOREJECT_MISC;
    line->is_named = true;
    line->is_volt = is_volt;
    line->factor = scale * factor;
    return TESS_OK;
}

// ChN=radius,theta,phi: degrees; theta from the vertex, phi from the right ear.
static tess_status take_place(const tess_ar_text *text, const tess_bv_entry *entry,
                              tess_bv_channel *line)
{
    double numbers[3] = {0};
    char *rest = entry->value;
    for (int i = 0; i < 3; i++) {
        const char *part = tess_bv_part(&rest);
        if (!part || !tess_ar_number(part, &numbers[i])) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: line %" PRId64 ": the coordinates of %s are not three numbers",
                      text->path, text->line, entry->key);
        }
    }
    const double radius = numbers[0] == 1 ? HEAD_RADIUS_MM : numbers[0];
    const double polar = numbers[1] * (PI / 180);
    const double azimuth = numbers[2] * (PI / 180);
    line->is_placed = radius != 0;
    line->position[0] = radius * sin(polar) * cos(azimuth) / 1000;
    line->position[1] = radius * sin(polar) * sin(azimuth) / 1000;
    line->position[2] = radius * cos(polar) / 1000;
    return TESS_OK;
}

tess_status tess_bv_read_channels(tess_autoreject_epochs *epochs, tess_ar_text *text,
                                  const tess_bv_header *header, tess_autoreject_channel *channels,
                                  tess_bv_channel *lines)
{
    tess_bv_entry entry = {{0}, NULL, NULL};
    while (tess_bv_next(text, &entry)) {
        const int64_t c = channel_of(entry.key, header->n_channel);
        if (c < 0) {
            continue;
        }
        if (strcasecmp(entry.section, "Channel Infos") == 0) {
            TESS_TRY(take_channel(epochs, text, &entry, &channels[c], &lines[c]));
        } else if (strcasecmp(entry.section, "Coordinates") == 0) {
            TESS_TRY(take_place(text, &entry, &lines[c]));
        }
    }
    tess_ar_names names = {0};
    for (int64_t c = 0; c < header->n_channel; c++) {
        if (!lines[c].is_named) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: [Channel Infos] has no Ch%" PRId64
                      " though NumberOfChannels is %" PRId64,
                      text->path, c + 1, header->n_channel);
        }
        if (lines[c].is_placed) {
            tess_ar_channel_set_position(&channels[c], lines[c].position);
        }
        if (channels[c].type == TESS_AUTOREJECT_MISC && !lines[c].is_volt) {
            tess_ar_names_add(&names, channels[c].name);
        }
    }
    if (names.n > 0) {
        tess_ar_epochs_note(epochs, "not in volts, taken as misc: %s", names.text);
    }
    return TESS_OK;
}
