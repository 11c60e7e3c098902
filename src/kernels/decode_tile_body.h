// Tiles over one pair of operations; included by decode_tile.c only.
//
// Rows of a tile share the loads of x. Terms are taken in order, so that the bits are the same for
// every vector length. Rows past the last repeat it and are not stored.

static inline v_f64 TILE(start)(const tess_tile_sum *t, const double *out, size_t n)
{
    return t->add ? v_take_f64(out, n) : v_set1_f64(NOTHING);
}

// Four rows of one whole vector of columns.
static inline void TILE(rows_4)(const tess_tile_sum *t, const double *restrict w,
                                const double *restrict x, double *restrict out)
{
    const ptrdiff_t last = t->n_row - 1, row = t->w_row, step = t->out_row;
    const ptrdiff_t r2 = last < 2 ? last : 2, r3 = last < 3 ? last : 3;
    const double *w1 = w + row, *w2 = w + row * r2, *w3 = w + row * r3;
    const size_t len = v_len_f64();
    v_f64 a0 = TILE(start)(t, out, len), a1 = TILE(start)(t, out + step, len);
    v_f64 a2 = TILE(start)(t, out + step * r2, len), a3 = TILE(start)(t, out + step * r3, len);
    const ptrdiff_t x_term = t->x_term, w_term = t->w_term, end = t->n_term * w_term;
    for (ptrdiff_t i = 0; i != end; i += w_term, x += x_term) {
        const v_f64 v = v_load_f64(x);
        a0 = TERM(v_set1_f64(w[i]), v, a0);
        a1 = TERM(v_set1_f64(w1[i]), v, a1);
        a2 = TERM(v_set1_f64(w2[i]), v, a2);
        a3 = TERM(v_set1_f64(w3[i]), v, a3);
    }
    v_store_f64(out, a0);
    v_store_f64(out + step, a1);
    v_store_f64(out + step * r2, a2);
    v_store_f64(out + step * r3, a3);
}

// Five to eight rows of one whole vector of columns.
static inline void TILE(rows_8)(const tess_tile_sum *t, const double *restrict w,
                                const double *restrict x, double *restrict out)
{
    const ptrdiff_t last = t->n_row - 1, row = t->w_row, step = t->out_row;
    const ptrdiff_t r5 = last < 5 ? last : 5, r6 = last < 6 ? last : 6, r7 = last;
    const double *w1 = w + row, *w2 = w1 + row, *w3 = w2 + row, *w4 = w3 + row;
    const double *w5 = w + row * r5, *w6 = w + row * r6, *w7 = w + row * r7;
    const size_t len = v_len_f64();
    v_f64 a0 = TILE(start)(t, out, len), a1 = TILE(start)(t, out + step, len);
    v_f64 a2 = TILE(start)(t, out + 2 * step, len), a3 = TILE(start)(t, out + 3 * step, len);
    v_f64 a4 = TILE(start)(t, out + 4 * step, len), a5 = TILE(start)(t, out + r5 * step, len);
    v_f64 a6 = TILE(start)(t, out + r6 * step, len), a7 = TILE(start)(t, out + r7 * step, len);
    const ptrdiff_t x_term = t->x_term, w_term = t->w_term, end = t->n_term * w_term;
    for (ptrdiff_t i = 0; i != end; i += w_term, x += x_term) {
        const v_f64 v = v_load_f64(x);
        a0 = TERM(v_set1_f64(w[i]), v, a0);
        a1 = TERM(v_set1_f64(w1[i]), v, a1);
        a2 = TERM(v_set1_f64(w2[i]), v, a2);
        a3 = TERM(v_set1_f64(w3[i]), v, a3);
        a4 = TERM(v_set1_f64(w4[i]), v, a4);
        a5 = TERM(v_set1_f64(w5[i]), v, a5);
        a6 = TERM(v_set1_f64(w6[i]), v, a6);
        a7 = TERM(v_set1_f64(w7[i]), v, a7);
    }
    v_store_f64(out, a0);
    v_store_f64(out + step, a1);
    v_store_f64(out + 2 * step, a2);
    v_store_f64(out + 3 * step, a3);
    v_store_f64(out + 4 * step, a4);
    v_store_f64(out + r5 * step, a5);
    v_store_f64(out + r6 * step, a6);
    v_store_f64(out + r7 * step, a7);
}

// One row of two whole vectors of columns.
static inline void TILE(row_2)(const tess_tile_sum *t, const double *restrict w,
                               const double *restrict x, double *restrict out)
{
    const size_t len = v_len_f64();
    v_f64 a0 = TILE(start)(t, out, len), a1 = TILE(start)(t, out + len, len);
    const ptrdiff_t x_term = t->x_term, w_term = t->w_term, end = t->n_term * w_term;
    for (ptrdiff_t i = 0; i != end; i += w_term, x += x_term) {
        const v_f64 factor = v_set1_f64(w[i]);
        a0 = TERM(factor, v_load_f64(x), a0);
        a1 = TERM(factor, v_load_f64(x + len), a1);
    }
    v_store_f64(out, a0);
    v_store_f64(out + len, a1);
}

// One row of up to one vector of columns.
static inline void TILE(row_1)(const tess_tile_sum *t, const double *restrict w,
                               const double *restrict x, double *restrict out, size_t n)
{
    v_f64 a = TILE(start)(t, out, n);
    for (ptrdiff_t k = 0; k < t->n_term; k++) {
        a = TERM(v_set1_f64(w[k * t->w_term]), v_take_f64(x + k * t->x_term, n), a);
    }
    v_put_f64(out, n, a);
}

static inline void TILE(one_row)(const tess_tile_sum *t, const double *restrict w,
                                 const double *restrict x, double *restrict out)
{
    const size_t len = v_len_f64(), n = (size_t)t->n;
    size_t j = 0;
    for (; n - j >= 2 * len; j += 2 * len) {
        TILE(row_2)(t, w, x + j, out + j);
    }
    for (; j < n; j += len) {
        TILE(row_1)(t, w, x + j, out + j, n - j < len ? n - j : len);
    }
}

void TESS_KFN(TILES)(const tess_tile_sum *restrict tiles, size_t n_tile, const double *restrict w,
                     const double *restrict x, double *restrict out)
{
    const size_t len = v_len_f64();
    for (size_t i = 0; i < n_tile; i++) {
        const tess_tile_sum *t = &tiles[i];
        const double *tw = w + t->w, *tx = x + t->x;
        double *to = out + t->out;
        if (t->n_row == 1) {
            TILE(one_row)(t, tw, tx, to);
            continue;
        }
        size_t j = 0;
        for (; (size_t)t->n - j >= len; j += len) {
            if (t->n_row > 4) {
                TILE(rows_8)(t, tw, tx + j, to + j);
            } else {
                TILE(rows_4)(t, tw, tx + j, to + j);
            }
        }
        for (ptrdiff_t r = 0; j < (size_t)t->n && r < t->n_row; r++) {
            TILE(row_1)(t, tw + r * t->w_row, tx + j, to + j + r * t->out_row, (size_t)t->n - j);
        }
    }
}
