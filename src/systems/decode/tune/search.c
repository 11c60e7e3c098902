// One bandwidth at a time: a sweep over a wide range, wider where the best lies at its end, then
// steps to the top of the parabola through the best and its neighbours.
#include "base/status.h"
#include "systems/decode/tune/tune.h"

#include <math.h>

// Steps beyond the end of a sweep.
enum { MAX_EXTRA = 4 };
// A bandwidth that moves less from round to round has settled; the top of the likelihood is flat.
static const double SETTLED = 0.1;
// Steps that would move it less are not worth a candidate.
static const double FINE = 0.02;
// Later rounds know roughly where to look: half the step, this many to either side.
enum { NARROW = 2 };

int64_t tess_de_tune_most(const tess_decode_tune_config *tune, bool has_waveform)
{
    const int64_t per_sweep = tune->n_point + MAX_EXTRA + tune->n_refine;
    return 1 + (has_waveform ? 2 * tune->max_rounds : 1) * per_sweep;
}

static tess_status try_value(tess_de_tuner *t, bool is_position, double value, double other,
                             int64_t *index)
{
    return is_position ? tess_de_tune_try(t, value, other, true, index)
                       : tess_de_tune_try(t, other, value, false, index);
}

static double value_of(const tess_de_tuner *t, bool is_position, int64_t index)
{
    const tess_decode_tune_candidate *c = &t->candidates[index];
    return is_position ? c->position_std : c->waveform_std;
}

static void take_better(const tess_de_tuner *t, int64_t index, int64_t *best)
{
    if (*best < 0 || t->candidates[index].score > t->candidates[*best].score) {
        *best = index;
    }
}

// Neighbours of the best among the candidates of this sweep: -1 where there is none.
static void find_neighbours(const tess_de_tuner *t, bool is_position, int64_t best, int64_t *below,
                            int64_t *above)
{
    const double at = value_of(t, is_position, best);
    *below = *above = -1;
    for (int64_t i = 0; i < t->n_candidate; i++) {
        const double value = value_of(t, is_position, i);
        if (t->candidates[i].sweep != t->n_sweep) {
            continue;
        }
        if (value < at && (*below < 0 || value > value_of(t, is_position, *below))) {
            *below = i;
        }
        if (value > at && (*above < 0 || value < value_of(t, is_position, *above))) {
            *above = i;
        }
    }
}

// Top of the parabola in the logarithm of the bandwidth; NaN where it has none between the
// neighbours.
static double parabola_top(const tess_de_tuner *t, bool is_position, int64_t below, int64_t best,
                           int64_t above)
{
    const double x0 = log(value_of(t, is_position, below));
    const double x1 = log(value_of(t, is_position, best));
    const double x2 = log(value_of(t, is_position, above));
    const double y1 = t->candidates[best].score;
    const double a = (t->candidates[below].score - y1) / (x0 - x1);
    const double b = (t->candidates[above].score - y1) / (x2 - x1);
    const double curvature = (b - a) / (x2 - x0);
    const double top = x1 - 0.5 * (a - curvature * (x0 - x1)) / curvature;
    return curvature < 0 && top > x0 && top < x2 ? exp(top) : (double)NAN;
}

static tess_status extend(tess_de_tuner *t, bool is_position, double other, double ratio,
                          int64_t *best)
{
    for (int i = 0; i < MAX_EXTRA; i++) {
        int64_t below;
        int64_t above;
        int64_t index = 0;
        find_neighbours(t, is_position, *best, &below, &above);
        if (below >= 0 && above >= 0) {
            return TESS_OK;
        }
        const double at = value_of(t, is_position, *best);
        TESS_TRY(try_value(t, is_position, below < 0 ? at / ratio : at * ratio, other, &index));
        take_better(t, index, best);
    }
    return TESS_OK;
}

static tess_status refine(tess_de_tuner *t, bool is_position, double other, int64_t *best)
{
    for (int64_t i = 0; i < t->tune.n_refine; i++) {
        int64_t below;
        int64_t above;
        int64_t index = 0;
        find_neighbours(t, is_position, *best, &below, &above);
        if (below < 0 || above < 0) {
            return TESS_OK;
        }
        const double top = parabola_top(t, is_position, below, *best, above);
        if (isnan(top) || fabs(log(top / value_of(t, is_position, *best))) < FINE) {
            return TESS_OK;
        }
        TESS_TRY(try_value(t, is_position, top, other, &index));
        take_better(t, index, best);
    }
    return TESS_OK;
}

// step: from one bandwidth to the next, as a factor; n_side of them to either side.
static tess_status sweep(tess_de_tuner *t, bool is_position, double from, double other, double step,
                         double n_side, int64_t *best)
{
    int64_t below;
    int64_t above;
    *best = -1;
    t->n_sweep++;
    for (double i = -n_side; i <= n_side; i++) {
        int64_t index = 0;
        // In the middle it starts from, exactly.
        TESS_TRY(try_value(t, is_position, i == 0 ? from : from * pow(step, i), other, &index));
        take_better(t, index, best);
    }
    TESS_TRY(extend(t, is_position, other, step, best));
    TESS_TRY(refine(t, is_position, other, best));
    find_neighbours(t, is_position, *best, &below, &above);
    *(is_position ? &t->position_at_end : &t->waveform_at_end) = below < 0 || above < 0;
    return TESS_OK;
}

tess_status tess_de_tune_search(tess_de_tuner *t, double position_std, double waveform_std,
                                int64_t *best)
{
    int64_t found = 0;
    double n_side = 0.5 * (double)(t->tune.n_point - 1);
    double step = pow(t->tune.span, 1 / n_side);
    TESS_TRY(tess_de_tune_try(t, position_std, waveform_std, false, &found));
    for (int64_t round = 0; round < t->tune.max_rounds; round++) {
        const double before = position_std;
        if (t->has_waveform) {
            TESS_TRY(sweep(t, false, waveform_std, position_std, step, n_side, &found));
            waveform_std = t->candidates[found].waveform_std;
        }
        TESS_TRY(sweep(t, true, position_std, waveform_std, step, n_side, &found));
        position_std = t->candidates[found].position_std;
        // Where it stays, the waveform_std that was found for it stays too.
        if (!t->has_waveform || fabs(log(position_std / before)) < SETTLED) {
            break;
        }
        step = round == 0 ? sqrt(step) : step;
        n_side = n_side < NARROW ? n_side : NARROW;
    }
    *best = found;
    return TESS_OK;
}
