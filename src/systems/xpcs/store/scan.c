#include "systems/xpcs/store/scan.h"

#include "base/span.h"
#include "base/status.h"
#include "runtime/watch.h"

enum { LEAF = TESS_STAGE_XPCS_LEAF, RUN = TESS_STAGE_XPCS_RUN };

static const uint64_t CHUNK_BYTES = 2 << 20;
// Of what lies in memory as a whole: threads meet less often.
static const uint64_t HELD_BYTES = 128 << 20;
// That are worth an exchange between ranks, as of a pass.
static const int64_t LEAST_POINTS = 50000;

typedef struct scan_job {
    const tess_xp_tiles *tiles;
    const unsigned char *records;
    int64_t first_leaf;
    int64_t n_leaf;
    tess_comm_deal angles;
    tess_xp_visit visit;
    void *self;
} scan_job;

// The samples of an angle as f64.
static const double *samples(const tess_xp_tiles *tiles, const tess_xp_tile *tile,
                             const unsigned char *record, int64_t angle, double *wide)
{
    const unsigned char *y = record +
                             tiles->n_angle * TESS_STAGE_XPCS_HEAD * (int64_t)sizeof(double) +
                             angle * tile->width * tiles->item_bytes;
    if (tiles->item_bytes == sizeof(double)) {
        return (const double *)(const void *)y;
    }
    const float *narrow = (const float *)(const void *)y;
    for (int64_t k = 0; k < tile->n_column; k++) {
        wide[k] = (double)narrow[k];
    }
    return wide;
}

static tess_status scan_angle(void *arg, int64_t k, int32_t worker)
{
    (void)worker;
    const scan_job *job = arg;
    const int64_t angle = job->angles.first + k * job->angles.step;
    const tess_xp_tiles *tiles = job->tiles;
    const uint64_t base = tess_xp_tiles_leaf_offset(tiles, job->first_leaf);
    const int64_t all = (job->first_leaf + job->n_leaf) * LEAF;
    const int64_t end = all < tiles->n_tile ? all : tiles->n_tile;
    double wide[RUN];
    for (int64_t t = job->first_leaf * LEAF; t < end; t++) {
        const tess_xp_tile tile = tess_xp_tiles_at(tiles, t);
        const unsigned char *record = job->records + (tile.offset - base);
        job->visit(job->self, angle, &tile, samples(tiles, &tile, record, angle, wide));
    }
    return TESS_OK;
}

static tess_status scan_all(tess_context *ctx, tess_xpcs_data *data, tess_xp_reader *reader,
                            const char *stage, scan_job *job)
{
    const int64_t all = tess_xp_tiles_n_leaf(&data->tiles);
    const int64_t n_angle = tess_comm_count_dealt(job->angles, data->info.n_angle);
    tess_watch watch;
    tess_watch_begin(&watch, ctx, stage, "leaves", 0, data->info.bytes,
                     data->info.residency == TESS_XPCS_IN_MEMORY ? TESS_STRATEGY_LARGE
                                                                 : TESS_STRATEGY_CHUNKED);
    for (int64_t leaf = 0; leaf < all; leaf += job->n_leaf) {
        job->first_leaf = leaf;
        job->n_leaf = reader->leaves_per_chunk < all - leaf ? reader->leaves_per_chunk : all - leaf;
        TESS_TRY(tess_xp_reader_get(reader, leaf, job->n_leaf, &job->records));
        TESS_TRY(tess_parallel_for(ctx->pool, n_angle, scan_angle, job));
        TESS_TRY(tess_watch_poll(&watch, leaf + job->n_leaf, all));
    }
    return TESS_OK;
}

tess_comm_deal tess_xp_deal_survey(const tess_context *ctx, const tess_xpcs_data *data)
{
    return tess_comm_deal_of(ctx, data->info.n_used >= LEAST_POINTS);
}

uint64_t tess_xp_scan_bytes(const tess_xpcs_data *data)
{
    return tess_xp_reader_bytes(data, tess_xp_leaves_in(data, CHUNK_BYTES),
                                !tess_xp_data_is_held(data));
}

tess_status tess_xp_scan(tess_context *ctx, tess_xpcs_data *data, tess_comm_deal angles,
                         const char *stage, tess_xp_visit visit, void *self)
{
    scan_job job = {.tiles = &data->tiles, .angles = angles, .visit = visit, .self = self};
    tess_xp_reader reader;
    const int64_t n_own = tess_comm_count_dealt(angles, data->info.n_angle);
    if (n_own == 0) {
        return TESS_OK;
    }
    tess_span span = tess_span_begin(&ctx->tracer, stage);
    const bool is_held = data->info.residency == TESS_XPCS_IN_MEMORY || tess_xp_data_is_held(data);
    const int64_t leaves = tess_xp_leaves_in(data, is_held ? HELD_BYTES : CHUNK_BYTES);
    tess_status status = tess_xp_reader_open(ctx, data, leaves, false, &reader);
    if (status == TESS_OK) {
        reader.max_retries = 2;
        status = scan_all(ctx, data, &reader, stage, &job);
    }
    tess_xp_reader_close(&reader);
    tess_span_end(&span, (double)data->info.bytes * (double)n_own / (double)data->info.n_angle, 0);
    return status;
}
