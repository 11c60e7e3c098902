// How rows are cut into parts whose spikes and results fit where they are computed.
//
// No cut changes a bit: a spike's values depend on nothing else and a row adds its spikes in order.
#ifndef TESS_SYSTEMS_DECODE_KDE_PARTS_H
#define TESS_SYSTEMS_DECODE_KDE_PARTS_H

#include "systems/decode/kde/kde_there.h"

typedef struct kde_parts {
    const kde_model *kde;
    const tess_de_row_spikes *spikes;
    int64_t out_item_bytes; // 0: rows are written where they stay
    bool is_there;          // on a device: marks and results have room of their own
    int64_t room_bytes;     // for the spikes of a part, and again for its rows
    // Of the largest parts.
    int64_t n_spike;
    int64_t n_row;
    size_t scratch_bytes;
} kde_parts;

// First spike of an electrode at or after a row.
int64_t tess_de_kde_spike_from(const tess_de_row_spikes *spikes, int64_t electrode, int64_t row);

// The end of the longest part from row on that fits; at least one row.
int64_t tess_de_kde_part_end(const kde_parts *parts, int64_t row);

// Chooses room_bytes, and takes the rooms of there. ranges [n_electrode] are overwritten.
TESS_MUST_CHECK tess_status tess_de_kde_parts_plan(kde_parts *parts, kde_there *there,
                                                   tess_kde_range *ranges);

// The error of a model that does not fit the device's limit: with what the smallest parts need.
tess_status tess_de_kde_parts_refuse(kde_parts *parts, tess_device *device, tess_kde_range *ranges);

// Of the stage, which has one room for all parts.
size_t tess_de_kde_scratch_limit(const kde_parts *parts);

int64_t tess_de_kde_value_bytes(const kde_model *kde);
int64_t tess_de_kde_spikes_at_once(const kde_model *kde, bool is_there, int64_t room_bytes);

#endif
