// Shards on their way to the whole.
#ifndef TESS_XPCS_POSTERIOR_COMBINE_H
#define TESS_XPCS_POSTERIOR_COMBINE_H

#include "systems/xpcs/posterior/sample.h"

// A vector of a draw: coordinates of theta and the noise in which posteriors are nearly normal,
// then contrasts and offsets.
typedef struct tess_xp_combine {
    tess_context *ctx;
    tess_xpcs_combine_config config;
    const tess_xpcs_posterior *const *shards;
    int64_t n_shard;
    tess_xp_coords coords;
    int64_t n;      // of the vector
    int64_t n_pair; // contrasts in it, and as many offsets: of every angle, one of all, none
    int64_t n_draw; // of each shard, all chains
    tess_blocks blocks;
    uint8_t *is_used;
    double skewness;       // norm of the shards' third moments
    bool is_nearly_normal; // so small that an expansion in them holds
    double *x;             // [n_shard][n_draw][n]
    double *mean;          // [n_shard][n]
    double *precision;     // [n_shard][n][n]
    double *root;          // [n][n] of the sum of the precisions
    tess_text warnings;
} tess_xp_combine;

static inline const tess_xpcs_posterior_info *tess_xp_combine_info(const tess_xp_combine *c,
                                                                   int64_t shard)
{
    return &c->shards[shard]->info;
}

// Coordinates of theta: rates by those that chains walk in, or every parameter by its own.
void tess_xp_combine_coords(tess_xp_combine *combine, bool is_bent);
// The vectors x of a shard's draws.
void tess_xp_combine_take(tess_xp_combine *combine, int64_t shard);
// Those coordinates in which the shards are nearest to normal, and whether that is near; x is used
// as room.
void tess_xp_combine_choose(tess_xp_combine *combine);
// A shard's draws of theta's coordinates and the noise.
typedef struct tess_xp_shape {
    double mean[TESS_XP_MAX_COORD];
    double root[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD]; // lower, of the covariance
    // Moments, made of unit covariance.
    double third[TESS_XP_MAX_COORD * TESS_XP_MAX_COORD * TESS_XP_MAX_COORD];
} tess_xp_shape;

typedef enum tess_xp_part {
    TESS_XP_ALL_DRAWS = 0,
    TESS_XP_FIRST_HALF = 1,
    TESS_XP_SECOND_HALF = 2
} tess_xp_part;

// False: they span no space.
bool tess_xp_combine_shape(const tess_xp_combine *combine, int64_t shard, tess_xp_part part,
                           tess_xp_shape *out);
// Adds to the slope [coords.n] of the whole's log density at mu, the average of the shards, what
// their third moments, by part of the draws, do.
void tess_xp_combine_skew(const tess_xp_combine *combine, const double *mu, tess_xp_part part,
                          double *slope);
// How far the whole lies from the average, shift [n]: shards know theta, in these coordinates each
// has the volume of theta in its density, and only one of them should; and they are not normal.
// room [3 n]. Warns of what may be left.
void tess_xp_combine_shift(tess_xp_combine *combine, const double *mu, double *shift, double *room);
// Solves for x [n] with the root of the sum of all precisions.
void tess_xp_combine_solve(const tess_xp_combine *combine, double *x);
int64_t tess_xp_combine_n_used(const tess_xp_combine *combine);
// Why the draws of a shard cannot be used, its vectors x being there; NULL: they can.
const char *tess_xp_combine_fault(const tess_xp_combine *combine, int64_t shard);

#endif
