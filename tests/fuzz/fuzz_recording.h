// Bytes of a fuzzer as a recording, opened by one format and read.
#ifndef TESS_FUZZ_RECORDING_H
#define TESS_FUZZ_RECORDING_H

#include "systems/autoreject/files/recording.h"

// A file of this name, in a folder of its own, with these bytes; the path lives until the next call
// with the same name.
const char *fuzz_named_file(const char *name, const uint8_t *data, size_t size);

// Opens and reads some samples; every block must have been given back afterwards.
void fuzz_recording(const tess_ar_file_format *format, const char *path);

#endif
