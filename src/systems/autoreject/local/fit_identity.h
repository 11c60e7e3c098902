// What tells one fit from another: checkpoints of one do not serve the other.
#ifndef TESS_AUTOREJECT_LOCAL_FIT_IDENTITY_H
#define TESS_AUTOREJECT_LOCAL_FIT_IDENTITY_H

#include "systems/autoreject/local/fit_journal.h"

TESS_MUST_CHECK tess_status tess_ar_fit_identity_make(const tess_ar_setup *setup,
                                                      tess_ar_fit_identity *id);
// TESS_E_MISMATCH naming what differs.
TESS_MUST_CHECK tess_status tess_ar_fit_identity_compare(const tess_ar_fit_identity *found,
                                                         const tess_ar_fit_identity *own,
                                                         const char *path);

#endif
