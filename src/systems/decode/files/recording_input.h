// Reading recordings: what the layouts share.
#ifndef TESS_SYSTEMS_DECODE_RECORDING_INPUT_H
#define TESS_SYSTEMS_DECODE_RECORDING_INPUT_H

#include "base/text.h"
#include "runtime/bundle.h"
#include "systems/decode/files/recording.h"

typedef struct tess_de_input {
    tess_context *ctx;
    tess_bundle bundle;
    tess_decode_recording *recording;
    tess_text notes; // what was taken from where, a sentence per line
} tess_de_input;

// An entry that must be there; the message lists what is.
TESS_MUST_CHECK tess_status tess_de_input_need(const tess_de_input *in, const char *name,
                                               const tess_bundle_entry **entry);
// A vector of n items (n < 0: any number).
TESS_MUST_CHECK tess_status tess_de_input_vector(const tess_de_input *in,
                                                 const tess_bundle_entry *entry, int64_t n,
                                                 const char *one_per);

// Reads into memory of the recording.
TESS_MUST_CHECK tess_status tess_de_input_f64(tess_de_input *in, const tess_bundle_entry *entry,
                                              const double **out);
TESS_MUST_CHECK tess_status tess_de_input_i64(tess_de_input *in, const tess_bundle_entry *entry,
                                              const int64_t **out);
TESS_MUST_CHECK tess_status tess_de_input_bool(tess_de_input *in, const tess_bundle_entry *entry,
                                               const uint8_t **out);
// Marks stay f32 where the file has f32; everything else becomes f64.
TESS_MUST_CHECK tess_status tess_de_input_marks(tess_de_input *in, const tess_bundle_entry *entry,
                                                int32_t dtype, void **out);
int32_t tess_de_mark_dtype(const tess_bundle_entry *entry);

// The layouts. Fill the recording's info.
TESS_MUST_CHECK tess_status tess_de_read_arrays(tess_de_input *in);
TESS_MUST_CHECK tess_status tess_de_read_spikes(tess_de_input *in);
TESS_MUST_CHECK tess_status tess_de_read_nwb(tess_de_input *in);
// Ids of the electrodes, if the file has such a data set. Spikes come first.
TESS_MUST_CHECK tess_status tess_de_read_ids(tess_de_input *in, const char *name);

#endif
