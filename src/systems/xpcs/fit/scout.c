// Many starts of which the cheapest are fitted, mirror images of what they lead to, and a walk
// along every parameter: all on a sketch, in batches.
#include "systems/xpcs/fit/scout.h"

#include "base/status.h"
#include "numerics/order.h"
#include "numerics/trust_region.h"
#include "runtime/comm.h"
#include "systems/xpcs/fit/curve.h"
#include "systems/xpcs/fit/start_two.h"
#include "systems/xpcs/model/two.h"

#include <math.h>
#include <string.h>

enum {
    P = TESS_XPCS_MAX_PARAM,
    LEAST_FITS = 16,
    MOST_FITS = 64,
    SCREEN = 4,       // starts for one that is fitted
    FIT_NFEV = 40,    // of a first descent
    REFINE_NFEV = 80, // of those worth it
    REFINED = 12,
    MIRRORED = 4,    // minima whose mirror images are tried
    TWO_REFINED = 6, // of two components, whose looks are slower
    TWO_MINIMA = 4,  // of them that are fitted to the data
    GRID_BYTES = 2 << 20,
    MOST_SETS = TESS_XP_MOST_LOOKS,
    HOST_SETS = 32,
};

static const double work_points = 3e7;  // that a search may cost on small data
static const double two_points = 2e6;   // likewise, of two components
static const double work_share = 2;     // and on large ones, passes over all
static const double looks_per_fit = 25; // about
static const double rough = 0.05;       // of chi2: a first descent ends
static const double fine = 1e-4;
static const double promising = 60;     // excess of chi2 that a first descent may have
static const double tellable = 30;      // excess from which on the sketch has decided
static const double same = 0.25;        // distance squared, in errors, within one minimum
static const double least_points = 5e4; // times runs, that ranks divide

typedef struct run {
    double theta[P];
    double cost;
    double hessian[P * P];
    int64_t n_start;
    int32_t status;
    int32_t is_known; // cost and Hessian are those of theta
} run;

typedef struct scout {
    tess_context *ctx;
    tess_xp_problem *problem;
    tess_xp_sketch sketch;
    int64_t n_run;
    int64_t max_run;
    run *runs;
    double *keys;
    int64_t *ranks;       // [2 max_run]
    double *contrast;     // [max_set][n_angle]
    unsigned char *trust; // [max_set][trust_bytes]
    size_t trust_bytes;
    void *block;
    size_t block_bytes;
} scout;

static run *add_run(scout *s, const double *theta)
{
    run *r = &s->runs[s->n_run++];
    *r = (run){.cost = (double)INFINITY, .n_start = 1};
    memcpy(r->theta, theta, (size_t)s->problem->n_param * sizeof *theta);
    return r;
}

// Contrasts as estimated, before anything is known.
static void reset_contrast(const scout *s, int64_t set)
{
    memcpy(s->contrast + set * s->sketch.n_angle, s->sketch.contrast,
           (size_t)s->sketch.n_angle * sizeof(double));
}

// Runs from first on that this rank takes, by their numbers from there: no run knows of another.
static tess_comm_deal deal_of(const scout *s, int64_t n)
{
    return tess_comm_deal_of(s->ctx, (double)(n * s->sketch.n_point) >= least_points);
}

// What all ranks have found.
static tess_status collect(const scout *s, tess_comm_deal own, int64_t first, int64_t n,
                           tess_status status)
{
    const tess_comm_point at = {"starts of the search", (uint64_t)n};
    return tess_comm_share_dealt(s->ctx, at, own, status, s->runs + first, sizeof *s->runs, n);
}

