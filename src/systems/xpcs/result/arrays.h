// Arrays of a result for archives.
#ifndef TESS_XPCS_RESULT_ARRAYS_H
#define TESS_XPCS_RESULT_ARRAYS_H

#include "base/blocks.h"
#include "systems/xpcs/result/record.h"
#include "systems/xpcs/result/surfaces.h"

// What goes into one file; arrays that are made for it live in its memory.
typedef struct tess_xp_arrays {
    tess_context *ctx;
    tess_blocks memory;
    tess_format_writer_input inputs[64];
    int64_t n;
    bool no_memory;
} tess_xp_arrays;

void tess_xp_arrays_init(tess_xp_arrays *arrays, tess_context *ctx);
void tess_xp_arrays_free(tess_xp_arrays *arrays);
// data is borrowed; NULL or an empty array is left out.
void tess_xp_arrays_add(tess_xp_arrays *arrays, const char *name, tess_dtype dtype, int32_t rank,
                        const int64_t *shape, const void *data);
// Writes what was added.
TESS_MUST_CHECK tess_status tess_xp_arrays_write(tess_xp_arrays *arrays, const char *path,
                                                 const char *provenance, int overwrite);

// fitted_data.npz: what the original stores, on the grid that was fitted.
TESS_MUST_CHECK tess_status tess_xp_write_fitted_data(tess_context *ctx,
                                                      const tess_xp_record *record,
                                                      const tess_xpcs_data *data,
                                                      const tess_xp_surfaces *surfaces,
                                                      const char *path, int overwrite);
// result.h5 or homodyne_results.npz, by the name: everything; surfaces may be NULL.
TESS_MUST_CHECK tess_status tess_xp_write_archive(tess_context *ctx, const tess_xp_record *record,
                                                  const tess_xp_surfaces *surfaces,
                                                  const char *path, int overwrite);

#endif
