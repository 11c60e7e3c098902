// Where fits of two components begin. With a common decay and slowly changing fractions
//
//   c2 = a + b e(lag) + c e(lag) cos(q cos(phi) (s(t_j) - s(t_i))),  ds/dt = v (t / t_middle)^beta
//
// is linear in a, b and c of an angle: decay, v and beta are tried on a grid, and the fringes show
// up as the peak of what the last term explains.
#include "systems/xpcs/fit/start_two.h"

#include "base/status.h"
#include "systems/xpcs/model/two.h"

#include <math.h>
#include <string.h>

enum {
    MOST_FRAMES = 40,
    MOST_ANGLES = 3,
    DECAYS = 6,
    BETAS = 4,
    MOST_VELOCITIES = 128,
    TERMS = 3,
};

static const double betas[BETAS] = {0, 0.5, 1, 1.5};
static const double RADIAN = 3.14159265358979323846 / 180;
static const double DECAYED = 12; // exponents beyond say nothing

// A point of the grid and what it leaves unexplained.
typedef struct trial {
    double rate;
    double beta;
    double velocity;
    double left;
} trial;

typedef struct scan {
    const tess_xp_problem *problem;
    const tess_xpcs_data *data; // chosen points
    double t[MOST_FRAMES];
    double length; // of the measurement, s
    double phi0;
    trial best[DECAYS * BETAS];
} scan;

// Sums of the normal equations of an angle.
typedef struct normal {
    double n;
    double yy;
    double y[TERMS];
    double a[TERMS][TERMS];
} normal;

static void add_point(normal *s, const double *x, double y)
{
    s->n++;
    s->yy += y * y;
    for (int k = 0; k < TERMS; k++) {
        s->y[k] += x[k] * y;
        for (int l = 0; l <= k; l++) {
            s->a[k][l] += x[k] * x[l];
        }
    }
}

// What is left of yy, by elimination; terms that others say already are skipped.
static double unexplained(normal s)
{
    for (int k = 0; k < TERMS; k++) {
        const double pivot = s.a[k][k];
        if (!(pivot > 1e-9 * s.n)) {
            continue;
        }
        s.yy -= s.y[k] * s.y[k] / pivot;
        for (int i = k + 1; i < TERMS; i++) {
            const double f = s.a[i][k] / pivot;
            s.y[i] -= f * s.y[k];
            for (int j = k + 1; j <= i; j++) {
                s.a[i][j] -= f * s.a[j][k];
            }
        }
    }
    return s.yy;
}

// Way at a velocity of 1 in the middle of the measurement, until t.
static double way_at(const scan *s, double beta, double t)
{
    const double middle = 0.5 * s->length;
    return middle / (beta + 1) * pow(t / middle, beta + 1);
}

static void add_tile(const scan *s, int64_t angle, const tess_xp_tile *tile, const double *decay,
                     const double *way, double amplitude, normal *sums)
{
    const double *y = (const double *)(const void *)(s->data->records + tile->offset) +
                      s->data->info.n_angle * TESS_STAGE_XPCS_HEAD + angle * tile->width;
    for (int64_t k = 0; k < tile->n_column; k++) {
        const int64_t j = tile->first_column + k;
        const double exponent = decay[j] - decay[tile->row];
        if (isfinite(y[k]) && exponent < DECAYED) {
            const double e = exp(-exponent);
            const double x[TERMS] = {1, e, e * cos(amplitude * (way[j] - way[tile->row]))};
            add_point(sums, x, y[k] - s->data->info.mean[angle]);
        }
    }
}

static double leave(const scan *s, const trial *at)
{
    const tess_xpcs_data_info *info = &s->data->info;
    double way[MOST_FRAMES];
    double decay[MOST_FRAMES];
    double left = 0;
    for (int64_t i = 0; i < info->n_frame; i++) {
        way[i] = at->velocity * way_at(s, at->beta, s->t[i]);
    }
    for (int64_t a = 0; a < info->n_angle; a++) {
        const double q = info->q[a];
        normal sums = {0};
        for (int64_t i = 0; i < info->n_frame; i++) {
            decay[i] = q * q * at->rate * s->t[i];
        }
        for (int64_t t = 0; t < s->data->tiles.n_tile; t++) {
            const tess_xp_tile tile = tess_xp_tiles_at(&s->data->tiles, t);
            add_tile(s, a, &tile, decay, way, q * cos((info->phi[a] + s->phi0) * RADIAN), &sums);
        }
        left += unexplained(sums);
    }
    return left;
}

