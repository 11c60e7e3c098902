// Solutions in the space of the largest eigenvalues of a symmetric matrix; built once per ISA.
//
// The matrix is brought to three diagonals by reflections, those to one by rotations. The few right
// sides go the same way and back: eigenvectors are never formed, which would cost six times the
// rest.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"
#include "kernels/spectrum.h"

#include <float.h>
#include <math.h>

typedef struct spectrum {
    size_t n;
    double *a;         // reflections in the rows of the lower triangle, once reduced
    double *d, *e;     // three diagonals: e[i] between i and i+1
    double *tau;       // of reflection i
    double *pending_w; // the last reflection's other vector
    double *product;
    double *zero;
    double *filter; // 1 / eigenvalue, or 0
    double *order;
    double *rotation; // cosine, sine
    double *sweeps;   // from, to, first: rotations of rows from-1 and from, ..., to and to+1
    double *lanes;    // [n][v_len]
    size_t n_rotation, n_sweep;
} spectrum;

static void lay_out(spectrum *s, double *a, size_t n, double *work)
{
    *s = (spectrum){.n = n, .a = a};
    double **rows[] = {&s->d,       &s->e,    &s->tau,    &s->pending_w,
                       &s->product, &s->zero, &s->filter, &s->order};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        *rows[k] = work + k * n;
    }
    s->rotation = work + 8 * n;
    s->sweeps = s->rotation + 2 * tess_spectrum_rotations(n);
    s->lanes = s->sweeps + 3 * tess_spectrum_sweeps(n);
}

static double dot(const double *x, const double *y, size_t n)
{
    const size_t step = v_len_f64();
    v_f64 s0 = v_set1_f64(0), s1 = s0;
    size_t i = 0;
    for (; n - i >= 2 * step; i += 2 * step) {
        s0 = v_fma_f64(v_load_f64(x + i), v_load_f64(y + i), s0);
        s1 = v_fma_f64(v_load_f64(x + i + step), v_load_f64(y + i + step), s1);
    }
    for (; i < n; i += step) {
        s0 = v_fma_f64(v_take_f64(x + i, n - i), v_take_f64(y + i, n - i), s0);
    }
    return v_ordered_sum_f64(v_add_f64(s0, s1));
}

// y -= by * x
static void subtract(double by, const double *x, size_t n, double *y)
{
    const v_f64 factor = v_set1_f64(by);
    for (size_t i = 0; i < n; i += v_len_f64()) {
        const size_t left = n - i;
        v_put_f64(y + i, left,
                  v_fnma_f64(factor, v_take_f64(x + i, left), v_take_f64(y + i, left)));
    }
}

// What one step does to rows of the lower triangle: a -= v w^T + w v^T of the step before, and the
// product of the result with u, in one pass over the memory.
typedef struct pass {
    double *a;
    size_t stride;
    const double *v, *w; // of the step before
    const double *u;
    double *product; // a u
} pass;

#define ROWS_1(X) X(0)
#define ROWS_4(X) X(0) X(1) X(2) X(3)
#define PREPARE(k)                                                                                 \
    double *const row##k = p->a + (first + (k)) * p->stride;                                       \
    const v_f64 v##k = v_set1_f64(p->v[first + (k)]), w##k = v_set1_f64(p->w[first + (k)]);        \
    const v_f64 u##k = v_set1_f64(p->u[first + (k)]);                                              \
    v_f64 sum##k = v_set1_f64(0);
