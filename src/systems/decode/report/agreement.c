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

static const char MEMORY[] = "facts of a result";

// The animal's places are those of the first environment.
static int64_t count_places(const tess_de_view *v)
{
    return v->n_environment > 0 ? v->environments[0].n_place : 0;
}

// Straight lines, without a spot for every place: what takes most of the time of a score.
static double straight_distance(const tess_de_view *v, int64_t place, const tess_de_spot *spot)
{
    double sum = 0;
    for (int32_t k = 0; k < v->n_axis; k++) {
        const double apart = v->center[k][place] - spot->at[k];
        sum += apart * apart;
    }
    return sqrt(sum);
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

// The same on a line, where a root of a square is the number itself: first how near, then who.
static int64_t nearest_on_line(const double *center, int64_t n, double at)
{
    double least[4] = {(double)INFINITY, (double)INFINITY, (double)INFINITY,
                       (double)INFINITY}; // none waits for another
    int64_t p = 0;
    for (; n - p >= 4; p += 4) {
        for (int64_t k = 0; k < 4; k++) {
            least[k] = smaller(fabs(center[p + k] - at), least[k]);
        }
    }
    for (; p < n; p++) {
        least[0] = smaller(fabs(center[p] - at), least[0]);
    }
    const double all = smaller(smaller(least[0], least[1]), smaller(least[2], least[3]));
    for (p = 0; p < n; p++) {
        if (fabs(center[p] - at) == all) {
            return p;
        }
    }
    return 0; // at is no place
}

static int64_t nearest_place(const tess_de_view *v, const tess_de_spot *spot)
{
    const int64_t n_place = count_places(v);
    if (!v->track && v->n_axis == 1) {
        return nearest_on_line(v->center[0], n_place, spot->at[0]);
    }
    int64_t nearest = 0;
    double least = tess_de_view_place_distance(v, 0, spot);
    for (int64_t p = 1; p < n_place; p++) {
        const double distance =
            v->track ? tess_de_view_place_distance(v, p, spot) : straight_distance(v, p, spot);
        nearest = distance < least ? p : nearest;
        least = distance < least ? distance : least;
    }
    return nearest;
}

static bool is_known(const double *point, int32_t n_axis)
{
    bool is_finite = n_axis > 0;
    for (int32_t a = 0; a < n_axis; a++) {
        is_finite = is_finite && isfinite(point[a]);
    }
    return is_finite;
}

// Share q of the mass reaches this far into the bins that begin at `above` and hold `tied`.
static double covered(double q, double above, double tied)
{
    const double share = tied > 0 ? (q - above) / tied : q > above;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

static void judge_levels(double above, double tied, tess_de_judgement *out)
{
    enum { N = TESS_DE_FACTS_LEVELS };
    double before = 0;
    for (int i = 0; i < N; i++) {
        const double reached = i == N - 1 ? 1 : covered((i + 1) / (double)N, above, tied);
        out->levels[i] = reached - before;
        before = reached;
    }
    out->in_50 = covered(0.5, above, tied);
    out->in_95 = covered(0.95, above, tied);
}

typedef struct mass_sums {
    double above;
    double tied;
    double squares;
} mass_sums;

static inline void add_place(double place, double mass, mass_sums *sums)
{
    sums->above += place > mass ? place : 0;
    sums->tied += place == mass ? place : 0;
    sums->squares += place * place;
}

// Mass of the places above the true one and of those equal to it, of a posterior that sums to
// total.
static void judge_coverage(const tess_de_view *v, const double *place, double total,
                           tess_de_judgement *out)
{
    const int64_t n_place = count_places(v);
    const double mass = place[out->true_place];
    mass_sums four[4] = {{0}}; // that need not wait for each other
    int64_t p = 0;
    for (; n_place - p >= 4; p += 4) {
        for (int k = 0; k < 4; k++) {
            add_place(place[p + k], mass, &four[k]);
        }
    }
    for (; p < n_place; p++) {
        add_place(place[p], mass, &four[0]);
    }
    const double above = (four[0].above + four[1].above) + (four[2].above + four[3].above);
    const double tied = (four[0].tied + four[1].tied) + (four[2].tied + four[3].tied);
    const double squares =
        (four[0].squares + four[1].squares) + (four[2].squares + four[3].squares);
    judge_levels(above / total, tied / total, out);
    out->spread = squares > 0 ? total * total / (squares * (double)n_place) : 1;
}

void tess_de_judge(const tess_de_view *v, const tess_de_row *row, tess_de_judgement *out)
{
    const int64_t n_place = count_places(v);
    double *place = row->place;
    const double total = row->placed + row->local;
    out->kind = !row->is_finite                                        ? TESS_DE_NOT_FINITE
                : n_place < 1 || !is_known(row->animal, v->n_axis)     ? TESS_DE_UNKNOWN
                : !(total > row->none) || !(total > 0)                 ? TESS_DE_UNPLACED
                : row->local + row->around > row->placed - row->around ? TESS_DE_SCORED_LOCAL
                                                                       : TESS_DE_SCORED_AWAY;
    if (out->kind < TESS_DE_SCORED_LOCAL) {
        return;
    }
    const bool is_simulated = is_known(row->represented, v->n_axis);
    const tess_de_spot truth =
        is_simulated ? tess_de_view_spot(v, row->represented, -1) : row->spot;
    const int64_t here = nearest_place(v, &row->spot);
    const bool local_outweighs = row->local > place[here];
    place[here] += row->local;
    const int64_t best = tess_de_largest_place(place, n_place);
    out->error = best == here && local_outweighs ? tess_de_view_distance(v, &row->spot, &truth)
                                                 : tess_de_view_place_distance(v, best, &truth);
    out->true_place = is_simulated ? nearest_place(v, &truth) : here;
    judge_coverage(v, place, total, out);
    place[here] -= row->local;
}

void tess_de_agree(tess_de_agreement *g, const tess_de_judgement *found)
{
    g->n_not_finite += found->kind == TESS_DE_NOT_FINITE;
    g->n_unknown += found->kind == TESS_DE_UNKNOWN;
    g->n_unplaced += found->kind == TESS_DE_UNPLACED;
    if (found->kind < TESS_DE_SCORED_LOCAL) {
        return;
    }
    g->errors[g->n_scored++] = found->error;
    if (found->kind == TESS_DE_SCORED_LOCAL) {
        g->n_local++;
    } else {
        g->away[g->n_scored - g->n_local - 1] = found->error;
    }
    g->seen[found->true_place] += 1;
    g->error_sum[found->true_place] += found->error;
    for (int i = 0; i < TESS_DE_FACTS_LEVELS; i++) {
        g->levels[i] += found->levels[i];
    }
    g->n_in_50 += found->in_50;
    g->n_in_95 += found->in_95;
    g->spread += found->spread;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_row(const void *a, const void *b)
{
    const tess_de_chance_point *x = a;
    const tess_de_chance_point *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

// Two unrelated times for every pair, fixed but "random", and in the order in which rows come by.
static void choose_points(tess_de_agreement *g)
{
    uint64_t state = 1;
    for (int64_t i = 0; i < TESS_DE_FACTS_PAIRS; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const int64_t n = g->view->n_time;
        g->points[2 * i] = (tess_de_chance_point){.row = i * n / TESS_DE_FACTS_PAIRS, .pair = i};
        g->points[2 * i + 1] =
            (tess_de_chance_point){.row = n > 0 ? (int64_t)((state >> 33) % (uint64_t)n) : 0,
                                   .pair = i,
                                   .is_second = true};
    }
    qsort(g->points, 2 * (size_t)TESS_DE_FACTS_PAIRS, sizeof *g->points, by_row);
}

tess_status tess_de_agreement_create(tess_blocks *memory, const tess_de_view *view, int64_t n_row,
                                     tess_de_agreement *out)
{
    const int64_t n_place = count_places(view);
    const int64_t n_point = 2 * (int64_t)TESS_DE_FACTS_PAIRS;
    *out = (tess_de_agreement){
        .view = view,
        .errors = tess_blocks_alloc(memory, n_row, sizeof(double), MEMORY),
        .away = tess_blocks_alloc(memory, n_row, sizeof(double), MEMORY),
        .seen = tess_blocks_alloc(memory, n_place, sizeof(double), MEMORY),
        .error_sum = tess_blocks_alloc(memory, n_place, sizeof(double), MEMORY),
        .points = tess_blocks_alloc(memory, n_point, sizeof(tess_de_chance_point), MEMORY),
        .pairs = tess_blocks_alloc(memory, n_point, sizeof(tess_de_spot), MEMORY)};
    if (!out->errors || !out->away || !out->seen || !out->error_sum || !out->points ||
        !out->pairs) {
        return TESS_E_MEMORY;
    }
    choose_points(out);
    return TESS_OK;
}

void tess_de_agreement_see(tess_de_agreement *g, const tess_de_row *row)
{
    const bool is_simulated = g->view->represented_position != NULL;
    while (g->next_point < 2 * TESS_DE_FACTS_PAIRS && g->points[g->next_point].row == row->index) {
        const tess_de_chance_point *point = &g->points[g->next_point++];
        g->pairs[2 * point->pair + point->is_second] =
            is_simulated ? tess_de_view_spot(g->view, row->represented, -1) : row->spot;
    }
}

// Distances between where the animal was at two unrelated times.
static double chance_error(const tess_de_agreement *g)
{
    const int32_t n_axis = g->view->n_axis;
    double distances[TESS_DE_FACTS_PAIRS];
    int64_t n = 0;
    for (int64_t i = 0; i < TESS_DE_FACTS_PAIRS && g->view->n_time > 0; i++) {
        const tess_de_spot *pair = g->pairs + 2 * i;
        if (is_known(pair[0].at, n_axis) && is_known(pair[1].at, n_axis)) {
            distances[n++] = tess_de_view_distance(g->view, &pair[0], &pair[1]);
        }
    }
    qsort(distances, (size_t)n, sizeof *distances, ascending);
    return tess_de_quantile(distances, n, 0.5);
}

// Distance of two places of the animal's environment, as large as it typically is.
static double typical_distance(const tess_de_view *v)
{
    double distances[TESS_DE_FACTS_PAIRS];
    uint64_t state = 1;
    const int64_t n = count_places(v);
    for (int64_t i = 0; i < TESS_DE_FACTS_PAIRS && n > 0; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const tess_de_spot other =
            tess_de_view_spot_of_place(v, (int64_t)((state >> 33) % (uint64_t)n));
        distances[i] = tess_de_view_place_distance(v, i * n / TESS_DE_FACTS_PAIRS, &other);
    }
    qsort(distances, TESS_DE_FACTS_PAIRS, sizeof *distances, ascending);
    return n > 0 ? tess_de_quantile(distances, TESS_DE_FACTS_PAIRS, 0.5) : (double)NAN;
}

void tess_de_agreement_finish(tess_de_agreement *g)
{
    qsort(g->errors, (size_t)g->n_scored, sizeof *g->errors, ascending);
    qsort(g->away, (size_t)(g->n_scored - g->n_local), sizeof *g->away, ascending);
    g->spread = g->n_scored > 0 ? g->spread / (double)g->n_scored : (double)NAN;
    g->chance = chance_error(g);
    g->extent = typical_distance(g->view);
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
