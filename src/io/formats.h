// The built-in formats. src/tessera.c registers them.
#ifndef TESS_IO_FORMATS_H
#define TESS_IO_FORMATS_H

#include "tessera/sys/format.h"

extern const tess_format tess_format_npy;
extern const tess_format tess_format_npz;
extern const tess_format tess_format_hdf5;

#endif
