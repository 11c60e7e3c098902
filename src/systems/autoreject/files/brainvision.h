// BrainVision: a header (.vhdr) that names the samples (.eeg) and the markers (.vmrk).
#ifndef TESS_AUTOREJECT_BRAINVISION_H
#define TESS_AUTOREJECT_BRAINVISION_H

#include "systems/autoreject/files/recording.h"
#include "systems/autoreject/text/text_input.h"

enum { TESS_BV_MAX_CHANNEL = 65536, TESS_BV_NAME_BYTES = 1024 };

// What the header says. Texts are of the header's memory.
typedef struct tess_bv_header {
    char data_file[TESS_BV_NAME_BYTES];
    char marker_file[TESS_BV_NAME_BYTES];
    char data_format[32];   // "BINARY", "ASCII"
    char orientation[32];   // "MULTIPLEXED", "VECTORIZED"
    char binary_format[32]; // "INT_16", "INT_32", "IEEE_FLOAT_32"
    char unsupported[64];   // e.g. "UseBigEndianOrder=YES"; "" if none
    int64_t n_channel;
    int64_t n_point; // DataPoints; -1: not said
    double interval_us;
    bool has_coordinates;
} tess_bv_header;

// A channel's lines.
typedef struct tess_bv_channel {
    bool is_named, is_placed, is_volt;
    double factor; // to SI units
    double position[3];
} tess_bv_channel;

// Sections and "key=value" lines of the format's INI files. Returns false behind the last entry;
// comments, the first line and the free text of [Comment] are passed over.
typedef struct tess_bv_entry {
    char section[64];
    char *key;
    char *value;
} tess_bv_entry;
bool tess_bv_next(tess_ar_text *text, tess_bv_entry *entry);

// A part of a comma-separated value with "\1" for a comma, in place; *rest moves behind it, NULL at
// the end. NULL if there is none.
char *tess_bv_part(char **rest);

// brainvision_header.c: the header itself, then names, scales and places of its channels.
TESS_MUST_CHECK tess_status tess_bv_read_header(tess_ar_text *text, tess_bv_header *header);
TESS_MUST_CHECK tess_status tess_bv_read_channels(tess_autoreject_epochs *epochs,
                                                  tess_ar_text *text, const tess_bv_header *header,
                                                  tess_autoreject_channel *channels,
                                                  tess_bv_channel *lines);

// brainvision_markers.c
TESS_MUST_CHECK tess_status tess_bv_read_markers(tess_context *ctx, tess_autoreject_epochs *epochs,
                                                 const char *path, tess_ar_continuous *continuous);

#endif
