/** autoreject: thresholds by cross-validation, and the local search for consensus and repair. */
#ifndef TESSERA_AUTOREJECT_FIT_H
#define TESSERA_AUTOREJECT_FIT_H

#include "tessera/autoreject/epochs.h"

TESS_BEGIN_DECLS

/** How a channel's threshold is searched for. */
typedef enum tess_autoreject_search {
    TESS_AUTOREJECT_SEARCH_EXACT = 0,  /* the smallest objective of all candidates */
    TESS_AUTOREJECT_SEARCH_COMPAT = 1, /* the original's default: 41 quantiles and ten steps of its
                                          Gaussian process */
    TESS_AUTOREJECT_SEARCH_GRID = 2,   /* the 41 quantiles alone */
    TESS_AUTOREJECT_SEARCH_RANDOM = 3  /* the original's random search: 20 values */
} tess_autoreject_search;

typedef enum tess_autoreject_rho_mode {
    TESS_AUTOREJECT_RHO_INDEPENDENT = 0, /* each n_interpolate by itself, as published */
    TESS_AUTOREJECT_RHO_CUMULATIVE = 1   /* repairs carried from one value to the next, as the
                                            original does */
} tess_autoreject_rho_mode;

/** Options of a fit; scalars are described by table "autoreject.fit". */
typedef struct tess_autoreject_fit_config {
    uint32_t struct_size;
    int32_t search;   /* tess_autoreject_search */
    int32_t rho_mode; /* tess_autoreject_rho_mode */
    int32_t augment;  /* 1: the threshold search also sees every channel predicted from the rest */
    int32_t meg_dots; /* choice: direct table (the rounded table of MNE up to 1.12) */
    int32_t compat_types; /* 1: hbo, hbr, ecog and seeg are treated as the original does */
    int64_t n_split; /* of the threshold search; 10. 0, of a whole fit: 10, 20, 40 ... 160, until
                        consensus and n_interpolate of all types are the same three times in
                        a row; the model says with how many. Checkpoints of it then lie in
                        folders inside checkpoint_dir, and go when it is finished */
    int64_t n_fold;  /* of the local search; 10 */
    int64_t seed;    /* 0 .. 2^32-1 */
    /* Not in the table. Copied where they outlive the call. */
    const int64_t *picks; /* [n_pick] channel indices; NULL: default picks */
    int64_t n_pick;
    const double *consensus; /* [n_consensus]; NULL: 0, 0.1 ... 1 */
    int64_t n_consensus;
    /* [n_n_interpolate]; NULL: 1, 4, min(n_pick - 1, 32), and 0 before them if a type has too few
       channels to repair one. Values not less than the channels of a type are skipped for it. */
    const int64_t *n_interpolate;
    int64_t n_n_interpolate;
    const uint8_t *folds;     /* [n_fold][n_epoch]: 1 train, 2 test, 0 neither; NULL: contiguous */
    const double *eeg_origin; /* [3] centre the spline positions are taken from; NULL: 0, 0, 0 */
    const char *checkpoint_dir; /* NULL: none */
    int32_t resume;             /* 1: continue from checkpoint_dir if it holds this very fit */
    int32_t keep_finished;      /* 1: the checkpoint of a finished fit stays, and a resume gives the
                                   model at once; for callers that remove it with
                                   tess_checkpoint_clear() when their results are on the disk */
    double checkpoint_every_s;  /* 60; 0: after every tile */
} tess_autoreject_fit_config;

TESS_API void tess_autoreject_fit_config_init(tess_autoreject_fit_config *config,
                                              size_t struct_size);
TESS_API const tess_param_table *tess_autoreject_fit_params(void);

/** What was fitted: thresholds, and for a whole fit the table of losses and the choice. */
typedef struct tess_autoreject_model tess_autoreject_model;

