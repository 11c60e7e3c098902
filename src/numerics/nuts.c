#include "numerics/nuts.h"

#include "base/rng.h"
#include "numerics/cholesky.h"
#include "numerics/nuts_state.h"

#include <math.h>
#include <string.h>

enum { UNIFORMS = 1, NORMALS = 2, MAX_PROBE = 60 };

// ---- Random numbers and dynamics ----------------------------------------------------------------

double nuts_uniform(tess_nuts *s)
{
    const tess_philox_stream stream = tess_philox_open(s->options.seed, s->options.chain, UNIFORMS);
    return tess_philox_uniform(&stream, s->n_uniform++);
}

// Those of the root's transpose: covariance^-1 is the covariance of momenta.
void nuts_draw_momentum(tess_nuts *s, double *momentum)
{
    const int64_t n = s->n;
    const double *root = nuts_root(s);
    const tess_philox_stream stream = tess_philox_open(s->options.seed, s->options.chain, NORMALS);
    tess_philox_normals(&stream, s->n_normal, (size_t)n, momentum);
    s->n_normal += (uint64_t)(n + n % 2);
    for (int64_t i = n - 1; i >= 0; i--) {
        momentum[i] /= root[i * n + i];
        for (int64_t k = 0; k < i; k++) {
            momentum[k] -= root[i * n + k] * momentum[i];
        }
    }
}

void nuts_velocity(tess_nuts *s, const double *momentum, double *velocity)
{
    const int64_t n = s->n;
    const double *covariance = nuts_covariance(s);
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < n; k++) {
            sum += covariance[i * n + k] * momentum[k];
        }
        velocity[i] = sum;
    }
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

double nuts_kinetic(tess_nuts *s, const double *momentum)
{
    double *velocity = nuts_vector(s, NUTS_SCRATCH);
    nuts_velocity(s, momentum, velocity);
    return 0.5 * dot(momentum, velocity, s->n);
}

void nuts_leap(tess_nuts *s, const double *x, const double *momentum, const double *gradient,
               double step)
{
    double *half = nuts_vector(s, NUTS_HALF);
    double *trial = nuts_vector(s, NUTS_TRIAL);
    double *velocity = nuts_vector(s, NUTS_SCRATCH);
    for (int64_t i = 0; i < s->n; i++) {
        half[i] = momentum[i] + 0.5 * step * gradient[i];
    }
    nuts_velocity(s, half, velocity);
    for (int64_t i = 0; i < s->n; i++) {
        trial[i] = x[i] + step * velocity[i];
    }
}

void nuts_land(tess_nuts *s, const double *gradient, double step, double *momentum)
{
    const double *half = nuts_vector(s, NUTS_HALF);
    for (int64_t i = 0; i < s->n; i++) {
        momentum[i] = half[i] + 0.5 * step * gradient[i];
    }
}

// Does the path come back? The ends count half, as in a sum of trapezoids: whole, they would let
// paths of round densities go on through resonances.
bool nuts_turns(tess_nuts *s, const double *left, const double *right, const double *sum)
{
    double *middle = nuts_vector(s, NUTS_SCRATCH_2);
    double *velocity = nuts_vector(s, NUTS_SCRATCH);
    for (int64_t i = 0; i < s->n; i++) {
        middle[i] = sum[i] - 0.5 * (left[i] + right[i]);
    }
    nuts_velocity(s, middle, velocity);
    return dot(left, velocity, s->n) <= 0 || dot(right, velocity, s->n) <= 0;
}

static void copy(tess_nuts *s, int to, int from)
{
    memcpy(nuts_vector(s, to), nuts_vector(s, from), (size_t)s->n * sizeof(double));
}

static double log_add(double a, double b)
{
    const double high = a > b ? a : b;
    return high == -(double)INFINITY ? high : high + log(exp(a - high) + exp(b - high));
}

// ---- A path -------------------------------------------------------------------------------------

