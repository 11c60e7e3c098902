// The tables of an algebra, from the squares of its symbols. tools/clifford_tables.py has the same
// rule for the algebras whose kernels are generated.
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/crc32.h"
#include "tessera/clifford/algebra.h"

#include <stdio.h>
#include <string.h>

static int count_bits(unsigned bits)
{
    return __builtin_popcount(bits);
}

// +1 or -1 for an even or odd number.
static int parity_sign(int n)
{
    return n % 2 == 0 ? 1 : -1;
}

// How many exchanges bring the symbols of a, then those of b, into order, as a sign.
static int order_sign(unsigned a, unsigned b)
{
    int swaps = 0;
    for (unsigned rest = a >> 1; rest != 0; rest >>= 1) {
        swaps += count_bits(rest & b);
    }
    return parity_sign(swaps);
}

// Sign of e_a e_b, 0 if they share a null symbol. The blade is a ^ b.
static int product_sign(const tess_clifford_metric *metric, unsigned a, unsigned b)
{
    int sign = order_sign(a, b);
    for (int i = 0; i < metric->n_symbol; i++) {
        if ((a & b) >> i & 1u) {
            sign *= metric->square[i];
        }
    }
    return sign;
}

// Whether blade a comes before b: lower grade first, then the smaller index tuple.
static int comes_before(unsigned a, unsigned b)
{
    if (count_bits(a) != count_bits(b)) {
        return count_bits(a) < count_bits(b);
    }
    // The lowest symbol that only one of them has belongs to the one with the smaller tuple.
    const unsigned differ = a ^ b;
    return (a & differ & (0u - differ)) != 0;
}

static void list_components(tess_clifford_algebra *algebra)
{
    const int n = algebra->n_component;
    for (int a = 0; a < n; a++) {
        int at = a;
        for (; at > 0 && comes_before((unsigned)a, algebra->mask[at - 1]); at--) {
            algebra->mask[at] = algebra->mask[at - 1];
        }
        algebra->mask[at] = (uint8_t)a;
    }
    for (int k = 0; k < n; k++) {
        const unsigned mask = algebra->mask[k];
        const int g = count_bits(mask);
        algebra->grade[k] = (uint8_t)g;
        algebra->reverse[k] = (int8_t)parity_sign(g * (g - 1) / 2);
        algebra->involution[k] = (int8_t)parity_sign(g);
        algebra->conjugate[k] = (int8_t)parity_sign(g * (g + 1) / 2);
        algebra->eta[k] =
            (int8_t)(product_sign(&algebra->metric, mask, mask) * algebra->reverse[k]);
    }
}

static int component_of(const tess_clifford_algebra *algebra, unsigned mask)
{
    int k = 0;
    while (algebra->mask[k] != mask) {
        k++;
    }
    return k;
}

static void list_complements(tess_clifford_algebra *algebra)
{
    const unsigned all = (unsigned)algebra->n_component - 1;
    for (int i = 0; i < algebra->n_component; i++) {
        const unsigned rest = all & ~(unsigned)algebra->mask[i];
        algebra->complement[i] = (uint8_t)component_of(algebra, rest);
        algebra->complement_sign[i] = (int8_t)order_sign(algebra->mask[i], rest);
    }
}

// Which triples (left, output, right) the product has, numbered in ascending order.
static void list_paths(
    tess_clifford_algebra *algebra,
    int8_t number[TESS_CLIFFORD_MAX_GRADES][TESS_CLIFFORD_MAX_GRADES][TESS_CLIFFORD_MAX_GRADES])
{
    memset(number, -1,
           TESS_CLIFFORD_MAX_GRADES * TESS_CLIFFORD_MAX_GRADES * TESS_CLIFFORD_MAX_GRADES);
    for (int t = 0; t < algebra->n_term; t++) {
        const tess_clifford_term *term = &algebra->terms[t];
        number[algebra->grade[term->i]][algebra->grade[term->k]][algebra->grade[term->j]] = 0;
    }
    int n_path = 0;
    for (int a = 0; a < algebra->n_grade; a++) {
        for (int c = 0; c < algebra->n_grade; c++) {
            for (int b = 0; b < algebra->n_grade; b++) {
                if (number[a][c][b] == 0) {
                    algebra->path_left[n_path] = (uint8_t)a;
                    algebra->path_out[n_path] = (uint8_t)c;
                    algebra->path_right[n_path] = (uint8_t)b;
                    number[a][c][b] = (int8_t)n_path++;
                }
            }
        }
    }
    algebra->n_path = n_path;
}

// Sorted by (k, i, j): for given k and i there is one j.
static void list_terms(tess_clifford_algebra *algebra)
{
    int n_term = 0;
    for (int k = 0; k < algebra->n_component; k++) {
        for (int i = 0; i < algebra->n_component; i++) {
            const unsigned right = (unsigned)algebra->mask[k] ^ algebra->mask[i];
            const int sign = product_sign(&algebra->metric, algebra->mask[i], right);
            if (sign != 0) {
                algebra->terms[n_term++] =
                    (tess_clifford_term){.k = (uint8_t)k,
                                         .i = (uint8_t)i,
                                         .j = (uint8_t)component_of(algebra, right),
                                         .sign = sign};
            }
        }
    }
    algebra->n_term = n_term;
}

