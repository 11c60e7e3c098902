// Matrix products of tiles with packed panels; built once per ISA. A panel is two vectors wide; the
// registers hold it against as many rows as leave room for the panel and what it is multiplied by:
// one item, or a vector for every few rows.

#include "kernels/clifford_gemm.h"

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

#define ROWS_1(X) X(0)
#define ROWS_2(X) ROWS_1(X) X(1)
#define ROWS_4(X) ROWS_2(X) X(2) X(3)
#define ROWS_6(X) ROWS_4(X) X(4) X(5)
#define ROWS_8(X) ROWS_6(X) X(6) X(7)
#define ROWS_12(X) ROWS_8(X) X(8) X(9) X(10) X(11)
#define ROWS_14(X) ROWS_12(X) X(12) X(13)

// How a row of such a tile is multiplied (clifford_gemm_body.h).
#define ADD_1 BY_ITEM
#define ADD_2 BY_ITEM
#define ADD_4 BY_LANE
#define ADD_6 BY_LANE
#define ADD_8 BY_LANE
#define ADD_12 BY_LANE
#define ADD_14 BY_LANE

// Rows that are done at once: the first as often as it fits, then the next. And so many panels are
// too few for rows of a turned tile to be brought together: lanes read them where they are, single
// items miss the cache.
#ifdef V_HAS_LANES
#define EACH_TILE(X) X(12) X(8) X(4) X(2) X(1)
enum { MOST_ROWS = 12, HAS_LANES = 1, FEW_PANELS = 8 };
#elif V_REGISTERS >= 32
#define EACH_TILE(X) X(14) X(8) X(4) X(2) X(1)
enum { MOST_ROWS = 14, HAS_LANES = 0, FEW_PANELS = 1 };
#else
#define EACH_TILE(X) X(6) X(4) X(2) X(1)
enum { MOST_ROWS = 6, HAS_LANES = 0, FEW_PANELS = 1 };
#endif

void TESS_KFN(clifford_gemm_shape)(tess_cl_gemm_shape *shape)
{
    shape->n_row = MOST_ROWS;
    shape->width_f32 = 2 * v_len_f32();
    shape->width_f64 = 2 * v_len_f64();
}

// How far ahead a panel is asked for, and into which cache. Where the nearest one holds little more
// than rows and a panel, a few steps of the depth; else (0) the panel that follows.
#ifdef V_HAS_LANES
enum { STEPS_AHEAD = 0, AHEAD_LEVEL = 2, CACHE_LINE = 64 };
#else
enum { STEPS_AHEAD = 32, AHEAD_LEVEL = 3, CACHE_LINE = 64 };
#endif

#define T_BITS 32
#include "kernels/clifford_gemm_body.h"

#define T_BITS 64
#include "kernels/clifford_gemm_body.h"
