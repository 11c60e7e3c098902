// A file of two-time matrices, whatever its layout: bins with q and phi, and a way to read one.
#ifndef TESS_XPCS_FILES_MATRICES_H
#define TESS_XPCS_FILES_MATRICES_H

#include "runtime/context.h"
#include "tessera/xpcs/data.h"

struct tess_xpcs_file {
    tess_context *ctx;
    tess_xpcs_file_info info;
    char *path;
    // The full symmetric matrix of a bin [n_frame][n_frame] of info.dtype, diagonal as stored.
    tess_status (*read)(struct tess_xpcs_file *file, int64_t bin, void *matrix);
    void (*close_layout)(struct tess_xpcs_file *file);
    void *layout; // the layout's own state
};

#endif
