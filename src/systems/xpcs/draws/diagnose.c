// Numbers of every quantity and of every chain.
#include "base/status.h"
#include "base/struct_read.h"
#include "numerics/two_modes.h"
#include "systems/xpcs/draws/draws.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 32 };

static const double R_HAT_FAIL = 1.1, DIVERGED_BAD = 0.1;

struct tess_xpcs_diagnosis {
    tess_heap *heap;
    tess_blocks blocks;
    tess_xpcs_diagnosis_info info;
    char warnings[TESS_XP_WARNINGS_BYTES];
};

// What is looked at.
typedef struct look {
    tess_xpcs_posterior_info draws;
    const tess_xpcs_result_info *fit;      // NULL: none
    const tess_xpcs_sample_config *config; // NULL: none
    tess_chain_room room;
    double *x; // one quantity
    tess_xpcs_diagnosis *out;
} look;

const char *tess_xpcs_chains_state_name(tess_xpcs_chains_state state)
{
    static const char *const names[] = {"converged", "divergences", "not_converged"};
    return state >= 0 && (size_t)state < sizeof names / sizeof *names ? names[state] : "?";
}

static void summarise(const double *x, const tess_chain_room *room, tess_xpcs_summary *out)
{
    tess_chain_stats s;
    tess_two_modes modes = {.separation = (double)NAN};
    tess_chain_stats_of(x, room, &s);
    if (!isnan(s.mean)) {
        tess_two_modes_of(x, room, &modes);
    }
    *out = (tess_xpcs_summary){.mean = s.mean,
                               .sd = s.sd,
                               .r_hat = s.r_hat,
                               .ess_bulk = s.ess_bulk,
                               .ess_tail = s.ess_tail,
                               .ess_mean = s.ess_mean,
                               .ess_sd = s.ess_sd,
                               .mcse_mean = s.mcse_mean,
                               .mcse_sd = s.mcse_sd,
                               .mode_separation = modes.separation,
                               .prior_mean = (double)NAN,
                               .prior_sd = (double)NAN,
                               .contraction = (double)NAN,
                               .fit = (double)NAN,
                               .fit_sd = (double)NAN,
                               .distance = (double)NAN,
                               .is_bimodal = modes.is_bimodal};
    memcpy(out->quantile, s.quantile, sizeof out->quantile);
    memcpy(out->mcse_quantile, s.mcse_quantile, sizeof out->mcse_quantile);
    memcpy(out->mode_weight, modes.weight, sizeof out->mode_weight);
    memcpy(out->mode_mean, modes.mean, sizeof out->mode_mean);
}

tess_status tess_xpcs_summarise(tess_context *ctx, const double *x, int64_t n_chain, int64_t n_draw,
                                tess_xpcs_summary *out)
{
    tess_error_clear();
    if (!ctx || !x || !out || n_chain < 1 || n_draw < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: expected draws of at least one chain and draw",
                  !ctx   ? "context is NULL"
                  : !x   ? "x is NULL"
                  : !out ? "out is NULL"
                         : "n_chain or n_draw is below 1");
    }
    tess_blocks blocks;
    tess_chain_room room;
    tess_blocks_init(&blocks, &ctx->heap);
    const tess_status status = tess_chain_room_open(&blocks, n_chain, n_draw, &room);
    if (status == TESS_OK) {
        summarise(x, &room, out);
    }
    tess_blocks_free(&blocks);
    return status;
}

// What the fit says of a row; NaN where it says nothing.
static void set_fit(const look *l, int64_t row, tess_xpcs_summary *s)
{
    const tess_xpcs_result_info *f = l->fit;
    const int64_t k = tess_xp_draws_param(&l->draws, row);
    const int64_t n_before = l->draws.n_param + (l->draws.noise ? 1 : 0);
    if (!f || k == l->draws.n_param || f->n_param != l->draws.n_param ||
        (k < 0 && f->n_angle != l->draws.n_angle)) {
        return;
    }
    if (k >= 0) {
        s->fit = f->theta[k];
        s->fit_sd = f->sd[k];
        s->is_fixed = f->status[k] == TESS_XPCS_FIXED;
    } else {
        const int64_t a = (row - n_before) % l->draws.n_angle;
        s->fit = k == -1 ? f->contrast[a] : f->offset[a];
        s->fit_sd = k == -1 ? f->contrast_sd[a] : f->offset_sd[a];
        s->is_fixed = l->draws.scaling == TESS_XPCS_DRAW_SCALING_CONSTANT ||
                      l->draws.scaling == TESS_XPCS_DRAW_SCALING_CONSTANT_AVERAGED;
    }
    s->distance = s->sd > 0 ? (s->mean - s->fit) / s->sd : (double)NAN;
}