// Begins the half that makes the path twice as long, on a side drawn by lot.
static void begin_half(tess_nuts *s)
{
    s->goes_right = nuts_uniform(s) < 0.5;
    s->leaf = 0;
    s->sub_log_weight = -(double)INFINITY;
    memset(nuts_vector(s, NUTS_SUB_SUM), 0, (size_t)s->n * sizeof(double));
    const int end = s->goes_right ? NUTS_RIGHT_X : NUTS_LEFT_X;
    nuts_leap(s, nuts_vector(s, end), nuts_vector(s, end + 1), nuts_vector(s, end + 2),
              s->goes_right ? s->step : -s->step);
}

static void begin_path(tess_nuts *s)
{
    nuts_draw_momentum(s, nuts_vector(s, NUTS_LEFT_P));
    s->energy = nuts_kinetic(s, nuts_vector(s, NUTS_LEFT_P)) - s->log_density;
    copy(s, NUTS_LEFT_X, NUTS_X);
    copy(s, NUTS_LEFT_G, NUTS_GRADIENT);
    copy(s, NUTS_RIGHT_X, NUTS_X);
    copy(s, NUTS_RIGHT_P, NUTS_LEFT_P);
    copy(s, NUTS_RIGHT_G, NUTS_GRADIENT);
    copy(s, NUTS_NEW_X, NUTS_X);
    copy(s, NUTS_NEW_G, NUTS_GRADIENT);
    copy(s, NUTS_SUM, NUTS_LEFT_P);
    s->new_log_density = s->log_density;
    s->new_energy = s->energy;
    s->log_weight = 0;
    s->sum_accept = 0;
    s->n_step = 0;
    s->depth = 0;
    s->phase = NUTS_LEAF;
    begin_half(s);
}

// Of the parts of the half that end with this leaf, does one turn? A part of 2^k leaves begins at a
// leaf whose number ends in k zeros, and only the newest of each length is remembered: at the
// number of ones before those zeros.
static bool remember_and_check(tess_nuts *s, const double *momentum)
{
    const double *sum = nuts_vector(s, NUTS_SUB_SUM);
    const size_t bytes = (size_t)s->n * sizeof(double);
    int32_t at = 0;
    int32_t n_part = 0;
    for (int64_t bits = s->leaf >> 1; bits > 0; bits >>= 1) {
        at += (int32_t)(bits & 1);
    }
    if (s->leaf % 2 == 0) {
        memcpy(nuts_kept_momentum(s, at), momentum, bytes);
        memcpy(nuts_kept_sum(s, at), sum, bytes);
        return false;
    }
    for (int64_t bits = s->leaf; bits & 1; bits >>= 1) {
        n_part++;
    }
    for (int32_t i = at; i > at - n_part; i--) {
        const double *first = nuts_kept_momentum(s, i);
        const double *before = nuts_kept_sum(s, i);
        double *part = nuts_vector(s, NUTS_HALF); // not needed any more
        for (int64_t k = 0; k < s->n; k++) {
            part[k] = sum[k] - before[k] + first[k];
        }
        if (nuts_turns(s, first, momentum, part)) {
            return true;
        }
    }
    return false;
}

// The half is whole: it joins the path, and gives the next draw by its weight.
static void join_half(tess_nuts *s)
{
    double *sum = nuts_vector(s, NUTS_SUM);
    const double *added = nuts_vector(s, NUTS_SUB_SUM);
    if (nuts_uniform(s) < exp(s->sub_log_weight - s->log_weight)) {
        copy(s, NUTS_NEW_X, NUTS_SUB_X);
        copy(s, NUTS_NEW_G, NUTS_SUB_G);
        s->new_log_density = s->sub_log_density;
        s->new_energy = s->sub_energy;
    }
    s->log_weight = log_add(s->log_weight, s->sub_log_weight);
    for (int64_t i = 0; i < s->n; i++) {
        sum[i] += added[i];
    }
    s->depth++;
}

static tess_nuts_request end_path(tess_nuts *s, bool is_divergent);

