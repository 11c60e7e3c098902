// The inside of a fitted model.
#ifndef TESS_AUTOREJECT_RESULT_MODEL_H
#define TESS_AUTOREJECT_RESULT_MODEL_H

#include "base/blocks.h"
#include "base/log.h"
#include "base/text.h"
#include "runtime/context.h"
#include "systems/autoreject/epochs/epochs.h"
#include "tessera/autoreject/interpolation.h"
#include "tessera/autoreject/reject_log.h"
#include "tessera/sys/json.h"

struct tess_autoreject_model {
    tess_context *ctx;
    tess_blocks memory; // what info and types point into
    tess_text notes;
    tess_autoreject_model_info info;
    tess_autoreject_type_fit types[TESS_AUTOREJECT_N_SOLVABLE];
    const char *stage;  // what made it, for provenance; static
    const char *input;  // path of the epochs, in memory; NULL: not known
    const char *origin; // provenance of one that was loaded, in memory; NULL: none
};

// A model without types.
TESS_MUST_CHECK tess_status tess_ar_model_new(tess_context *ctx, tess_autoreject_model **out);
// Adds a sentence to info.notes.
void tess_ar_model_note(tess_autoreject_model *model, const char *format, ...) TESS_PRINTF(2, 3);
// The same with the id of a warning behind it.
void tess_ar_model_warn(tess_autoreject_model *model, tess_warning warning, const char *format, ...)
    TESS_PRINTF(3, 4);
// Whether it was fitted to epochs of as many samples at the same rate; if not, a sentence.
enum { TESS_AR_SENTENCE = 240 };
bool tess_ar_model_other_samples(const tess_autoreject_model_info *model,
                                 const tess_autoreject_epochs_info *epochs,
                                 char sentence[TESS_AR_SENTENCE]);
// Copies names, picks, grids and origin into the model's memory.
TESS_MUST_CHECK tess_status tess_ar_model_own(tess_autoreject_model *model);
// Copies the arrays of a type that are not NULL.
TESS_MUST_CHECK tess_status tess_ar_model_own_type(tess_autoreject_model *model,
                                                   tess_autoreject_type_fit *type);
// Counts, indices and values that make sense; subject begins the message ("model", a path).
TESS_MUST_CHECK tess_status tess_ar_model_check(const tess_autoreject_model *model,
                                                const char *subject);
// How the model's channels are predicted.
tess_autoreject_interpolation_config
tess_ar_model_interpolation(const tess_autoreject_model_info *info);

// Channels of the model's types by name in other epochs; epochs_of has room for info.n_chan.
// TESS_E_MISMATCH naming those that are missing.
TESS_MUST_CHECK tess_status tess_ar_model_match(const tess_autoreject_model *model,
                                                const tess_autoreject_epochs *epochs,
                                                int64_t *epochs_of);

// model_table.c: thresholds and their errors, .tsv.
TESS_MUST_CHECK tess_status tess_ar_model_save_table(tess_context *ctx,
                                                     const tess_autoreject_model_info *info,
                                                     const char *path, int overwrite);
// model_file.c: how it was fitted; n_split 0: not known.
tess_autoreject_fit_config tess_ar_model_options(const tess_autoreject_model_info *info);
// 32 digits that tell a model from any other.
TESS_MUST_CHECK tess_status tess_ar_model_digest(tess_context *ctx,
                                                 const tess_autoreject_model *model,
                                                 char digest[33]);

struct tess_autoreject_log {
    tess_context *ctx;
    tess_blocks memory;
    tess_text notes;
    tess_autoreject_log_info info;
    const char *input; // path of the epochs, in memory; NULL: not known
    const char *path;  // of one that was loaded, in memory; NULL: it was not
};

// An empty log of this size, and its arrays to fill.
TESS_MUST_CHECK tess_status tess_ar_log_new(tess_context *ctx, int64_t n_epoch, int64_t n_chan,
                                            tess_autoreject_log **out, int8_t **labels,
                                            uint8_t **bad_epochs, const char ***names);
// log_json.c: an edited log, as pages export it. *log may be set where this fails.
#define TESS_AR_LOG_SCHEMA "tessera.autoreject.log/1"
TESS_MUST_CHECK tess_status tess_ar_log_load_json(tess_context *ctx, tess_blocks *memory,
                                                  const char *path, tess_autoreject_log **log);
// Its members ch_names, bad_epochs and labels.
void tess_ar_log_put(tess_json *json, const tess_autoreject_log_info *info);

// log_file.c: 32 digits that tell a log from any other.
void tess_ar_log_digest(const tess_autoreject_log *log, char digest[33]);
void tess_ar_log_note(tess_autoreject_log *log, const char *format, ...) TESS_PRINTF(2, 3);
void tess_ar_log_warn(tess_autoreject_log *log, tess_warning warning, const char *format, ...)
    TESS_PRINTF(3, 4);
// Warns of channels that are bad in most epochs.
void tess_ar_log_judge(tess_autoreject_log *log);

#endif