static void name_row(const look *l, int64_t row, char name[NAME_BYTES])
{
    const tess_xpcs_posterior_info *d = &l->draws;
    const int64_t k = tess_xp_draws_param(d, row);
    const int64_t n_before = d->n_param + (d->noise ? 1 : 0);
    if (k >= 0) {
        snprintf(name, NAME_BYTES, "%s", k < d->n_param ? d->names[k] : "noise");
    } else {
        snprintf(name, NAME_BYTES, "%s[%lld]", k == -1 ? "contrast" : "offset",
                 (long long)((row - n_before) % d->n_angle));
    }
}

static tess_status set_rows(look *l)
{
    tess_xpcs_diagnosis *o = l->out;
    const int64_t n = tess_xp_draws_rows(&l->draws);
    char *text = tess_blocks_alloc(&o->blocks, n, NAME_BYTES, "names");
    const char **names = tess_blocks_alloc(&o->blocks, n, sizeof *names, "names");
    tess_xpcs_summary *rows = tess_blocks_alloc(&o->blocks, n, sizeof *rows, "summaries");
    if (!text || !names || !rows) {
        return TESS_E_MEMORY;
    }
    for (int64_t row = 0; row < n; row++) {
        tess_xpcs_summary *s = &rows[row];
        name_row(l, row, text + row * NAME_BYTES);
        names[row] = text + row * NAME_BYTES;
        tess_xp_draws_copy(&l->draws, row, l->x);
        summarise(l->x, &l->room, s);
        set_fit(l, row, s);
        const tess_xp_prior_moments prior = tess_xp_prior_moments_of(&l->draws, l->config, row);
        s->prior_mean = prior.mean;
        s->prior_sd = prior.sd;
        s->contraction = 1 - (s->sd / prior.sd) * (s->sd / prior.sd);
    }
    o->info.n_row = n;
    o->info.names = names;
    o->info.rows = rows;
    return TESS_OK;
}

static int64_t count(const uint8_t *is_so, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += is_so[i] != 0;
    }
    return sum;
}

static double least(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : fmin(a, b);
}

static tess_status set_chains(look *l, int64_t max_depth)
{
    tess_xpcs_diagnosis *o = l->out;
    const tess_xpcs_posterior_info *d = &l->draws;
    const int64_t n = d->n_chain;
    double *bfmi = tess_blocks_alloc(&o->blocks, n, sizeof *bfmi, "chains");
    double *accept = tess_blocks_alloc(&o->blocks, n, sizeof *accept, "chains");
    int64_t *diverged = tess_blocks_alloc(&o->blocks, n, sizeof *diverged, "chains");
    int64_t *deepest = tess_blocks_alloc(&o->blocks, n, sizeof *deepest, "chains");
    double *step =
        d->step ? tess_blocks_copy(&o->blocks, d->step, n, sizeof *step, "chains") : NULL;
    if (!bfmi || !accept || !diverged || !deepest || (d->step && !step)) {
        return TESS_E_MEMORY;
    }
    tess_xpcs_diagnosis_info *info = &o->info;
    int64_t n_deepest = 0;
    info->bfmi_min = (double)NAN;
    for (int64_t c = 0; c < n; c++) {
        const int64_t at = c * d->n_draw;
        bfmi[c] = d->energy ? tess_chain_bfmi(d->energy + at, d->n_draw) : (double)NAN;
        accept[c] = d->accept ? tess_chain_mean(d->accept + at, d->n_draw) : (double)NAN;
        diverged[c] = d->diverged ? count(d->diverged + at, d->n_draw) : 0;
        for (int64_t i = 0; d->depth && i < d->n_draw; i++) {
            deepest[c] += d->depth[at + i] >= max_depth;
        }
        info->bfmi_min = least(info->bfmi_min, bfmi[c]);
        info->accept_mean += accept[c] / (double)n;
        info->n_diverged_all += diverged[c];
        n_deepest += deepest[c];
    }
    const double n_all = (double)(n * d->n_draw);
    info->divergence_rate = d->diverged ? (double)info->n_diverged_all / n_all : (double)NAN;
    info->deepest_rate = d->depth ? (double)n_deepest / n_all : (double)NAN;
    info->bfmi = d->energy ? bfmi : NULL;
    info->accept = d->accept ? accept : NULL;
    info->n_diverged = d->diverged ? diverged : NULL;
    info->n_deepest = d->depth ? deepest : NULL;
    info->step = step;
    return TESS_OK;
}

