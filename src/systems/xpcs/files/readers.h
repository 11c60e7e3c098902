// Matrices of a file, as many at once as there are threads and memory for: each is read, unpacked
// and made symmetric by a thread of its own.
#ifndef TESS_XPCS_FILES_READERS_H
#define TESS_XPCS_FILES_READERS_H

#include "systems/xpcs/files/matrices.h"

enum { TESS_XP_MOST_READERS = 16 };

typedef struct tess_xp_matrices {
    int64_t n;             // at once
    uint64_t matrix_bytes; // of each
    void *first;
    unsigned char *others; // n - 1 of them; NULL: none
} tess_xp_matrices;

// Room for one. TESS_E_LIMIT where it and what reading it takes are above the memory limit.
TESS_MUST_CHECK tess_status tess_xp_matrices_take(const struct tess_xpcs_file *file,
                                                  tess_xp_matrices *out);
// Room for more where the file can be read by several, from half of what the memory limit leaves:
// called once the data have theirs. None to be had is not a failure.
void tess_xp_matrices_widen(tess_xp_matrices *matrices, const struct tess_xpcs_file *file);
void *tess_xp_matrices_at(const tess_xp_matrices *matrices, int64_t i);
// Bins bins[0..n-1] into places 0 to n - 1. Where several cannot be read the first of them tells.
TESS_MUST_CHECK tess_status tess_xp_matrices_read(const tess_xp_matrices *matrices,
                                                  struct tess_xpcs_file *file, const int64_t *bins,
                                                  int64_t n);
void tess_xp_matrices_release(tess_context *ctx, tess_xp_matrices *matrices);

#endif
