// What one spike says of all places, and into which class a latency falls.
#include "systems/decode/online/learn.h"

static void learned_values(online_learner *learner, int64_t version, int64_t electrode,
                           const float *mark, void *scratch, float *values)
{
    const learn_model *model = learn_model_of(learner, version);
    if (!learner->is_sorted) {
        learner->single.spike(learner->single.handle, &model->stage, electrode, mark, scratch,
                              values);
        return;
    }
    const double *log_field = model->log_field + electrode * learner->n_bin;
    for (int64_t p = 0; p < learner->n_bin; p++) {
        values[p] = (float)log_field[p];
    }
}

int tess_de_online_is_deaf(const tess_decode_online *online, int64_t version, int64_t electrode)
{
    return online->learner ? learn_model_of(online->learner, version)->is_deaf[electrode]
                           : online->rings[electrode].is_deaf;
}

void tess_de_online_evaluate(const tess_decode_online *online, int64_t version, int64_t electrode,
                             const float *mark, void *scratch, float *values)
{
    if (online->learner) {
        learned_values(online->learner, version, electrode, mark, scratch, values);
        return;
    }
    for (int32_t k = 0; k < online->n_encoding; k++) {
        const online_encoding *e = &online->encodings[k];
        e->encoding->ops->single->spike(e->encoding, electrode, mark, scratch, values + e->first);
    }
}

int tess_de_latency_bin(double seconds)
{
    int k = 0;
    while (k < TESS_DECODE_LATENCY_BINS - 1 && seconds * 1e6 >= (double)(1u << k)) {
        k++;
    }
    return k;
}
