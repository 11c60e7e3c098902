// What the files of clifford's bindings share.
#ifndef CLIFFORD_H
#define CLIFFORD_H

#include "core.h"
#include "tessera/clifford.h"

// Fills *algebra from the text of a metric.
int clifford_read_algebra(const core_state *state, PyObject *value, tess_clifford_algebra *algebra);

// An array argument: a view, and what keeps its memory alive where the caller's reference to the
// object does not.
typedef struct clifford_input {
    tess_array view;
    core_array *keep;
    const dlpack_exchange *api; // of a tensor that was viewed without a round trip through Python
} clifford_input;

// Views value; leaves *input empty for None. Returns the view, NULL if there is none or on error:
// then an exception is set.
const tess_array *clifford_read(core_state *state, PyObject *value, const char *name,
                                int need_writable, clifford_input *input);
// The view without leading axes of one item: a bias may be (1, 1, N), as flash-clifford keeps it.
const tess_array *clifford_squeeze(clifford_input *input);
void clifford_release(clifford_input *inputs, int n);

#endif
