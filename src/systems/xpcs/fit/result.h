// Room for what a fit found.
#ifndef TESS_XPCS_FIT_RESULT_H
#define TESS_XPCS_FIT_RESULT_H

#include "systems/xpcs/xpcs.h"

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

// Lets the pointers of info lead to the result's arrays, and its texts be empty.
void tess_xp_result_publish(tess_xpcs_result *result);

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
