// Which channels: picks by name and type, their groups, and whether they have positions.
#include "base/status.h"
#include "systems/autoreject/epochs/channels.h"
#include "systems/autoreject/epochs/epochs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Names for a message: as many as are readable.
typedef struct name_list {
    char text[640];
    size_t used;
    int64_t n;
} name_list;

static void list_name(name_list *list, const char *name)
{
    const size_t room = sizeof list->text - 8;
    if (list->used + strlen(name) + 2 < room) {
        list->used += (size_t)snprintf(list->text + list->used, room - list->used, "%s%s",
                                       list->n ? ", " : "", name);
    } else if (list->used < room) {
        strcpy(list->text + list->used, ", ...");
        list->used = room;
    }
    list->n++;
}

// What a word other than a channel name stands for, as bits of types; 0: nothing.
static uint32_t types_of(const char *word, size_t n)
{
    static const struct {
        const char *word;
        uint32_t types;
    } words[] = {
        {"all", UINT32_MAX},
        {"data", (1u << TESS_AUTOREJECT_N_SOLVABLE) - 1},
        {"meg", 1u << TESS_AUTOREJECT_MAG | 1u << TESS_AUTOREJECT_GRAD},
        {"fnirs", 1u << TESS_AUTOREJECT_HBO | 1u << TESS_AUTOREJECT_HBR},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) == n && memcmp(words[i].word, word, n) == 0) {
            return words[i].types;
        }
    }
    char name[16] = "";
    if (n >= sizeof name) {
        return 0;
    }
    memcpy(name, word, n);
    const int32_t type = tess_autoreject_type_find(name);
    return type < 0 ? 0 : 1u << type;
}

// The longest piece of text up to a comma that is a channel's name (which may hold commas itself).
static int64_t find_channel(const tess_autoreject_sensors *sensors, const char *text,
                            size_t *n_taken)
{
    int64_t found = -1;
    *n_taken = 0;
    for (int64_t c = 0; c < sensors->n_chan; c++) {
        const char *name = sensors->channels[c].name;
        const size_t n = strlen(name);
        if (n < *n_taken || strncmp(text, name, n) != 0) {
            continue;
        }
        const size_t blanks = strspn(text + n, " ");
        if (text[n + blanks] == ',' || text[n + blanks] == '\0') {
            found = c;
            *n_taken = n + blanks;
        }
    }
    return found;
}

static tess_status unknown_pick(const tess_autoreject_epochs *epochs, const char *text, size_t n)
{
    name_list names = {.text = ""};
    for (int64_t c = 0; c < epochs->sensors.n_chan; c++) {
        list_name(&names, epochs->sensors.channels[c].name);
    }
    TESS_FAIL(TESS_E_ARGUMENT,
              "picks: '%.*s' is neither a channel nor a channel type; types are eeg, mag, grad, "
              "hbo, hbr, ecog, seeg, also data and all; channels are %s",
              n < 60 ? (int)n : 60, text, names.text);
}

static tess_status mark_text(const tess_autoreject_epochs *epochs, const char *text,
                             int64_t *is_picked)
{
    const tess_autoreject_sensors *sensors = &epochs->sensors;
    for (const char *at = text; *at;) {
        at += strspn(at, " ,");
        if (!*at) {
            break;
        }
        size_t n;
        const int64_t c = find_channel(sensors, at, &n);
        if (c >= 0) {
            is_picked[c] = 1;
            at += n;
            continue;
        }
        n = strcspn(at, ",");
        size_t trimmed = n;
        while (at[trimmed - 1] == ' ') {
            trimmed--;
        }
        const uint32_t types = types_of(at, trimmed);
        if (!types) {
            return unknown_pick(epochs, at, trimmed);
        }
        for (int64_t k = 0; k < sensors->n_chan; k++) {
            const tess_autoreject_channel *channel = &sensors->channels[k];
            is_picked[k] |= !channel->is_bad && (types >> channel->type & 1);
        }
        at += n;
    }
    return TESS_OK;
}

tess_status tess_autoreject_picks(const tess_autoreject_epochs *epochs, const char *text,
                                  int64_t *picks, int64_t *n_pick)
{
    tess_error_clear();
    const int64_t n_chan = epochs->sensors.n_chan;
    *n_pick = 0;
    // picks serves as flags first.
    memset(picks, 0, (size_t)n_chan * sizeof *picks);
    TESS_TRY(mark_text(epochs, text ? text : "data", picks));
    int64_t n = 0;
    for (int64_t c = 0; c < n_chan; c++) {
        if (picks[c]) {
            picks[n++] = c;
        }
    }
    if (n == 0) {
        int64_t n_bad = 0;
        for (int64_t c = 0; c < n_chan; c++) {
            n_bad += epochs->sensors.channels[c].is_bad != 0;
        }
        TESS_FAIL(TESS_E_ARGUMENT,
                  "picks: '%.200s' picks none of the %lld channels (%lld are marked bad); name "
                  "channels, or give their types",
                  text ? text : "data", (long long)n_chan, (long long)n_bad);
    }
    *n_pick = n;
    return TESS_OK;
}

