// Where fits begin: the usual values, a look at the data, or anywhere.
#include "base/rng.h"
#include "base/status.h"
#include "runtime/budget.h"
#include "systems/xpcs/fit/problem.h"
#include "systems/xpcs/fit/start_two.h"

#include <math.h>
#include <string.h>

enum {
    D0 = 0,
    D_OFFSET = 2,
    GAMMA = 3,
    GAMMA_OFFSET = 5,
    AGES = 16,
    MAX_ANGLES = 4,
    MAX_ROWS = 16,
    LEFT_SHARE = 8, // of memory that is left, to look at several ages at once
    EXPONENTS = 81, // of a power law that are tried
    PURPOSE_LATIN = 0x58500001,
};

// theta[k] where it is free and nothing was given, within the bounds.
static void set_free(const tess_xp_problem *p, double *theta, int64_t k, double value)
{
    theta[k] = isnan(p->start[k]) ? fmin(fmax(value, p->lower[k]), p->upper[k]) : p->start[k];
}

void tess_xp_start_default(const tess_xp_problem *p, double *theta)
{
    int64_t n = 0;
    const tess_xpcs_param_info *info = tess_xpcs_params((tess_xpcs_mode)p->model.mode, &n);
    for (int64_t k = 0; k < n; k++) {
        set_free(p, theta, k, info[k].start);
    }
}

// A few angles of the same kind.
typedef struct group {
    int64_t n;
    int64_t angles[MAX_ANGLES];
    double key[MAX_ANGLES]; // rising
} group;

static void offer(group *g, int64_t angle, double key)
{
    int64_t at = g->n < MAX_ANGLES ? g->n++ : MAX_ANGLES;
    for (; at > 0 && g->key[at - 1] > key; at--) {
        if (at < MAX_ANGLES) {
            g->key[at] = g->key[at - 1];
            g->angles[at] = g->angles[at - 1];
        }
    }
    if (at < MAX_ANGLES) {
        g->key[at] = key;
        g->angles[at] = angle;
    }
}

// Angles across the flow, where shear disturbs least, and along it; static modes have the former.
static void choose_angles(const tess_xp_problem *p, group *across, group *along)
{
    static const double radian = 3.14159265358979323846 / 180;
    const bool is_laminar = p->model.mode == TESS_XPCS_LAMINAR_FLOW;
    for (int64_t a = 0; a < p->n_angle; a++) {
        const double c = fabs(cos(p->data->info.phi[a] * radian));
        offer(across, a, is_laminar ? c : (double)a);
        if (is_laminar && c > 0.5) {
            offer(along, a, -c);
        }
    }
}

// The lag at which the mean over growing windows falls to 1/e, in frames; NaN: it does not.
static double decay_lag(const double *sum, const double *count, int64_t n)
{
    const double level = exp(-1);
    double before = 1;
    double lag_before = 0;
    for (int64_t low = 1; low < n;) {
        const int64_t high = low + low / 4 + 1;
        double total = 0;
        double weight = 0;
        for (int64_t lag = low; lag < high && lag < n; lag++) {
            total += sum[lag];
            weight += count[lag];
        }
        const double middle = 0.5 * (double)(low + high - 1);
        if (weight > 0) {
            const double mean = total / weight;
            if (mean < level) {
                const double fall = log(before / fmax(mean, 0.01));
                return lag_before + log(before / level) / fall * (middle - lag_before);
            }
            before = fmax(mean, level);
            lag_before = middle;
        }
        low = high;
    }
    return (double)NAN;
}

// Rates at different ages.
typedef struct ages {
    int64_t n;
    double t[AGES];
    double rate[AGES];
} ages;

static void add_rate(ages *list, double t, double rate)
{
    list->t[list->n] = t;
    list->rate[list->n++] = rate;
}

// A few rows, and how fast they decay across the flow and along it; lag NaN: they do not.
typedef struct age {
    int64_t first;
    int64_t n_row;
    double lag[2];
} age;

typedef struct look {
    tess_xp_problem *problem;
    const group *groups; // [2] across, along
    int64_t angles[2 * MAX_ANGLES];
    int64_t n_angle;
    age *ages;
    tess_comm_deal own; // of them
    int64_t first;      // number among its own of the first looked at at once
    double *work;       // [at once][work_items]
    int64_t work_items;
} look;

