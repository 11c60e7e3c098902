// Writing epochs: what all formats have in common, and plain arrays.
#include "base/file.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/origin.h"
#include "runtime/provenance.h"
#include "runtime/watch.h"
#include "systems/autoreject/files/eeglab_write.h"
#include "systems/autoreject/files/recording.h"
#include "tessera/io.h"

#include <string.h>
#include <unistd.h>

enum { CHUNK_BYTES = 8 << 20 };

static bool ends_with(const char *path, const char *ending)
{
    const size_t n = strlen(path);
    const size_t n_ending = strlen(ending);
    return n > n_ending && strcmp(path + n - n_ending, ending) == 0;
}

static int64_t count_kept(const tess_autoreject_epochs *epochs,
                          const tess_autoreject_write_config *config)
{
    int64_t n = 0;
    for (int64_t e = 0; e < epochs->info.n_epoch; e++) {
        n += !config->drop || !config->drop[e];
    }
    return n;
}

// Arrays keep the precision they came with. Other formats calibrate their samples, which single
// precision does not hold; integers do not hold what is repaired.
static tess_dtype dtype_of(const tess_autoreject_epochs *epochs,
                           const tess_autoreject_write_config *config)
{
    const bool is_array = strncmp(epochs->info.format, "np", 2) == 0;
    const bool is_single = is_array && epochs->info.stored_dtype == (int32_t)TESS_F32;
    return is_single && !config->double_precision ? TESS_F32 : TESS_F64;
}

// Where samples go: a sink, or a spool.
typedef struct target {
    tess_sink *sink; // NULL: the spool
    tess_spool *spool;
    tess_dtype dtype;
    int64_t n_kept;
    int64_t epoch_samples;
} target;

// Rounds in place where singles are stored: no sample is overwritten before it was read.
static tess_status put(const target *to, int64_t first, int64_t count, double *samples)
{
    const int64_t n = count * to->epoch_samples;
    uint64_t bytes = (uint64_t)n * sizeof *samples;
    if (to->dtype == TESS_F32) {
        char *singles = (char *)samples;
        for (int64_t i = 0; i < n; i++) {
            const float single = (float)samples[i];
            memcpy(singles + (size_t)i * sizeof single, &single, sizeof single);
        }
        bytes = (uint64_t)n * sizeof(float);
    }
    return to->sink ? tess_sink_write(to->sink, first, count, samples, bytes)
                    : tess_spool_write(to->spool, first, count, samples);
}

// Runs of kept epochs, as many at once as the buffer takes.
static tess_status copy_runs(tess_context *ctx, tess_autoreject_epochs *epochs,
                             const tess_autoreject_write_config *config, int64_t at_once,
                             double *samples, const target *to)
{
    const int64_t n_epoch = epochs->info.n_epoch;
    tess_watch progress;
    tess_watch_begin(&progress, ctx, "autoreject.write", "epochs", 0,
                     (uint64_t)(to->n_kept * to->epoch_samples) * sizeof(double),
                     TESS_STRATEGY_CHUNKED);
    int64_t n_done = 0;
    for (int64_t e = 0; e < n_epoch;) {
        int64_t n = 0;
        while (e + n < n_epoch && n < at_once && !(config->drop && config->drop[e + n])) {
            n++;
        }
        if (n == 0) {
            e++;
            continue;
        }
        TESS_TRY(tess_watch_poll(&progress, n_done, to->n_kept));
        TESS_TRY(tess_autoreject_epochs_read(ctx, epochs, e, n, NULL, 0, samples));
        if (config->edit) {
            TESS_TRY(config->edit(config->user, e, n, samples));
        }
        TESS_TRY(put(to, n_done, n, samples));
        e += n;
        n_done += n;
    }
    return tess_watch_poll(&progress, n_done, to->n_kept);
}

static tess_status copy_epochs(tess_context *ctx, tess_autoreject_epochs *epochs,
                               const tess_autoreject_write_config *config, const target *to)
{
    const size_t epoch_bytes = (size_t)to->epoch_samples * sizeof(double);
    int64_t at_once = (int64_t)(CHUNK_BYTES / epoch_bytes);
    at_once = at_once < 1 ? 1 : at_once < to->n_kept ? at_once : to->n_kept;
    const size_t bytes = (size_t)at_once * epoch_bytes;
    double *samples = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_IO, "epochs to write");
    const tess_status status =
        samples ? copy_runs(ctx, epochs, config, at_once, samples, to) : TESS_E_MEMORY;
    tess_heap_free(&ctx->heap, samples, bytes, TESS_TAG_IO);
    return status;
}

