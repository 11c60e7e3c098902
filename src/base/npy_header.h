// The header of a .npy file as we write it: version 1.0, C order, native byte order.
#ifndef TESS_BASE_NPY_HEADER_H
#define TESS_BASE_NPY_HEADER_H

#include "tessera/array.h"

// Enough for any rank and shape.
enum { TESS_NPY_HEADER_MAX_BYTES = 320 };

// Writes magic, version and dictionary, padded to a multiple of 64 so that mapped data are
// aligned. Returns the bytes written; 0 if NumPy has no such type (bf16), an argument is out of
// range or capacity is too small. item_bytes is used for the text types only.
size_t tess_npy_header_make(char *buffer, size_t capacity, tess_dtype dtype, int64_t item_bytes,
                            int32_t rank, const int64_t *shape);

// The type as NumPy spells it: "<f4", "|b1", "<U12". Returns 0 if NumPy has no such type.
int tess_npy_descr(tess_dtype dtype, int64_t item_bytes, char *text, size_t capacity);

#endif