// Costs of this rank's part of runs first..n_run-1.
static tess_status screen_own(scout *s, int64_t first, tess_comm_deal own)
{
    for (int64_t at = first + own.first; at < s->n_run;) {
        const int64_t left = (s->n_run - at + own.step - 1) / own.step;
        const int64_t n = left < s->sketch.max_set ? left : s->sketch.max_set;
        tess_xp_look looks[MOST_SETS];
        for (int64_t i = 0; i < n; i++) {
            reset_contrast(s, i);
            looks[i].theta = s->runs[at + i * own.step].theta;
            looks[i].contrast = s->contrast + i * s->sketch.n_angle;
        }
        TESS_TRY(tess_xp_sketch_look(&s->sketch, looks, n, 0));
        for (int64_t i = 0; i < n; i++, at += own.step) {
            s->runs[at].cost = isfinite(looks[i].cost) ? looks[i].cost : (double)INFINITY;
        }
    }
    return TESS_OK;
}

// Costs of runs first..n_run-1.
static tess_status screen(scout *s, int64_t first)
{
    const int64_t n = s->n_run - first;
    const tess_comm_deal own = deal_of(s, n);
    return collect(s, own, first, n, screen_own(s, first, own));
}

// Runs from first on, cheapest first.
static void sort_runs(scout *s, int64_t first)
{
    const int64_t n = s->n_run - first;
    for (int64_t i = 0; i < n; i++) {
        s->keys[i] = s->runs[first + i].cost;
    }
    tess_order_stable(s->keys, n, s->ranks, s->ranks + n);
    // Behind the runs there is room for one of each.
    run *copy = s->runs + s->max_run;
    for (int64_t i = 0; i < n; i++) {
        copy[i] = s->runs[first + s->ranks[i]];
    }
    memcpy(s->runs + first, copy, (size_t)n * sizeof *copy);
}

static tess_trust *trust_of(const scout *s, int64_t set)
{
    return (tess_trust *)(void *)(s->trust + (size_t)set * s->trust_bytes);
}

static void begin(scout *s, int64_t set, const run *r, double least_gain, int64_t max_nfev)
{
    const tess_xp_problem *p = s->problem;
    double x[P];
    double lower[P];
    double upper[P];
    double scale[P];
    const double cost = isfinite(r->cost) && r->cost > 0 ? r->cost : 1;
    const double ftol = 0.5 * least_gain * tess_xp_sketch_variance(&s->sketch, cost) / cost;
    const tess_trust_options options = {
        .ftol = ftol, .xtol = 1e-9, .gtol = 0, .max_nfev = max_nfev};
    for (int64_t i = 0; i < p->n_free; i++) {
        const int64_t k = p->free_index[i];
        x[i] = r->theta[k];
        lower[i] = p->lower[k];
        upper[i] = p->upper[k];
        scale[i] = p->x_scale[k];
    }
    reset_contrast(s, set);
    tess_trust_begin(trust_of(s, set), p->n_free, x, lower, upper, scale, &options);
}

// Steps follow the valleys of the rates.
static void bend_trial(const scout *s, int64_t set)
{
    tess_trust *trust = trust_of(s, set);
    const double *trial = tess_trust_trial(trust);
    tess_trust_view view;
    double step[P];
    double x[P];
    tess_trust_look(trust, &view);
    for (int64_t i = 0; i < s->problem->n_free; i++) {
        step[i] = trial[i] - view.x[i];
    }
    tess_xp_curve(s->problem, view.x, step, -1, x);
    tess_trust_set_trial(trust, x);
}

// What a descent has come to.
static void finish(const scout *s, int64_t set, run *r)
{
    const tess_xp_problem *p = s->problem;
    tess_trust_view view;
    tess_trust_look(trust_of(s, set), &view);
    r->status = view.status;
    r->cost = view.status == -1 || !isfinite(view.cost) ? (double)INFINITY : view.cost;
    for (int64_t i = 0; i < p->n_free; i++) {
        r->theta[p->free_index[i]] = view.x[i];
    }
    memcpy(r->hessian, view.hessian, (size_t)(p->n_free * p->n_free) * sizeof *r->hessian);
    r->is_known = 1;
}

// Descents at work.
typedef struct descent {
    scout *s;
    int64_t of[MOST_SETS]; // runs
    double theta[MOST_SETS][P];
    tess_xp_look looks[MOST_SETS];
    bool goes_on[MOST_SETS];
    double least_gain;
    int64_t max_nfev;
} descent;

