#include "systems/clifford/check/motion.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { N = TESS_CLIFFORD_MAX_SYMBOLS };

// Beyond this a boost amplifies rounding errors past what is worth testing.
static const double MAX_RAPIDITY = 2;

const char *const tess_cl_motion_names[CL_N_MOTION] = {"reflection", "rotation", "versor", "boost"};

bool tess_cl_motion_exists(const tess_clifford_metric *metric, tess_cl_motion_kind kind)
{
    int n_plus = 0;
    int n_minus = 0;
    for (int i = 0; i < metric->n_symbol; i++) {
        n_plus += metric->square[i] > 0;
        n_minus += metric->square[i] < 0;
    }
    if (kind == CL_BOOST) {
        return n_plus > 0 && n_minus > 0;
    }
    // Of one symbol there is nothing but its reflection.
    return n_plus + n_minus > 0 && (kind == CL_REFLECTION || metric->n_symbol > 1);
}

static void multiply(int n, double a[N][N], double b[N][N])
{
    double product[N][N] = {{0}};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < n; k++) {
                product[i][j] += a[i][k] * b[k][j];
            }
        }
    }
    memcpy(a, product, sizeof product);
}

// a becomes a after a reflection v -> v - 2 (v.u)/(u.u) u in a random u that is far from null.
static void reflect(const tess_clifford_metric *metric, const tess_philox_stream *stream,
                    uint64_t *at, double a[N][N])
{
    const int n = metric->n_symbol;
    double u[N];
    double square = 0;
    double size = 1;
    while (fabs(square) < 0.5 * size) {
        square = 0;
        size = 0;
        tess_philox_normals(stream, *at, (size_t)n, u);
        *at += N + 1;
        for (int i = 0; i < n; i++) {
            square += metric->square[i] * u[i] * u[i];
            size += u[i] * u[i];
        }
    }
    double r[N][N];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            r[i][j] = (i == j) - 2 * u[i] * metric->square[j] * u[j] / square;
        }
    }
    multiply(n, a, r);
}

static void boost(const tess_clifford_metric *metric, const tess_philox_stream *stream,
                  double a[N][N])
{
    int plus = 0;
    int minus = 0;
    while (metric->square[plus] != 1) {
        plus++;
    }
    while (metric->square[minus] != -1) {
        minus++;
    }
    const double rapidity = MAX_RAPIDITY * (0.5 + 0.5 * tess_philox_uniform(stream, 0));
    a[plus][plus] = cosh(rapidity);
    a[minus][minus] = cosh(rapidity);
    a[plus][minus] = sinh(rapidity);
    a[minus][plus] = sinh(rapidity);
}

// The inverse by elimination with pivots; a is used up.
static void invert(int n, double a[N][N], double inverse[N][N])
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            inverse[i][j] = i == j;
        }
    }
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int i = c + 1; i < n; i++) {
            pivot = fabs(a[i][c]) > fabs(a[pivot][c]) ? i : pivot;
        }
        for (int j = 0; j < n; j++) {
            const double kept = a[c][j];
            const double kept_inverse = inverse[c][j];
            a[c][j] = a[pivot][j];
            inverse[c][j] = inverse[pivot][j];
            a[pivot][j] = kept;
            inverse[pivot][j] = kept_inverse;
        }
        const double by = 1 / a[c][c];
        for (int j = 0; j < n; j++) {
            a[c][j] *= by;
            inverse[c][j] *= by;
        }
        for (int i = 0; i < n; i++) {
            const double factor = i == c ? 0 : a[i][c];
            for (int j = 0; j < n; j++) {
                a[i][j] -= factor * a[c][j];
                inverse[i][j] -= factor * inverse[c][j];
            }
        }
    }
}

// Determinant of the rows and columns of two blades of one grade, by the first row.
static double minor_of(double a[N][N], unsigned rows, unsigned columns)
{
    if (rows == 0) {
        return 1;
    }
    const int row = __builtin_ctz(rows);
    double sum = 0;
    double sign = 1;
    for (unsigned left = columns; left != 0; left &= left - 1) {
        const int column = __builtin_ctz(left);
        sum += sign * a[row][column] * minor_of(a, rows & (rows - 1), columns & ~(1u << column));
        sign = -sign;
    }
    return sum;
}

// What a map of the symbols does to every grade: all minors.
static void extend(const tess_clifford_algebra *algebra, double a[N][N],
                   double out[TESS_CLIFFORD_MAX_COMPONENTS][TESS_CLIFFORD_MAX_COMPONENTS])
{
    for (int k = 0; k < algebra->n_component; k++) {
        for (int i = 0; i < algebra->n_component; i++) {
            out[k][i] = algebra->grade[k] == algebra->grade[i]
                            ? minor_of(a, algebra->mask[k], algebra->mask[i])
                            : 0;
        }
    }
}

void tess_cl_motion_draw(tess_cl_motion *motion, const tess_clifford_algebra *algebra,
                         tess_cl_motion_kind kind, uint64_t seed)
{
    const tess_clifford_metric *metric = &algebra->metric;
    const int n = metric->n_symbol;
    const tess_philox_stream stream = tess_philox_open(seed, (uint32_t)kind, 1);
    double a[N][N] = {{0}};
    double inverse[N][N] = {{0}};
    for (int i = 0; i < n; i++) {
        a[i][i] = 1;
    }
    if (kind == CL_BOOST) {
        boost(metric, &stream, a);
    }
    uint64_t at = 0;
    for (int i = 0; kind != CL_BOOST && i <= (int)kind; i++) {
        reflect(metric, &stream, &at, a);
    }
    memset(motion, 0, sizeof *motion);
    motion->n_component = algebra->n_component;
    extend(algebra, a, motion->map);
    invert(n, a, inverse);
    double transposed[N][N];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            transposed[i][j] = inverse[j][i];
        }
    }
    extend(algebra, transposed, motion->opposite);
    double sum = 0;
    for (int k = 0; k < algebra->n_component; k++) {
        for (int i = 0; i < algebra->n_component; i++) {
            sum += motion->map[k][i] * motion->map[k][i];
        }
    }
    motion->gain = fmax(1, sum / algebra->n_component);
}

void tess_cl_motion_apply(double map[TESS_CLIFFORD_MAX_COMPONENTS][TESS_CLIFFORD_MAX_COMPONENTS],
                          int32_t n_component, int64_t n_item, const double *x, double *out)
{
    for (int32_t k = 0; k < n_component; k++) {
        for (int64_t b = 0; b < n_item; b++) {
            double sum = 0;
            for (int32_t i = 0; i < n_component; i++) {
                sum += map[k][i] * x[i * n_item + b];
            }
            out[k * n_item + b] = sum;
        }
    }
}
