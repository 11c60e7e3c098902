#include "systems/decode/sorted/spline.h"

#include "base/status.h"

#include <math.h>

// Second derivatives at the inner knots from values: a tridiagonal system per value; those at the
// ends are 0.
static void fill_derivatives(const double *knot, int64_t n, double *to_terms, double *scratch)
{
    double *ratio = scratch;     // [n]
    double *right = scratch + n; // [n]
    for (int64_t v = 0; v < n; v++) {
        for (int64_t i = 1; i + 1 < n; i++) {
            const double before = knot[i] - knot[i - 1];
            const double after = knot[i + 1] - knot[i];
            double value = v == i - 1 ? 1 / before : v == i + 1 ? 1 / after : 0;
            value = v == i ? -1 / before - 1 / after : value;
            const bool first = i == 1;
            const double pivot = (before + after) / 3 - (first ? 0 : before / 6 * ratio[i - 1]);
            ratio[i] = after / 6 / pivot;
            right[i] = (value - (first ? 0 : before / 6 * right[i - 1])) / pivot;
        }
        for (int64_t i = n - 2; i >= 1; i--) {
            const double next = i + 2 < n ? to_terms[(n + i + 1) * n + v] : 0;
            to_terms[(n + i) * n + v] = right[i] - ratio[i] * next;
        }
    }
}

static void range_of(const double *places, int64_t n, int64_t n_dim, int64_t k, double *low,
                     double *high)
{
    *low = places[k];
    *high = places[k];
    for (int64_t i = 1; i < n; i++) {
        *low = fmin(*low, places[i * n_dim + k]);
        *high = fmax(*high, places[i * n_dim + k]);
    }
    if (!(*high > *low)) {
        *high = *low + 1; // a single place: any line through it will do
    }
}

static tess_status make_axis(tess_blocks *blocks, double edge_low, double edge_high, double spacing,
                             double low, double high, tess_de_spline_axis *out)
{
    const double wanted = ceil((edge_high - edge_low) / spacing);
    if (!(wanted < 2000)) {
        TESS_FAIL(TESS_E_RANGE,
                  "glm_knot_spacing: %g cm makes %.0f knots over %g cm; take a larger one", spacing,
                  wanted, edge_high - edge_low);
    }
    const int64_t n_point = (int64_t)wanted;
    out->knot = tess_blocks_alloc(blocks, n_point + 2, sizeof *out->knot, "knots");
    double *scratch = tess_blocks_alloc(blocks, 2 * (n_point + 2), sizeof *scratch, "splines");
    if (!out->knot || !scratch) {
        return TESS_E_MEMORY;
    }
    out->knot[0] = low;
    out->n_knot = 1;
    // Between knots that coincide but for rounding the spline would be as steep as it likes.
    const double apart = 0.01 * spacing;
    for (int64_t i = 1; i + 1 < n_point; i++) {
        const double knot = edge_low + (edge_high - edge_low) / (double)(n_point - 1) * (double)i;
        if (knot > low + apart && knot < high - apart) {
            out->knot[out->n_knot++] = knot;
        }
    }
    out->knot[out->n_knot++] = high;
    const int64_t n = out->n_knot;
    out->to_terms = tess_blocks_alloc(blocks, 2 * n * n, sizeof *out->to_terms, "splines");
    if (!out->to_terms) {
        return TESS_E_MEMORY;
    }
    for (int64_t v = 0; v < n; v++) {
        out->to_terms[v * n + v] = 1;
    }
    fill_derivatives(out->knot, n, out->to_terms, scratch);
    return TESS_OK;
}

// Knot j before x, and the factors of values and second derivatives at j and j + 1.
static int64_t axis_at(const tess_de_spline_axis *axis, double x, double factor[4])
{
    int64_t j = 0;
    int64_t end = axis->n_knot - 1;
    while (end - j > 1) {
        const int64_t middle = (j + end) / 2;
        if (axis->knot[middle] <= x) {
            j = middle;
        } else {
            end = middle;
        }
    }
    const double h = axis->knot[j + 1] - axis->knot[j];
    const double left = x - axis->knot[j];
    const double right = axis->knot[j + 1] - x;
    // Outside, the cubic part ends and the line goes on.
    const double left3 = left > 0 ? left * left * left / h : 0;
    const double right3 = right > 0 ? right * right * right / h : 0;
    factor[0] = right / h;
    factor[1] = left / h;
    factor[2] = (right3 - h * right) / 6;
    factor[3] = (left3 - h * left) / 6;
    return j;
}

int64_t tess_de_spline_at(const tess_de_spline *spline, const double *place, double *factors)
{
    double first[4] = {1, 0, 0, 0};
    double last[4];
    int64_t cell = 0;
    const tess_de_spline_axis *axis = &spline->axes[spline->n_dim - 1];
    if (spline->n_dim == 2) {
        cell = axis_at(&spline->axes[0], place[0], first) * (axis->n_knot - 1);
    }
    cell += axis_at(axis, place[spline->n_dim - 1], last);
    for (int64_t a = 0; a < spline->n_local / 4; a++) {
        for (int64_t b = 0; b < 4; b++) {
            factors[a * 4 + b] = first[a] * last[b];
        }
    }
    return cell;
}

