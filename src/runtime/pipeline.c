#include "runtime/pipeline.h"

#include "base/clock.h"
#include "base/status.h"

#include <pthread.h>
#include <stdbool.h>

// Tiles finished by each step; all three only grow. One lock and one condition: a tile is coarse.
typedef struct flow {
    tess_pipeline *pipeline;
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    int64_t n_read;
    int64_t n_computed;
    int64_t n_written;
    int64_t end; // tiles to go through; lowered when something stops the flow
    int64_t failed_tile;
    tess_status status;
    char message[TESS_MESSAGE_BYTES];
} flow;

// Called with the mutex held, after a step on this thread failed.
static void stop_at(flow *f, int64_t tile, tess_status status)
{
    if (f->status == TESS_OK || tile < f->failed_tile) {
        f->failed_tile = tile;
        f->status = status;
        tess_error_copy_out(f->message);
    }
    if (tile < f->end) {
        f->end = tile;
    }
    pthread_cond_broadcast(&f->moved);
}

static void *reader_main(void *arg)
{
    flow *f = arg;
    tess_pipeline *p = f->pipeline;
    pthread_mutex_lock(&f->mutex);
    for (int64_t tile = 0; tile < f->end; tile++) {
        // A slot is free once the tile that used it before was written.
        while (tile < f->end && tile >= f->n_written + p->n_slot) {
            pthread_cond_wait(&f->moved, &f->mutex);
        }
        if (tile >= f->end) {
            break;
        }
        pthread_mutex_unlock(&f->mutex);
        const tess_status status = p->read(p->self, tile, (int32_t)(tile % p->n_slot));
        pthread_mutex_lock(&f->mutex);
        if (status != TESS_OK) {
            stop_at(f, tile, status);
            break;
        }
        f->n_read = tile + 1;
        pthread_cond_broadcast(&f->moved);
    }
    pthread_mutex_unlock(&f->mutex);
    return NULL;
}

static void *writer_main(void *arg)
{
    flow *f = arg;
    tess_pipeline *p = f->pipeline;
    pthread_mutex_lock(&f->mutex);
    for (int64_t tile = 0; tile < f->end; tile++) {
        while (tile < f->end && tile >= f->n_computed) {
            pthread_cond_wait(&f->moved, &f->mutex);
        }
        if (tile >= f->end) {
            break;
        }
        pthread_mutex_unlock(&f->mutex);
        const tess_status status = p->write(p->self, tile, (int32_t)(tile % p->n_slot));
        pthread_mutex_lock(&f->mutex);
        if (status != TESS_OK) {
            stop_at(f, tile, status);
            break;
        }
        f->n_written = tile + 1;
        pthread_cond_broadcast(&f->moved);
    }
    pthread_mutex_unlock(&f->mutex);
    return NULL;
}

// The caller's part. Called and left with the mutex held.
static void compute_tiles(flow *f)
{
    tess_pipeline *p = f->pipeline;
    for (int64_t tile = 0; tile < f->end; tile++) {
        pthread_mutex_unlock(&f->mutex);
        tess_status status = p->poll(p->self, tile);
        const int64_t wait_begin_ns = tess_now_ns();
        pthread_mutex_lock(&f->mutex);
        while (status == TESS_OK && tile < f->end && tile >= f->n_read) {
            pthread_cond_wait(&f->moved, &f->mutex);
        }
        p->read_wait_ns += tess_now_ns() - wait_begin_ns;
        if (status == TESS_OK && tile >= f->end) {
            return;
        }
        if (status == TESS_OK) {
            pthread_mutex_unlock(&f->mutex);
            status = p->compute(p->self, tile, (int32_t)(tile % p->n_slot));
            pthread_mutex_lock(&f->mutex);
        }
        if (status != TESS_OK) {
            stop_at(f, tile, status);
            return;
        }
        f->n_computed = tile + 1;
        pthread_cond_broadcast(&f->moved);
    }
}

// Without threads the same steps run one after another, with the same result.
static tess_status run_in_turn(tess_pipeline *p)
{
    for (int64_t tile = 0; tile < p->n_tile; tile++) {
        const int32_t slot = (int32_t)(tile % p->n_slot);
        TESS_TRY(p->poll(p->self, tile));
        TESS_TRY(p->read(p->self, tile, slot));
        TESS_TRY(p->compute(p->self, tile, slot));
        TESS_TRY(p->write(p->self, tile, slot));
    }
    return TESS_OK;
}

tess_status tess_pipeline_run(tess_pipeline *pipeline)
{
    if (pipeline->n_tile <= 1) {
        return run_in_turn(pipeline);
    }
    flow f = {.pipeline = pipeline, .end = pipeline->n_tile, .failed_tile = INT64_MAX};
    pthread_mutex_init(&f.mutex, NULL);
    pthread_cond_init(&f.moved, NULL);
    pthread_t reader;
    pthread_t writer;
    tess_status status;
    if (pthread_create(&writer, NULL, writer_main, &f) != 0) {
        status = run_in_turn(pipeline);
    } else {
        const bool has_reader = pthread_create(&reader, NULL, reader_main, &f) == 0;
        pthread_mutex_lock(&f.mutex);
        if (has_reader) {
            compute_tiles(&f);
        } else {
            f.end = 0; // the writer goes home; then everything runs here
            pthread_cond_broadcast(&f.moved);
        }
        pthread_mutex_unlock(&f.mutex);
        if (has_reader) {
            pthread_join(reader, NULL);
        }
        pthread_join(writer, NULL);
        status = has_reader ? f.status : run_in_turn(pipeline);
        if (has_reader && status != TESS_OK) {
            tess_error_copy_in(f.message);
        }
    }
    pthread_cond_destroy(&f.moved);
    pthread_mutex_destroy(&f.mutex);
    return status;
}
