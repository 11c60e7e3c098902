// What a sampler keeps between rounds, so that a later process goes on to the same draws.
#include "base/status.h"
#include "numerics/nuts.h"
#include "numerics/surrogate.h"
#include "systems/xpcs/posterior/ess.h"
#include "systems/xpcs/posterior/sample.h"

#include <math.h>
#include <string.h>

static const double ESS_EVERY_S = 1; // of the work that looking at the draws costs

static size_t chains_bytes(const tess_xp_sampler *s)
{
    return (size_t)s->config.n_chain * s->chain_bytes;
}

// What a surrogate needs.
typedef struct piece {
    const char *name;
    void *bytes;
    size_t n;
} piece;

static size_t pieces_of(const tess_xp_sampler *s, piece pieces[4])
{
    const int64_t n = s->coords.n;
    const int64_t n_chain = s->config.n_chain;
    if (!s->seen && s->at) {
        pieces[0] = (piece){"at", s->at, (size_t)(n_chain * (2 * n + 1)) * sizeof(double)};
        return 1;
    }
    if (!s->seen) {
        return 0;
    }
    pieces[0] =
        (piece){"seen", s->seen, (size_t)(n_chain * s->n_seen * (2 * n + 1)) * sizeof(double)};
    pieces[1] = (piece){"surrogat", s->surrogate, tess_surrogate_bytes(n)};
    pieces[2] = (piece){"movers", s->movers, chains_bytes(s)};
    pieces[3] = (piece){"at", s->at, (size_t)(n_chain * (n + 1)) * sizeof(double)};
    return 4;
}

// ---- Rounds -------------------------------------------------------------------------------------

enum { N_CHANGED = 5 };

// What a round changes but draws, which are written again.
static void changed_by_round(tess_xp_sampler *s, piece pieces[N_CHANGED])
{
    const size_t n_chain = (size_t)s->config.n_chain;
    const size_t n_place = (size_t)s->coords.n * (s->seen ? 1 : 2) + 1;
    pieces[0] = (piece){"tally", &s->tally, sizeof s->tally};
    pieces[1] = (piece){"is_done", s->is_done, n_chain};
    pieces[2] = (piece){"chains", s->chains, chains_bytes(s)};
    pieces[3] = (piece){"movers", s->movers, s->movers ? chains_bytes(s) : 0};
    pieces[4] = (piece){"at", s->at, s->at ? n_chain * n_place * sizeof(double) : 0};
}

tess_status tess_xp_sampler_open_rounds(tess_xp_sampler *s)
{
    piece pieces[N_CHANGED];
    size_t bytes = 0;
    changed_by_round(s, pieces);
    for (int i = 0; i < N_CHANGED; i++) {
        bytes += pieces[i].n;
    }
    s->before = tess_blocks_alloc(&s->blocks, 1, bytes, "chains before a round");
    return s->before ? TESS_OK : TESS_E_MEMORY;
}

static void copy_round(tess_xp_sampler *s, bool is_back)
{
    piece pieces[N_CHANGED];
    char *before = s->before;
    changed_by_round(s, pieces);
    for (int i = 0; i < N_CHANGED; i++) {
        if (pieces[i].n > 0) {
            memcpy(is_back ? pieces[i].bytes : before, is_back ? before : pieces[i].bytes,
                   pieces[i].n);
        }
        before += pieces[i].n;
    }
}

void tess_xp_sampler_begin_round(tess_xp_sampler *s)
{
    copy_round(s, false);
}

tess_status tess_xp_sampler_end_round(tess_xp_sampler *s, tess_status status)
{
    if (status != TESS_OK) {
        copy_round(s, true);
    }
    return status;
}

// ---- Checkpoints --------------------------------------------------------------------------------

static tess_status write_state(void *self, tess_checkpoint_writer *writer)
{
    tess_xp_sampler *s = self;
    const size_t bytes = tess_xp_posterior_growing_bytes(s->out);
    unsigned char *draws =
        tess_heap_alloc(&s->ctx->heap, bytes, TESS_TAG_SCRATCH, "draws of a checkpoint");
    if (!draws) {
        return TESS_E_MEMORY;
    }
    tess_xp_posterior_growing(s->out, draws, true);
    tess_status status = tess_checkpoint_add(writer, "tally", &s->tally, sizeof s->tally);
    if (status == TESS_OK) {
        status = tess_checkpoint_add(writer, "chains", s->chains, chains_bytes(s));
    }
    if (status == TESS_OK) {
        status = tess_checkpoint_add(writer, "is_done", s->is_done, (size_t)s->config.n_chain);
    }
    if (status == TESS_OK) {
        status = tess_checkpoint_add(writer, "outside", s->out->info.outside_angle,
                                     (size_t)s->density.n_angle * sizeof(double));
    }
    if (status == TESS_OK) {
        status = tess_checkpoint_add(writer, "draws", draws, bytes);
    }
    piece pieces[4];
    const size_t n_piece = pieces_of(s, pieces);
    for (size_t i = 0; i < n_piece && status == TESS_OK; i++) {
        status = tess_checkpoint_add(writer, pieces[i].name, pieces[i].bytes, pieces[i].n);
    }
    tess_heap_free(&s->ctx->heap, draws, bytes, TESS_TAG_SCRATCH);
    return status;
}

