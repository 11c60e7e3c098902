#include "systems/autoreject/fit/splits_auto.h"

#include "base/file.h"
#include "base/status.h"
#include "runtime/comm.h"
#include "systems/autoreject/result/model.h"
#include "tessera/run.h"

#include <stdio.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

// Indices into the grids, of every type.
typedef struct choices {
    int64_t n;
    int64_t pairs[TESS_AUTOREJECT_N_SOLVABLE][2];
} choices;

static choices choices_of(const tess_autoreject_model *model)
{
    choices found = {.n = model->info.n_type};
    for (int64_t g = 0; g < found.n; g++) {
        found.pairs[g][0] = model->info.types[g].consensus_index;
        found.pairs[g][1] = model->info.types[g].n_interpolate_index;
    }
    return found;
}

static bool is_same(const choices *a, const choices *b)
{
    bool same = a->n == b->n;
    for (int64_t g = 0; same && g < a->n; g++) {
        same = a->pairs[g][0] == b->pairs[g][0] && a->pairs[g][1] == b->pairs[g][1];
    }
    return same;
}

static void folder_of(const tess_autoreject_fit_config *config, int64_t n_split,
                      char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/splits-%lld", config->checkpoint_dir, (long long)n_split);
}

// Every number of splits has a checkpoint of its own: what is finished is there at once when a
// stopped run goes on.
static tess_status fit_with(tess_context *ctx, tess_autoreject_epochs *epochs,
                            const tess_autoreject_fit_config *given, int64_t n_split,
                            tess_ar_fit_fn fit, tess_autoreject_model **out)
{
    char folder[PATH_BYTES];
    tess_autoreject_fit_config config = *given;
    config.n_split = n_split;
    if (given->checkpoint_dir) {
        folder_of(given, n_split, folder);
        TESS_TRY(tess_file_make_folders(folder));
        config.checkpoint_dir = folder;
        config.keep_finished = 1;
    }
    return fit(ctx, epochs, &config, out);
}

static tess_status clear_folders(tess_context *ctx, const tess_autoreject_fit_config *config)
{
    for (int64_t n = TESS_AR_FIRST_SPLITS; n <= TESS_AR_MOST_SPLITS; n *= 2) {
        char folder[PATH_BYTES];
        folder_of(config, n, folder);
        if (access(folder, F_OK) == 0) {
            TESS_TRY(tess_checkpoint_clear(ctx, folder));
        }
    }
    (void)rmdir(config->checkpoint_dir); // unless the caller keeps something there
    return TESS_OK;
}

static void say(tess_autoreject_model *model, int64_t n_split, int64_t n_same)
{
    if (n_same >= TESS_AR_SAME_CHOICES) {
        tess_ar_model_note(
            model,
            "n_split was chosen: consensus and n_interpolate are the same with %lld, "
            "%lld and %lld splits.",
            (long long)n_split / 4, (long long)n_split / 2, (long long)n_split);
    } else {
        tess_ar_model_note(model,
                           "n_split was chosen, and its limit of %lld was reached: consensus or "
                           "n_interpolate still changed from %lld to %lld splits or before. The "
                           "choice depends on the seed; look at the losses of neighbouring values.",
                           (long long)n_split, (long long)n_split / 4, (long long)n_split / 2);
    }
}

tess_status tess_ar_fit_auto(tess_context *ctx, tess_autoreject_epochs *epochs,
                             const tess_autoreject_fit_config *config, tess_ar_fit_fn fit,
                             tess_autoreject_model **out)
{
    choices before = {0};
    int64_t n_same = 0;
    tess_autoreject_model *model = NULL;
    tess_status status = TESS_OK;
    for (int64_t n = TESS_AR_FIRST_SPLITS; status == TESS_OK && n <= TESS_AR_MOST_SPLITS; n *= 2) {
        tess_autoreject_model_destroy(model);
        model = NULL;
        status = fit_with(ctx, epochs, config, n, fit, &model);
        if (status != TESS_OK) {
            break;
        }
        const choices now = choices_of(model);
        n_same = n > TESS_AR_FIRST_SPLITS && is_same(&now, &before) ? n_same + 1 : 0;
        before = now;
        if (n_same >= TESS_AR_SAME_CHOICES || n == TESS_AR_MOST_SPLITS) {
            say(model, n, n_same);
            break;
        }
    }
    if (status == TESS_OK && config->checkpoint_dir && tess_comm_is_first(ctx)) {
        status = clear_folders(ctx, config);
    }
    if (status != TESS_OK) {
        tess_autoreject_model_destroy(model);
        return status;
    }
    *out = model;
    return TESS_OK;
}