// The four terms of one axis between knots j and j + 1.
static int64_t axis_term(const tess_de_spline_axis *axis, int64_t j, int64_t a)
{
    return j + a % 2 + (a >= 2 ? axis->n_knot : 0);
}

void tess_de_spline_terms(const tess_de_spline *spline, int64_t cell, int64_t *terms)
{
    const tess_de_spline_axis *axis = &spline->axes[spline->n_dim - 1];
    const int64_t row = cell / (axis->n_knot - 1);
    const int64_t column = cell % (axis->n_knot - 1);
    for (int64_t i = 0; i < spline->n_local; i++) {
        const int64_t high = spline->n_dim == 2 ? axis_term(&spline->axes[0], row, i / 4) : 0;
        terms[i] = high * 2 * axis->n_knot + axis_term(axis, column, i % 4);
    }
}

// Entry of the map from values to terms, a product over the coordinates.
static double map_entry(const tess_de_spline *s, int64_t term, int64_t value)
{
    const tess_de_spline_axis *axis = &s->axes[s->n_dim - 1];
    const int64_t n = axis->n_knot;
    double entry = axis->to_terms[term % (2 * n) * n + value % n];
    if (s->n_dim == 2) {
        entry *= s->axes[0].to_terms[term / (2 * n) * s->axes[0].n_knot + value / n];
    }
    return entry;
}

// Terms of a frame orthogonal to the mean: columns 1.. of a reflection that turns the mean into the
// first axis.
static tess_status make_basis(tess_blocks *blocks, const double *places, int64_t n,
                              tess_de_spline *s)
{
    const int64_t n_value = s->n_free + 1;
    double *mean_term = tess_blocks_alloc(blocks, s->n_term, sizeof *mean_term, "splines");
    double *u = tess_blocks_alloc(blocks, n_value, sizeof *u, "splines");
    s->mean = tess_blocks_alloc(blocks, n_value, sizeof *s->mean, "splines");
    s->basis = tess_blocks_alloc(blocks, s->n_term * s->n_free, sizeof *s->basis, "splines");
    if (!mean_term || !u || !s->mean || !s->basis) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        double factors[TESS_SPLINE_TERMS];
        int64_t terms[TESS_SPLINE_TERMS];
        tess_de_spline_terms(s, tess_de_spline_at(s, places + i * s->n_dim, factors), terms);
        for (int64_t k = 0; k < s->n_local; k++) {
            mean_term[terms[k]] += factors[k] / (double)n;
        }
    }
    double square = 0;
    for (int64_t v = 0; v < n_value; v++) {
        for (int64_t t = 0; t < s->n_term; t++) {
            u[v] += mean_term[t] * map_entry(s, t, v);
        }
        s->mean[v] = u[v];
        square += u[v] * u[v];
    }
    u[0] += u[0] < 0 ? -sqrt(square) : sqrt(square);
    square = 0;
    for (int64_t v = 0; v < n_value; v++) {
        square += u[v] * u[v];
    }
    for (int64_t t = 0; t < s->n_term; t++) {
        double along = 0;
        for (int64_t v = 0; v < n_value; v++) {
            along += map_entry(s, t, v) * u[v];
        }
        for (int64_t v = 1; v < n_value; v++) {
            s->basis[t * s->n_free + v - 1] = map_entry(s, t, v) - 2 * along / square * u[v];
        }
    }
    return TESS_OK;
}

tess_status tess_de_spline_build(tess_blocks *blocks, const tess_decode_environment_info *env,
                                 const double *places, int64_t n, double spacing,
                                 tess_de_spline *out)
{
    *out = (tess_de_spline){.n_dim = env->n_place_dim, .n_term = 1, .n_cell = 1, .n_local = 1};
    if (env->n_place_dim > 2) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "sorted_spikes_glm: places have %lld coordinates; splines are "
                  "made for one or two",
                  (long long)env->n_place_dim);
    }
    int64_t n_value = 1;
    for (int64_t k = 0; k < out->n_dim; k++) {
        const double *edges = env->bin_edges[k];
        double low;
        double high;
        range_of(places, n, out->n_dim, k, &low, &high);
        TESS_TRY(make_axis(blocks, edges[0], edges[env->grid_shape[k]], spacing, low, high,
                           &out->axes[k]));
        out->n_term *= 2 * out->axes[k].n_knot;
        out->n_cell *= out->axes[k].n_knot - 1;
        out->n_local *= 4;
        n_value *= out->axes[k].n_knot;
    }
    if (n_value > 4000) {
        TESS_FAIL(TESS_E_RANGE,
                  "glm_knot_spacing: %g cm makes %lld coefficients; take a larger one", spacing,
                  (long long)n_value);
    }
    out->n_free = n_value - 1;
    return make_basis(blocks, places, n, out);
}