// All velocities at one decay and beta: from a turn in the whole measurement to half a turn from
// frame to frame, as near to each other as the decay can tell.
static tess_status scan_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    scan *s = arg;
    const double dt = s->problem->model.dt_s;
    const double q = s->data->info.q[0];
    const double slowest = 2 / (q * q * s->length); // decays to exp(-2) in all of it
    const double fastest = 0.5 / (q * q * dt);
    const double part = (double)(block / BETAS) / (DECAYS - 1);
    trial at = {.rate = slowest * pow(fastest / slowest, part), .beta = betas[block % BETAS]};
    const double seen = fmin(s->length, 4 / (q * q * at.rate));
    const double most = 3 / (q * dt);
    const double step = fmax(1.2 / (q * seen), most / MOST_VELOCITIES);
    s->best[block].left = (double)INFINITY;
    for (at.velocity = 1 / (q * s->length); at.velocity < most;
         at.velocity += fmin(step, 0.3 * at.velocity)) {
        at.left = leave(s, &at);
        if (at.left < s->best[block].left) {
            s->best[block] = at;
        }
    }
    return TESS_OK;
}

// The angles whose fringes are finest, with all lags and ages.
static tess_status take_points(scan *s, tess_xpcs_data **chosen)
{
    const tess_xp_problem *p = s->problem;
    int64_t frames[MOST_FRAMES];
    int64_t angles[MOST_ANGLES];
    double fineness[MOST_ANGLES];
    int64_t n = 0;
    for (int64_t a = 0; a < p->n_angle; a++) {
        const double key = fabs(cos((p->data->info.phi[a] + s->phi0) * RADIAN));
        int64_t at = n < MOST_ANGLES ? n++ : MOST_ANGLES;
        for (; at > 0 && fineness[at - 1] < key; at--) {
            if (at < MOST_ANGLES) {
                fineness[at] = fineness[at - 1];
                angles[at] = angles[at - 1];
            }
        }
        if (at < MOST_ANGLES) {
            fineness[at] = key;
            angles[at] = a;
        }
    }
    const int64_t n_all = p->data->info.n_frame;
    const int64_t most = n_all < MOST_FRAMES ? n_all : MOST_FRAMES;
    const tess_xp_chosen choice = {.frames = frames,
                                   .n_frame = tess_xp_choose_frames(n_all, most, frames),
                                   .angles = angles,
                                   .n_angle = n,
                                   .lag_weight = p->weights.lag_weight,
                                   .ignore_sigma = p->weights.ignore_sigma};
    TESS_TRY(tess_xp_data_sketch(p->ctx, p->data, &choice, chosen));
    for (int64_t i = 0; i < choice.n_frame; i++) {
        s->t[i] = p->model.dt_s * (double)(frames[i] + (p->model.keep_t0 ? 0 : 1));
    }
    return TESS_OK;
}

tess_status tess_xp_two_look(tess_xp_problem *p)
{
    tess_xpcs_data *chosen = NULL;
    const double start = p->start[TESS_XP_PHI0_HET];
    scan s = {.problem = p,
              .length = p->model.dt_s * (double)p->data->info.n_frame,
              .phi0 = isnan(start) ? 0 : start};
    TESS_TRY(take_points(&s, &chosen));
    s.data = chosen;
    const tess_status status = tess_parallel_for(p->ctx->pool, DECAYS * BETAS, scan_block, &s);
    tess_xpcs_data_destroy(chosen);
    TESS_TRY(status);
    int64_t best = 0;
    for (int64_t k = 1; k < DECAYS * BETAS; k++) {
        best = s.best[k].left < s.best[best].left ? k : best;
    }
    p->two_rate = s.best[best].rate;
    p->two_velocity = s.best[best].velocity;
    p->two_beta = s.best[best].beta;
    return TESS_OK;
}

// theta[k] where it is free and nothing was given, within the bounds.
static void set_free(const tess_xp_problem *p, double *theta, int64_t k, double value)
{
    theta[k] = isnan(p->start[k]) ? fmin(fmax(value, p->lower[k]), p->upper[k]) : p->start[k];
}

static double middle_of(const tess_xp_problem *p)
{
    return 0.5 * p->model.dt_s * (double)p->data->info.n_frame;
}

// A rate whose value in the middle of the measurement is given; share of it in the offset.
static void set_rate(const tess_xp_problem *p, double *theta, int64_t k, double rate,
                     double exponent, double share)
{
    set_free(p, theta, k, (1 - share) * rate / pow(middle_of(p), exponent));
    set_free(p, theta, k + 1, exponent);
    set_free(p, theta, k + 2, share * rate);
}

static void set_mixing(const tess_xp_problem *p, double *theta, double f0, double f1, double f3)
{
    set_free(p, theta, TESS_XP_F0, f0);
    set_free(p, theta, TESS_XP_F1, f1);
    set_free(p, theta, TESS_XP_F2, 0);
    set_free(p, theta, TESS_XP_F3, f3);
}

