// LibLZF's compressed format, which h5py writes as HDF5 filter 32000.
#ifndef TESS_IO_HDF5_LZF_H
#define TESS_IO_HDF5_LZF_H

#include <stddef.h>
#include <stdint.h>

// Unpacks src into dst and returns the length. With dst NULL it only measures. Returns 0 if the
// data are corrupt or do not fit capacity.
size_t tess_lzf_unpack(const uint8_t *src, size_t src_bytes, uint8_t *dst, size_t capacity);

#endif
