// How many splits: as many as it takes until the choice does not change any more.
#ifndef TESS_AUTOREJECT_SPLITS_AUTO_H
#define TESS_AUTOREJECT_SPLITS_AUTO_H

#include "tessera/autoreject/fit.h"

// Numbers of splits that are tried: the first, its doubles, the last; and how often in a row the
// choice must be the one before.
enum { TESS_AR_FIRST_SPLITS = 10, TESS_AR_MOST_SPLITS = 160, TESS_AR_SAME_CHOICES = 2 };

typedef tess_status (*tess_ar_fit_fn)(tess_context *ctx, tess_autoreject_epochs *epochs,
                                      const tess_autoreject_fit_config *config,
                                      tess_autoreject_model **out);

// Fits with growing numbers of splits; config->n_split is not looked at. The model's notes say what
// came of it.
TESS_MUST_CHECK tess_status tess_ar_fit_auto(tess_context *ctx, tess_autoreject_epochs *epochs,
                                             const tess_autoreject_fit_config *config,
                                             tess_ar_fit_fn fit, tess_autoreject_model **out);

#endif