static tess_status read_state(void *self, const tess_checkpoint *found, const char *path)
{
    (void)path;
    tess_xp_sampler *s = self;
    const size_t bytes = tess_xp_posterior_growing_bytes(s->out);
    unsigned char *draws =
        tess_heap_alloc(&s->ctx->heap, bytes, TESS_TAG_SCRATCH, "draws of a checkpoint");
    if (!draws) {
        return TESS_E_MEMORY;
    }
    tess_status status = tess_checkpoint_get(found, "done", &s->resumed_from, sizeof(double));
    if (status == TESS_OK) {
        status = tess_checkpoint_get(found, "tally", &s->tally, sizeof s->tally);
    }
    if (status == TESS_OK) {
        status = tess_checkpoint_get(found, "chains", s->chains, chains_bytes(s));
    }
    if (status == TESS_OK) {
        status = tess_checkpoint_get(found, "is_done", s->is_done, (size_t)s->config.n_chain);
    }
    if (status == TESS_OK) {
        status =
            tess_checkpoint_get(found, "outside", TESS_XP_OWN(double, s->out->info.outside_angle),
                                (size_t)s->density.n_angle * sizeof(double));
    }
    if (status == TESS_OK) {
        status = tess_checkpoint_get(found, "draws", draws, bytes);
    }
    if (status == TESS_OK) {
        tess_xp_posterior_growing(s->out, draws, false);
    }
    piece pieces[4];
    const size_t n_piece = pieces_of(s, pieces);
    for (size_t i = 0; i < n_piece && status == TESS_OK; i++) {
        status = tess_checkpoint_get(found, pieces[i].name, pieces[i].bytes, pieces[i].n);
    }
    tess_heap_free(&s->ctx->heap, draws, bytes, TESS_TAG_SCRATCH);
    return status;
}

// Options that change how a run goes, not what it draws, and those of the fit that have no part.
static const char without_effect[] = "|strategy|fast|chunk_tiles|checkpoint_iterations|max_retries|"
                                     "chi2_threshold|combination|shard_points|max_rhat|min_ess|"
                                     "max_divergence|min_success|max_cv|";

static tess_hash hash_vectors(const tess_xp_sampler *s)
{
    const size_t n_param = (size_t)s->density.n_param;
    tess_hash hash = {0, 0};
    tess_hash_mix(&hash, s->density.theta, n_param * sizeof *s->density.theta);
    tess_hash_mix(&hash, s->density.is_fixed, n_param * sizeof *s->density.is_fixed);
    tess_hash_mix(&hash, &s->density.contrast, sizeof s->density.contrast);
    tess_hash_mix(&hash, &s->density.offset, sizeof s->density.offset);
    tess_hash_mix(&hash, &s->density.noise_scale, sizeof s->density.noise_scale);
    tess_hash_mix(&hash, &s->scaling, sizeof s->scaling);
    if (s->density.held) {
        tess_hash_mix(&hash, s->density.held, 2 * (size_t)s->density.n_angle * sizeof(double));
    }
    tess_hash_mix(&hash, s->fit->theta, n_param * sizeof(double));
    tess_hash_mix(&hash, s->fit->contrast, (size_t)s->density.n_angle * sizeof(double));
    const size_t n_all = (size_t)s->fit->n_covariance;
    tess_hash_mix(&hash, s->fit->covariance, n_all * n_all * sizeof(double));
    if (s->fit->noise_photons > 0) {
        tess_hash_mix(&hash, s->weight, (size_t)s->density.n_angle * sizeof(double));
        tess_hash_mix(&hash, s->fit->independent_covariance, n_param * n_param * sizeof(double));
    }
    return hash;
}