static tess_nuts_request take_leaf(tess_nuts *s, double log_density, const double *gradient)
{
    const double step = s->goes_right ? s->step : -s->step;
    const int end = s->goes_right ? NUTS_RIGHT_X : NUTS_LEFT_X;
    double *momentum = nuts_vector(s, end + 1);
    nuts_land(s, gradient, step, momentum);
    copy(s, end, NUTS_TRIAL);
    memcpy(nuts_vector(s, end + 2), gradient, (size_t)s->n * sizeof *gradient);
    double energy = nuts_kinetic(s, momentum) - log_density;
    if (!(energy < (double)INFINITY)) {
        energy = (double)INFINITY;
    }
    const double error = energy - s->energy;
    s->n_step++;
    s->sum_accept += error < 0 ? 1 : exp(-error);
    if (!(error <= s->options.max_energy_error)) {
        return end_path(s, true);
    }
    s->sub_log_weight = log_add(s->sub_log_weight, -error);
    if (nuts_uniform(s) < exp(-error - s->sub_log_weight)) {
        copy(s, NUTS_SUB_X, NUTS_TRIAL);
        memcpy(nuts_vector(s, NUTS_SUB_G), gradient, (size_t)s->n * sizeof *gradient);
        s->sub_log_density = log_density;
        s->sub_energy = energy;
    }
    double *sum = nuts_vector(s, NUTS_SUB_SUM);
    for (int64_t i = 0; i < s->n; i++) {
        sum[i] += momentum[i];
    }
    if (remember_and_check(s, momentum)) {
        return end_path(s, false);
    }
    if (++s->leaf < (int64_t)1 << s->depth) {
        nuts_leap(s, nuts_vector(s, end), momentum, gradient, step);
        return TESS_NUTS_EVALUATE;
    }
    join_half(s);
    if (s->depth == s->options.max_depth ||
        nuts_turns(s, nuts_vector(s, NUTS_LEFT_P), nuts_vector(s, NUTS_RIGHT_P),
                   nuts_vector(s, NUTS_SUM))) {
        return end_path(s, false);
    }
    begin_half(s);
    return TESS_NUTS_EVALUATE;
}

// ---- Steps --------------------------------------------------------------------------------------

static void probe(tess_nuts *s)
{
    double *momentum = nuts_vector(s, NUTS_LEFT_P);
    nuts_draw_momentum(s, momentum);
    s->probe_energy = nuts_kinetic(s, momentum) - s->log_density;
    s->phase = NUTS_PROBE;
    nuts_leap(s, nuts_vector(s, NUTS_X), momentum, nuts_vector(s, NUTS_GRADIENT), s->step);
}

static void begin_probes(tess_nuts *s)
{
    s->probe_direction = 0;
    s->probe_count = 0;
    probe(s);
}

// Twice or half as long until the acceptance of one step crosses the one wanted.
static void take_probe(tess_nuts *s, double log_density, const double *gradient)
{
    double *momentum = nuts_vector(s, NUTS_LEFT_P);
    nuts_land(s, gradient, s->step, momentum);
    const double error = nuts_kinetic(s, momentum) - log_density - s->probe_energy;
    const int32_t direction = -error > log(s->options.target_accept) ? 1 : -1;
    if ((s->probe_direction != 0 && direction != s->probe_direction) ||
        ++s->probe_count > MAX_PROBE) {
        nuts_begin_averaging(s);
        begin_path(s);
        return;
    }
    s->probe_direction = direction;
    s->step = ldexp(s->step, direction);
    probe(s);
}

// ---- The chain ----------------------------------------------------------------------------------

static tess_nuts_request end_path(tess_nuts *s, bool is_divergent)
{
    const tess_nuts_options *o = &s->options;
    copy(s, NUTS_X, NUTS_NEW_X);
    copy(s, NUTS_GRADIENT, NUTS_NEW_G);
    s->log_density = s->new_log_density;
    s->last_energy = s->new_energy;
    s->last_accept = s->sum_accept / (double)s->n_step;
    s->last_step = s->step;
    s->last_n_step = s->n_step;
    s->last_draw = s->iteration - o->n_warmup;
    s->last_depth = s->depth;
    s->last_is_divergent = is_divergent;
    const bool is_new = s->iteration < o->n_warmup && nuts_learn(s);
    s->iteration++;
    if (s->iteration == o->n_warmup + o->n_draw) {
        s->is_ended = 1;
        return TESS_NUTS_DONE;
    }
    if (is_new && s->iteration < o->n_warmup) {
        begin_probes(s);
    } else {
        begin_path(s);
    }
    return TESS_NUTS_DRAW;
}

