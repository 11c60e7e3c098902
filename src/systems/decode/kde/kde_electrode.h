// The encoding spikes of a clusterless model, as the stage wants them.
#ifndef TESS_SYSTEMS_DECODE_KDE_ELECTRODE_H
#define TESS_SYSTEMS_DECODE_KDE_ELECTRODE_H

#include "systems/decode/kde/kde_grid.h"

// Spikes with a positive weight, per electrode.
typedef struct tess_de_kde_spikes {
    int64_t *n;     // [n_electrode]
    int64_t **kept; // [n_electrode] -> [n] numbers in the selection
    double **place; // [n_electrode] -> [n_dim][n], scaled
    double *total;  // [n_electrode] sum of weights
} tess_de_kde_spikes;

TESS_MUST_CHECK tess_status tess_de_kde_collect(tess_blocks *blocks,
                                                const tess_decode_encoding *encoding,
                                                const tess_de_selection *selection,
                                                tess_de_kde_spikes *out);

// Everything of the electrode but its offset; scratch may go afterwards.
TESS_MUST_CHECK tess_status tess_de_kde_fill(kde_model *kde, tess_blocks *scratch,
                                             const tess_decode_encoding *encoding,
                                             const tess_de_selection *selection,
                                             tess_de_kde_spikes *spikes, const kde_plan *plan,
                                             int64_t electrode);

double tess_de_kde_waveform_std(const tess_decode_encoding *encoding, int64_t feature);

// places [n][n_dim] (numbers kept; NULL: all) in units of sqrt(2) bandwidths: out [n_dim][n].
void tess_de_kde_scale_places(const double *places, int64_t n_dim, const double *std,
                              const int64_t *kept, int64_t n, double *out);

#endif