void tess_xp_two_guess(const tess_xp_problem *p, double *theta)
{
    set_rate(p, theta, TESS_XP_D0_REF, 0.6 * p->two_rate, 0, 0);
    set_rate(p, theta, TESS_XP_D0_SAMPLE, 1.6 * p->two_rate, 0, 0);
    set_rate(p, theta, TESS_XP_V0, p->two_velocity, p->two_beta, 0);
    set_mixing(p, theta, 0.4, -0.5 / middle_of(p), 0.2);
    set_free(p, theta, TESS_XP_PHI0_HET, 0);
}

static double from_log(double middle, double range, double u)
{
    return middle * exp((2 * u - 1) * log(range));
}

void tess_xp_two_place(const tess_xp_problem *p, double *theta)
{
    const double *u = theta;
    double out[TESS_XPCS_MAX_PARAM];
    set_rate(p, out, TESS_XP_D0_REF, from_log(p->two_rate, 20, u[0]), 2 * u[1] - 1, u[2] - 0.5);
    set_rate(p, out, TESS_XP_D0_SAMPLE, from_log(p->two_rate, 20, u[3]), 2 * u[4] - 1, u[5] - 0.5);
    // Mostly near the peak of the fringes.
    const double range = u[8] < 0.75 ? 1.25 : 5;
    set_rate(p, out, TESS_XP_V0, from_log(p->two_velocity, range, u[6]),
             p->two_beta + 0.6 * (u[7] - 0.5), 0);
    set_mixing(p, out, 0.05 + 0.9 * u[TESS_XP_F0], (2 * u[TESS_XP_F1] - 1) / middle_of(p),
               0.8 * u[TESS_XP_F3] - 0.2);
    set_free(p, out, TESS_XP_PHI0_HET,
             p->lower[TESS_XP_PHI0_HET] +
                 u[TESS_XP_PHI0_HET] * (p->upper[TESS_XP_PHI0_HET] - p->lower[TESS_XP_PHI0_HET]));
    for (int64_t k = 0; k < p->n_param; k++) {
        theta[k] = p->is_fixed[k] ? p->start[k] : out[k];
    }
}

// 1 - fs at both ends of the measurement, with the exponent turned round.
void tess_xp_two_exchange(const tess_xp_problem *p, const double *theta, double *out)
{
    const double *f = theta + TESS_XP_F0;
    const double end = 2 * middle_of(p);
    const double fs[2] = {f[0] * exp(-f[1] * f[2]) + f[3], f[0] * exp(f[1] * (end - f[2])) + f[3]};
    const double power[2] = {exp(f[1] * f[2]), exp(-f[1] * (end - f[2]))};
    const double change = power[1] - power[0];
    const double f0 = fabs(change) > 1e-3 ? (fs[0] - fs[1]) / change : 0.1;
    memcpy(out, theta, (size_t)p->n_param * sizeof *out);
    memcpy(out + TESS_XP_D0_REF, theta + TESS_XP_D0_SAMPLE, 3 * sizeof *out);
    memcpy(out + TESS_XP_D0_SAMPLE, theta + TESS_XP_D0_REF, 3 * sizeof *out);
    out[TESS_XP_F0] = f0;
    out[TESS_XP_F1] = -f[1];
    out[TESS_XP_F3] = 1 - fs[0] - f0 * power[0];
    for (int64_t k = 0; k < p->n_param; k++) {
        out[k] = p->is_fixed[k] ? p->start[k] : fmin(fmax(out[k], p->lower[k]), p->upper[k]);
    }
}

bool tess_xp_two_is_same(const tess_xp_problem *p, const double *a, const double *b)
{
    static const double near_share = 0.05;
    static const double near_fraction = 0.02;
    static const double near_degrees = 0.5;
    for (int k = 1; k <= 4; k++) {
        const double t = 0.5 * (double)k * middle_of(p);
        const tess_xp_two_rates x = tess_xp_two_rates_at(t, tess_log_parts(t), a);
        const tess_xp_two_rates y = tess_xp_two_rates_at(t, tess_log_parts(t), b);
        const double differences[] = {fabs(x.reference - y.reference) / (x.reference + y.reference),
                                      fabs(x.sample - y.sample) / (x.sample + y.sample),
                                      fabs(x.velocity - y.velocity) /
                                          (fabs(x.velocity) + fabs(y.velocity))};
        for (int i = 0; i < 3; i++) {
            if (differences[i] > near_share) { // not of two zeros
                return false;
            }
        }
        if (fabs(x.fraction - y.fraction) > near_fraction) {
            return false;
        }
    }
    return fabs(a[TESS_XP_PHI0_HET] - b[TESS_XP_PHI0_HET]) < near_degrees;
}
