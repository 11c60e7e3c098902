// Tiles of sums of products, and of maxima of sums; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

#include <math.h>

#define TILES tile_sums
#define TILE(name) sum_##name
#define NOTHING 0.0
#define TERM(w, x, before) v_fma_f64((w), (x), (before))
#include "kernels/decode_tile_body.h"

#undef TILES
#undef TILE
#undef NOTHING
#undef TERM
#define TILES tile_maxima
#define TILE(name) max_##name
#define NOTHING (-(double)INFINITY)
#define TERM(w, x, before) v_max_f64(v_add_f64((w), (x)), (before))
#include "kernels/decode_tile_body.h"
