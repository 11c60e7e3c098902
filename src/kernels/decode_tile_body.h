// Tiles over one pair of operations; included by decode_tile.c only.
//
// Rows of a tile share the loads of x, columns those of w. Terms are taken in order, so that the
// bits are the same for every vector length and however a tile is cut into blocks.

static inline v_f64 TILE(start)(const tess_tile_sum *t, const double *out, size_t n)
{
    return t->add ? v_take_f64(out, n) : v_set1_f64(NOTHING);
}

#define BLOCK(n_row, n_vector)                                                                     \
    static inline void TILE(block_##n_row##_##n_vector)(                                           \
        const tess_tile_sum *t, const double *restrict w, const double *restrict x,                \
        double *restrict out)                                                                      \
    {                                                                                              \
        const size_t len = v_len_f64();                                                            \
        const ptrdiff_t x_term = t->x_term, w_term = t->w_term, end = t->n_term * w_term;          \
        ROWS_##n_row(BEGIN_##n_vector);                                                            \
        for (ptrdiff_t i = 0; i != end; i += w_term, x += x_term) {                                \
            COLUMNS_##n_vector(LOAD, 0);                                                           \
            ROWS_##n_row(ADD_##n_vector);                                                          \
        }                                                                                          \
        ROWS_##n_row(END_##n_vector);                                                              \
    }

// The rest of a tile, less than a vector of columns.
static inline void TILE(tail)(const tess_tile_sum *t, const double *restrict w,
                              const double *restrict x, double *restrict out, size_t n)
{
    for (ptrdiff_t r = 0; r < t->n_row; r++, w += t->w_row, out += t->out_row) {
        v_f64 a = TILE(start)(t, out, n);
        for (ptrdiff_t k = 0; k < t->n_term; k++) {
            a = TERM(v_set1_f64(w[k * t->w_term]), v_take_f64(x + k * t->x_term, n), a);
        }
        v_put_f64(out, n, a);
    }
}

// Blocks of the full width, then the widest that is left.
#define STRIP(n_row, n_vector)                                                                     \
    for (; (n_vector) <= WIDTH_OF_##n_row && (size_t)t->n - j >= (n_vector)*len;                   \
         j += (n_vector)*len) {                                                                    \
        TILE(block_##n_row##_##n_vector)(t, w, x + j, out + j);                                    \
    }
#define ROWS(n_row)                                                                                \
    BLOCK(n_row, 1)                                                                                \
    BLOCK(n_row, 2)                                                                                \
    BLOCK(n_row, 3)                                                                                \
    BLOCK(n_row, 4)                                                                                \
    static void TILE(rows_##n_row)(const tess_tile_sum *t, const double *restrict w,               \
                                   const double *restrict x, double *restrict out)                 \
    {                                                                                              \
        const size_t len = v_len_f64();                                                            \
        size_t j = 0;                                                                              \
        STRIP(n_row, 4)                                                                            \
        STRIP(n_row, 3)                                                                            \
        STRIP(n_row, 2)                                                                            \
        STRIP(n_row, 1)                                                                            \
        if (j < (size_t)t->n) {                                                                    \
            TILE(tail)(t, w, x + j, out + j, (size_t)t->n - j);                                    \
        }                                                                                          \
    }

ROWS(1)
ROWS(2)
ROWS(3)
ROWS(4)
ROWS(5)
ROWS(6)
ROWS(7)
ROWS(8)
#undef ROWS
#undef STRIP
#undef BLOCK

void TESS_KFN(TILES)(const tess_tile_sum *restrict tiles, size_t n_tile, const double *restrict w,
                     const double *restrict x, double *restrict out)
{
    typedef void (*rows)(const tess_tile_sum *t, const double *restrict w, const double *restrict x,
                         double *restrict out);
    static const rows by_rows[] = {TILE(rows_1), TILE(rows_2), TILE(rows_3), TILE(rows_4),
                                   TILE(rows_5), TILE(rows_6), TILE(rows_7), TILE(rows_8)};
    for (const tess_tile_sum *t = tiles; t < tiles + n_tile; t++) {
        by_rows[t->n_row - 1](t, w + t->w, x + t->x, out + t->out);
    }
}
