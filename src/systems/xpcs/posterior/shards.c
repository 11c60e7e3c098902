#include "systems/xpcs/posterior/shards.h"

#include "base/rng.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

enum { RANDOM = 0, STRATIFIED = 1, CONTIGUOUS = 2, SHARDS = 9 };

typedef struct cut {
    const tess_xpcs_sample_config *config;
    tess_xpcs_data *to;
    int64_t n_frame;
    int64_t n_pair;
    tess_philox_stream stream;
} cut;

// Pairs before that of frames i < j, row by row.
static int64_t pair_number(int64_t n_frame, int64_t i, int64_t j)
{
    return i * (2 * n_frame - i - 1) / 2 + j - i - 1;
}

// The shard that a point belongs to, from 0.
static int64_t shard_of(const cut *c, int64_t angle, int64_t i, int64_t j)
{
    const int64_t n = c->config->n_shard;
    const int64_t pair = pair_number(c->n_frame, i, j);
    if (c->config->shard_strategy == CONTIGUOUS) {
        return (int64_t)((double)pair / (double)c->n_pair * (double)n);
    }
    if (c->config->shard_strategy == STRATIFIED) { // dealt out in turn, at every angle
        return (pair + angle) % n;
    }
    const uint64_t at = (uint64_t)(angle * c->n_pair + pair);
    return (int64_t)(tess_philox_uniform(&c->stream, at) * (double)n);
}

// What counts of one tile at one angle, and its head.
static void take_run(const cut *c, const tess_xp_tile *tile, int64_t angle)
{
    tess_xpcs_data *to = c->to;
    unsigned char *record = to->records + tile->offset;
    double *head = (double *)(void *)record + angle * TESS_STAGE_XPCS_HEAD;
    unsigned char *samples =
        record + to->tiles.n_angle * TESS_STAGE_XPCS_HEAD * (int64_t)sizeof(double);
    float *narrow = (float *)(void *)samples + angle * tile->width;
    double *wide = (double *)(void *)samples + angle * tile->width;
    const bool is_narrow = to->tiles.item_bytes == 4;
    head[0] = head[1] = head[2] = 0;
    for (int64_t k = 0; k < tile->n_column; k++) {
        const bool is_own =
            shard_of(c, angle, tile->row, tile->first_column + k) == c->config->shard - 1;
        if (!is_own && is_narrow) {
            narrow[k] = (float)NAN;
        } else if (!is_own) {
            wide[k] = (double)NAN;
        }
        const double y = (is_narrow ? (double)narrow[k] : wide[k]) - to->info.mean[angle];
        if (isfinite(y)) {
            head[0] += 1;
            head[1] += y;
            head[2] += y * y;
        }
    }
    ((int64_t *)(uintptr_t)to->info.n_finite)[angle] += (int64_t)head[0];
}

static tess_status take_leaves(tess_context *ctx, tess_xpcs_data *data, const cut *c)
{
    const tess_xp_tiles *tiles = &data->tiles;
    const int64_t n_leaf = tess_xp_tiles_n_leaf(tiles);
    tess_xp_reader reader;
    tess_status status = tess_xp_reader_open(ctx, data, 1, false, &reader);
    for (int64_t leaf = 0; leaf < n_leaf && status == TESS_OK; leaf++) {
        const unsigned char *records = NULL;
        const uint64_t begin = tess_xp_tiles_leaf_offset(tiles, leaf);
        status = tess_context_check_cancel(ctx);
        if (status == TESS_OK) {
            status = tess_xp_reader_get(&reader, leaf, 1, &records);
        }
        if (status == TESS_OK) {
            memcpy(c->to->records + begin, records,
                   tess_xp_tiles_leaf_offset(tiles, leaf + 1) - begin);
        }
    }
    tess_xp_reader_close(&reader);
    for (int64_t t = 0; t < tiles->n_tile && status == TESS_OK; t++) {
        const tess_xp_tile tile = tess_xp_tiles_at(tiles, t);
        for (int64_t a = 0; a < tiles->n_angle; a++) {
            take_run(c, &tile, a);
        }
    }
    return status;
}

tess_status tess_xp_shard_make(tess_context *ctx, tess_xpcs_data *data,
                               const tess_xpcs_sample_config *config, tess_xpcs_data **out)
{
    const tess_xpcs_data_info *info = &data->info;
    tess_xpcs_data *to = NULL;
    if (config->shard > config->n_shard) {
        TESS_FAIL(TESS_E_RANGE, "shard: %lld of %lld; expected 1 to n_shard",
                  (long long)config->shard, (long long)config->n_shard);
    }
    TESS_TRY(tess_xp_data_create(ctx, TESS_XPCS_IN_MEMORY, info->n_angle, info->n_frame,
                                 data->tiles.item_bytes == 4 ? TESS_F32 : TESS_F64,
                                 data->tiles.has_sigma, info->phi, info->q, &to));
    for (int64_t a = 0; a < info->n_angle; a++) {
        ((double *)(uintptr_t)to->info.mean)[a] = info->mean[a];
        ((int64_t *)(uintptr_t)to->info.n_finite)[a] = 0;
    }
    to->info.dt_s = info->dt_s;
    to->info.gap_angstrom = info->gap_angstrom;
    const cut c = {.config = config,
                   .to = to,
                   .n_frame = info->n_frame,
                   .n_pair = info->n_frame * (info->n_frame - 1) / 2,
                   .stream = tess_philox_open((uint64_t)config->shard_seed, 0, SHARDS)};
    tess_status status = take_leaves(ctx, data, &c);
    if (status == TESS_OK) {
        status = tess_xp_data_seal(to);
    }
    if (status == TESS_OK && to->info.n_used == 0) {
        status = tess_error_set(TESS_E_SHAPE, "shard %lld of %lld has no points: take fewer shards",
                                (long long)config->shard, (long long)config->n_shard);
    }
    if (status != TESS_OK) {
        tess_xpcs_data_destroy(to);
        return status;
    }
    *out = to;
    return TESS_OK;
}