static void set_worst(tess_xpcs_diagnosis_info *info)
{
    double most = (double)NAN;
    info->ess_bulk_min = info->ess_tail_min = (double)NAN;
    int is_known = 1;
    for (int64_t row = 0; row < info->n_row; row++) {
        const tess_xpcs_summary *s = &info->rows[row];
        if (s->is_fixed || s->sd == 0) {
            continue;
        }
        is_known = is_known && !isnan(s->r_hat);
        most = -least(-most, -s->r_hat);
        info->ess_bulk_min = least(info->ess_bulk_min, s->ess_bulk);
        info->ess_tail_min = least(info->ess_tail_min, s->ess_tail);
    }
    info->r_hat_max = most;
    info->state = info->divergence_rate > DIVERGED_BAD ? TESS_XPCS_CHAINS_DIVERGENCES
                  : is_known && most <= R_HAT_FAIL     ? TESS_XPCS_CHAINS_CONVERGED
                                                       : TESS_XPCS_CHAINS_NOT_CONVERGED;
}

static tess_status diagnose(look *l, tess_blocks *blocks, int64_t max_depth)
{
    const int64_t n = l->draws.n_chain * l->draws.n_draw;
    l->x = tess_blocks_alloc(blocks, n, sizeof *l->x, "draws");
    if (!l->x) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_chain_room_open(blocks, l->draws.n_chain, l->draws.n_draw, &l->room));
    TESS_TRY(set_rows(l));
    TESS_TRY(set_chains(l, max_depth));
    set_worst(&l->out->info);
    tess_xp_draws_warn(&l->out->info, max_depth, l->out->warnings);
    tess_xp_draws_add_warnings(l->draws.warnings, l->out->warnings);
    return TESS_OK;
}

static tess_status read_draws(const tess_xpcs_posterior_info *given, tess_xpcs_posterior_info *out)
{
    *out = (tess_xpcs_posterior_info){.struct_size = sizeof *out};
    TESS_TRY(tess_struct_read(given, out, sizeof *out, "draws"));
    if (out->n_chain < 1 || out->n_draw < 1 || out->n_param < 1 || !out->theta || !out->names) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "draws: %lld chains of %lld draws of %lld parameters; expected at least one of "
                  "each, with theta and names",
                  (long long)out->n_chain, (long long)out->n_draw, (long long)out->n_param);
    }
    return TESS_OK;
}

tess_status tess_xpcs_diagnose(tess_context *ctx, const tess_xpcs_posterior_info *draws,
                               const tess_xpcs_result *fit, const tess_xpcs_sample_config *config,
                               tess_xpcs_diagnosis **out)
{
    tess_error_clear();
    if (!ctx || !draws || !out) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: NULL", !ctx ? "context" : !draws ? "draws" : "out");
    }
    *out = NULL;
    tess_xpcs_sample_config known;
    tess_xpcs_sample_config_init(&known, sizeof known);
    look l = {.fit = fit ? tess_xpcs_result_get_info(fit) : NULL, .config = config ? &known : NULL};
    TESS_TRY(read_draws(draws, &l.draws));
    if (config) {
        TESS_TRY(tess_struct_read(config, &known, sizeof known, "config"));
    }
    l.out = tess_heap_alloc_zero(&ctx->heap, sizeof *l.out, TESS_TAG_RESULT, "a diagnosis");
    if (!l.out) {
        return TESS_E_MEMORY;
    }
    l.out->heap = &ctx->heap;
    tess_blocks_init(&l.out->blocks, &ctx->heap);
    l.out->info = (tess_xpcs_diagnosis_info){.struct_size = sizeof l.out->info,
                                             .n_chain = l.draws.n_chain,
                                             .n_draw = l.draws.n_draw,
                                             .n_param = l.draws.n_param,
                                             .n_angle = l.draws.n_angle,
                                             .outside = l.draws.outside,
                                             .noise_scale = l.draws.noise_scale,
                                             .warnings = l.out->warnings};
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    const tess_status status = diagnose(&l, &blocks, known.max_depth);
    tess_blocks_free(&blocks);
    if (status != TESS_OK) {
        tess_xpcs_diagnosis_destroy(l.out);
        return status;
    }
    *out = l.out;
    return TESS_OK;
}

const tess_xpcs_diagnosis_info *tess_xpcs_diagnosis_get_info(const tess_xpcs_diagnosis *diagnosis)
{
    return &diagnosis->info;
}

void tess_xpcs_diagnosis_destroy(tess_xpcs_diagnosis *diagnosis)
{
    if (diagnosis) {
        tess_blocks_free(&diagnosis->blocks);
        tess_heap_free(diagnosis->heap, diagnosis, sizeof *diagnosis, TESS_TAG_RESULT);
    }
}