// The decay of an age, (c2 - offset) / contrast by lag: sums and counts [n_angle][2][n_frame].
typedef struct decay {
    const look *look;
    double *sums;
} decay;

static void add_decay(void *self, int64_t k, const tess_xp_tile *tile, const double *y)
{
    const decay *d = self;
    const tess_xp_problem *p = d->look->problem;
    const int64_t n = p->data->info.n_frame;
    const int64_t angle = d->look->angles[k];
    const double offset = p->offset[angle];
    const double contrast = fmax(p->contrast[angle], 1e-3);
    double *sum = d->sums + 2 * k * n + tile->first_column - tile->row;
    double *count = sum + n;
    for (int64_t i = 0; i < tile->n_column; i++) {
        const double value = (y[i] - offset) / contrast;
        if (isfinite(value)) {
            sum[i] += value;
            count[i] += 1;
        }
    }
}

// Angles of a group are averaged; their sums are used up.
static double lag_of(const look *l, double *sums, int64_t first, int64_t n_angle)
{
    const int64_t n = l->problem->data->info.n_frame;
    double *total = sums + 2 * first * n;
    for (int64_t k = 1; k < n_angle; k++) {
        for (int64_t i = 0; i < 2 * n; i++) {
            total[i] += total[2 * k * n + i];
        }
    }
    return n_angle > 0 ? decay_lag(total, total + n, n) : 0;
}

// Records hold all angles: they are read once for both groups.
static tess_status measure_age(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const look *l = arg;
    age *a = &l->ages[l->own.first + (l->first + block) * l->own.step];
    decay d = {.look = l, .sums = l->work + block * l->work_items};
    const tess_xp_some_rows rows = {.first = a->first,
                                    .count = a->n_row,
                                    .angles = l->angles,
                                    .n_angle = l->n_angle,
                                    .visit = add_decay,
                                    .self = &d};
    memset(d.sums, 0, (size_t)l->work_items * sizeof *d.sums);
    TESS_TRY(tess_xp_data_show_rows(l->problem->ctx, l->problem->data, &rows));
    a->lag[0] = lag_of(l, d.sums, 0, l->groups[0].n);
    a->lag[1] = lag_of(l, d.sums, l->groups[0].n, l->groups[1].n);
    return TESS_OK;
}

// Ages are looked at side by side, each with leaves of its own where they come from a file, as far
// as memory goes that nobody has taken; simulated data are made by one caller at a time.
static int64_t count_at_once(const look *l, int64_t n_age)
{
    const tess_xp_problem *p = l->problem;
    const tess_context *ctx = p->ctx;
    const uint64_t each = (uint64_t)l->work_items * sizeof(double) + tess_xp_rows_bytes(p->data);
    const uint64_t taken = atomic_load(&ctx->heap.now_bytes);
    const uint64_t room = tess_budget_room(ctx->memory_limit_bytes);
    const uint64_t left = room > taken ? (room - taken) / LEFT_SHARE : 0;
    const int64_t n_thread = tess_pool_threads(ctx->pool);
    int64_t n = (int64_t)(left / each < (uint64_t)n_age ? left / each : (uint64_t)n_age);
    n = n < n_thread ? n : n_thread;
    return n > 1 && p->data->info.residency != TESS_XPCS_GENERATED ? n : 1;
}

