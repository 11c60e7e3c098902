#include "numerics/chain_stats.h"

#include "numerics/order.h"
#include "numerics/quantiles.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

const double tess_chain_quantiles[TESS_CHAIN_QUANTILES] = {0.05, 0.16, 0.5, 0.84, 0.95};

enum { MIN_DRAW = 4 };

tess_status tess_chain_room_open(tess_blocks *blocks, int64_t n_chain, int64_t n_draw,
                                 tess_chain_room *room)
{
    static const char what[] = "statistics of chains";
    const int64_t n = n_chain * n_draw;
    *room = (tess_chain_room){.n_chain = n_chain, .n_draw = n_draw};
    room->split = tess_blocks_alloc(blocks, n, sizeof(double), what);
    room->folded = tess_blocks_alloc(blocks, n, sizeof(double), what);
    room->centred = tess_blocks_alloc(blocks, n, sizeof(double), what);
    room->sorted = tess_blocks_alloc(blocks, n, sizeof(double), what);
    room->squares = tess_blocks_alloc(blocks, n, sizeof(double), what);
    room->rho = tess_blocks_alloc(blocks, n_draw, sizeof(double), what);
    room->order = tess_blocks_alloc(blocks, n, sizeof(int64_t), what);
    room->scratch = tess_blocks_alloc(blocks, n, sizeof(int64_t), what);
    return room->split && room->folded && room->centred && room->sorted && room->squares &&
                   room->rho && room->order && room->scratch
               ? TESS_OK
               : TESS_E_MEMORY;
}

double tess_sorted_quantile(const double *x, int64_t n, double p)
{
    const double at = p * (double)(n - 1);
    const int64_t i = (int64_t)floor(at);
    return i + 1 < n ? x[i] + (at - (double)i) * (x[i + 1] - x[i]) : x[n - 1];
}

// The halves of the first n of n_draw draws of every chain as chains; an odd one in the middle is
// left out. Returns their length.
static int64_t split(const double *x, int64_t n_chain, int64_t n_draw, int64_t n, double *out)
{
    const int64_t half = n / 2;
    for (int64_t c = 0; c < n_chain; c++) {
        const double *chain = x + c * n_draw;
        memcpy(out + 2 * c * half, chain, (size_t)half * sizeof *out);
        memcpy(out + (2 * c + 1) * half, chain + n - half, (size_t)half * sizeof *out);
    }
    return half;
}

// Replaces n values by the normal quantiles of their ranks; equal ones share the mean of theirs.
static void rank_normalise(double *x, int64_t n, const tess_chain_room *room)
{
    tess_order_stable(x, n, room->order, room->scratch);
    for (int64_t i = 0; i < n;) {
        int64_t end = i + 1;
        while (end < n && x[room->order[end]] == x[room->order[i]]) {
            end++;
        }
        const double rank = 0.5 * (double)(i + 1 + end);
        const double z = tess_normal_quantile((rank - 0.375) / ((double)n + 0.25));
        for (int64_t k = i; k < end; k++) { // later ties are looked up by the order alone
            room->centred[room->order[k]] = z;
        }
        i = end;
    }
    memcpy(x, room->centred, (size_t)n * sizeof *x);
}

// Gelman and Rubin's ratio of all to what is within.
static double ratio(const double *x, int64_t n_chain, int64_t n_draw)
{
    double grand = 0;
    double between = 0;
    double within = 0;
    for (int64_t c = 0; c < n_chain; c++) {
        const double mean = tess_chain_mean(x + c * n_draw, n_draw);
        double squares = 0;
        for (int64_t i = 0; i < n_draw; i++) {
            const double d = x[c * n_draw + i] - mean;
            squares += d * d;
        }
        within += squares / (double)(n_draw - 1) / (double)n_chain;
        const double step = mean - grand;
        grand += step / (double)(c + 1);
        between += step * (mean - grand);
    }
    between *= (double)n_draw / (double)(n_chain - 1);
    return sqrt((between / within + (double)n_draw - 1) / (double)n_draw);
}

static double fold_ratio(const tess_chain_room *room, int64_t n, int64_t half)
{
    memcpy(room->folded, room->split, (size_t)n * sizeof(double));
    const double middle = tess_median(room->folded, n);
    for (int64_t i = 0; i < n; i++) {
        room->folded[i] = fabs(room->split[i] - middle);
    }
    rank_normalise(room->folded, n, room);
    return ratio(room->folded, 2 * room->n_chain, half);
}

static double ess_of_split(const tess_chain_room *room, int64_t half)
{
    return tess_chain_ess(room->split, 2 * room->n_chain, half, room->centred, room->rho);
}

// Of being at or below the quantile.
static double ess_below(const double *x, const tess_chain_room *room, double quantile)
{
    const int64_t half = split(x, room->n_chain, room->n_draw, room->n_draw, room->split);
    for (int64_t i = 0; i < 2 * room->n_chain * half; i++) {
        room->split[i] = room->split[i] <= quantile ? 1 : 0;
    }
    return ess_of_split(room, half);
}

