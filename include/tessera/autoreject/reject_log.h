/** autoreject: the reject log, and the repair of epochs by it. */
#ifndef TESSERA_AUTOREJECT_REJECT_LOG_H
#define TESSERA_AUTOREJECT_REJECT_LOG_H

#include "tessera/autoreject/fit.h"

TESS_BEGIN_DECLS

typedef struct tess_autoreject_log tess_autoreject_log;

/** Pointers live with the log. */
typedef struct tess_autoreject_log_info {
    uint32_t struct_size;
    int32_t reserved;
    int64_t n_epoch;
    int64_t n_chan;
    const char *const *channel_names; /* [n_chan] */
    const int8_t *labels;      /* [n_epoch][n_chan] 0 good, 1 bad, 2 bad and interpolated, -1 not
                                  considered */
    const uint8_t *bad_epochs; /* [n_epoch] */
    const char *notes;         /* a sentence per line; "" if nothing to say */
} tess_autoreject_log_info;

TESS_API const tess_autoreject_log_info *
tess_autoreject_log_get_info(const tess_autoreject_log *log);
TESS_API void tess_autoreject_log_destroy(tess_autoreject_log *log);

/** Votes of the model's thresholds on these epochs, what is repaired, which epochs are dropped.
 *  Channels are matched by name; those of the model must all be there. */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_log_compute(tess_context *ctx,
                                                                 const tess_autoreject_model *model,
                                                                 tess_autoreject_epochs *epochs,
                                                                 tess_autoreject_log **out);

/** A log from a caller's table (an edited one). */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_log_create(
    tess_context *ctx, const tess_autoreject_log_info *info, tess_autoreject_log **out);

/** .npz with ch_names, bad_epochs and labels (NaN: not considered), as the original writes.
 *  overwrite as of models (fit.h). */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_log_save(tess_context *ctx,
                                                              const tess_autoreject_log *log,
                                                              const char *path, int overwrite);
/** One of ours, of the original, or an edited one as a page of a report exports it, .json. */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_log_load(tess_context *ctx, const char *path,
                                                              tess_autoreject_log **out);

/** Options of a transform; described by table "autoreject.transform". */
typedef struct tess_autoreject_transform_config {
    uint32_t struct_size;
    int32_t keep_bad;     /* 1: bad epochs stay */
    int32_t drop_partial; /* 1: epochs with bad channels that are not repaired are dropped too */
    int32_t double_precision; /* of a FIF file */
    /* Not in the table. */
    int32_t overwrite;
    int32_t resume; /* 1: continue from checkpoint_dir if it holds this very transform, and do
                       nothing if the file is there already as its result */
    const char *checkpoint_dir; /* where repaired epochs are kept until all are; NULL: nowhere */
    double checkpoint_every_s;  /* 60; 0: after every block of epochs */
} tess_autoreject_transform_config;

TESS_API void tess_autoreject_transform_config_init(tess_autoreject_transform_config *config,
                                                    size_t struct_size);
TESS_API const tess_param_table *tess_autoreject_transform_params(void);

/**
 * Repairs the surviving epochs and leaves out the others.
 *
 * model  in   for the options of interpolation; the log says what is repaired.
 * out    out  f64 [n_kept][n_chan][n_time] host, or NULL with path. Both NULL: only n_kept.
 * path   in   .fif, .fif.gz, .npy or .npz; NULL with out.
 * n_kept out  may be NULL.
 */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_transform(
    tess_context *ctx, const tess_autoreject_model *model, tess_autoreject_epochs *epochs,
    const tess_autoreject_log *log, const tess_autoreject_transform_config *config, tess_array *out,
    const char *path, int64_t *n_kept);

TESS_END_DECLS

#endif