static tess_status write_npy(tess_context *ctx, tess_autoreject_epochs *epochs, const char *path,
                             const tess_autoreject_write_config *config, const int64_t *shape)
{
    tess_sink_config sink_config;
    tess_sink *sink = NULL;
    tess_sink_config_init(&sink_config, sizeof sink_config);
    sink_config.overwrite = config->overwrite;
    const tess_dtype dtype = dtype_of(epochs, config);
    TESS_TRY(tess_sink_create(ctx, path, &sink_config, dtype, 3, shape, &sink));
    const target to = {
        .sink = sink, .dtype = dtype, .n_kept = shape[0], .epoch_samples = shape[1] * shape[2]};
    tess_status status =
        config->provenance ? tess_sink_set_provenance(sink, config->provenance) : TESS_OK;
    if (status == TESS_OK) {
        status = copy_epochs(ctx, epochs, config, &to);
    }
    if (status == TESS_OK) {
        status = tess_sink_commit(sink);
    }
    tess_sink_close(sink);
    return status;
}

// The samples go to a file of their own, from which they become part of the result: memory stays
// bounded, and the result appears whole.
static tess_status write_npz(tess_context *ctx, tess_autoreject_epochs *epochs, const char *path,
                             const tess_autoreject_write_config *config, const int64_t *shape)
{
    tess_array array;
    tess_spool spool;
    if (!config->overwrite && access(path, F_OK) == 0) {
        TESS_FAIL(TESS_E_EXISTS, "%s: exists already; use overwrite, or another name", path);
    }
    const tess_dtype dtype = dtype_of(epochs, config);
    TESS_TRY(tess_array_init(&array, NULL, dtype, 3, shape));
    TESS_TRY(tess_spool_create(path, &array, &spool));
    const target to = {
        .spool = &spool, .dtype = dtype, .n_kept = shape[0], .epoch_samples = shape[1] * shape[2]};
    tess_status status = copy_epochs(ctx, epochs, config, &to);
    if (status == TESS_OK) {
        status = tess_ar_write_npz(ctx, epochs, path, config, &array, &spool);
    }
    tess_spool_close(&spool);
    return status;
}

static tess_status write_epochs(tess_context *ctx, tess_autoreject_epochs *epochs, const char *path,
                                tess_autoreject_write_config *config, int64_t n_kept)
{
    const int64_t shape[3] = {n_kept, epochs->sensors.n_chan, epochs->info.n_time};
    if (ends_with(path, ".fif") || ends_with(path, ".fif.gz")) {
        return tess_ar_fif_write(ctx, epochs, path, config);
    }
    config->overwrite = tess_provenance_overwrite(ctx, path, config->provenance, config->overwrite);
    if (ends_with(path, ".set")) {
        return tess_ar_eeglab_write(ctx, epochs, path, config, n_kept);
    }
    if (ends_with(path, ".npy")) {
        return write_npy(ctx, epochs, path, config, shape);
    }
    if (ends_with(path, ".npz")) {
        return write_npz(ctx, epochs, path, config, shape);
    }
    TESS_FAIL(TESS_E_ARGUMENT, "%s: epochs are written as .fif, .fif.gz, .set, .npy or .npz", path);
}

tess_status tess_autoreject_epochs_write(tess_context *ctx, tess_autoreject_epochs *epochs,
                                         const char *path,
                                         const tess_autoreject_write_config *given)
{
    tess_error_clear();
    const char *input = epochs->info.path;
    const tess_origin origin = {.stage = "autoreject.epochs", .inputs = {input[0] ? input : NULL}};
    char *text = NULL;
    size_t bytes = 0;
    tess_autoreject_write_config config;
    tess_autoreject_write_config_init(&config, sizeof config);
    if (given) {
        TESS_TRY(tess_struct_read(given, &config, sizeof config, "config"));
    }
    const int64_t n_kept = count_kept(epochs, &config);
    if (n_kept == 0) {
        TESS_FAIL(TESS_E_SHAPE, "%s: all %lld epochs are dropped; there is nothing to write", path,
                  (long long)epochs->info.n_epoch);
    }
    TESS_TRY(tess_file_check_distinct(epochs->info.path, path));
    if (!config.provenance) {
        TESS_TRY(tess_origin_make(ctx, &origin, &text, &bytes));
        config.provenance = text;
    }
    const tess_status status = write_epochs(ctx, epochs, path, &config, n_kept);
    tess_heap_free(&ctx->heap, text, bytes, TESS_TAG_RESULT);
    return status;
}