#define STEP(k)                                                                                    \
    const v_f64 x##k = v_fnma_f64(w##k, v, v_fnma_f64(v##k, w, v_take_f64(row##k + j, left)));     \
    v_put_f64(row##k + j, left, x##k);                                                             \
    sum##k = v_fma_f64(x##k, u, sum##k);                                                           \
    product = v_fma_f64(x##k, u##k, product);
#define SUM_UP(k) edge(p, first, first + (k), v_ordered_sum_f64(sum##k));

// Columns from the first row of a block to the diagonal, and what the row's other columns gave.
static inline void edge(const pass *p, size_t first, size_t r, double sum)
{
    double *row = p->a + r * p->stride;
    for (size_t j = first; j <= r; j++) {
        row[j] -= p->v[r] * p->w[j] + p->w[r] * p->v[j];
        sum += row[j] * p->u[j];
        if (j < r) {
            p->product[j] += row[j] * p->u[r];
        }
    }
    p->product[r] += sum;
}

#define PASS_ROWS(n_row)                                                                           \
    static void pass_##n_row(const pass *p, size_t first)                                          \
    {                                                                                              \
        ROWS_##n_row(PREPARE);                                                                     \
        for (size_t j = 0; j < first; j += v_len_f64()) {                                          \
            const size_t left = first - j;                                                         \
            const v_f64 v = v_take_f64(p->v + j, left), w = v_take_f64(p->w + j, left);            \
            const v_f64 u = v_take_f64(p->u + j, left);                                            \
            v_f64 product = v_take_f64(p->product + j, left);                                      \
            ROWS_##n_row(STEP);                                                                    \
            v_put_f64(p->product + j, left, product);                                              \
        }                                                                                          \
        ROWS_##n_row(SUM_UP)                                                                       \
    }

PASS_ROWS(1)
PASS_ROWS(4)

// Turns row[0..i) into the vector of the reflection that maps it onto its last item; beta, that
// item then, and the reflection 1 - tau v v^T.
static double reflect(double *row, size_t i, double *tau)
{
    const double alpha = row[i - 1];
    const double rest = dot(row, row, i - 1);
    if (rest == 0) {
        *tau = 0;
        row[i - 1] = 1;
        return alpha;
    }
    const double norm = sqrt(fma(alpha, alpha, rest));
    const double beta = alpha > 0 ? -norm : norm;
    const double by = 1 / (alpha - beta);
    for (size_t j = 0; j + 1 < i; j++) {
        row[j] *= by;
    }
    row[i - 1] = 1;
    *tau = (beta - alpha) / beta;
    return beta;
}

static void reduce(spectrum *s)
{
    const size_t n = s->n;
    for (size_t j = 0; j < n; j++) {
        s->zero[j] = s->pending_w[j] = 0;
    }
    const double *v = s->zero;
    for (size_t i = n; i-- > 0;) {
        double *row = s->a + i * n;
        const double v_i = v[i], w_i = s->pending_w[i];
        subtract(v_i, s->pending_w, i + 1, row);
        subtract(w_i, v, i + 1, row);
        s->d[i] = row[i];
        if (i == 0) {
            break;
        }
        s->e[i - 1] = reflect(row, i, &s->tau[i]);
        for (size_t j = 0; j < i; j++) {
            s->product[j] = 0;
        }
        const pass p = {s->a, n, v, s->pending_w, row, s->product};
        size_t r = 0;
        for (; i - r >= 4; r += 4) {
            pass_4(&p, r);
        }
        for (; r < i; r++) {
            pass_1(&p, r);
        }
        const double tau = s->tau[i];
        const double half = 0.5 * tau * tau * dot(s->product, row, i);
        for (size_t j = 0; j < i; j++) {
            s->pending_w[j] = tau * s->product[j] - half * row[j];
        }
        v = row;
    }
}

// One sweep of the implicit QL iteration over the block l..m, its rotations kept. 0: no room left.
static int sweep_block(spectrum *s, size_t l, size_t m)
{
    double *d = s->d, *e = s->e;
    if (s->n_rotation + (m - l) > tess_spectrum_rotations(s->n) ||
        s->n_sweep == tess_spectrum_sweeps(s->n)) {
        return 0;
    }
    double *out = s->rotation + 2 * s->n_rotation;
    double g = (d[l + 1] - d[l]) / (2 * e[l]);
    double r = sqrt(g * g + 1);
    g = d[m] - d[l] + e[l] / (g + (g < 0 ? -r : r));
    double sine = 1, cosine = 1, p = 0;
    size_t i = m;
    while (i > l) {
        i--;
        const double f = sine * e[i];
        const double b = cosine * e[i];
        r = sqrt(f * f + g * g);
        e[i + 1] = r;
        if (r == 0) { // the block falls apart here
            d[i + 1] -= p;
            i++;
            break;
        }
        const double by = 1 / r;
        sine = f * by;
        cosine = g * by;
        *out++ = cosine;
        *out++ = sine;
        g = d[i + 1] - p;
        r = (d[i] - g) * sine + 2 * cosine * b;
        p = sine * r;
        d[i + 1] = g + p;
        g = cosine * r - b;
    }
    if (i == l) {
        d[l] -= p;
        e[l] = g;
    }
    e[m] = 0;
    double *kept = s->sweeps + 3 * s->n_sweep++;
    kept[0] = (double)m, kept[1] = (double)i, kept[2] = (double)s->n_rotation;
    s->n_rotation += m - i;
    return 1;
}

// d becomes the eigenvalues, relative to the largest of the diagonals, which is returned; 0: no
// convergence. What is smaller than the rounding of the largest counts as 0.
static double diagonalise(spectrum *s)
{
    const size_t n = s->n;
    double norm = 0;
    s->e[n - 1] = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs(s->d[i]) + fabs(s->e[i]);
        norm = size > norm || isnan(size) ? size : norm;
    }
    if (!(norm > 0) || isinf(norm)) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        s->d[i] /= norm;
        s->e[i] /= norm;
    }
    for (size_t l = 0; l < n; l++) {
        for (;;) {
            size_t m = l;
            while (m + 1 < n && fabs(s->e[m]) > DBL_EPSILON) {
                m++;
            }
            if (m == l) {
                break;
            }
            if (!sweep_block(s, l, m)) {
                return 0;
            }
        }
    }
    return norm;
}

