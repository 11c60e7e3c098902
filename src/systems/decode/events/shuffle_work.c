// The checkpoints of a test: tables of the events whose batch is done. A batch that was stopped is
// made again.
#include "systems/decode/events/shuffle.h"

#include "base/status.h"

enum { N_SCORE = TESS_DECODE_EVENT_N_SCORE };

// ---- Identity ---------------------------------------------------------------------------------

static tess_hash hash_events(const tess_decode_events_info *info)
{
    tess_hash hash = {0, 0};
    for (int64_t i = 0; i < info->n_event; i++) {
        const tess_decode_event *e = &info->events[i];
        const double times[2] = {e->start, e->end};
        const int64_t numbers[2] = {e->event, e->reason & ~TESS_DECODE_EVENT_FEW_BINS};
        tess_hash_mix(&hash, times, sizeof times);
        tess_hash_mix(&hash, numbers, sizeof numbers);
    }
    return hash;
}

static void identify(tess_context *ctx, const tess_de_events_input *in,
                     const tess_decode_detector *detector, const tess_decode_events *events,
                     tess_identity *id)
{
    const tess_param_table *tables[] = {tess_decode_events_params()};
    const void *configs[] = {&in->config};
    tess_de_fingerprint fingerprint;
    tess_hash width = {0, 0};
    tess_de_mix_doubles(&width, &in->config.model_bin, 1);
    tess_de_events_fingerprint(in, detector, &fingerprint);
    // Scores of shuffles have their last digits from the device.
    tess_identity_init(id, ctx, "decode.events", ctx->device->backend->name);
    tess_identity_add_settings(id, NULL, tables, configs, 1, "|report_events|");
    tess_de_fingerprint_add(&fingerprint, id);
    tess_identity_add_int(id, "shuffles by kinds *, this run by *", in->config.shuffles);
    tess_identity_add_hash(id, "the model's time bin differs from that of this run", width);
    tess_identity_add_hash(id, "the events differ from those of this run",
                           hash_events(&events->info));
}

tess_status tess_decode_events_is_finished(tess_context *ctx, const tess_decode_events *events,
                                           const tess_decode_detector *detector,
                                           const tess_decode_spikes *spikes,
                                           const tess_decode_position *position,
                                           const tess_decode_events_config *config,
                                           const char *path, int *finished)
{
    tess_error_clear();
    tess_de_events_input in;
    tess_identity id;
    *finished = 0;
    TESS_TRY(tess_de_events_read(spikes, position, config, &in));
    identify(ctx, &in, detector, events, &id);
    const tess_status status = tess_work_is_finished(ctx, &id, path, NULL, finished);
    tess_identity_free(&id);
    return status;
}

// ---- State ------------------------------------------------------------------------------------

// A table that is kept; NULL values: none.
typedef struct part {
    const char *name;
    void *values;
    size_t bytes;
} part;

enum { N_PART = 5 };

static void list_parts(const tess_de_shuffle *t, part parts[N_PART])
{
    const size_t n = (size_t)(t->events->info.n_kind * N_SCORE);
    const size_t bytes = n * (size_t)t->n_event * sizeof(double);
    parts[0] = (part){"p", t->p, bytes};
    parts[1] = (part){"median", t->median, bytes};
    parts[2] = (part){"high", t->high, bytes};
    parts[3] = (part){"spreads", t->events->spreads, n * sizeof *t->events->spreads};
    parts[4] = (part){"scores", t->statistics, t->statistics ? bytes * (size_t)t->n_shuffle : 0};
}

static tess_status write_state(void *self, tess_checkpoint_writer *writer)
{
    const tess_de_shuffle *t = self;
    part parts[N_PART];
    list_parts(t, parts);
    TESS_TRY(tess_checkpoint_add(writer, "position", &t->at, sizeof t->at));
    for (int i = 0; i < N_PART; i++) {
        TESS_TRY(tess_checkpoint_add(writer, parts[i].name, parts[i].values, parts[i].bytes));
    }
    return TESS_OK;
}

static tess_status read_position(const tess_de_shuffle *t, const tess_checkpoint *found,
                                 const char *path, tess_de_shuffle_position *at)
{
    TESS_TRY(tess_checkpoint_get(found, "position", at, sizeof *at));
    const bool is_batch = at->n_batch > 0 ? at->n_kind >= 0 && at->n_kind <= t->events->info.n_kind
                                          : at->n_batch == 0 && at->n_kind == 0;
    if (at->n_event < 0 || at->n_event > t->n || at->n_batch > t->n - at->n_event || !is_batch) {
        TESS_FAIL(TESS_E_FORMAT, "%s: its counts make no sense", path);
    }
    return TESS_OK;
}

static tess_status check_found(void *self, const tess_checkpoint *found, const char *path)
{
    tess_de_shuffle_position at = {0};
    return read_position(self, found, path, &at);
}

int64_t tess_de_shuffle_done(const tess_de_shuffle *t)
{
    const tess_de_shuffle_position *at = &t->at;
    return (at->n_event * t->events->info.n_kind + at->n_batch * at->n_kind) * t->n_shuffle;
}

static tess_status restore(tess_de_shuffle *t)
{
    const tess_checkpoint *found = &t->work.found;
    part parts[N_PART];
    list_parts(t, parts);
    TESS_TRY(read_position(t, found, t->work.newest, &t->at));
    for (int i = 0; i < N_PART; i++) {
        TESS_TRY(tess_checkpoint_get(found, parts[i].name, parts[i].values, parts[i].bytes));
    }
    t->n_kept = tess_de_shuffle_done(t);
    tess_work_forget(&t->work);
    return TESS_OK;
}

tess_status tess_de_shuffle_open_work(tess_de_shuffle *t)
{
    const tess_decode_events_config *given = &t->model.in->config;
    identify(t->model.ctx, t->model.in, t->model.detector, t->events, &t->id);
    tess_identity_digest(&t->id, t->events->identity);
    const tess_work_config config = {.name = "decode.events",
                                     .what = "test",
                                     .folder = given->checkpoint_dir,
                                     .resume = given->resume,
                                     .every_s = given->checkpoint_every_s,
                                     .keep = 2,
                                     .check = check_found,
                                     .self = t};
    TESS_TRY(tess_identity_agree(t->model.ctx, &t->id, TESS_OK));
    TESS_TRY(tess_work_open(t->model.ctx, &config, &t->id, &t->work));
    return t->work.is_found ? restore(t) : TESS_OK;
}

static void save(tess_de_shuffle *t)
{
    const int64_t all = t->n * t->events->info.n_kind * t->n_shuffle;
    const double share = all > 0 ? (double)tess_de_shuffle_done(t) / (double)all : 1;
    tess_work_save(&t->work, share, write_state, t);
    t->n_kept = tess_de_shuffle_done(t);
}

void tess_de_shuffle_keep(tess_de_shuffle *t)
{
    if (tess_work_is_due(&t->work, false) && tess_de_shuffle_done(t) > t->n_kept) {
        save(t);
    }
}

void tess_de_shuffle_end_work(tess_de_shuffle *t)
{
    if (!tess_work_is_kept(&t->work)) {
        return;
    }
    if (t->model.in->config.keep_finished) {
        save(t);
    } else {
        tess_work_end(&t->work);
    }
}

void tess_de_shuffle_close_work(tess_de_shuffle *t)
{
    tess_work_close(&t->work);
    tess_identity_free(&t->id);
}
