#include "systems/autoreject/epochs/identity.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// Epochs whose samples stand for all of them.
enum { N_SAMPLE_EPOCH = 16 };

static tess_status hash_samples(tess_context *ctx, const tess_autoreject_epochs *epochs,
                                const int64_t *picks, int64_t n_pick, tess_hash *hash)
{
    const tess_autoreject_epochs_info *info = &epochs->info;
    const tess_ar_reader *reader = &epochs->reader;
    tess_heap *heap = &ctx->heap;
    const size_t bytes = (size_t)(n_pick * info->n_time) * sizeof(double);
    double *x = tess_heap_alloc(heap, bytes, TESS_TAG_SCRATCH, "an epoch");
    tess_status status = x ? TESS_OK : TESS_E_MEMORY;
    const int64_t n = info->n_epoch < N_SAMPLE_EPOCH ? info->n_epoch : N_SAMPLE_EPOCH;
    for (int64_t i = 0; status == TESS_OK && i < n; i++) {
        const int64_t epoch = n > 1 ? i * (info->n_epoch - 1) / (n - 1) : 0;
        status = reader->read(ctx, reader->impl, epoch, 1, picks, n_pick, x);
        if (status == TESS_OK) {
            tess_hash_mix(hash, x, bytes);
        }
    }
    tess_heap_free(heap, x, bytes, TESS_TAG_SCRATCH);
    return status;
}

static tess_hash hash_sensors(const tess_autoreject_sensors *sensors, const int64_t *picks,
                              int64_t n_pick)
{
    tess_hash hash = {0, 0};
    for (int64_t i = 0; i < n_pick; i++) {
        const tess_autoreject_channel *channel = &sensors->channels[picks[i]];
        tess_hash_mix(&hash, channel->name, strlen(channel->name));
        tess_hash_mix(&hash, &channel->type, sizeof channel->type);
        tess_hash_mix(&hash, &channel->coil_type, sizeof channel->coil_type);
        tess_hash_mix(&hash, channel->loc, sizeof channel->loc);
    }
    tess_hash_mix(&hash, picks, (size_t)n_pick * sizeof *picks);
    tess_hash_mix(&hash, sensors->device_to_head, sizeof sensors->device_to_head);
    for (int64_t i = 0; i < sensors->n_projector; i++) {
        const tess_autoreject_projector *p = &sensors->projectors[i];
        tess_hash_mix(&hash, &p->is_active, sizeof p->is_active);
        tess_hash_mix(&hash, p->vectors, (size_t)(p->n_vector * p->n_chan) * sizeof *p->vectors);
    }
    return hash;
}

tess_status tess_ar_identity_add_epochs(tess_identity *id, tess_context *ctx,
                                        const tess_autoreject_epochs *epochs, const int64_t *picks,
                                        int64_t n_pick)
{
    char size[96];
    tess_hash samples = {0, 0};
    snprintf(size, sizeof size, "%lld epochs of %lld channels and %lld samples",
             (long long)epochs->info.n_epoch, (long long)n_pick, (long long)epochs->info.n_time);
    tess_identity_add(id, "had *, this run has *", size);
    tess_identity_add_hash(id,
                           "channels, their positions or their picks differ from those of this run",
                           hash_sensors(&epochs->sensors, picks, n_pick));
    TESS_TRY(hash_samples(ctx, epochs, picks, n_pick, &samples));
    tess_identity_add_hash(id, "the samples differ from those of this run", samples);
    return TESS_OK;
}

void tess_ar_identity_add_file(tess_identity *id, const tess_autoreject_epochs *epochs)
{
    struct stat file;
    tess_hash hash = {0, 0};
    if (epochs->info.path[0] && stat(epochs->info.path, &file) == 0) {
        const int64_t facts[3] = {file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
        tess_hash_mix(&hash, facts, sizeof facts);
    }
    tess_identity_add_hash(id,
                           "the samples differ from those of this run: their file was written "
                           "or copied since",
                           hash);
}
