// Photon counts of speckle, and their correlations as an experiment takes them.
//
// The counts are whole numbers and so are their sums: the order of additions does not show.
#include "base/blocks.h"
#include "base/status.h"
#include "runtime/context.h"
#include "systems/xpcs/simulate/speckle.h"

#include <math.h>

enum { DRAW_FIELD = 3, DRAW_COUNT = 4 }; // streams; simulate.c has 1 and 2

typedef struct counting {
    tess_context *ctx;
    const tess_xpcs_simulation *settings;
    const tess_xp_angle *angles;
    tess_xp_grids grids; // of all frames, that at time 0 included
    tess_xp_speckle speckle;
    double *factor;     // [n][n], n = settings->n_frame
    double *work;       // [n_thread][3 n RUN] fields and intensities
    uint16_t *count;    // [n][n_pixel]
    int64_t *per_frame; // [n] sums
    double *c2;         // [n][n] upper triangle
    float *narrow;      // the same
    int64_t angle;
} counting;

// The count below which a share u of a Poisson variable with this mean lies. Means are at most some
// tens; exp(-mean) stays above 0 up to 700, which no field reaches.
static uint16_t count_at(double mean, double u)
{
    double probability = exp(-fmin(mean, 700));
    double below = probability;
    uint16_t k = 0;
    while (u >= below && probability > 0 && k < 5000) {
        k++;
        probability *= mean / k;
        below += probability;
    }
    return k;
}

static tess_status count_pixels(void *arg, int64_t block, int32_t worker)
{
    const counting *c = arg;
    const int64_t n = c->settings->n_frame;
    const int64_t n_pixel = c->settings->n_pixel;
    const int64_t first = block * TESS_XP_SPECKLE_RUN;
    const int64_t some =
        n_pixel - first < TESS_XP_SPECKLE_RUN ? n_pixel - first : TESS_XP_SPECKLE_RUN;
    double *work = c->work + 3 * n * TESS_XP_SPECKLE_RUN * worker;
    double *intensity = work + 2 * n * TESS_XP_SPECKLE_RUN;
    const uint64_t seed = (uint64_t)c->settings->seed;
    const tess_philox_stream field = tess_philox_open(seed, (uint32_t)c->angle, DRAW_FIELD);
    const tess_philox_stream uniform = tess_philox_open(seed, (uint32_t)c->angle, DRAW_COUNT);

    tess_xp_speckle_fill(&c->speckle, &field, n_pixel, first, some, work, intensity);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < some; k++) {
            const int64_t at = i * n_pixel + first + k;
            c->count[at] = count_at(c->settings->photons * intensity[i * TESS_XP_SPECKLE_RUN + k],
                                    tess_philox_uniform(&uniform, (uint64_t)at));
        }
    }
    return tess_context_check_cancel(c->ctx);
}

static tess_status sum_frame(void *arg, int64_t i, int32_t worker)
{
    (void)worker;
    const counting *c = arg;
    const uint16_t *count = c->count + i * c->settings->n_pixel;
    int64_t sum = 0;
    for (int64_t k = 0; k < c->settings->n_pixel; k++) {
        sum += count[k];
    }
    c->per_frame[i] = sum;
    return TESS_OK;
}

// Frames without a photon have no correlation: NaN.
static tess_status correlate_frame(void *arg, int64_t i, int32_t worker)
{
    (void)worker;
    const counting *c = arg;
    const int64_t n = c->settings->n_frame;
    const int64_t n_pixel = c->settings->n_pixel;
    const uint16_t *one = c->count + i * n_pixel;
    const double shift = c->angles[c->angle].offset - 1;
    for (int64_t j = i + 1; j < n; j++) {
        const uint16_t *other = c->count + j * n_pixel;
        uint64_t sum = 0;
        for (int64_t k = 0; k < n_pixel; k++) {
            sum += (uint32_t)one[k] * other[k];
        }
        const double both = (double)c->per_frame[i] * (double)c->per_frame[j];
        c->c2[i * n + j] = both > 0 ? (double)n_pixel * (double)sum / both + shift : (double)NAN;
    }
    return tess_context_check_cancel(c->ctx);
}

