#include "systems/xpcs/report/lags.h"

#include <math.h>

static void add(tess_xp_sum *to, const tess_xp_sum *sum)
{
    to->measured += sum->measured;
    to->fitted += sum->fitted;
    to->residual += sum->residual;
    to->squares += sum->squares;
    to->n += sum->n;
}

void tess_xp_lag_bins(const tess_xp_sum *sums, int64_t n_frame, double dt_s, tess_xp_lag_curve *out)
{
    const double growth = pow((double)n_frame, 1.0 / (TESS_XP_LAG_BINS - 1));
    out->n = 0;
    int64_t lag = 1;
    for (double edge = 1; lag < n_frame && out->n < TESS_XP_LAG_BINS; edge *= growth) {
        tess_xp_sum all = {0};
        double moment = 0;
        for (; lag < n_frame && (double)lag < edge * growth; lag++) {
            add(&all, &sums[lag]);
            moment += (double)lag * (double)sums[lag].n;
        }
        if (all.n > 0) {
            const double n = (double)all.n;
            const int64_t k = out->n++;
            out->tau[k] = moment / n * dt_s;
            out->measured[k] = all.measured / n;
            out->fitted[k] = all.fitted / n;
            out->residual[k] = all.residual / n;
            out->rms[k] = sqrt(all.squares / n);
            out->scatter[k] = 1 / sqrt(n);
        }
    }
}