// filter of the fewest largest eigenvalues that make up 1 - miss of the sum of all.
static size_t choose(spectrum *s, double norm, double miss)
{
    const size_t n = s->n;
    double *order = s->order; // indices by falling size
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs(s->d[i]);
        size_t k = i;
        for (; k > 0 && fabs(s->d[(size_t)order[k - 1]]) < size; k--) {
            order[k] = order[k - 1];
        }
        order[k] = (double)i;
        s->filter[i] = 0;
    }
    for (size_t k = 0; k < n; k++) {
        total += fabs(s->d[(size_t)order[k]]);
    }
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
        const double value = s->d[(size_t)order[k]];
        sum += fabs(value);
        s->filter[(size_t)order[k]] = 1 / (value * norm);
        if (sum / total >= 1 - miss) {
            return k + 1;
        }
    }
    return n;
}

// b := Q^T b, or with back Q b: the reflections in the order they were made, or from the last on.
static void apply_reflections(const spectrum *s, double *b, size_t n_rhs, int back)
{
    for (size_t k = 1; k < s->n; k++) {
        const size_t i = back ? k : s->n - k;
        const double *v = s->a + i * s->n;
        for (size_t r = 0; r < n_rhs; r++) {
            double *row = b + r * s->n;
            subtract(s->tau[i] * dot(v, row, i), v, i, row);
        }
    }
}

static void rotate_there(const spectrum *s)
{
    const size_t step = v_len_f64();
    for (size_t k = 0; k < s->n_sweep; k++) {
        const double *kept = s->sweeps + 3 * k;
        const double *rotation = s->rotation + 2 * (size_t)kept[2];
        const size_t to = (size_t)kept[1];
        double *row = s->lanes + (size_t)kept[0] * step;
        v_f64 f = v_load_f64(row);
        for (size_t i = (size_t)kept[0]; i-- > to; rotation += 2, row -= step) {
            const v_f64 c = v_set1_f64(rotation[0]), sine = v_set1_f64(rotation[1]);
            const v_f64 x = v_load_f64(row - step);
            v_store_f64(row, v_fma_f64(c, f, v_mul_f64(sine, x)));
            f = v_fnma_f64(sine, f, v_mul_f64(c, x));
        }
        v_store_f64(row, f);
    }
}

static void rotate_back(const spectrum *s)
{
    const size_t step = v_len_f64();
    for (size_t k = s->n_sweep; k-- > 0;) {
        const double *kept = s->sweeps + 3 * k;
        const size_t from = (size_t)kept[0], to = (size_t)kept[1];
        const double *rotation = s->rotation + 2 * ((size_t)kept[2] + (from - to));
        double *row = s->lanes + to * step;
        v_f64 f = v_load_f64(row);
        for (size_t i = to; i < from; i++, row += step) {
            rotation -= 2;
            const v_f64 c = v_set1_f64(rotation[0]), sine = v_set1_f64(rotation[1]);
            const v_f64 y = v_load_f64(row + step);
            v_store_f64(row, v_fma_f64(c, f, v_mul_f64(sine, y)));
            f = v_fnma_f64(sine, f, v_mul_f64(c, y));
        }
        v_store_f64(row, f);
    }
}

// A vector's worth of right sides through the rotations, the filter and back.
static void solve_lanes(const spectrum *s, double *b, size_t n_rhs)
{
    const size_t step = v_len_f64();
    for (size_t i = 0; i < s->n; i++) {
        for (size_t r = 0; r < step; r++) {
            s->lanes[i * step + r] = r < n_rhs ? b[r * s->n + i] : 0;
        }
    }
    rotate_there(s);
    for (size_t i = 0; i < s->n; i++) {
        double *row = s->lanes + i * step;
        v_store_f64(row, v_mul_f64(v_set1_f64(s->filter[i]), v_load_f64(row)));
    }
    rotate_back(s);
    for (size_t i = 0; i < s->n; i++) {
        for (size_t r = 0; r < n_rhs; r++) {
            b[r * s->n + i] = s->lanes[i * step + r];
        }
    }
}

void TESS_KFN(spectrum_solve)(double *restrict a, size_t n, double *restrict b, size_t n_rhs,
                              double miss, double *restrict work, size_t *restrict rank)
{
    spectrum s;
    lay_out(&s, a, n, work);
    reduce(&s);
    const double norm = diagonalise(&s);
    *rank = 0;
    if (norm == 0) {
        return;
    }
    *rank = choose(&s, norm, miss);
    apply_reflections(&s, b, n_rhs, 0);
    for (size_t r = 0; r < n_rhs; r += v_len_f64()) {
        solve_lanes(&s, b + r * n, n_rhs - r < v_len_f64() ? n_rhs - r : v_len_f64());
    }
    apply_reflections(&s, b, n_rhs, 1);
}