// Where the next look of a set goes.
static void aim(descent *d, int64_t set)
{
    const tess_xp_problem *p = d->s->problem;
    memcpy(d->theta[set], d->s->runs[d->of[set]].theta, sizeof d->theta[set]);
    bend_trial(d->s, set);
    for (int64_t k = 0; k < p->n_free; k++) {
        d->theta[set][p->free_index[k]] = tess_trust_trial(trust_of(d->s, set))[k];
    }
}

static void begin_at(descent *d, int64_t set, int64_t which)
{
    d->of[set] = which;
    begin(d->s, set, &d->s->runs[which], d->least_gain, d->max_nfev);
    aim(d, set);
}

// From what a look has found to the next one.
static tess_status step_set(void *arg, int64_t set, int32_t worker)
{
    (void)worker;
    descent *d = arg;
    const tess_xp_look *look = &d->looks[set];
    d->goes_on[set] = tess_trust_next(trust_of(d->s, set), look->cost, look->gradient,
                                      look->hessian) == TESS_TRUST_EVALUATE;
    if (d->goes_on[set]) {
        aim(d, set);
    }
    return TESS_OK;
}

static void move_set(descent *d, int64_t from, int64_t to)
{
    const scout *s = d->s;
    d->of[to] = d->of[from];
    d->goes_on[to] = d->goes_on[from];
    memcpy(d->theta[to], d->theta[from], sizeof d->theta[to]);
    memcpy(trust_of(s, to), trust_of(s, from), s->trust_bytes);
    memcpy(s->contrast + to * s->sketch.n_angle, s->contrast + from * s->sketch.n_angle,
           (size_t)s->sketch.n_angle * sizeof(double));
}

// Descends from this rank's part of the runs up to end, a batch of them at a time; as one ends the
// next begins.
static tess_status descend_own(scout *s, tess_comm_deal own, int64_t end, double least_gain,
                               int64_t max_nfev)
{
    descent d = {.s = s, .least_gain = least_gain, .max_nfev = max_nfev};
    const int64_t n_set = s->sketch.max_set;
    int64_t next = own.first;
    int64_t n_active = 0;
    for (; n_active < n_set && next < end; next += own.step) {
        begin_at(&d, n_active++, next);
    }
    while (n_active > 0) {
        for (int64_t i = 0; i < n_active; i++) {
            d.looks[i].theta = d.theta[i];
            d.looks[i].contrast = s->contrast + i * s->sketch.n_angle;
        }
        TESS_TRY(tess_xp_sketch_look(&s->sketch, d.looks, n_active,
                                     TESS_XP_WANT_GRADIENT | TESS_XP_WANT_HESSIAN));
        TESS_TRY(tess_parallel_for(s->ctx->pool, n_active, step_set, &d));
        for (int64_t i = 0; i < n_active;) {
            if (d.goes_on[i]) {
                i++;
                continue;
            }
            finish(s, i, &s->runs[d.of[i]]);
            if (next < end) {
                begin_at(&d, i, next);
                next += own.step;
                i++;
            } else {
                n_active--; // the last one moves here
                move_set(&d, n_active, i);
            }
        }
    }
    return TESS_OK;
}

// Descends from all runs.
static tess_status descend(scout *s, double least_gain, int64_t max_nfev)
{
    const tess_comm_deal own = deal_of(s, s->n_run);
    return collect(s, own, 0, s->n_run, descend_own(s, own, s->n_run, least_gain, max_nfev));
}

static double excess_of(const scout *s, const run *r, double best)
{
    const double variance = tess_xp_sketch_variance(&s->sketch, best);
    return variance > 0 ? 2 * (r->cost - best) / variance : (r->cost > best ? (double)INFINITY : 0);
}

