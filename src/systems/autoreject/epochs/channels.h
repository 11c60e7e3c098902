// Channels: their names, places and types.
#ifndef TESS_AUTOREJECT_CHANNELS_H
#define TESS_AUTOREJECT_CHANNELS_H

#include "systems/autoreject/epochs/epochs.h"

// True for types whose channels can be predicted from each other.
bool tess_ar_type_is_predictable(int32_t type);

// True for types that autoreject works on, which are picked where nobody picks.
bool tess_ar_type_is_solvable(int32_t type);

// Names for a note, as many as fit: one note for all of them.
typedef struct tess_ar_names {
    int64_t n;
    size_t used;
    char text[400];
} tess_ar_names;
void tess_ar_names_add(tess_ar_names *names, const char *name);

// n channels, EEG without position or name, in memory of the epochs. NULL with the message
// recorded.
tess_autoreject_channel *tess_ar_channels_create(tess_autoreject_epochs *epochs, int64_t n);
// Name of n bytes, trimmed, in UTF-8, in memory of the epochs; NULL with the message recorded.
const char *tess_ar_channel_name(tess_autoreject_epochs *epochs, const char *bytes, size_t n);
// Position in metres; what MNE writes into the rest of loc.
void tess_ar_channel_set_position(tess_autoreject_channel *channel, const double position[3]);
bool tess_ar_channel_has_position(const tess_autoreject_channel *channel);

// A digitised EEG point for every channel with a position, in memory of the epochs.
TESS_MUST_CHECK tess_status tess_ar_points_of_channels(tess_autoreject_epochs *epochs,
                                                       tess_autoreject_sensors *sensors);

#endif