double tess_chain_ess_bulk(const double *x, const tess_chain_room *room, int64_t n)
{
    if (n < MIN_DRAW || n > room->n_draw) {
        return (double)NAN;
    }
    const int64_t half = split(x, room->n_chain, room->n_draw, n, room->split);
    rank_normalise(room->split, 2 * room->n_chain * half, room);
    return ess_of_split(room, half);
}

// Half the distance of the order statistics that a normal's one sd of the quantile's share leads
// to.
static double quantile_error(const tess_chain_room *room, double ess, double p)
{
    static const double below = 0.1586553;
    static const double above = 0.8413447;
    const int64_t n = room->n_chain * room->n_draw;
    const double low = tess_beta_quantile(below, ess * p + 1, ess * (1 - p) + 1) * (double)n - 1;
    const double high = tess_beta_quantile(above, ess * p + 1, ess * (1 - p) + 1) * (double)n - 1;
    const int64_t i = low > 0 ? (int64_t)floor(low) : 0;
    const int64_t k = high < (double)(n - 1) ? (int64_t)ceil(high) : n - 1;
    return 0.5 * (room->sorted[k] - room->sorted[i]);
}

static void set_moments(const double *x, const tess_chain_room *room, tess_chain_stats *out)
{
    const int64_t n = room->n_chain * room->n_draw;
    double squares = 0;
    out->mean = tess_chain_mean(x, n);
    for (int64_t i = 0; i < n; i++) {
        room->squares[i] = (x[i] - out->mean) * (x[i] - out->mean);
        squares += room->squares[i];
    }
    out->sd = n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN;
    tess_order_stable(x, n, room->order, room->scratch);
    for (int64_t i = 0; i < n; i++) {
        room->sorted[i] = x[room->order[i]];
    }
    for (int q = 0; q < TESS_CHAIN_QUANTILES; q++) {
        out->quantile[q] = tess_sorted_quantile(room->sorted, n, tess_chain_quantiles[q]);
    }
    if (room->sorted[0] == room->sorted[n - 1]) { // not what rounding leaves of it
        out->mean = room->sorted[0];
        out->sd = n > 1 ? 0 : (double)NAN;
        memset(room->squares, 0, (size_t)n * sizeof(double));
    }
}

// Errors of mean and sd; squares are the room's.
static void set_errors(const double *x, const tess_chain_room *room, tess_chain_stats *out)
{
    const int64_t n = room->n_chain * room->n_draw;
    double mean = 0;
    double fourth = 0;
    int64_t half = split(x, room->n_chain, room->n_draw, room->n_draw, room->split);
    out->ess_mean = ess_of_split(room, half);
    out->mcse_mean = out->sd / sqrt(out->ess_mean);
    for (int64_t i = 0; i < n; i++) {
        mean += room->squares[i] / (double)n;
        fourth += room->squares[i] * room->squares[i] / (double)n;
    }
    half = split(room->squares, room->n_chain, room->n_draw, room->n_draw, room->split);
    out->ess_sd = ess_of_split(room, half);
    out->mcse_sd = sqrt((fourth - mean * mean) / out->ess_sd / mean / 4);
}

static bool is_finite_all(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            return false;
        }
    }
    return true;
}

static void set_nothing(tess_chain_stats *out)
{
    double *fields = (double *)out;
    for (size_t i = 0; i < sizeof *out / sizeof *fields; i++) {
        fields[i] = (double)NAN;
    }
}

void tess_chain_stats_of(const double *x, const tess_chain_room *room, tess_chain_stats *out)
{
    const int64_t n_chain = room->n_chain;
    const int64_t n_draw = room->n_draw;
    set_nothing(out);
    if (!is_finite_all(x, n_chain * n_draw)) {
        return;
    }
    set_moments(x, room, out);
    if (n_draw < MIN_DRAW) {
        return;
    }
    set_errors(x, room, out);
    double tail[TESS_CHAIN_QUANTILES];
    for (int q = 0; q < TESS_CHAIN_QUANTILES; q++) {
        tail[q] = ess_below(x, room, out->quantile[q]);
        out->mcse_quantile[q] = quantile_error(room, tail[q], tess_chain_quantiles[q]);
    }
    out->ess_tail = fmin(tail[0], tail[TESS_CHAIN_QUANTILES - 1]);
    const int64_t half = split(x, n_chain, n_draw, n_draw, room->split);
    const int64_t n = 2 * n_chain * half;
    const double of_tail = n_chain > 1 ? fold_ratio(room, n, half) : (double)NAN;
    rank_normalise(room->split, n, room);
    const double of_bulk = n_chain > 1 ? ratio(room->split, 2 * n_chain, half) : (double)NAN;
    out->r_hat = isnan(of_tail) || isnan(of_bulk) ? (double)NAN : fmax(of_bulk, of_tail);
    out->ess_bulk = ess_of_split(room, half);
}
