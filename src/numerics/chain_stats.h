// What can be told of chains from their draws: A. Vehtari, A. Gelman, D. Simpson, B. Carpenter,
// P.-C. Bürkner, Rank-normalization, folding, and localization: an improved R-hat (2021).
#ifndef TESS_NUMERICS_CHAIN_STATS_H
#define TESS_NUMERICS_CHAIN_STATS_H

#include "base/blocks.h"

enum { TESS_CHAIN_QUANTILES = 5 }; // 5, 16, 50, 84, 95 %

extern const double tess_chain_quantiles[TESS_CHAIN_QUANTILES];

// NaN where there is nothing to tell: fewer than 4 draws, a value that is not finite; r_hat also
// for one chain, and for constants.
typedef struct tess_chain_stats {
    double mean;
    double sd; // n - 1
    double quantile[TESS_CHAIN_QUANTILES];
    double r_hat; // of ranks, of bulk or tail, the larger
    double ess_bulk;
    double ess_tail; // of the quantiles of 5 and 95 %, the smaller
    double ess_mean;
    double ess_sd;
    double mcse_mean; // errors by there being no more draws
    double mcse_sd;
    double mcse_quantile[TESS_CHAIN_QUANTILES];
} tess_chain_stats;

// Room to work in, for up to n_chain x n_draw values.
typedef struct tess_chain_room {
    int64_t n_chain;
    int64_t n_draw;
    double *split;   // [2 n_chain][n_draw / 2]
    double *folded;  // as many
    double *centred; // as many
    double *sorted;  // [n_chain][n_draw]
    double *squares; // [n_chain][n_draw]
    double *rho;     // [n_draw]
    int64_t *order;  // [n_chain][n_draw]
    int64_t *scratch;
} tess_chain_room;

TESS_MUST_CHECK tess_status tess_chain_room_open(tess_blocks *blocks, int64_t n_chain,
                                                 int64_t n_draw, tess_chain_room *room);

// Of x [n_chain][n_draw], the shape of the room.
void tess_chain_stats_of(const double *x, const tess_chain_room *room, tess_chain_stats *out);

// Effective number of draws for the mean of x, without splitting: the chains as they are.
// x [n_chain][n_draw], n_draw >= 2; centred as large, rho [n_draw].
double tess_chain_ess(const double *x, int64_t n_chain, int64_t n_draw, double *centred,
                      double *rho);

// Of ranks and split in the first n of the n_draw of each chain: how it grows.
double tess_chain_ess_bulk(const double *x, const tess_chain_room *room, int64_t n);

// Share of the energy's variance that a new momentum brings, of one chain; NaN below 2 draws.
double tess_chain_bfmi(const double *energy, int64_t n_draw);

// n >= 1.
double tess_chain_mean(const double *x, int64_t n);

// Linear between the values of a sorted x, as NumPy has it. n >= 1.
double tess_sorted_quantile(const double *x, int64_t n, double p);

#endif