/** The fit of the channels of one type; pointers live with the model. */
typedef struct tess_autoreject_type_fit {
    uint32_t struct_size;
    int32_t type;
    int64_t n_chan;
    const int64_t *channels;       /* [n_chan] index among the epochs' channels, ascending */
    const double *thresholds;      /* [n_chan] */
    const double *standard_errors; /* [n_chan] how far the threshold would lie with other epochs and
                                      splits */
    const double *objectives;      /* [n_chan] at the threshold */
    /* The objective at every candidate: channel c has n_candidate[c] of them, one channel after
       another. */
    const int64_t *n_candidate;
    const double *candidates;
    const double *candidate_objectives;
    int64_t consensus_index; /* the choice; -1: thresholds only */
    int64_t n_interpolate_index;
    double consensus;
    int64_t n_interpolate;
    const double *loss; /* [n_consensus][n_n_interpolate][n_fold]; inf: not admissible; NULL */
} tess_autoreject_type_fit;

typedef struct tess_autoreject_model_info {
    uint32_t struct_size;
    int32_t search;
    int32_t rho_mode;
    int32_t augment;
    int32_t meg_dots;
    int32_t compat_types;
    int64_t seed;
    int64_t n_split;
    int64_t n_fold;
    int64_t n_epoch; /* of the fit */
    int64_t n_time;
    double sampling_hz;
    int64_t n_chan; /* all channels of the epochs */
    const char *const *channel_names;
    int64_t n_pick;
    const int64_t *picks;
    int64_t n_consensus;
    const double *consensus;
    int64_t n_n_interpolate;
    const int64_t *n_interpolate;
    int64_t n_type;
    const tess_autoreject_type_fit *types;
    double seconds[4]; /* reading and peak-to-peak, thresholds, local search, all */
    const char *notes; /* warnings, a sentence per line; "" if nothing to say */
    const char *tessera_version;
    const double *eeg_origin; /* [3]; NULL: 0, 0, 0 */
} tess_autoreject_model_info;

TESS_API const tess_autoreject_model_info *
tess_autoreject_model_get_info(const tess_autoreject_model *model);
TESS_API void tess_autoreject_model_destroy(tess_autoreject_model *model);

/** Thresholds of every picked channel. config may be NULL. */
TESS_API TESS_MUST_CHECK tess_status
tess_autoreject_thresholds(tess_context *ctx, tess_autoreject_epochs *epochs,
                           const tess_autoreject_fit_config *config, tess_autoreject_model **out);

/** Thresholds, then the search for consensus and n_interpolate, for each channel type. */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_fit(tess_context *ctx,
                                                         tess_autoreject_epochs *epochs,
                                                         const tess_autoreject_fit_config *config,
                                                         tess_autoreject_model **out);

/** What a fit would need: strategy, tiles, memory, scratch file; computes nothing. */
typedef struct tess_autoreject_fit_plan {
    uint32_t struct_size;
    int32_t strategy; /* tess_strategy */
    uint64_t memory_bytes;
    uint64_t limit_bytes;
    uint64_t scratch_bytes; /* of the file of rearranged samples; 0: in memory */
    int64_t n_tile;
    char reason[192];
} tess_autoreject_fit_plan;

TESS_API TESS_MUST_CHECK tess_status tess_autoreject_fit_get_plan(
    tess_context *ctx, tess_autoreject_epochs *epochs, const tess_autoreject_fit_config *config,
    tess_autoreject_fit_plan *plan, size_t struct_size);

/** A model from parts, for those that were fitted elsewhere. types need type, channels,
 *  thresholds, consensus and n_interpolate only. */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_model_create(
    tess_context *ctx, const tess_autoreject_model_info *info, tess_autoreject_model **out);

/** path.tsv: a table of thresholds and their standard errors, a line per channel. Else a plain JSON
 *  file: thresholds, choice, loss, names, options, versions. The same fit gives the
 *  same bytes, whatever it was stopped by and however long it took. overwrite: 0 a file of this
 * name is TESS_E_EXISTS; 1 it is replaced; 2 it is replaced if it says that it is this very model,
 * left by a run that was stopped. */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_model_save(tess_context *ctx,
                                                                const tess_autoreject_model *model,
                                                                const char *path, int overwrite);
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_model_load(tess_context *ctx, const char *path,
                                                                tess_autoreject_model **out);

TESS_END_DECLS

#endif