static tess_status measure_ages(look *l, int64_t n_age)
{
    tess_xp_problem *p = l->problem;
    for (int g = 0; g < 2; g++) {
        for (int64_t k = 0; k < l->groups[g].n; k++) {
            l->angles[l->n_angle++] = l->groups[g].angles[k];
        }
    }
    l->work_items = 2 * l->n_angle * p->data->info.n_frame;
    const int64_t n_own = tess_comm_count_dealt(l->own, n_age);
    const int64_t n_once = count_at_once(l, n_own);
    const size_t bytes = (size_t)(n_once * l->work_items) * sizeof *l->work;
    l->work = tess_heap_alloc(&p->ctx->heap, bytes, TESS_TAG_SCRATCH, "rows of the data");
    tess_status status = l->work ? TESS_OK : TESS_E_MEMORY;
    for (l->first = 0; l->first < n_own && status == TESS_OK; l->first += n_once) {
        const int64_t left = n_own - l->first;
        const int64_t n = left < n_once ? left : n_once;
        status = n > 1 ? tess_parallel_for(p->ctx->pool, n, measure_age, l) : measure_age(l, 0, 0);
    }
    if (l->work) {
        tess_heap_free(&p->ctx->heap, l->work, bytes, TESS_TAG_SCRATCH);
    }
    return tess_comm_share_dealt(p->ctx, (tess_comm_point){"ages of a guess", (uint64_t)n_age},
                                 l->own, status, l->ages, sizeof *l->ages, n_age);
}

// What the two groups say of an age. Across the flow M = exp(-q^2 dt D lag); along it the factor
// sinc(A G lag)^power, about exp(-power (A G lag)^2 / 6), makes up the difference.
static void add_age(const tess_xp_problem *p, const age *at, const group *groups, ages *diffusion,
                    ages *shear)
{
    static const double still[TESS_XPCS_MAX_PARAM] = {0};
    const double least_share = 0.1; // of shear in the decay
    const group *along = &groups[1];
    const double lag = at->lag[0];
    const double lag_along = at->lag[1];
    const double dt = p->model.dt_s;
    const double begin = dt * ((double)at->first + 0.5 * (double)at->n_row + 1);
    if (lag > 0) {
        const double q = p->data->info.q[groups[0].angles[0]];
        add_rate(diffusion, begin + 0.5 * dt * lag, 1 / (q * q * dt * lag));
    }
    const double share = 1 - (lag > 0 ? lag_along / lag : 0);
    if (lag_along > 0 && share > least_share) {
        tess_xp_angle angle = {0};
        tess_xp_angle_fill(&angle, &p->model, still, p->data->info.phi[along->angles[0]],
                           p->data->info.q[along->angles[0]]);
        const double power = (double)tess_xp_power((tess_xpcs_kernel)p->model.kernel);
        const double z = sqrt(6 * share / power);
        add_rate(shear, begin + 0.5 * dt * lag_along, z / (fabs(angle.amplitude) * lag_along));
    }
}

// Amplitude and offset that are best for an exponent, relative errors counted alike. Returns what
// is left; infinite where the amplitude would not be positive.
static double fit_linear(const ages *list, double exponent, double *amplitude, double *offset)
{
    double aa = 0;
    double ab = 0;
    double bb = 0;
    double ay = 0;
    double by = 0;
    for (int64_t k = 0; k < list->n; k++) {
        const double a = pow(list->t[k], exponent) / list->rate[k];
        const double b = 1 / list->rate[k];
        aa += a * a;
        ab += a * b;
        bb += b * b;
        ay += a;
        by += b;
    }
    const double det = aa * bb - ab * ab;
    *amplitude = det > 1e-9 * aa * bb ? (ay * bb - by * ab) / det : ay / aa;
    *offset = det > 1e-9 * aa * bb ? (by * aa - ay * ab) / det : 0;
    return *amplitude > 0 ? (double)list->n - *amplitude * ay - *offset * by : (double)INFINITY;
}

// Sets amplitude, exponent and offset, parameters k..k+2. False if there are too few ages.
static bool fit_power_law(const tess_xp_problem *p, const ages *list, int64_t k, double *theta)
{
    double least = (double)INFINITY;
    double best[3] = {0, 0, 0};
    for (int64_t i = 0; i < EXPONENTS && list->n >= 4; i++) {
        const double part = (double)i / (EXPONENTS - 1);
        const double exponent = p->lower[k + 1] + part * (p->upper[k + 1] - p->lower[k + 1]);
        double amplitude = 0;
        double offset = 0;
        const double left = fit_linear(list, exponent, &amplitude, &offset);
        if (left < least) {
            least = left;
            best[0] = amplitude;
            best[1] = exponent;
            best[2] = offset;
        }
    }
    for (int64_t i = 0; i < 3 && isfinite(least); i++) {
        set_free(p, theta, k + i, best[i]);
    }
    return isfinite(least);
}

