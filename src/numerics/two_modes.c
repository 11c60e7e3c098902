#include "numerics/two_modes.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    MIN_DRAWS = 32,
    MIN_STRETCH = 4,
    MAX_STRETCH = 64,
    MIN_LOG_BIN = 2,
    MAX_LOG_BIN = 12,
    N_STEP = 64
};

// Deviations that a difference of counts or of means must have. Over some thousand intervals the
// largest difference of one flat heap is near 4.
static const double CHANCE = 5;
static const double TOP_DISTANCE = 2; // of two equal normals with two tops, in their deviation
// Of a chain, so that CHANCE sqrt(2 / ess) deviations, the most that chance parts two chains of one
// place by, are fewer than that. A chain that creeps over a hill has less.
static const double MIN_ESS = 12.5;
static const double MIN_DIP = 0.95; // of a valley worth a word
static const double TAIL = 0.001;   // of the values, left out of the range of intervals

typedef struct draws {
    const double *x;
    const tess_chain_room *room;
    const double *sorted;
    int64_t n_chain;
    int64_t n_draw;
    int64_t n_stretch; // of each chain
} draws;

// Stretches of long chains, or chains together where there are many: up to MAX_STRETCH in all.
static int64_t stretch_of(const draws *d, int64_t chain, int64_t draw)
{
    return (chain * d->n_stretch + draw * d->n_stretch / d->n_draw) % MAX_STRETCH;
}

static int64_t n_all_stretches(const draws *d)
{
    const int64_t n = d->n_chain * d->n_stretch;
    return n < MAX_STRETCH ? n : MAX_STRETCH;
}

// ---- Valley -------------------------------------------------------------------------------------

// Equal intervals from lower on; what is outside is in none.
typedef struct bins {
    double lower;
    double width;
    int64_t n;
    int32_t count[1 << MAX_LOG_BIN];
    int32_t right[1 << MAX_LOG_BIN]; // the interval with the most from here on
} bins;

static int64_t bin_of(const bins *b, double value)
{
    const double at = (value - b->lower) / b->width;
    return at >= 0 && at < (double)b->n ? (int64_t)at : -1;
}

static void count_all(const draws *d, bins *b)
{
    memset(b->count, 0, (size_t)b->n * sizeof *b->count);
    for (int64_t i = 0; i < d->n_chain * d->n_draw; i++) {
        const int64_t k = bin_of(b, d->sorted[i]);
        if (k >= 0) {
            b->count[k]++;
        }
    }
    for (int64_t k = b->n - 1; k >= 0; k--) {
        const int32_t next = k + 1 < b->n ? b->right[k + 1] : (int32_t)k;
        b->right[k] = b->count[k] > b->count[next] ? (int32_t)k : next;
    }
}

// The interval that lies lowest between two others, and these.
typedef struct valley {
    int64_t hill[2];
    int64_t at;
    double depth; // by roots of counts, which all scatter alike
} valley;

static valley lowest(const bins *b)
{
    valley best = {.depth = 0};
    int64_t left = 0;
    for (int64_t k = 1; k + 1 < b->n; k++) {
        left = b->count[k - 1] > b->count[left] ? k - 1 : left;
        const int64_t right = b->right[k + 1];
        const int32_t less = b->count[left] < b->count[right] ? b->count[left] : b->count[right];
        const double depth = sqrt(less) - sqrt(b->count[k]);
        if (depth > best.depth) {
            best = (valley){.hill = {left, right}, .at = k, .depth = depth};
        }
    }
    return best;
}

// By how many deviations a hill is above the valley.
static double rise(const draws *d, const bins *b, const valley *v, int side)
{
    double more[MAX_STRETCH] = {0};
    const int64_t n = n_all_stretches(d);
    for (int64_t c = 0; c < d->n_chain; c++) {
        for (int64_t i = 0; i < d->n_draw; i++) {
            const int64_t k = bin_of(b, d->x[c * d->n_draw + i]);
            more[stretch_of(d, c, i)] += (k == v->hill[side]) - (k == v->at);
        }
    }
    double sum = 0;
    double squares = 0;
    for (int64_t k = 0; k < n; k++) {
        sum += more[k];
    }
    for (int64_t k = 0; k < n; k++) {
        squares += (more[k] - sum / (double)n) * (more[k] - sum / (double)n);
    }
    const double least = b->count[v->hill[side]] + b->count[v->at];
    const double scatter = n > 1 ? squares * (double)n / (double)(n - 1) : 0;
    return sum / sqrt(fmax(fmax(least, scatter), 1));
}

