// Texts of variable length, read from the file's global heap by ourselves: where a byte of the heap
// is wrong, the library (1.10) never comes back, and the user waits for the time limit.
#ifndef TESS_IO_HDF5_HEAP_H
#define TESS_IO_HDF5_HEAP_H

#include <stdbool.h>
#include <stdint.h>

// A reference as data sets keep it: length u32, address u64, index u32, little-endian.
enum { TESS_H5_REFERENCE_BYTES = 16 };

// The text behind a reference, with its zero; cut to capacity. False if the heap has no such text.
bool tess_h5_heap_text(int fd, const uint8_t *reference, char *text, uint64_t capacity);

#endif
