// The mixtures of a clusterless GMM, shown to callers.
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/gmm/gmm.h"
#include "tessera/decode/fitted.h"

static const tess_mixture *mixture_of(const tess_de_gmm *gmm, int32_t density, int64_t electrode)
{
    switch ((tess_decode_density)density) {
    case TESS_DECODE_DENSITY_OCCUPANCY:
        return &gmm->occupancy;
    case TESS_DECODE_DENSITY_GROUND:
        return &gmm->ground[electrode];
    case TESS_DECODE_DENSITY_JOINT:
        return &gmm->joint[electrode];
    }
    return NULL;
}

tess_status tess_decode_encoding_get_mixture(const tess_decode_encoding *encoding, int32_t density,
                                             int64_t electrode, tess_decode_mixture *out)
{
    tess_error_clear();
    if (encoding->ops != &tess_de_gmm_ops) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "encoding: %s has no mixtures; clusterless_gmm has them",
                  encoding->ops->name);
    }
    const tess_de_gmm *gmm = encoding->model;
    if (density != TESS_DECODE_DENSITY_OCCUPANCY &&
        (electrode < 0 || electrode >= gmm->n_electrode)) {
        TESS_FAIL(TESS_E_RANGE, "electrode: %lld; the model has %lld", (long long)electrode,
                  (long long)gmm->n_electrode);
    }
    const tess_mixture *m = mixture_of(gmm, density, electrode);
    if (!m) {
        TESS_FAIL(TESS_E_ARGUMENT, "density: %d is none of tess_decode_density", (int)density);
    }
    const tess_decode_mixture found = {.struct_size = sizeof found,
                                       .converged = m->converged,
                                       .n_component = m->n_component,
                                       .n_dim = m->n_dim,
                                       .n_iteration = m->n_iteration,
                                       .mean_log_likelihood = m->mean_log_likelihood,
                                       .mean = m->mean,
                                       .factor = m->factor,
                                       .log_norm = m->log_norm};
    tess_struct_init(out, out->struct_size, &found, sizeof found);
    return TESS_OK;
}
