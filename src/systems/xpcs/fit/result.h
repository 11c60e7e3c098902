// The inside of tess_xpcs_result.
#ifndef TESS_XPCS_FIT_RESULT_H
#define TESS_XPCS_FIT_RESULT_H

#include "runtime/context.h"
#include "tessera/xpcs/result.h"

struct tess_xpcs_result {
    tess_context *ctx;
    tess_xpcs_result_info info; // its pointers lead into what follows
    void *block;                // all numbers
    size_t block_bytes;
    const char *names[TESS_XPCS_MAX_PARAM];
    char *texts[8]; // message, warnings, recovery, device, path, fingerprint, hash, identity

    // The arrays of info, to be filled.
    double *theta;
    double *sd;
    double *contrast;
    double *contrast_sd;
    double *offset;
    double *offset_sd;
    double *covariance;
    double *correlation;
    double *start;
    double *lower;
    double *upper;
    double *phi;
    double *q;
    double *sigma;
    double *reduced_chi2_angle;
    double *bootstrap_sd;
    double *bootstrap;
    int64_t *n_used_angle;
    int32_t *status;
    int32_t *contrast_status;
    int32_t *offset_status;
    tess_xpcs_trace *trace;
    tess_xpcs_basin *basins;

    double signal; // of the covariance: squares of contrasts by their errors at fixed theta, summed
};

typedef struct tess_xp_result_sizes {
    int32_t mode;
    int64_t n_angle;
    int64_t n_trace;
    int64_t n_basin;
    int64_t n_bootstrap; // 0: none
} tess_xp_result_sizes;

// Room for a result, zeroed, with names, version and empty texts.
TESS_MUST_CHECK tess_status tess_xp_result_create(tess_context *ctx,
                                                  const tess_xp_result_sizes *sizes,
                                                  tess_xpcs_result **out);

typedef enum tess_xp_result_text {
    TESS_XP_TEXT_MESSAGE = 0,
    TESS_XP_TEXT_WARNINGS = 1,
    TESS_XP_TEXT_RECOVERY = 2,
    TESS_XP_TEXT_DEVICE = 3,
    TESS_XP_TEXT_PATH = 4,
    TESS_XP_TEXT_FINGERPRINT = 5,
    TESS_XP_TEXT_CONFIG_HASH = 6,
    TESS_XP_TEXT_IDENTITY = 7
} tess_xp_result_text;

// Copies the text; NULL: "".
TESS_MUST_CHECK tess_status tess_xp_result_set_text(tess_xpcs_result *result,
                                                    tess_xp_result_text which, const char *text);

#endif
