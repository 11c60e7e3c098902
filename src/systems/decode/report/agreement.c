// How a result agrees with what is known of the truth.
//
// Local says "where the animal is", so its mass goes to the animal's own place; other states of one
// bin say nothing of place, and rows of which they hold half or more cannot be scored. The true
// place counts as covered by a set of bins that holds the share q of the posterior, in fractions:
// bins are taken in by falling mass, and the last one only as far as q reaches. Whole bins would
// cover more than q whenever one bin holds much, which looks like modesty where there is none.
#include "systems/decode/report/facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Pairs of rows that the error of chance is taken from.
enum { MAX_PAIRS = 500 };

static double squared_distance(const tess_de_view *v, int64_t place, const double *point)
{
    double sum = 0;
    for (int32_t a = 0; a < v->n_axis; a++) {
        const double difference = v->center[a][place] - point[a];
        sum += difference * difference;
    }
    return sum;
}

static int64_t nearest_place(const tess_de_view *v, const double *point)
{
    int64_t nearest = 0;
    double least = squared_distance(v, 0, point);
    for (int64_t p = 1; p < v->n_place; p++) {
        const double distance = squared_distance(v, p, point);
        nearest = distance < least ? p : nearest;
        least = distance < least ? distance : least;
    }
    return nearest;
}

static bool read_point(const double *const *series, int32_t n_axis, int64_t row, double *point)
{
    for (int32_t a = 0; a < n_axis; a++) {
        point[a] = series[a] ? series[a][row] : (double)NAN;
        if (!isfinite(point[a])) {
            return false;
        }
    }
    return n_axis > 0;
}

static double distance(const double *a, const double *b, int32_t n_axis)
{
    double sum = 0;
    for (int32_t k = 0; k < n_axis; k++) {
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    }
    return sqrt(sum);
}

// Share q of the mass reaches this far into the bins that begin at `above` and hold `tied`.
static double covered(double q, double above, double tied)
{
    const double share = tied > 0 ? (q - above) / tied : q > above;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

static void add_levels(tess_de_agreement *g, double above, double tied)
{
    enum { N = TESS_DE_FACTS_LEVELS };
    double before = 0;
    for (int i = 0; i < N; i++) {
        const double reached = i == N - 1 ? 1 : covered((i + 1) / (double)N, above, tied);
        g->levels[i] += reached - before;
        before = reached;
    }
    g->n_in_50 += covered(0.5, above, tied);
    g->n_in_95 += covered(0.95, above, tied);
}

// Mass of the places above the true one and of those equal to it, of a posterior that sums to
// total.
static void add_coverage(tess_de_agreement *g, const tess_de_view *v, const double *place,
                         double total, int64_t true_place)
{
    double above = 0;
    double tied = 0;
    double squares = 0;
    for (int64_t p = 0; p < v->n_place; p++) {
        above += place[p] > place[true_place] ? place[p] : 0;
        tied += place[p] == place[true_place] ? place[p] : 0;
        squares += place[p] * place[p];
    }
    add_levels(g, above / total, tied / total);
    g->spread += squares > 0 ? total * total / (squares * (double)v->n_place) : 1;
}

void tess_de_agree(tess_de_agreement *g, const tess_de_view *v, int64_t row, double *place,
                   const tess_de_rest *rest)
{
    const double local = rest->local;
    double animal[TESS_DECODE_MAX_DIM];
    double truth[TESS_DECODE_MAX_DIM];
    if (v->n_place < 1 || !read_point(v->truth, v->n_axis, row, animal)) {
        g->n_unknown++;
        return;
    }
    if (!read_point(v->represented, v->n_axis, row, truth)) {
        memcpy(truth, animal, sizeof truth);
    }
    double places = 0;
    for (int64_t p = 0; p < v->n_place; p++) {
        places += place[p];
    }
    const double total = places + local;
    if (!(total > rest->none) || !(total > 0)) {
        g->n_unplaced++;
        return;
    }
    const int64_t here = nearest_place(v, animal);
    const bool local_outweighs = local > place[here];
    place[here] += local;
    int64_t best = 0;
    for (int64_t p = 1; p < v->n_place; p++) {
        best = place[p] > place[best] ? p : best;
    }
    const double error = best == here && local_outweighs ? distance(animal, truth, v->n_axis)
                                                         : sqrt(squared_distance(v, best, truth));
    g->errors[g->n_scored++] = error;
    if (local + rest->around > places - rest->around) {
        g->n_local++;
    } else {
        g->away[g->n_scored - g->n_local - 1] = error;
    }
    add_coverage(g, v, place, total, v->represented[0] ? nearest_place(v, truth) : here);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Distances between where the animal was at two unrelated times, by fixed "random" pairs.
static double chance_error(const tess_de_view *v)
{
    double pairs[MAX_PAIRS];
    int64_t n = 0;
    uint64_t state = 1;
    const double *const *truth = v->represented[0] ? v->represented : v->truth;
    for (int64_t i = 0; i < MAX_PAIRS && v->n_time > 0; i++) {
        double a[TESS_DECODE_MAX_DIM];
        double b[TESS_DECODE_MAX_DIM];
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const int64_t other = (int64_t)((state >> 33) % (uint64_t)v->n_time);
        if (read_point(truth, v->n_axis, i * v->n_time / MAX_PAIRS, a) &&
            read_point(truth, v->n_axis, other, b)) {
            pairs[n++] = distance(a, b, v->n_axis);
        }
    }
    qsort(pairs, (size_t)n, sizeof *pairs, ascending);
    return tess_de_quantile(pairs, n, 0.5);
}

void tess_de_agreement_finish(tess_de_agreement *g, const tess_de_view *v)
{
    qsort(g->errors, (size_t)g->n_scored, sizeof *g->errors, ascending);
    qsort(g->away, (size_t)(g->n_scored - g->n_local), sizeof *g->away, ascending);
    g->spread = g->n_scored > 0 ? g->spread / (double)g->n_scored : (double)NAN;
    g->chance = chance_error(v);
}

double tess_de_quantile(const double *values, int64_t n, double q)
{
    if (n == 0) {
        return (double)NAN;
    }
    const double at = q * (double)(n - 1);
    const int64_t i = (int64_t)at;
    const int64_t next = i + 1 < n ? i + 1 : i;
    return values[i] + (at - (double)i) * (values[next] - values[i]);
}

double tess_de_coverage(const tess_de_agreement *g, int percent)
{
    return g->n_scored > 0 ? (percent == 50 ? g->n_in_50 : g->n_in_95) / (double)g->n_scored
                           : (double)NAN;
}
