// Several recordings at a time, each in a context of its own; the caller's thread watches.
//
// A context serves one recording: what it was warned of stands in the pages of that one alone, so
// that results do not depend on who worked on what.
#include "base/status.h"
#include "runtime/comm.h"
#include "runtime/watch.h"
#include "systems/autoreject/study/study.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { MOST_WORKERS = 256 };

typedef struct crew {
    tess_autoreject_study *study;
    const tess_ar_study_work *work;
    const int64_t *wanted; // [n] numbers of the items
    int64_t n;
    int64_t n_all; // of all ranks; an own part stands for all of them
    int64_t n_at_a_time;
    atomic_llong next;
    atomic_llong n_done;
    atomic_int n_working;
    pthread_mutex_t mutex; // of what follows
    bool is_stopped;
    tess_context *active[MOST_WORKERS];
} crew;

typedef struct worker {
    crew *crew;
    int number;
    pthread_t thread;
    bool has_thread;
} worker;

typedef struct voice {
    tess_autoreject_study *study;
    const tess_ar_study_item *item;
} voice;

static void forward(void *user, tess_log_level level, const char *line)
{
    const voice *v = user;
    tess_log_write(&v->study->ctx->log, level, "%s: %s", v->item->info->name, line);
}

// False where the crew was stopped meanwhile.
static bool enter(crew *c, int number, tess_context *ctx)
{
    pthread_mutex_lock(&c->mutex);
    const bool goes_on = !c->is_stopped;
    c->active[number] = goes_on ? ctx : NULL;
    pthread_mutex_unlock(&c->mutex);
    return goes_on;
}

static void leave(crew *c, int number)
{
    pthread_mutex_lock(&c->mutex);
    c->active[number] = NULL;
    pthread_mutex_unlock(&c->mutex);
}

static void stop(crew *c)
{
    pthread_mutex_lock(&c->mutex);
    c->is_stopped = true;
    for (int64_t i = 0; i < c->n_at_a_time; i++) {
        if (c->active[i]) {
            tess_context_cancel(c->active[i]);
        }
    }
    pthread_mutex_unlock(&c->mutex);
}

// Rank 0 repeats them. One that finds no memory is not worth a recording.
static void keep_warnings(tess_autoreject_study *s, tess_ar_study_item *item, tess_context *ctx)
{
    char lines[TESS_LOG_KEPT_BYTES];
    if (!tess_comm_is_first(s->ctx)) {
        (void)tess_log_warnings(&ctx->log, lines);
        item->warnings = tess_ar_study_text(s, lines);
    }
}

static tess_status work_on(worker *w, tess_ar_study_item *item)
{
    crew *c = w->crew;
    voice v = {c->study, item};
    tess_context *ctx = NULL;
    TESS_TRY(tess_ar_study_context(c->study, c->n_at_a_time, w->number, c->work->is_to_look,
                                   forward, &v, &ctx));
    tess_status status = TESS_CANCELLED;
    if (enter(c, w->number, ctx)) {
        status = c->work->fn(ctx, c->study, item);
        leave(c, w->number);
        keep_warnings(c->study, item, ctx);
    }
    tess_context_destroy(ctx);
    return status;
}

static void *run_worker(void *arg)
{
    worker *w = arg;
    crew *c = w->crew;
    for (;;) {
        const int64_t k = atomic_fetch_add(&c->next, 1);
        if (k >= c->n) {
            break;
        }
        tess_ar_study_item *item = &c->study->items[c->wanted[k]];
        const tess_status status = work_on(w, item);
        if (status == TESS_CANCELLED) {
            break;
        }
        if (status != TESS_OK) {
            const char *message = tess_ar_study_text(c->study, tess_last_error());
            item->info->message = message ? message : tess_status_text(status);
            item->info->state = TESS_AUTOREJECT_STUDY_FAILED;
        }
        atomic_fetch_add(&c->n_done, 1);
    }
    atomic_fetch_sub(&c->n_working, 1);
    return NULL;
}

static tess_status watch_crew(crew *c)
{
    static const uint64_t large = UINT64_C(1) << 40; // always watched
    tess_watch watch;
    tess_status status = TESS_OK;
    tess_watch_begin(&watch, c->study->ctx, c->work->stage, "recordings", 0, large,
                     TESS_STRATEGY_LARGE);
    while (atomic_load(&c->n_working) > 0) {
        const struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};
        nanosleep(&pause, NULL);
        const int64_t done = atomic_load(&c->n_done);
        if (status == TESS_OK && done < c->n) {
            status = tess_watch_poll(&watch, done * c->n_all / c->n, c->n_all);
            if (status != TESS_OK) {
                stop(c);
            }
        }
    }
    const bool is_all = atomic_load(&c->n_done) == c->n;
    return is_all ? tess_watch_poll(&watch, c->n_all, c->n_all) : status;
}

static tess_status run_crew(crew *c)
{
    worker workers[MOST_WORKERS];
    char message[TESS_MESSAGE_BYTES];
    atomic_store(&c->n_working, (int)c->n_at_a_time);
    int64_t n_started = 0;
    for (int64_t i = 0; i < c->n_at_a_time; i++) {
        workers[i] = (worker){.crew = c, .number = (int)i};
        workers[i].has_thread =
            pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]) == 0;
        n_started += workers[i].has_thread;
        if (!workers[i].has_thread) {
            atomic_fetch_sub(&c->n_working, 1);
        }
    }
    if (n_started == 0) {
        TESS_FAIL(TESS_E_THREAD, "cannot start a thread for a recording");
    }
    const tess_status status = watch_crew(c);
    tess_error_copy_out(message);
    for (int64_t i = 0; i < c->n_at_a_time; i++) {
        if (workers[i].has_thread) {
            pthread_join(workers[i].thread, NULL);
        }
    }
    tess_error_copy_in(message);
    return status;
}

tess_status tess_ar_study_each(tess_autoreject_study *s, const tess_ar_study_work *work)
{
    tess_blocks memory;
    tess_blocks_init(&memory, &s->ctx->heap);
    int64_t *wanted = tess_blocks_alloc(&memory, s->n, sizeof *wanted, "recordings to do");
    crew *c = tess_blocks_alloc(&memory, 1, sizeof *c, "recordings to do");
    if (!wanted || !c) {
        tess_blocks_free(&memory);
        return TESS_E_MEMORY;
    }
    c->study = s;
    c->work = work;
    c->wanted = wanted;
    for (int64_t i = 0; i < s->n; i++) {
        if (work->wanted(s, &s->items[i])) {
            wanted[c->n_all++] = i;
        }
    }
    c->n = tess_ar_study_own(s, c->n_all, wanted);
    c->n_at_a_time = work->n_at_a_time < c->n ? work->n_at_a_time : c->n;
    c->n_at_a_time = c->n_at_a_time < MOST_WORKERS ? c->n_at_a_time : MOST_WORKERS;
    pthread_mutex_init(&c->mutex, NULL);
    tess_span span = tess_span_begin(&s->ctx->tracer, work->stage);
    const tess_status own = c->n > 0 ? run_crew(c) : TESS_OK;
    pthread_mutex_destroy(&c->mutex);
    const tess_status status = tess_ar_study_tell_ranks(s, work, wanted, c->n, own);
    tess_span_end(&span, 0, 0);
    tess_blocks_free(&memory);
    return status;
}
