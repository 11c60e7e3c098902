#include "systems/xpcs/store/ahead.h"

#include <pthread.h>

typedef enum ahead_state { IDLE, WANTED, READING, DONE, CLOSING } ahead_state;

struct tess_xp_ahead {
    tess_xp_txc2 *file;
    const tess_xp_tiles *tiles;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    ahead_state state;
    int64_t first_leaf;
    int64_t n_leaf;
    unsigned char *records;
    tess_status status;
};

static void *work(void *arg)
{
    tess_xp_ahead *ahead = arg;
    pthread_mutex_lock(&ahead->mutex);
    for (;;) {
        while (ahead->state != WANTED && ahead->state != CLOSING) {
            pthread_cond_wait(&ahead->changed, &ahead->mutex);
        }
        if (ahead->state == CLOSING) {
            break;
        }
        ahead->state = READING;
        pthread_mutex_unlock(&ahead->mutex);
        const tess_status status = tess_xp_txc2_read(ahead->file, ahead->tiles, ahead->first_leaf,
                                                     ahead->n_leaf, ahead->records);
        pthread_mutex_lock(&ahead->mutex);
        ahead->status = status;
        ahead->state = ahead->state == CLOSING ? CLOSING : DONE;
        pthread_cond_broadcast(&ahead->changed);
    }
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

static void release(tess_xp_ahead *ahead)
{
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->mutex);
    tess_heap_free(&ahead->file->ctx->heap, ahead, sizeof *ahead, TESS_TAG_IO);
}

tess_status tess_xp_ahead_open(tess_xp_txc2 *file, const tess_xp_tiles *tiles, tess_xp_ahead **out)
{
    *out = NULL;
    tess_xp_ahead *ahead =
        tess_heap_alloc_zero(&file->ctx->heap, sizeof *ahead, TESS_TAG_IO, "reading ahead");
    if (!ahead) {
        return TESS_E_MEMORY;
    }
    ahead->file = file;
    ahead->tiles = tiles;
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    if (pthread_create(&ahead->thread, NULL, work, ahead) != 0) {
        release(ahead);
        return TESS_OK;
    }
    *out = ahead;
    return TESS_OK;
}

void tess_xp_ahead_close(tess_xp_ahead *ahead)
{
    if (!ahead) {
        return;
    }
    pthread_mutex_lock(&ahead->mutex);
    ahead->state = CLOSING;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
    pthread_join(ahead->thread, NULL);
    release(ahead);
}

void tess_xp_ahead_start(tess_xp_ahead *ahead, int64_t first_leaf, int64_t n_leaf,
                         unsigned char *records)
{
    pthread_mutex_lock(&ahead->mutex);
    ahead->first_leaf = first_leaf;
    ahead->n_leaf = n_leaf;
    ahead->records = records;
    ahead->state = WANTED;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
}

bool tess_xp_ahead_finish(tess_xp_ahead *ahead, int64_t first_leaf, int64_t n_leaf)
{
    pthread_mutex_lock(&ahead->mutex);
    while (ahead->state == READING) {
        pthread_cond_wait(&ahead->changed, &ahead->mutex);
    }
    const bool is_it = ahead->state == DONE && ahead->status == TESS_OK &&
                       ahead->first_leaf == first_leaf && ahead->n_leaf == n_leaf;
    ahead->state = IDLE; // not begun yet, on a busy machine: the caller is there and reads itself
    pthread_mutex_unlock(&ahead->mutex);
    return is_it;
}
