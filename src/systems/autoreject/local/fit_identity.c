#include "systems/autoreject/local/fit_identity.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// Epochs, evenly spaced, whose samples stand for all of them beside size and date of the file.
enum { N_SAMPLE_EPOCH = 16 };

static void mix(tess_hash *hash, const void *data, size_t bytes)
{
    if (bytes == 0) {
        return;
    }
    const tess_hash parts[2] = {*hash, tess_hash_bytes(tess_hash_default(), data, bytes)};
    *hash = tess_hash_bytes(tess_hash_default(), parts, sizeof parts);
}

static tess_status hash_samples(const tess_ar_setup *s, tess_hash *hash)
{
    const tess_autoreject_epochs_info *info = &s->epochs->info;
    const size_t bytes = (size_t)(s->n_pick * info->n_time) * sizeof(double);
    const tess_ar_reader *reader = &s->epochs->reader;
    struct stat file;
    if (info->path[0] && stat(info->path, &file) == 0) {
        const int64_t facts[3] = {file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
        mix(hash, facts, sizeof facts);
    }
    double *x = tess_heap_alloc(&s->ctx->heap, bytes, TESS_TAG_SCRATCH, "an epoch");
    tess_status status = x ? TESS_OK : TESS_E_MEMORY;
    const int64_t n = info->n_epoch < N_SAMPLE_EPOCH ? info->n_epoch : N_SAMPLE_EPOCH;
    for (int64_t i = 0; status == TESS_OK && i < n; i++) {
        const int64_t epoch = n > 1 ? i * (info->n_epoch - 1) / (n - 1) : 0;
        status = reader->read(s->ctx, reader->impl, epoch, 1, s->picks, s->n_pick, x);
        if (status == TESS_OK) {
            mix(hash, x, bytes);
        }
    }
    tess_heap_free(&s->ctx->heap, x, bytes, TESS_TAG_SCRATCH);
    return status;
}

static void hash_sensors(const tess_ar_setup *s, tess_hash *hash)
{
    const tess_autoreject_sensors *sensors = &s->epochs->sensors;
    for (int64_t i = 0; i < s->n_pick; i++) {
        const tess_autoreject_channel *channel = &sensors->channels[s->picks[i]];
        mix(hash, channel->name, strlen(channel->name));
        mix(hash, &channel->type, sizeof channel->type);
        mix(hash, &channel->coil_type, sizeof channel->coil_type);
        mix(hash, channel->loc, sizeof channel->loc);
    }
    mix(hash, s->picks, (size_t)s->n_pick * sizeof *s->picks);
    mix(hash, sensors->device_to_head, sizeof sensors->device_to_head);
    for (int64_t i = 0; i < sensors->n_projector; i++) {
        const tess_autoreject_projector *p = &sensors->projectors[i];
        mix(hash, &p->is_active, sizeof p->is_active);
        mix(hash, p->vectors, (size_t)(p->n_vector * p->n_chan) * sizeof *p->vectors);
    }
    if (s->config.eeg_origin) {
        mix(hash, s->config.eeg_origin, 3 * sizeof *s->config.eeg_origin);
    }
}

static void write_settings(const tess_ar_setup *s, char *text, size_t capacity)
{
    const tess_param_table *table = tess_autoreject_fit_params();
    size_t used = (size_t)snprintf(text, capacity, "%s", s->thresholds_only ? "thresholds" : "fit");
    for (int64_t i = 0; i < table->n_param && used < capacity; i++) {
        char value[64];
        tess_param_get_text(&table->params[i], &s->config, value, sizeof value);
        used +=
            (size_t)snprintf(text + used, capacity - used, ";%s=%s", table->params[i].name, value);
    }
}

tess_status tess_ar_fit_identity_make(const tess_ar_setup *s, tess_ar_fit_identity *id)
{
    memset(id, 0, sizeof *id);
    snprintf(id->version, sizeof id->version, "%s", TESS_VERSION);
    snprintf(id->backend, sizeof id->backend, "%s", s->ctx->cpu.backend->name);
    write_settings(s, id->settings, sizeof id->settings);
    hash_sensors(s, &id->sensors);
    mix(&id->grids, s->consensus, (size_t)s->n_consensus * sizeof *s->consensus);
    mix(&id->grids, s->n_interpolate, (size_t)s->n_n_interpolate * sizeof *s->n_interpolate);
    mix(&id->folds, s->folds, s->folds ? (size_t)(s->n_fold * s->epochs->info.n_epoch) : 0);
    id->n_epoch = s->epochs->info.n_epoch;
    id->n_pick = s->n_pick;
    id->n_time = s->epochs->info.n_time;
    id->hash_kind = (int64_t)tess_hash_default();
    return hash_samples(s, &id->samples);
}

tess_status tess_ar_fit_identity_compare(const tess_ar_fit_identity *found,
                                         const tess_ar_fit_identity *own, const char *path)
{
    const char *remedy = "remove the folder, or run with the epochs and settings it was made with";
    const struct {
        const char *what;
        tess_hash found;
        tess_hash own;
    } parts[] = {{"channels, their positions or their picks", found->sensors, own->sensors},
                 {"consensus or n_interpolate", found->grids, own->grids},
                 {"the folds", found->folds, own->folds},
                 {"the samples", found->samples, own->samples}};
    if (memcmp(found->version, own->version, sizeof own->version) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: written by Tessera %.15s, this is %s; %s", path,
                  found->version, own->version, remedy);
    }
    if (memcmp(found->settings, own->settings, sizeof own->settings) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: settings were '%.255s', are '%s'; %s", path,
                  found->settings, own->settings, remedy);
    }
    if (memcmp(found->backend, own->backend, sizeof own->backend) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: made on device '%.15s', this run uses '%s'; %s", path,
                  found->backend, own->backend, remedy);
    }
    if (found->hash_kind != own->hash_kind) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "%s: made by a build with other checksums (with and without xxHash); %s", path,
                  remedy);
    }
    if (found->n_epoch != own->n_epoch || found->n_pick != own->n_pick ||
        found->n_time != own->n_time) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "%s: had %lld epochs of %lld channels and %lld samples, this run has %lld of "
                  "%lld and %lld; %s",
                  path, (long long)found->n_epoch, (long long)found->n_pick,
                  (long long)found->n_time, (long long)own->n_epoch, (long long)own->n_pick,
                  (long long)own->n_time, remedy);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!tess_hash_equal(parts[i].found, parts[i].own)) {
            TESS_FAIL(TESS_E_MISMATCH, "%s: %s differ from those of this run; %s", path,
                      parts[i].what, remedy);
        }
    }
    return TESS_OK;
}
