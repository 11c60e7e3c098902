// What the reader and the writer of .npz files share.
#ifndef TESS_IO_NPZ_H
#define TESS_IO_NPZ_H

#include "tessera/sys/format.h"

// A text array without axes that holds the provenance; numpy.load() shows it like any other.
#define TESS_NPZ_PROVENANCE "tessera_provenance.npy"

TESS_MUST_CHECK tess_status tess_npz_write(const tess_host *host, const char *temporary_path,
                                           const tess_format_writer_input *input);
TESS_MUST_CHECK tess_status tess_npz_write_many(const tess_host *host, const char *temporary_path,
                                                const tess_format_writer_input *inputs,
                                                int64_t n_input);

#endif
