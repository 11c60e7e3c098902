// Tiles of sums of products, and of maxima of sums; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

#include <math.h>

// A block of r rows and c vectors of columns keeps its r * c results in registers. X(r, c) for
// every one of them.
#define COLUMNS_1(X, r) X(r, 0)
#define COLUMNS_2(X, r) COLUMNS_1(X, r) X(r, 1)
#define COLUMNS_3(X, r) COLUMNS_2(X, r) X(r, 2)
#define COLUMNS_4(X, r) COLUMNS_3(X, r) X(r, 3)
#define ROWS_1(X) X(0)
#define ROWS_2(X) ROWS_1(X) X(1)
#define ROWS_3(X) ROWS_2(X) X(2)
#define ROWS_4(X) ROWS_3(X) X(3)
#define ROWS_5(X) ROWS_4(X) X(4)
#define ROWS_6(X) ROWS_5(X) X(5)
#define ROWS_7(X) ROWS_6(X) X(6)
#define ROWS_8(X) ROWS_7(X) X(7)

// What a block does in a row of its own: it begins, adds a term, ends.
#define BEGIN_ROW(r) const double *w##r = w + (r)*t->w_row;
#define BEGIN(r, c) v_f64 s##r##c = TILE(start)(t, out + (r)*t->out_row + (c)*len, len);
#define LOAD(r, c) const v_f64 x##c = v_hold_f64(v_load_f64(x + (c)*len));
#define ADD_ROW(r) const v_f64 f##r = v_set1_f64(w##r[i]);
#define ADD(r, c) s##r##c = TERM(f##r, x##c, s##r##c);
#define END(r, c) v_store_f64(out + (r)*t->out_row + (c)*len, s##r##c);

#define BEGIN_1(r) BEGIN_ROW(r) COLUMNS_1(BEGIN, r)
#define BEGIN_2(r) BEGIN_ROW(r) COLUMNS_2(BEGIN, r)
#define BEGIN_3(r) BEGIN_ROW(r) COLUMNS_3(BEGIN, r)
#define BEGIN_4(r) BEGIN_ROW(r) COLUMNS_4(BEGIN, r)
#define ADD_1(r) ADD_ROW(r) COLUMNS_1(ADD, r)
#define ADD_2(r) ADD_ROW(r) COLUMNS_2(ADD, r)
#define ADD_3(r) ADD_ROW(r) COLUMNS_3(ADD, r)
#define ADD_4(r) ADD_ROW(r) COLUMNS_4(ADD, r)
#define END_1(r) COLUMNS_1(END, r)
#define END_2(r) COLUMNS_2(END, r)
#define END_3(r) COLUMNS_3(END, r)
#define END_4(r) COLUMNS_4(END, r)

// Vectors of columns at once: enough results that their sums need not wait for each other, and as
// many as there are registers for.
#define WIDTH_OF_1 4
#define WIDTH_OF_2 4
#define WIDTH_OF_3 3
#if V_REGISTERS >= 32
#define WIDTH_OF_4 3
#define WIDTH_OF_7 3
#define WIDTH_OF_8 3
#else
#define WIDTH_OF_4 2
#define WIDTH_OF_7 1
#define WIDTH_OF_8 1
#endif
#define WIDTH_OF_5 2
#define WIDTH_OF_6 2

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