tess_status tess_xp_start_guess(tess_xp_problem *p, double *theta, bool *is_found)
{
    const int64_t n = p->data->info.n_frame;
    if (p->model.mode == TESS_XPCS_TWO_COMPONENT) {
        tess_xp_two_guess(p, theta);
        *is_found = true;
        return TESS_OK;
    }
    group groups[2] = {{0}};
    age found[AGES];
    ages diffusion = {0};
    ages shear = {0};
    int64_t n_age = 0;
    int64_t last = -1;
    choose_angles(p, &groups[0], &groups[1]);
    for (int64_t k = 0; k < AGES; k++) {
        const int64_t row = (int64_t)(exp((double)k / (AGES - 1) * log(0.7 * (double)n))) - 1;
        const int64_t most = row / 4 + 1 < MAX_ROWS ? row / 4 + 1 : MAX_ROWS;
        if (row > last && row + most < n - 1) {
            found[n_age++] = (age){.first = row, .n_row = most};
            last = row;
        }
    }
    look l = {
        .problem = p, .groups = groups, .ages = found, .own = tess_xp_deal_survey(p->ctx, p->data)};
    TESS_TRY(measure_ages(&l, n_age));
    for (int64_t k = 0; k < n_age; k++) {
        add_age(p, &found[k], groups, &diffusion, &shear);
    }
    tess_xp_start_default(p, theta);
    *is_found = fit_power_law(p, &diffusion, D0, theta);
    if (p->model.mode == TESS_XPCS_LAMINAR_FLOW) {
        *is_found |= fit_power_law(p, &shear, GAMMA, theta);
    }
    return TESS_OK;
}

// A column of numbers in 0..1, one in each of n equal strata, in random order.
static void fill_strata(const tess_philox_stream *stream, int64_t n, double *column, int64_t stride)
{
    for (int64_t i = 0; i < n; i++) {
        column[i * stride] = (double)i;
    }
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)(tess_philox_uniform(stream, (uint64_t)i) * (double)(i + 1));
        const double item = column[i * stride];
        column[i * stride] = column[j * stride];
        column[j * stride] = item;
    }
    for (int64_t i = 0; i < n; i++) {
        const double inside = tess_philox_uniform(stream, (uint64_t)(n + i));
        column[i * stride] = (column[i * stride] + inside) / (double)n;
    }
}

static double between(double lower, double upper, double u, bool is_log)
{
    return is_log && lower > 0 ? lower * exp(u * log(upper / lower)) : lower + u * (upper - lower);
}

// theta holds numbers in 0..1 and becomes a start.
static void place(const tess_xp_problem *p, double *theta)
{
    // Offsets are drawn relative to the rate at the geometric mean of the times.
    const double middle = p->model.dt_s * sqrt((double)p->data->info.n_frame);
    double start[TESS_XPCS_MAX_PARAM];
    tess_xp_start_default(p, start);
    for (int64_t k = 0; k < p->n_param; k++) {
        if (p->is_fixed[k]) {
            theta[k] = start[k];
        } else if (k == D_OFFSET || k == GAMMA_OFFSET) {
            const double rate = theta[k - 2] * pow(middle, theta[k - 1]);
            theta[k] = fmin(fmax((theta[k] - 0.5) * rate, p->lower[k]), p->upper[k]);
        } else {
            theta[k] = between(p->lower[k], p->upper[k], theta[k], k == D0 || k == GAMMA);
        }
    }
}

void tess_xp_start_latin(const tess_xp_problem *p, int64_t n, double *thetas, int64_t stride)
{
    for (int64_t k = 0; k < p->n_param; k++) {
        const tess_philox_stream stream =
            tess_philox_open((uint64_t)p->config.seed, (uint32_t)k, PURPOSE_LATIN);
        fill_strata(&stream, n, thetas + k, stride);
    }
    for (int64_t i = 0; i < n; i++) {
        if (p->model.mode == TESS_XPCS_TWO_COMPONENT) {
            tess_xp_two_place(p, thetas + i * stride);
        } else {
            place(p, thetas + i * stride);
        }
    }
}