static tess_status make_identity(tess_xp_sampler *s)
{
    const char *whole = NULL;
    const tess_param_table *const tables[] = {tess_xpcs_model_params(), tess_xpcs_sample_params()};
    const void *const configs[] = {&s->model, &s->config};
    tess_identity_init(&s->id, s->ctx, "xpcs.sample", s->device->backend->name);
    tess_identity_add_settings(&s->id, NULL, tables, configs, 2, without_effect);
    tess_identity_add_hash(&s->id, "priors, bounds or the fit differ from those of this sampling",
                           hash_vectors(s));
    tess_identity_add_hash(&s->id, "belongs to other data, or other parts of them could be read",
                           tess_xp_data_identity(s->data));
    return tess_text_finish(&s->id.text, &whole);
}

static int64_t n_total(const tess_xp_sampler *s)
{
    return s->config.n_chain * (s->config.n_warmup + s->config.n_draw);
}

static int64_t n_done_of(const tess_xp_sampler *s, int64_t chain)
{
    return s->tally.n_moved +
           tess_nuts_n_done(
               (const tess_nuts *)(const void *)(s->chains + (size_t)chain * s->chain_bytes));
}

static int64_t n_done(const tess_xp_sampler *s)
{
    int64_t n = 0;
    for (int64_t c = 0; c < s->config.n_chain; c++) {
        n += n_done_of(s, c);
    }
    return n;
}

tess_status tess_xp_sampler_open_work(tess_xp_sampler *s)
{
    const tess_xpcs_sample_config *config = &s->config;
    const tess_work_config setup = {.name = "xpcs.sample",
                                    .what = "sampling",
                                    .folder = config->checkpoint_dir,
                                    .resume = config->checkpoint_dir ? config->resume : 0,
                                    .every_s = config->checkpoint_every_s,
                                    .keep =
                                        config->keep_checkpoints > 0 ? config->keep_checkpoints : 1,
                                    .is_of_one = s->is_alone,
                                    .check = read_state,
                                    .self = s};
    TESS_TRY(make_identity(s));
    if (!s->is_alone) {
        TESS_TRY(tess_identity_agree(s->ctx, &s->id, TESS_OK));
    }
    TESS_TRY(tess_work_open(s->ctx, &setup, &s->id, &s->work));
    s->is_resumed = s->work.is_found;
    tess_work_forget(&s->work);
    tess_watch_begin(&s->watch, s->ctx, "xpcs.sample", "draws", s->is_resumed ? n_done(s) : 0,
                     s->data->info.bytes * (uint64_t)n_total(s), (tess_strategy)s->pass.strategy);
    return TESS_OK;
}

void tess_xp_sampler_save(tess_xp_sampler *s)
{
    const int64_t n_all = s->config.n_chain * s->config.n_draw;
    const double drawn = (double)n_done(s) / (double)n_total(s);
    const double scaled = (double)s->tally.n_scaled / (double)n_all;
    tess_work_save(&s->work, 0.95 * drawn + 0.05 * scaled, write_state, s);
}

// Least effective number of draws of any parameter so far, looked at now and then.
static void look_at_draws(tess_xp_sampler *s)
{
    const tess_xpcs_posterior_info *info = &s->out->info;
    int64_t n_each = info->n_draw;
    for (int64_t c = 0; c < s->config.n_chain; c++) {
        const int64_t n = n_done_of(s, c) - s->config.n_warmup;
        n_each = n < n_each ? n : n_each;
    }
    if (!s->watch.is_watched || n_each < 4 ||
        (double)(s->watch.last_ns - s->watch.looked_ns) * 1e-9 < ESS_EVERY_S) {
        return;
    }
    s->watch.looked_ns = s->watch.last_ns;
    double least = (double)INFINITY;
    for (int64_t k = 0; k < info->n_param; k++) {
        if (!s->density.is_fixed[k]) {
            const tess_xp_draws draws = {.values = info->theta + k,
                                         .stride = info->n_param,
                                         .n_chain = info->n_chain,
                                         .n_draw = n_each,
                                         .chain_stride = info->n_draw * info->n_param};
            least = fmin(least, tess_xp_ess(&draws));
        }
    }
    s->watch.effective = isfinite(least) ? least : -1;
}

tess_status tess_xp_sampler_between(tess_xp_sampler *s)
{
    const int64_t total = n_total(s);
    const int64_t n = n_done(s);
    const bool is_all = s->tally.n_scaled == s->config.n_chain * s->config.n_draw;
    look_at_draws(s);
    if (tess_work_is_due(&s->work, false)) {
        tess_xp_sampler_save(s);
    }
    return tess_watch_poll(&s->watch, n < total || is_all ? n : total - 1, total);
}
