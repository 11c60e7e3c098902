// The entries of HDF5's format table, and what they share.
#ifndef TESS_IO_HDF5_FORMAT_H
#define TESS_IO_HDF5_FORMAT_H

#include "base/infile.h"
#include "io/hdf5/h5_wire.h"
#include "tessera/sys/format.h"

// Opens for reading and keeps writers of HDF5 out, as the library does; TESS_E_NOT_FOUND if one
// is there already.
TESS_MUST_CHECK tess_status tess_h5_file_open(const char *path, tess_infile *out);
void tess_h5_file_close(tess_infile *file);

// 0 for what HDF5 files do not hold; item_bytes counts for text.
int64_t tess_h5_item_bytes(int32_t dtype, int64_t item_bytes);

TESS_MUST_CHECK tess_status tess_h5_open(const tess_host *host, const char *path,
                                         const char *dataset, int allow_truncated,
                                         tess_format_reader *out);
TESS_MUST_CHECK tess_status tess_h5_read(const tess_host *host, tess_format_reader *reader,
                                         int64_t first, int64_t count, void *dst);
void tess_h5_close(const tess_host *host, tess_format_reader *reader);

TESS_MUST_CHECK tess_status tess_h5_write(const tess_host *host, const char *temporary_path,
                                          const tess_format_writer_input *input);
TESS_MUST_CHECK tess_status tess_h5_write_many(const tess_host *host, const char *temporary_path,
                                               const tess_format_writer_input *inputs,
                                               int64_t n_input);
TESS_MUST_CHECK tess_status tess_h5_add(const tess_host *host, const char *temporary_path,
                                        const tess_format_writer_input *input);
TESS_MUST_CHECK tess_status tess_h5_lay_out(const tess_host *host, const char *path,
                                            tess_format_layout *items, int64_t n_item,
                                            const char *provenance);

#endif