// Whether two ends are one minimum: nearer than a part of the errors, by the curvature of either.
static bool is_same(const scout *s, const run *a, const run *b, double best)
{
    const tess_xp_problem *p = s->problem;
    if (p->model.mode == TESS_XPCS_TWO_COMPONENT && tess_xp_two_is_same(p, a->theta, b->theta)) {
        return true;
    }
    const int64_t n = p->n_free;
    const double variance = tess_xp_sketch_variance(&s->sketch, best);
    double square[2] = {0, 0};
    for (int64_t i = 0; i < n; i++) {
        const double di = a->theta[p->free_index[i]] - b->theta[p->free_index[i]];
        for (int64_t j = 0; j < n; j++) {
            const double dj = a->theta[p->free_index[j]] - b->theta[p->free_index[j]];
            square[0] += di * a->hessian[i * n + j] * dj;
            square[1] += di * b->hessian[i * n + j] * dj;
        }
    }
    return fmin(square[0], square[1]) <= same * variance;
}

// Sorts, and leaves one run of each minimum of those whose excess is at most so much.
static void keep_distinct(scout *s, double most_excess, int64_t most)
{
    sort_runs(s, 0);
    const double best = s->runs[0].cost;
    int64_t n = 0;
    for (int64_t i = 0; i < s->n_run; i++) {
        const run *r = &s->runs[i];
        int64_t k = 0;
        if (!isfinite(r->cost) || excess_of(s, r, best) > most_excess) {
            break;
        }
        while (k < n && !is_same(s, &s->runs[k], r, best)) {
            k++;
        }
        if (k < n) {
            s->runs[k].n_start += r->n_start;
        } else if (n < most) {
            s->runs[n++] = *r;
        }
    }
    s->n_run = n;
}

// |cos(phi0 - phi)| of an angle near the perpendicular is the same at phi0' = 2 (phi - 90) - phi0;
// sign -1: of phi0 + phi.
static void add_turned(scout *s, int64_t n_old, int64_t k, double sign)
{
    const tess_xp_problem *p = s->problem;
    for (int64_t i = 0; i < n_old && !p->is_fixed[k]; i++) {
        for (int64_t a = 0; a < p->n_angle && s->n_run < s->max_run; a++) {
            double theta[P];
            memcpy(theta, s->runs[i].theta, sizeof theta);
            const double image = 2 * sign * (p->data->info.phi[a] - 90) - theta[k];
            theta[k] = image - 180 * round((image - theta[k]) / 180);
            if (theta[k] >= p->lower[k] && theta[k] <= p->upper[k] &&
                theta[k] != s->runs[i].theta[k]) {
                add_run(s, theta);
            }
        }
    }
}

// What fits nearly as well as the minima found: mirror images of the flow, components exchanged.
static void add_mirrors(scout *s)
{
    const tess_xp_problem *p = s->problem;
    const int64_t n_old = s->n_run < MIRRORED ? s->n_run : MIRRORED;
    if (p->model.mode == TESS_XPCS_LAMINAR_FLOW) {
        add_turned(s, n_old, TESS_XPCS_N_LAMINAR - 1, 1);
    }
    if (p->model.mode == TESS_XPCS_TWO_COMPONENT) {
        for (int64_t i = 0; i < n_old && s->n_run < s->max_run; i++) {
            double theta[P] = {0};
            tess_xp_two_exchange(p, s->runs[i].theta, theta);
            add_run(s, theta);
        }
        add_turned(s, n_old, TESS_XP_PHI0_HET, -1);
    }
}

static int64_t count_fits(const scout *s)
{
    const double n_used = (double)s->problem->data->info.n_used;
    const bool is_two = s->problem->model.mode == TESS_XPCS_TWO_COMPONENT;
    const double points = fmax(is_two ? two_points : work_points, work_share * n_used);
    const double n = points / (looks_per_fit * fmax((double)s->sketch.n_point, 1));
    return n < LEAST_FITS ? LEAST_FITS : n > MOST_FITS ? MOST_FITS : (int64_t)n;
}

