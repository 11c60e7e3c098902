// The files of what is found besides a single fit: rates of any shape, joint fits.
#ifndef TESS_XPCS_RESULT_OUTCOME_H
#define TESS_XPCS_RESULT_OUTCOME_H

#include "systems/xpcs/result/arrays.h"

enum { TESS_XP_OUTCOME_PATH = 1000 };

typedef struct tess_xp_outcome {
    const char *stage;                              // "xpcs.rates"
    const char *identity;                           // 32 digits
    void (*put)(tess_json *json, const void *info); // the members of the JSON
    const void *info;
} tess_xp_outcome;

// An object that begins with its provenance, for tess_text_free().
TESS_MUST_CHECK tess_status tess_xp_outcome_json(tess_context *ctx, const tess_xp_outcome *outcome,
                                                 char **text);

// Before any file is written: the paths of n files of a folder, which is made, and whether they
// replace others. overwrite 1: they do; 2: only where the first is of this very computation; else
// one that is there is an error.
TESS_MUST_CHECK tess_status tess_xp_outcome_begin(tess_context *ctx, const tess_xp_outcome *outcome,
                                                  const char *folder, const char *const *names,
                                                  int n, int overwrite,
                                                  char (*paths)[TESS_XP_OUTCOME_PATH],
                                                  int *replace);

TESS_MUST_CHECK tess_status tess_xp_outcome_write_json(tess_context *ctx,
                                                       const tess_xp_outcome *outcome,
                                                       const char *path, int replace);
// What was added to arrays, with the provenance.
TESS_MUST_CHECK tess_status tess_xp_outcome_write_arrays(const tess_xp_outcome *outcome,
                                                         tess_xp_arrays *arrays, const char *path,
                                                         int replace);

#endif
