// Reading the header of a .npy array, wherever its bytes come from.
//
// Versions 1.0, 2.0 and 3.0. The dictionary is read by a small parser that knows the literals
// NumPy writes there and nothing else: no evaluation, no recursion.
#ifndef TESS_IO_NPY_PARSE_H
#define TESS_IO_NPY_PARSE_H

#include "tessera/array.h"

#include <stdbool.h>

enum {
    TESS_NPY_PREAMBLE_BYTES = 12,      // enough of any version to learn the header's length
    TESS_NPY_MAX_HEADER_BYTES = 65547, // of version 1.0; longer ones describe types we refuse
    TESS_NPY_TYPE_CHARS = 48
};

typedef struct tess_npy_header {
    int32_t dtype; // 0: a type Tessera does not read; type_text says which
    int32_t rank;  // may exceed TESS_MAX_RANK; shape has the first axes only then
    int64_t item_bytes;
    int64_t shape[TESS_MAX_RANK];
    uint64_t data_offset; // from the start of the magic
    uint64_t data_bytes;  // 0 where dtype is 0
    uint32_t swap_bytes;  // width of the units to reverse; 0: native order
    uint32_t align_bytes; // what a typed pointer to the items needs
    bool fortran_order;
    char type_text[TESS_NPY_TYPE_CHARS]; // the file's own words: "<f4"
} tess_npy_header;

// 1 if head starts like a .npy array.
int tess_npy_probe(const uint8_t *head, size_t head_bytes);

// Bytes up to the data, from the first bytes of the array (up to TESS_NPY_PREAMBLE_BYTES).
// name is the file or file and member, for messages; base is where the array starts in it.
TESS_MUST_CHECK tess_status tess_npy_header_length(const char *name, const uint8_t *head,
                                                   size_t head_bytes, uint64_t *header_bytes);

// Parses a whole header. Shape and sizes are checked against overflow, not against any file.
TESS_MUST_CHECK tess_status tess_npy_header_parse(const char *name, const uint8_t *header,
                                                  size_t header_bytes, tess_npy_header *out);

// Refuses headers whose type or rank we do not read, with the reason.
TESS_MUST_CHECK tess_status tess_npy_header_check(const char *name, const tess_npy_header *header);

#endif