static tess_status take_memory(scout *s, int64_t n_run)
{
    const int64_t n_set = s->sketch.max_set;
    s->max_run = n_run;
    s->trust_bytes = tess_trust_bytes(s->problem->n_free);
    const size_t runs = 2 * (size_t)n_run * sizeof *s->runs;
    const size_t trusts = (size_t)n_set * s->trust_bytes;
    const size_t contrasts = (size_t)(n_set * s->sketch.n_angle) * sizeof(double);
    const size_t orders = (size_t)n_run * (sizeof(double) + 2 * sizeof(int64_t));
    s->block_bytes = runs + trusts + contrasts + orders;
    s->block = tess_heap_alloc_zero(&s->ctx->heap, s->block_bytes, TESS_TAG_SCRATCH,
                                    "starts of the search");
    if (!s->block) {
        return TESS_E_MEMORY;
    }
    s->runs = s->block;
    s->trust = (unsigned char *)s->block + runs;
    s->contrast = (double *)(void *)(s->trust + trusts);
    s->keys = (double *)(void *)((unsigned char *)s->contrast + contrasts);
    s->ranks = (int64_t *)(void *)(s->keys + n_run);
    return TESS_OK;
}

static tess_status search(scout *s, const double *starts, int64_t n_start, int64_t stride)
{
    const int64_t n_fit = count_fits(s);
    const int64_t n_latin = SCREEN * n_fit;
    TESS_TRY(take_memory(s, n_start + n_latin + MIRRORED * (s->problem->n_angle + 1) + REFINED));
    for (int64_t i = 0; i < n_latin; i++) {
        const double nowhere[P] = {0};
        add_run(s, nowhere);
    }
    tess_xp_start_latin(s->problem, n_latin, s->runs[0].theta,
                        (int64_t)(sizeof *s->runs / sizeof(double)));
    TESS_TRY(screen(s, 0));
    sort_runs(s, 0);
    s->n_run = n_fit;
    for (int64_t i = 0; i < n_start; i++) {
        add_run(s, starts + i * stride);
    }
    TESS_TRY(screen(s, n_fit));
    TESS_TRY(descend(s, rough, FIT_NFEV));
    const bool is_two = s->problem->model.mode == TESS_XPCS_TWO_COMPONENT;
    keep_distinct(s, promising, is_two ? TWO_REFINED : REFINED);
    add_mirrors(s);
    TESS_TRY(descend(s, fine, REFINE_NFEV));
    keep_distinct(s, tellable, is_two ? TWO_MINIMA : TESS_XP_MAX_MINIMA);
    return TESS_OK;
}

static void hand_over(const scout *s, tess_xp_minima *minima)
{
    minima->n = s->n_run;
    for (int64_t i = 0; i < s->n_run; i++) {
        memcpy(minima->theta[i], s->runs[i].theta, sizeof minima->theta[i]);
        minima->excess[i] = excess_of(s, &s->runs[i], s->runs[0].cost);
        minima->n_start[i] = s->runs[i].n_start;
    }
}

tess_status tess_xp_scout(tess_context *ctx, tess_device *device, tess_xp_problem *problem,
                          const double *starts, int64_t n_start, int64_t stride,
                          tess_xp_minima *minima)
{
    const size_t grid = tess_xp_grids_bytes(problem->data->info.n_frame, problem->n_param);
    const int64_t fitting = (int64_t)(GRID_BYTES / grid);
    const int64_t of_host = fitting < 1 ? 1 : fitting < HOST_SETS ? fitting : HOST_SETS;
    // A round on a device of its own takes about as long for many as for few.
    const int64_t n_set = device->shares_host_memory ? of_host : MOST_SETS;
    scout s = {.ctx = ctx, .problem = problem};
    *minima = (tess_xp_minima){0};
    tess_span span = tess_span_begin(&ctx->tracer, "xpcs.search");
    tess_status status = tess_xp_sketch_open(ctx, device, problem, n_set, &s.sketch);
    if (status == TESS_OK) {
        status = search(&s, starts, n_start, stride);
    }
    if (status == TESS_OK) {
        hand_over(&s, minima);
    }
    tess_heap_free(&ctx->heap, s.block, s.block_bytes, TESS_TAG_SCRATCH);
    tess_xp_sketch_close(&s.sketch);
    tess_span_end(&span, 0, 0);
    return status;
}