static tess_status put_angle(counting *c, const uint8_t *is_bad, tess_xpcs_data *data)
{
    const tess_xpcs_simulation *s = c->settings;
    const int64_t n = s->n_frame;
    const int64_t skip = n - data->info.n_frame; // the frame at time 0
    tess_pool *pool = c->ctx->pool;
    TESS_TRY(tess_xp_speckle_factor(&c->grids.grid, &c->angles[c->angle],
                                    tess_xp_power((tess_xpcs_kernel)s->model.kernel), n,
                                    c->factor));
    tess_xp_speckle_modes(&c->speckle, c->angles[c->angle].contrast);
    const int64_t n_block = (s->n_pixel + TESS_XP_SPECKLE_RUN - 1) / TESS_XP_SPECKLE_RUN;
    TESS_TRY(tess_parallel_for(pool, n_block, count_pixels, c));
    TESS_TRY(tess_parallel_for(pool, n, sum_frame, c));
    TESS_TRY(tess_parallel_for(pool, n, correlate_frame, c));
    const void *matrix = c->c2 + skip * (n + 1);
    if (data->info.dtype == TESS_F32) {
        for (int64_t k = 0; k < n * n; k++) {
            c->narrow[k] = (float)c->c2[k];
        }
        matrix = c->narrow + skip * (n + 1);
    }
    return tess_xp_data_put_matrix(data, c->angle, matrix, n, 1, NULL, is_bad, 1);
}

static tess_status check_settings(const tess_xpcs_simulation *s, const tess_xp_angle *angles)
{
    if (s->model.mode == TESS_XPCS_TWO_COMPONENT) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "speckle: not there for mode two_component, whose fields have "
                  "phases; simulate without");
    }
    if (s->n_frame > TESS_XP_SPECKLE_FRAMES) {
        TESS_FAIL(TESS_E_RANGE, "n_frame: %lld; speckle is made for at most %d frames",
                  (long long)s->n_frame, (int)TESS_XP_SPECKLE_FRAMES);
    }
    if (s->nan_fraction > 0) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "nan_fraction: %g; frames of speckle are lost as a whole: name bad_frames",
                  s->nan_fraction);
    }
    for (int64_t a = 0; a < s->n_angle; a++) {
        if (!(angles[a].contrast >= TESS_XP_SPECKLE_LEAST) || angles[a].contrast > 1) {
            TESS_FAIL(TESS_E_RANGE, "contrast of angle %lld: %g; that of speckle is %g to 1",
                      (long long)a, angles[a].contrast, TESS_XP_SPECKLE_LEAST);
        }
    }
    return TESS_OK;
}

static tess_status take_room(counting *c, tess_blocks *memory)
{
    const int64_t n = c->settings->n_frame;
    const int64_t n_thread = tess_pool_threads(c->ctx->pool);
    c->factor = tess_blocks_alloc(memory, n * n, sizeof *c->factor, "field correlations");
    c->c2 = tess_blocks_alloc(memory, n * n, sizeof *c->c2, "a matrix");
    c->narrow = tess_blocks_alloc(memory, n * n, sizeof *c->narrow, "a matrix");
    c->per_frame = tess_blocks_alloc(memory, n, sizeof *c->per_frame, "counts of frames");
    c->count =
        tess_blocks_alloc(memory, n * c->settings->n_pixel, sizeof *c->count, "photon counts");
    c->work = tess_blocks_alloc(memory, n_thread * 3 * n * TESS_XP_SPECKLE_RUN, sizeof *c->work,
                                "fields of pixels");
    c->speckle = (tess_xp_speckle){.factor = c->factor, .n_frame = n};
    const bool is_there = c->factor && c->c2 && c->narrow && c->per_frame && c->count && c->work;
    return is_there ? TESS_OK : TESS_E_MEMORY;
}

static tess_status put_all(counting *c, const uint8_t *is_bad, tess_xpcs_data *data)
{
    const int64_t n_angle = data->info.n_angle;
    for (c->angle = 0; c->angle < n_angle; c->angle++) {
        TESS_TRY(put_angle(c, is_bad, data));
    }
    TESS_TRY(tess_xp_data_finish(data));
    if (data->info.n_angle != n_angle) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "photons: %g of %lld pixels leave most frames of an angle empty; take more",
                  c->settings->photons, (long long)c->settings->n_pixel);
    }
    return TESS_OK;
}

tess_status tess_xp_speckle_put(tess_context *ctx, const tess_xpcs_simulation *settings,
                                const double *theta, const tess_xp_angle *angles,
                                const uint8_t *is_bad, tess_xpcs_data *data)
{
    counting c = {.ctx = ctx, .settings = settings, .angles = angles};
    tess_xpcs_model model = settings->model;
    tess_blocks memory;
    model.keep_t0 = 1; // the sample was there before the first frame that counts
    TESS_TRY(check_settings(settings, angles));
    TESS_TRY(tess_xp_grids_create(ctx, &model, settings->n_frame, &c.grids));
    tess_xp_grids_fill(&c.grids, &model, theta);
    tess_blocks_init(&memory, &ctx->heap);
    tess_status status = take_room(&c, &memory);
    if (status == TESS_OK) {
        status = put_all(&c, is_bad, data);
    }
    tess_blocks_free(&memory);
    tess_xp_grids_destroy(ctx, &c.grids);
    return status;
}
