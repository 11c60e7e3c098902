// Threads that read the leaves of a file that will be wanted next, each its part of them.
#ifndef TESS_XPCS_STORE_AHEAD_H
#define TESS_XPCS_STORE_AHEAD_H

#include "systems/xpcs/store/txc2.h"

typedef struct tess_xp_ahead tess_xp_ahead;

// So many readers, one at least and eight at most. *out is NULL where no thread can be had: reading
// ahead is not needed, only faster.
TESS_MUST_CHECK tess_status tess_xp_ahead_open(tess_xp_txc2 *file, const tess_xp_tiles *tiles,
                                               int64_t n_reader, tess_xp_ahead **out);
void tess_xp_ahead_close(tess_xp_ahead *ahead);
// Starts to read leaves into records. Nothing else may be under way.
void tess_xp_ahead_start(tess_xp_ahead *ahead, int64_t first_leaf, int64_t n_leaf,
                         unsigned char *records);
// Waits for what is being read; true if it was these leaves and they were read without fault.
bool tess_xp_ahead_finish(tess_xp_ahead *ahead, int64_t first_leaf, int64_t n_leaf);

#endif
