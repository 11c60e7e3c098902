/** xpcs: the original's configuration files. */
#ifndef TESSERA_XPCS_SETTINGS_H
#define TESSERA_XPCS_SETTINGS_H

#include "tessera/xpcs/posterior.h"

TESS_BEGIN_DECLS

/** A configuration file (YAML or JSON of homodyne), checked and resolved. */
typedef struct tess_xpcs_settings tess_xpcs_settings;

/** What the file says, as the structs other calls take. Pointers live with the settings. */
typedef struct tess_xpcs_settings_info {
    uint32_t struct_size;
    int32_t has_sigma;         /* 1: the file names a sigma */
    const char *data_path;     /* "" if the file names none; relative to the working directory, with
                                  the file's folder where it is found there alone */
    const char *output_folder; /* "" if none */
    tess_xpcs_model model;     /* dt 0 where the file has none */
    tess_xpcs_data_config data;
    tess_xpcs_fit_config fit;
    int32_t save_plots;          /* -1: not said */
    int32_t log_level;           /* tess_log_level; -1: not said */
    int64_t n_thread;            /* 0: not said */
    uint64_t memory_limit_bytes; /* 0: not said */
    const char *device;          /* "" if not said */
    const char *method;          /* "nlsq", "cmc", ... */
    const char *notices;         /* what was ignored or read in another way, a line each */
    const tess_xpcs_sample_config *sample; /* optimization.mcmc and the priors */
} tess_xpcs_settings_info;

/**
 * Reads and checks a file. Unknown keys are errors with line and nearest key, warnings in notices
 * where lenient is 1. Everything else that is wrong is an error with file, line and column. path
 * NULL: all defaults.
 */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_settings_load(tess_context *ctx, const char *path,
                                                             int lenient, tess_xpcs_settings **out);
/** Sets one value as if the file had said so: key "optimization.nlsq.loss", text "huber";
 *  "initial_parameters.values.D0" is the start of one parameter; lists are "1, 2" or "[1, 2]". A
 *  failure leaves everything as it was. info stays where it is; what it points to may move. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_settings_set(tess_xpcs_settings *settings,
                                                            const char *key, const char *text);
TESS_API const tess_xpcs_settings_info *
tess_xpcs_settings_get_info(const tess_xpcs_settings *settings);
TESS_API void tess_xpcs_settings_destroy(tess_xpcs_settings *settings);

/** Everything in force as JSON, key path by key path, for tess_text_free(). */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_settings_json(tess_context *ctx,
                                                             const tess_xpcs_settings *settings,
                                                             char **text);
/** A commented template for a mode, for tess_text_free(). */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_settings_template(tess_context *ctx,
                                                                 tess_xpcs_mode mode, int minimal,
                                                                 char **text);

TESS_END_DECLS

#endif