static tess_status check_types(const tess_autoreject_sensors *sensors, const int64_t *picks,
                               int64_t n_pick)
{
    name_list names = {.text = ""};
    for (int64_t i = 0; i < n_pick; i++) {
        const tess_autoreject_channel *channel = &sensors->channels[picks[i]];
        if (!tess_ar_type_is_solvable(channel->type)) {
            char name[96];
            snprintf(name, sizeof name, "%.60s (%s)", channel->name,
                     tess_autoreject_type_name(channel->type));
            list_name(&names, name);
        }
    }
    if (names.n > 0) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "picks: %lld channels are of a type autoreject does not work on: %s; pick mag, "
                  "grad, eeg, hbo, hbr, ecog or seeg channels only",
                  (long long)names.n, names.text);
    }
    return TESS_OK;
}

// Sorts the picks into sorted, each once.
static tess_status sort_picks(const tess_autoreject_sensors *sensors, const int64_t *picks,
                              int64_t n_pick, int64_t *sorted, int64_t *n_sorted)
{
    *n_sorted = 0;
    for (int64_t i = 0; i < n_pick; i++) {
        if (picks[i] < 0 || picks[i] >= sensors->n_chan) {
            TESS_FAIL(TESS_E_RANGE, "picks[%lld]: %lld is not a channel; there are %lld, from 0",
                      (long long)i, (long long)picks[i], (long long)sensors->n_chan);
        }
        int64_t at = *n_sorted;
        while (at > 0 && sorted[at - 1] > picks[i]) {
            at--;
        }
        if (at > 0 && sorted[at - 1] == picks[i]) {
            continue;
        }
        memmove(sorted + at + 1, sorted + at, (size_t)(*n_sorted - at) * sizeof *sorted);
        sorted[at] = picks[i];
        ++*n_sorted;
    }
    return TESS_OK;
}

tess_status tess_ar_groups(const tess_autoreject_epochs *epochs, const int64_t *picks,
                           int64_t n_pick, int64_t *channels, tess_ar_group *groups,
                           int64_t *n_group)
{
    const tess_autoreject_sensors *sensors = &epochs->sensors;
    *n_group = 0;
    if (n_pick < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "picks: no channels; pick at least one");
    }
    const size_t bytes = (size_t)n_pick * sizeof *picks;
    int64_t *sorted = tess_heap_alloc(&epochs->ctx->heap, bytes, TESS_TAG_SCRATCH, "picks");
    if (!sorted) {
        return TESS_E_MEMORY;
    }
    int64_t n_sorted = 0;
    tess_status status = sort_picks(sensors, picks, n_pick, sorted, &n_sorted);
    if (status == TESS_OK) {
        status = check_types(sensors, sorted, n_sorted);
    }
    uint32_t seen = 0;
    int64_t used = 0;
    for (int64_t i = 0; status == TESS_OK && i < n_sorted; i++) {
        const int32_t type = sensors->channels[sorted[i]].type;
        if (seen >> type & 1) {
            continue;
        }
        seen |= 1u << type;
        tess_ar_group *group = &groups[(*n_group)++];
        *group = (tess_ar_group){.type = type, .channels = channels + used};
        for (int64_t k = i; k < n_sorted; k++) {
            if (sensors->channels[sorted[k]].type == type) {
                channels[used++] = sorted[k];
                group->n_chan++;
            }
        }
    }
    tess_heap_free(&epochs->ctx->heap, sorted, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_ar_check_positions(const tess_autoreject_sensors *sensors, const int64_t *channels,
                                    int64_t n_channel)
{
    static const double ZERO_M = 1e-8; // the original's: closer to the origin is no position
    name_list without = {.text = ""};
    bool all_near_zero = true;
    bool any_not_finite = false;
    for (int64_t i = 0; i < n_channel; i++) {
        const tess_autoreject_channel *channel = &sensors->channels[channels[i]];
        const double *p = channel->loc;
        const bool is_finite = isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
        const bool is_near_zero =
            fabs(p[0]) <= ZERO_M && fabs(p[1]) <= ZERO_M && fabs(p[2]) <= ZERO_M;
        any_not_finite = any_not_finite || !is_finite;
        all_near_zero = all_near_zero && is_near_zero;
        if (!is_finite || is_near_zero) {
            list_name(&without, channel->name);
        }
    }
    if (!any_not_finite && !all_near_zero) {
        return TESS_OK;
    }
    TESS_FAIL(TESS_E_NUMERIC,
              "Valid channel positions are needed for autoreject to work; %lld of %lld channels "
              "have none: %s; give a montage (--montage FILE, or 1005 for standard names), mark or "
              "pick channels without them, or compute thresholds only, without augmentation",
              (long long)without.n, (long long)n_channel, without.text);
}
