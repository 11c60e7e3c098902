// Types and marks of channels, as the caller gives them.
#include "base/status.h"
#include "systems/autoreject/epochs/channels.h"
#include "systems/autoreject/files/fif.h"

#include <string.h>

// The channels of the epochs, to be changed: they lie in memory of their own.
static tess_autoreject_channel *channels_of(const tess_autoreject_epochs *epochs)
{
    union {
        const tess_autoreject_channel *given;
        tess_autoreject_channel *own;
    } channels = {epochs->sensors.channels};
    return channels.own;
}

// Among the names of the channels, or those they had before a montage named them.
static tess_autoreject_channel *take_named(const tess_autoreject_epochs *epochs, bool is_former,
                                           const char *text, const char *separators,
                                           size_t *n_taken)
{
    tess_autoreject_channel *found = NULL;
    *n_taken = 0;
    for (int64_t c = 0; c < epochs->sensors.n_chan; c++) {
        const char *name = is_former ? epochs->former_names[c] : epochs->sensors.channels[c].name;
        const size_t n = strlen(name);
        if (n <= *n_taken || strncmp(text, name, n) != 0) {
            continue;
        }
        const size_t end = n + strspn(text + n, " ");
        if (!text[end] || strchr(separators, text[end])) {
            found = &channels_of(epochs)[c];
            *n_taken = end;
        }
    }
    return found;
}

// The channel whose name starts the text and ends at a separator; NULL: none. *n_taken is behind
// it. A name that the montage gave to one channel and the array to another is the montage's.
static tess_autoreject_channel *take_channel(const tess_autoreject_epochs *epochs, const char *text,
                                             const char *separators, size_t *n_taken)
{
    tess_autoreject_channel *found = take_named(epochs, false, text, separators, n_taken);
    return found || !epochs->former_names ? found
                                          : take_named(epochs, true, text, separators, n_taken);
}

// What a table left open of a channel, the caller has answered.
static void answer(const tess_autoreject_epochs *epochs, const tess_autoreject_channel *channel,
                   int what)
{
    if (epochs->known) {
        epochs->known[channel - epochs->sensors.channels] |= (uint8_t)what;
    }
}

static tess_status no_channel(const tess_autoreject_epochs *epochs, const char *argument,
                              const char *text, const char *separators)
{
    const size_t n = strcspn(text, separators);
    tess_ar_names names = {0};
    for (int64_t c = 0; c < epochs->sensors.n_chan; c++) {
        tess_ar_names_add(&names, epochs->sensors.channels[c].name);
    }
    TESS_FAIL(TESS_E_ARGUMENT, "%s: there is no channel '%.*s'; there are %s", argument,
              n < 60 ? (int)n : 60, text, names.text);
}

// A channel that the reader left out may be named all the same: bytes of its name, 0: none.
static size_t take_left_out(const tess_autoreject_epochs *epochs, const char *text)
{
    const size_t n = strcspn(text, ",;");
    for (int64_t i = 0; i < epochs->n_left_out; i++) {
        if (strlen(epochs->left_out[i]) == n && strncmp(epochs->left_out[i], text, n) == 0) {
            return n;
        }
    }
    return 0;
}

// The type in front of '=', and *at behind that.
static tess_status take_type(const char **at, int32_t *type)
{
    char name[16] = "";
    const size_t n = strcspn(*at, "=");
    if ((*at)[n] == '=' && n < sizeof name) {
        memcpy(name, *at, n);
    }
    *type = tess_autoreject_type_find(name);
    if (*type < 0) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "--types: '%.60s'; expected a type and channels, 'eog=HEOG,VEOG', with types "
                  "such as eeg, eog, ecg, emg, stim, misc, mag, grad, ecog, seeg",
                  *at);
    }
    *at += n + 1;
    return TESS_OK;
}

tess_status tess_ar_check_types(const char *types)
{
    for (const char *at = types + strspn(types, " ;"); *at; at += strspn(at, " ;")) {
        const size_t n = strcspn(at, ";");
        int32_t type;
        // Behind the first, what has no '=' may be the rest of a channel's name.
        const char *word = at;
        if (word == types + strspn(types, " ;") || memchr(at, '=', n)) {
            TESS_TRY(take_type(&word, &type));
        }
        at += n;
    }
    return TESS_OK;
}

tess_status tess_ar_apply_types(const char *types, tess_autoreject_epochs *epochs)
{
    for (const char *at = types + strspn(types, " ;"); *at; at += strspn(at, " ;")) {
        int32_t type;
        TESS_TRY(take_type(&at, &type));
        while (*at && *at != ';') {
            size_t taken;
            at += strspn(at, " ");
            tess_autoreject_channel *channel = take_channel(epochs, at, ",;", &taken);
            if (!channel) {
                taken = take_left_out(epochs, at);
                if (taken == 0) {
                    return no_channel(epochs, "types", at, ",;");
                }
            } else {
                answer(epochs, channel, TESS_AR_KNOWN_ROW | TESS_AR_KNOWN_TYPE);
            }
            if (channel && channel->type != type) {
                int32_t kind;
                int32_t unit;
                tess_ar_fif_of_type(type, &kind, &unit, &channel->coil_type);
                channel->type = type;
            }
            at += taken;
            at += *at == ',';
        }
    }
    return TESS_OK;
}

tess_status tess_ar_apply_bads(const char *bads, tess_autoreject_epochs *epochs)
{
    for (const char *at = bads + strspn(bads, " ,"); *at; at += strspn(at, " ,")) {
        size_t taken;
        tess_autoreject_channel *channel = take_channel(epochs, at, ",", &taken);
        if (!channel) {
            return no_channel(epochs, "bads", at, ",");
        }
        channel->is_bad = 1;
        answer(epochs, channel, TESS_AR_KNOWN_STATUS);
        at += taken;
    }
    return TESS_OK;
}
