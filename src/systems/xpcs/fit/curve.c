#include "systems/xpcs/fit/curve.h"

#include <math.h>
#include <string.h>

enum { P = TESS_XPCS_MAX_PARAM, MOST_TURNS = 12 };

// Amplitude, exponent and offset after a step that is straight in the rate and its slope by log t
// at time t. False: there is no such rate.
static bool bend(double log_t, const double *x, const double *step, double part, double *out)
{
    const double power = exp(x[1] * log_t);
    const double rate = x[0] * power; // without the offset
    const double d_rate = part * (step[0] * power + rate * log_t * step[1]);
    const double d_slope = part * rate * step[1] + d_rate * x[1];
    const double to = rate + d_rate;
    if (!(to > 0) || !(rate > 0)) {
        return false;
    }
    out[1] = (rate * x[1] + d_slope) / to;
    out[0] = to * exp(-out[1] * log_t);
    out[2] = x[2] + part * step[2];
    return isfinite(out[0]) && isfinite(out[1]);
}

// The part of the step after which parameter k of the three is where the straight step has it.
static bool bend_to(double log_t, const double *x, const double *step, int64_t k, double *out)
{
    const double to = x[k] + step[k];
    double part[2] = {0, 1};
    double error[2] = {x[k] - to, 0};
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        if (!bend(log_t, x, step, part[1], out)) {
            return false;
        }
        error[1] = out[k] - to;
        if (fabs(error[1]) <= 1e-12 * (fabs(to) + fabs(step[k]))) {
            break;
        }
        const double slope = (error[1] - error[0]) / (part[1] - part[0]);
        const double next = part[1] - error[1] / slope;
        part[0] = part[1];
        error[0] = error[1];
        part[1] = next;
        if (!(next > 0 && next < 100)) {
            return false;
        }
    }
    return fabs(error[1]) <= 1e-6 * fabs(step[k]);
}

void tess_xp_curve(const tess_xp_problem *p, const double *x, const double *step, int64_t k,
                   double *out)
{
    const double log_t =
        log(p->model.dt_s) + 0.5 * log((double)p->data->info.n_frame); // of the middle
    double all[P] = {0};
    double move[P] = {0};
    double to[P] = {0};
    int64_t place[P];
    for (int64_t i = 0; i < P; i++) {
        place[i] = -1;
    }
    for (int64_t i = 0; i < p->n_free; i++) {
        place[p->free_index[i]] = i;
        all[p->free_index[i]] = x[i];
        move[p->free_index[i]] = step[i];
    }
    for (int64_t i = 0; i < p->n_free; i++) {
        out[i] = x[i] + step[i];
    }
    const int64_t n_rate = p->model.mode == TESS_XPCS_TWO_COMPONENT ? 3 : p->n_param / 3;
    for (int64_t first = 0; first < 3 * n_rate; first += 3) {
        const bool is_free = place[first] >= 0 && place[first + 1] >= 0 && place[first + 2] >= 0 &&
                             (move[first] != 0 || move[first + 1] != 0);
        const int64_t own = k >= 0 ? p->free_index[k] - first : -1;
        const bool is_bent =
            is_free && (own >= 0 && own < 3 && move[first + own] != 0
                            ? bend_to(log_t, all + first, move + first, own, to + first)
                            : bend(log_t, all + first, move + first, 1, to + first));
        for (int64_t i = 0; i < 3 && is_bent; i++) {
            out[place[first + i]] = to[first + i];
        }
    }
    for (int64_t i = 0; i < p->n_free; i++) {
        const int64_t at = p->free_index[i];
        out[i] = fmin(fmax(i == k ? x[i] + step[i] : out[i], p->lower[at]), p->upper[at]);
    }
}
