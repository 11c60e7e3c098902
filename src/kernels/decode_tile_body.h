// Tiles over one pair of operations; included by decode_tile.c only.
//
// Rows of a tile share the loads of x. Terms are taken in order, so that the bits are the same for
// every vector length. Rows past the last repeat it and are not stored.

static inline v_f64 TILE(load)(const double *x, size_t n)
{
    return n == v_len_f64() ? v_load_f64(x) : v_load_n_f64(x, n, 0);
}

static inline v_f64 TILE(start)(const tess_tile_sum *t, const double *out, size_t n)
{
    return t->add ? TILE(load)(out, n) : v_set1_f64(NOTHING);
}

static inline void TILE(put)(double *out, size_t n, v_f64 v)
{
    if (n == v_len_f64()) {
        v_store_f64(out, v);
    } else {
        v_store_n_f64(out, n, v);
    }
}

// Four rows of up to one vector of columns.
static inline void TILE(rows_4)(const tess_tile_sum *t, const double *restrict w,
                                const double *restrict x, double *restrict out, size_t n,
                                ptrdiff_t last)
{
    const ptrdiff_t r1 = last < 1 ? last : 1, r2 = last < 2 ? last : 2, r3 = last < 3 ? last : 3;
    const ptrdiff_t row = t->w_row, step = t->out_row;
    const double *w1 = w + row * r1, *w2 = w + row * r2, *w3 = w + row * r3;
    v_f64 a0 = TILE(start)(t, out, n), a1 = TILE(start)(t, out + step * r1, n);
    v_f64 a2 = TILE(start)(t, out + step * r2, n), a3 = TILE(start)(t, out + step * r3, n);
    for (ptrdiff_t k = 0; k < t->n_term; k++) {
        const v_f64 v = TILE(load)(x + k * t->x_term, n);
        const ptrdiff_t i = k * t->w_term;
        a0 = TERM(v_set1_f64(w[i]), v, a0);
        a1 = TERM(v_set1_f64(w1[i]), v, a1);
        a2 = TERM(v_set1_f64(w2[i]), v, a2);
        a3 = TERM(v_set1_f64(w3[i]), v, a3);
    }
    TILE(put)(out, n, a0);
    TILE(put)(out + step * r1, n, a1);
    TILE(put)(out + step * r2, n, a2);
    TILE(put)(out + step * r3, n, a3);
}

// Five to eight rows of up to one vector of columns.
static inline void TILE(rows_8)(const tess_tile_sum *t, const double *restrict w,
                                const double *restrict x, double *restrict out, size_t n,
                                ptrdiff_t last)
{
    const ptrdiff_t r5 = last < 5 ? last : 5, r6 = last < 6 ? last : 6, r7 = last < 7 ? last : 7;
    const ptrdiff_t row = t->w_row, step = t->out_row;
    const double *w1 = w + row, *w2 = w1 + row, *w3 = w2 + row, *w4 = w3 + row;
    const double *w5 = w + row * r5, *w6 = w + row * r6, *w7 = w + row * r7;
    v_f64 a0 = TILE(start)(t, out, n), a1 = TILE(start)(t, out + step, n);
    v_f64 a2 = TILE(start)(t, out + 2 * step, n), a3 = TILE(start)(t, out + 3 * step, n);
    v_f64 a4 = TILE(start)(t, out + 4 * step, n), a5 = TILE(start)(t, out + r5 * step, n);
    v_f64 a6 = TILE(start)(t, out + r6 * step, n), a7 = TILE(start)(t, out + r7 * step, n);
    for (ptrdiff_t k = 0; k < t->n_term; k++) {
        const v_f64 v = TILE(load)(x + k * t->x_term, n);
        const ptrdiff_t i = k * t->w_term;
        a0 = TERM(v_set1_f64(w[i]), v, a0);
        a1 = TERM(v_set1_f64(w1[i]), v, a1);
        a2 = TERM(v_set1_f64(w2[i]), v, a2);
        a3 = TERM(v_set1_f64(w3[i]), v, a3);
        a4 = TERM(v_set1_f64(w4[i]), v, a4);
        a5 = TERM(v_set1_f64(w5[i]), v, a5);
        a6 = TERM(v_set1_f64(w6[i]), v, a6);
        a7 = TERM(v_set1_f64(w7[i]), v, a7);
    }
    TILE(put)(out, n, a0);
    TILE(put)(out + step, n, a1);
    TILE(put)(out + 2 * step, n, a2);
    TILE(put)(out + 3 * step, n, a3);
    TILE(put)(out + 4 * step, n, a4);
    TILE(put)(out + r5 * step, n, a5);
    TILE(put)(out + r6 * step, n, a6);
    TILE(put)(out + r7 * step, n, a7);
}

// One row of two whole vectors of columns.
static inline void TILE(row_2)(const tess_tile_sum *t, const double *restrict w,
                               const double *restrict x, double *restrict out)
{
    const size_t len = v_len_f64();
    v_f64 a0 = TILE(start)(t, out, len), a1 = TILE(start)(t, out + len, len);
    for (ptrdiff_t k = 0; k < t->n_term; k++) {
        const v_f64 factor = v_set1_f64(w[k * t->w_term]);
        a0 = TERM(factor, v_load_f64(x + k * t->x_term), a0);
        a1 = TERM(factor, v_load_f64(x + k * t->x_term + (ptrdiff_t)len), a1);
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
        a = TERM(v_set1_f64(w[k * t->w_term]), TILE(load)(x + k * t->x_term, n), a);
    }
    TILE(put)(out, n, a);
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
        if (t->n_row == 1) {
            TILE(one_row)(t, w + t->w, x + t->x, out + t->out);
            continue;
        }
        for (size_t j = 0; j < (size_t)t->n; j += len) {
            const size_t n = (size_t)t->n - j < len ? (size_t)t->n - j : len;
            if (t->n_row > 4) {
                TILE(rows_8)(t, w + t->w, x + t->x + j, out + t->out + j, n, t->n_row - 1);
            } else {
                TILE(rows_4)(t, w + t->w, x + t->x + j, out + t->out + j, n, t->n_row - 1);
            }
        }
    }
}
