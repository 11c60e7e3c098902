// Most likely paths of many whole sequences, on a device with its own memory.
#ifndef TESS_SYSTEMS_DECODE_PATH_THERE_H
#define TESS_SYSTEMS_DECODE_PATH_THERE_H

#include "systems/decode/states/path.h"

// A path's model there. The path outlives it.
typedef struct tess_de_path_there tess_de_path_there;

// *out is NULL where the context's device does not have the stage.
TESS_MUST_CHECK tess_status tess_de_path_there_make(tess_context *ctx, const tess_de_path *path,
                                                    const double *initial,
                                                    tess_de_path_there **out);
void tess_de_path_there_free(tess_de_path_there *there);

// The bins of a chunk's rows, which are those of whole sequences one behind the other: first row of
// each [n] and the rows in all, which is first[n]. Row t of chunk->transition drives t -> t+1.
TESS_MUST_CHECK tess_status tess_de_path_there_find(tess_de_path_there *there,
                                                    const tess_de_hmm_chunk *chunk,
                                                    const int64_t *first, int64_t n, int64_t *bins);

#endif