size_t tess_nuts_bytes(int64_t n, int32_t max_depth)
{
    const size_t n_double =
        (size_t)n * ((size_t)NUTS_N_VECTOR + 3 * (size_t)n + 2 * (size_t)max_depth);
    return sizeof(tess_nuts) + n_double * sizeof(double);
}

int tess_nuts_begin(tess_nuts *s, int64_t n, const double *x0, const double *covariance,
                    const tess_nuts_options *options)
{
    memset(s, 0, tess_nuts_bytes(n, options->max_depth));
    s->n = n;
    s->options = *options;
    s->step = 1;
    s->phase = NUTS_FIRST;
    memcpy(nuts_vector(s, NUTS_X), x0, (size_t)n * sizeof *x0);
    memcpy(nuts_vector(s, NUTS_TRIAL), x0, (size_t)n * sizeof *x0);
    double *own = nuts_covariance(s);
    for (int64_t i = 0; i < n * n; i++) {
        own[i] = covariance ? covariance[i] : i % (n + 1) == 0;
        if (i % (n + 1) == 0) {
            nuts_vector(s, NUTS_FIRST_VARIANCE)[i / n] = own[i];
        }
    }
    memcpy(nuts_root(s), own, (size_t)(n * n) * sizeof *own);
    return tess_cholesky(nuts_root(s), n);
}

const double *tess_nuts_trial(const tess_nuts *s)
{
    return nuts_vector((tess_nuts *)(uintptr_t)s, NUTS_TRIAL);
}

const double *tess_nuts_covariance(const tess_nuts *s)
{
    return nuts_covariance((tess_nuts *)(uintptr_t)s);
}

int64_t tess_nuts_n_done(const tess_nuts *s)
{
    return s->iteration;
}

tess_nuts_request tess_nuts_next(tess_nuts *s, double log_density, const double *gradient)
{
    switch ((nuts_phase)s->phase) {
    case NUTS_FIRST:
        s->log_density = log_density;
        memcpy(nuts_vector(s, NUTS_GRADIENT), gradient, (size_t)s->n * sizeof *gradient);
        begin_probes(s);
        return TESS_NUTS_EVALUATE;
    case NUTS_PROBE:
        take_probe(s, log_density, gradient);
        return TESS_NUTS_EVALUATE;
    default:
        return take_leaf(s, log_density, gradient);
    }
}

void tess_nuts_set_root(tess_nuts *s, const double *root)
{
    const int64_t n = s->n;
    double *covariance = nuts_covariance(s);
    memcpy(nuts_root(s), root, (size_t)(n * n) * sizeof *root);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k <= i; k++) {
            covariance[i * n + k] = dot(root + i * n, root + k * n, k + 1);
            covariance[k * n + i] = covariance[i * n + k];
        }
    }
}

void tess_nuts_restart(tess_nuts *s, const double *x, double log_density, const double *gradient)
{
    memcpy(nuts_vector(s, NUTS_X), x, (size_t)s->n * sizeof *x);
    memcpy(nuts_vector(s, NUTS_GRADIENT), gradient, (size_t)s->n * sizeof *gradient);
    s->log_density = log_density;
    begin_path(s);
}

void tess_nuts_look(const tess_nuts *s, tess_nuts_view *view)
{
    tess_nuts *own = (tess_nuts *)(uintptr_t)s;
    *view = (tess_nuts_view){.x = nuts_vector(own, NUTS_X),
                             .gradient = nuts_vector(own, NUTS_GRADIENT),
                             .log_density = s->log_density,
                             .energy = s->last_energy,
                             .accept = s->last_accept,
                             .step = s->last_step,
                             .draw = s->last_draw,
                             .n_step = s->last_n_step,
                             .depth = s->last_depth,
                             .is_divergent = s->last_is_divergent};
}
