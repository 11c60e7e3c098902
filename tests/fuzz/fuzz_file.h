// Bytes of a fuzzer as a file, and a host that allocates no more than a sane reader would.
#ifndef TESS_FUZZ_FILE_H
#define TESS_FUZZ_FILE_H

#include "tessera/sys/format.h"

// What every target implements; libFuzzer and the replayer call it.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A file in memory with these bytes; its path lives until the next call.
const char *fuzz_file_of(const uint8_t *data, size_t size);

// malloc() behind the table; aborts when blocks leak across fuzz_check_leaks().
const tess_host *fuzz_host(void);
void fuzz_check_leaks(void);

// Lists, asks for provenance, opens with and without allow_truncated and reads in several tiles.
void fuzz_format(const tess_format *format, const uint8_t *data, size_t size);

#endif
