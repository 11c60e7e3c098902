// A study that several ranks divide: recording k of those to do is worked on by rank k modulo their
// number, and afterwards all know what came of each. Results lie in one folder that all see.
#include "base/status.h"
#include "runtime/comm.h"
#include "systems/autoreject/study/study.h"

#include <string.h>

// What a rank says of a recording; its texts follow, each with its zero.
typedef struct fate {
    int64_t number;
    int64_t state;
    int64_t n_epoch;
    int64_t n_chan;
    int64_t n_time;
    uint64_t memory_bytes;
} fate;

enum { MESSAGE, TOLD, WARNINGS, N_TEXT };

int64_t tess_ar_study_own(const tess_autoreject_study *s, int64_t n, int64_t *wanted)
{
    const int32_t n_rank = tess_comm_size(s->ctx);
    int64_t n_own = 0;
    for (int64_t k = tess_comm_rank(s->ctx); k < n; k += n_rank) {
        wanted[n_own++] = wanted[k];
    }
    return n_own;
}

static void pack(const tess_autoreject_study *s, int64_t number, tess_text *out)
{
    const tess_ar_study_item *item = &s->items[number];
    const tess_autoreject_study_recording *r = item->info;
    const fate f = {number, r->state, r->n_epoch, r->n_chan, r->n_time, r->memory_bytes};
    const bool has_failed = r->state == TESS_AUTOREJECT_STUDY_FAILED;
    const char *const texts[N_TEXT] = {has_failed ? r->message : NULL, item->told, item->warnings};
    tess_text_append(out, (const char *)&f, sizeof f);
    for (int i = 0; i < N_TEXT; i++) {
        const char *text = texts[i] ? texts[i] : "";
        tess_text_append(out, text, strlen(text) + 1);
    }
}

// Warnings of another rank, as its recording's would have been heard here.
static void repeat(tess_autoreject_study *s, const char *name, const char *lines)
{
    for (const char *at = lines; *at;) {
        const size_t length = strcspn(at, "\n");
        tess_log_write(&s->ctx->log, TESS_LOG_WARNING, "%s: %.*s", name, (int)length, at);
        at += length + (at[length] == '\n');
    }
}

static tess_status keep(tess_autoreject_study *s, const char *text, const char **out)
{
    if (text[0]) {
        *out = tess_ar_study_text(s, text);
    }
    return text[0] && !*out ? TESS_E_MEMORY : TESS_OK;
}

static tess_status take(tess_autoreject_study *s, const fate *f, const char *const *texts)
{
    tess_ar_study_item *item = &s->items[f->number];
    item->info->state = (int32_t)f->state;
    item->info->n_epoch = f->n_epoch;
    item->info->n_chan = f->n_chan;
    item->info->n_time = f->n_time;
    item->info->memory_bytes = f->memory_bytes;
    repeat(s, item->info->name, texts[WARNINGS]);
    TESS_TRY(keep(s, texts[MESSAGE], &item->info->message));
    TESS_TRY(keep(s, texts[TOLD], &item->told));
    if (f->state != TESS_AUTOREJECT_STUDY_DONE) {
        return TESS_OK;
    }
    char path[TESS_AR_STUDY_PATH];
    TESS_TRY(tess_ar_study_path(s, item, "epo.json", path));
    if (tess_ar_record_read(&s->memory, path, &item->record) != TESS_OK) {
        char why[TESS_MESSAGE_BYTES];
        tess_error_copy_out(why);
        TESS_FAIL(TESS_E_IO, "%.400s; another rank wrote it: give an output that all ranks see",
                  why);
    }
    tess_ar_study_tell_record(s, item);
    return TESS_OK;
}

static tess_status unpack(tess_autoreject_study *s, const unsigned char *at,
                          const unsigned char *end)
{
    while (at < end) {
        fate f;
        const char *texts[N_TEXT];
        memcpy(&f, at, sizeof f);
        at += sizeof f;
        for (int i = 0; i < N_TEXT; i++) {
            texts[i] = (const char *)at;
            at += strlen(texts[i]) + 1;
        }
        TESS_TRY(take(s, &f, texts));
    }
    return TESS_OK;
}

// A rank's part begins with whether it was stopped: what it had done by then counts all the same.
static tess_status unpack_all(tess_autoreject_study *s, const tess_comm_parts *parts)
{
    bool is_stopped = false;
    for (int32_t rank = 0; rank < tess_comm_size(s->ctx); rank++) {
        const unsigned char *at = parts->data + parts->offset[rank];
        is_stopped = is_stopped || *at != 0;
        if (rank != tess_comm_rank(s->ctx)) {
            TESS_TRY(unpack(s, at + 1, parts->data + parts->offset[rank + 1]));
        }
    }
    return is_stopped ? TESS_CANCELLED : TESS_OK;
}

tess_status tess_ar_study_tell_ranks(tess_autoreject_study *s, const tess_ar_study_work *work,
                                     const int64_t *own, int64_t n_own, tess_status status)
{
    if (tess_comm_size(s->ctx) == 1) {
        return status;
    }
    tess_text packed;
    tess_comm_parts parts;
    const char is_stopped = status == TESS_CANCELLED;
    tess_text_init(&packed, &s->ctx->heap);
    tess_text_append(&packed, &is_stopped, 1);
    for (int64_t k = 0; k < n_own; k++) {
        pack(s, own[k], &packed);
    }
    const char *bytes = NULL;
    status = status == TESS_OK || is_stopped ? tess_text_finish(&packed, &bytes) : status;
    status = tess_comm_gather(s->ctx, (tess_comm_point){work->stage, (uint64_t)s->n}, status, bytes,
                              packed.used, &parts);
    if (status == TESS_OK) {
        // Where one cannot read what another wrote, nobody goes on.
        status = tess_comm_agree(s->ctx, (tess_comm_point){work->stage, 0}, unpack_all(s, &parts));
        tess_comm_parts_free(&parts);
    }
    tess_text_destroy(&packed);
    return status;
}
