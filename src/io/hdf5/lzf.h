// LibLZF's compressed format, which h5py writes as HDF5 filter 32000.
#ifndef TESS_IO_HDF5_LZF_H
#define TESS_IO_HDF5_LZF_H

#include <stddef.h>
#include <stdint.h>

// Unpacks src into dst and returns the length. With dst NULL it only measures. Returns 0 if the
// data are corrupt or do not fit capacity.
size_t tess_lzf_unpack(const uint8_t *src, size_t src_bytes, uint8_t *dst, size_t capacity);

enum { TESS_LZF_TABLE_BITS = 14 };

// Packs src into dst and returns the length; 0 if it does not fit capacity, as of data that do not
// shrink. table [2^TESS_LZF_TABLE_BITS] is scratch and src_bytes is below 2^32.
size_t tess_lzf_pack(const uint8_t *src, size_t src_bytes, uint8_t *dst, size_t capacity,
                     uint32_t *table);

#endif