static void number_terms(tess_clifford_algebra *algebra)
{
    int8_t number[TESS_CLIFFORD_MAX_GRADES][TESS_CLIFFORD_MAX_GRADES][TESS_CLIFFORD_MAX_GRADES];
    list_paths(algebra, number);
    uint64_t seen[TESS_CLIFFORD_MAX_COMPONENTS] = {0};
    for (int t = 0; t < algebra->n_term; t++) {
        tess_clifford_term *term = &algebra->terms[t];
        term->path = (uint8_t)
            number[algebra->grade[term->i]][algebra->grade[term->k]][algebra->grade[term->j]];
        seen[term->k] |= UINT64_C(1) << term->path;
    }
    for (int k = 0; k < algebra->n_component; k++) {
        algebra->n_pair += __builtin_popcountll(seen[k]);
    }
}

static uint32_t crc_of_terms(const tess_clifford_algebra *algebra)
{
    uint32_t crc = 0;
    for (int t = 0; t < algebra->n_term; t++) {
        const tess_clifford_term *term = &algebra->terms[t];
        char text[32];
        const int n = snprintf(text, sizeof text, "%s%d:%d:%d:%c:%d", t > 0 ? ";" : "", term->k,
                               term->i, term->j, term->sign > 0 ? '+' : '-', term->path);
        crc = tess_crc32(crc, text, (size_t)n);
    }
    return crc;
}

static tess_status check_metric(const tess_clifford_metric *metric)
{
    if (metric->n_symbol < 1 || metric->n_symbol > TESS_CLIFFORD_MAX_SYMBOLS) {
        TESS_FAIL(TESS_E_ARGUMENT, "metric: %d symbols, expected 1 to %d", metric->n_symbol,
                  TESS_CLIFFORD_MAX_SYMBOLS);
    }
    for (int i = 0; i < metric->n_symbol; i++) {
        if (metric->square[i] < -1 || metric->square[i] > 1) {
            TESS_FAIL(TESS_E_ARGUMENT, "metric: entry %d is %d, expected -1, 0 or 1", i,
                      metric->square[i]);
        }
    }
    return TESS_OK;
}

tess_status tess_clifford_algebra_init(tess_clifford_algebra *algebra, size_t struct_size,
                                       const tess_clifford_metric *metric)
{
    if (!algebra || !metric) {
        TESS_FAIL(TESS_E_ARGUMENT, "clifford: algebra and metric must not be NULL");
    }
    TESS_TRY(check_metric(metric));
    tess_clifford_algebra made = {.struct_size = sizeof made};
    made.metric.n_symbol = metric->n_symbol;
    made.is_euclidean = 1;
    for (int i = 0; i < metric->n_symbol; i++) {
        made.metric.square[i] = metric->square[i];
        made.is_euclidean &= metric->square[i] == 1;
    }
    made.n_component = 1 << metric->n_symbol;
    made.n_grade = metric->n_symbol + 1;
    list_components(&made);
    list_complements(&made);
    list_terms(&made);
    number_terms(&made);
    made.crc32 = crc_of_terms(&made);
    tess_struct_init(algebra, struct_size, &made, sizeof made);
    return TESS_OK;
}

// Whether a product keeps the terms of a path.
static int keeps(const tess_clifford_algebra *algebra, tess_clifford_product product, int path)
{
    const int a = algebra->path_left[path];
    const int b = algebra->path_right[path];
    const int c = algebra->path_out[path];
    switch (product) {
    case TESS_CLIFFORD_GEOMETRIC:
        return 1;
    case TESS_CLIFFORD_OUTER:
        return c == a + b;
    case TESS_CLIFFORD_LEFT_CONTRACTION:
        return c == b - a;
    case TESS_CLIFFORD_RIGHT_CONTRACTION:
        return c == a - b;
    case TESS_CLIFFORD_INNER:
        return c == (a > b ? a - b : b - a);
    case TESS_CLIFFORD_SCALAR:
        return c == 0;
    case TESS_CLIFFORD_COMMUTATOR: {
        // Blades that share s symbols exchange with the sign (-1)^(ab - s).
        const int shared = (a + b - c) / 2;
        return (a * b - shared) % 2 != 0;
    }
    }
    return 0;
}

uint64_t tess_clifford_product_paths(const tess_clifford_algebra *algebra,
                                     tess_clifford_product product)
{
    uint64_t paths = 0;
    for (int p = 0; p < algebra->n_path; p++) {
        if (keeps(algebra, product, p)) {
            paths |= UINT64_C(1) << p;
        }
    }
    return paths;
}

uint64_t tess_clifford_grade_paths(const tess_clifford_algebra *algebra, uint32_t left_grades,
                                   uint32_t right_grades)
{
    uint64_t paths = 0;
    for (int p = 0; p < algebra->n_path; p++) {
        if ((left_grades >> algebra->path_left[p] & 1u) &&
            (right_grades >> algebra->path_right[p] & 1u)) {
            paths |= UINT64_C(1) << p;
        }
    }
    return paths;
}
