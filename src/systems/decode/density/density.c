#include "systems/decode/density/density.h"

#include "base/status.h"

#include <math.h>

// Targets of one block of the pool.
enum { BLOCK = 16 };

// Below so many pairs adding them all is quicker than sorting samples into cells.
static const double FEW_PAIRS = 1e6;

// exp(-u^2 / 2) beyond this is 0 in f64.
static const double ZERO_FROM = 1500;

static double pairs_at(const density_task *t, const double *target)
{
    double sum = 0;
    for (int64_t i = 0; i < t->n; i++) {
        double square = 0;
        for (int64_t k = 0; k < t->d; k++) {
            const double u = (target[k] - t->samples[i * t->d + k]) / t->std[k];
            square += u * u;
        }
        if (square < ZERO_FROM) {
            sum += (t->weights ? t->weights[i] : 1) * exp(-0.5 * square);
        }
    }
    return sum;
}

static tess_status pairs_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const density_task *t = arg;
    const int64_t end = (block + 1) * BLOCK < t->m ? (block + 1) * BLOCK : t->m;
    for (int64_t j = block * BLOCK; j < end; j++) {
        t->out[j] = t->scale * pairs_at(t, t->targets + j * t->d);
    }
    return TESS_OK;
}

tess_status tess_de_density(tess_context *ctx, tess_decode_mode mode, const double *samples,
                            const double *weights, int64_t n, int64_t d, const double *std,
                            const double *targets, int64_t m, double *out)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        total += weights ? weights[i] : 1;
    }
    double norm = total;
    for (int64_t k = 0; k < d; k++) {
        norm *= std[k] * 2.5066282746310005024; // sqrt(2 pi)
    }
    density_task task = {.ctx = ctx,
                         .samples = samples,
                         .weights = weights,
                         .targets = targets,
                         .std = std,
                         .n = n,
                         .m = m,
                         .d = d,
                         .scale = total > 0 ? 1 / norm : 0,
                         .out = out};
    bool done = false;
    if (mode != TESS_DECODE_EXACT && total > 0 && (double)n * (double)m > FEW_PAIRS) {
        TESS_TRY(tess_de_density_cells(&task, &done));
    }
    if (done) {
        return TESS_OK;
    }
    return tess_parallel_for(ctx->pool, (m + BLOCK - 1) / BLOCK, pairs_block, &task);
}