// How many values lie below this one.
static int64_t n_below(const draws *d, double value)
{
    int64_t low = 0;
    for (int64_t high = d->n_chain * d->n_draw; low < high;) {
        const int64_t middle = low + (high - low) / 2;
        if (d->sorted[middle] < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Where an interval of this width, moved from hill to hill, has the fewest values.
static double bottom(const draws *d, const bins *b, const valley *v)
{
    const double from = b->lower + b->width * (double)v->hill[0];
    const double step = b->width * (double)(v->hill[1] - v->hill[0]) / N_STEP;
    int64_t least = d->n_chain * d->n_draw + 1;
    int first = 0;
    int last = 0;
    for (int i = 0; i <= N_STEP; i++) {
        const double lower = from + step * i;
        const int64_t count = n_below(d, lower + b->width) - n_below(d, lower);
        first = count < least ? i : first;
        last = count <= least ? i : last;
        least = count < least ? count : least;
    }
    return from + step * 0.5 * (first + last) + 0.5 * b->width;
}

static bool find_valley(const draws *d, double *cut)
{
    const int64_t n = d->n_chain * d->n_draw;
    const int64_t tail = (int64_t)(TAIL * (double)n);
    const double lower = d->sorted[tail];
    const double range = d->sorted[n - 1 - tail] - lower;
    double most = CHANCE;
    bool is_found = false;
    for (int k = MIN_LOG_BIN; k <= MAX_LOG_BIN && range > 0; k++) {
        bins b;
        b.n = (int64_t)1 << k;
        b.lower = lower;
        b.width = range / (double)b.n * (1 + 1e-12);
        count_all(d, &b);
        const valley v = lowest(&b);
        const double less = fmin(b.count[v.hill[0]], b.count[v.hill[1]]);
        if (v.depth > 0 && b.count[v.at] < MIN_DIP * less) {
            const double by = fmin(rise(d, &b, &v, 0), rise(d, &b, &v, 1));
            if (by > most) {
                most = by;
                is_found = true;
                *cut = bottom(d, &b, &v);
            }
        }
    }
    return is_found;
}

static void part_values(const draws *d, double cut, tess_two_modes *out)
{
    const int64_t n = d->n_chain * d->n_draw;
    int64_t at = 0;
    while (at < n && d->sorted[at] < cut) {
        at++;
    }
    for (int k = 0; k < 2; k++) {
        const double *x = d->sorted + (k == 0 ? 0 : at);
        const int64_t count = k == 0 ? at : n - at;
        double sum = 0;
        double squares = 0;
        for (int64_t i = 0; i < count; i++) {
            sum += x[i] - cut;
        }
        for (int64_t i = 0; i < count; i++) {
            const double from = x[i] - cut - sum / (double)count;
            squares += from * from;
        }
        out->weight[k] = (double)count / (double)n;
        out->mean[k] = cut + sum / (double)count;
        out->sd[k] = sqrt(squares / (double)count);
    }
}

// ---- Chains apart -------------------------------------------------------------------------------

typedef struct place {
    double mean;
    double variance; // of the draws
    double ess;
} place;

static place place_of(const draws *d, int64_t chain)
{
    const double *x = d->x + chain * d->n_draw;
    place p = {.mean = tess_chain_mean(x, d->n_draw)};
    for (int64_t i = 0; i < d->n_draw; i++) {
        p.variance += (x[i] - p.mean) * (x[i] - p.mean) / (double)(d->n_draw - 1);
    }
    p.ess = p.variance > 0 ? tess_chain_ess(x, 1, d->n_draw, d->room->centred, d->room->rho)
                           : (double)d->n_draw;
    return p;
}

static void sort_by_mean(place *p, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const place own = p[i];
        int64_t k = i;
        for (; k > 0 && p[k - 1].mean > own.mean; k--) {
            p[k] = p[k - 1];
        }
        p[k] = own;
    }
}

// How many chains, by rising mean, are left of the widest gap that parts them; 0: none does.
static int64_t find_gap(const draws *d, place *p)
{
    double variance = 0;
    double widest = 0;
    int64_t found = 0;
    for (int64_t c = 0; c < d->n_chain; c++) {
        p[c] = place_of(d, c);
        variance += p[c].variance / (double)d->n_chain;
    }
    sort_by_mean(p, d->n_chain);
    for (int64_t c = 1; c < d->n_chain; c++) {
        const double gap = p[c].mean - p[c - 1].mean;
        if (gap > TOP_DISTANCE * sqrt(variance) && fmin(p[c].ess, p[c - 1].ess) > MIN_ESS &&
            gap > widest) {
            widest = gap;
            found = c;
        }
    }
    return found;
}

static void part_chains(const place *p, int64_t n, int64_t n_left, tess_two_modes *out)
{
    for (int k = 0; k < 2; k++) {
        const int64_t first = k == 0 ? 0 : n_left;
        const int64_t end = k == 0 ? n_left : n;
        double mean = 0;
        double variance = 0;
        for (int64_t c = first; c < end; c++) {
            mean += p[c].mean / (double)(end - first);
            variance += p[c].variance / (double)(end - first);
        }
        out->weight[k] = (double)(end - first) / (double)n;
        out->mean[k] = mean;
        out->sd[k] = sqrt(variance);
    }
}

static int64_t n_stretch_of(int64_t n_chain)
{
    const int64_t n = MAX_STRETCH / 2 / n_chain;
    return n > MIN_STRETCH ? n : MIN_STRETCH;
}

void tess_two_modes_of(const double *x, const tess_chain_room *room, tess_two_modes *out)
{
    const int64_t n_chain = room->n_chain;
    const draws d = {.x = x,
                     .room = room,
                     .sorted = room->sorted,
                     .n_chain = n_chain,
                     .n_draw = room->n_draw,
                     .n_stretch = n_stretch_of(n_chain)};
    *out = (tess_two_modes){.separation = 0};
    if (d.n_draw < MIN_DRAWS || !isfinite(d.sorted[n_chain * d.n_draw - 1] - d.sorted[0])) {
        return;
    }
    place *places = (place *)(void *)room->squares;
    const int64_t n_left = find_gap(&d, places);
    double cut;
    if (n_left > 0) {
        part_chains(places, n_chain, n_left, out);
    } else if (find_valley(&d, &cut)) {
        part_values(&d, cut, out);
    } else {
        return;
    }
    const double pooled =
        sqrt(out->weight[0] * out->sd[0] * out->sd[0] + out->weight[1] * out->sd[1] * out->sd[1]);
    out->separation = (out->mean[1] - out->mean[0]) / pooled;
    out->is_bimodal = 1;
}
