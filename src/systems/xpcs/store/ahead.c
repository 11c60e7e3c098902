#include "systems/xpcs/store/ahead.h"

#include <pthread.h>

enum { MOST_READERS = 8 };

// What is wanted is cut into parts of a few leaves each, which readers take in turn; who waits for
// them takes what is left.
struct tess_xp_ahead {
    tess_xp_txc2 *file;
    const tess_xp_tiles *tiles;
    int32_t n_thread;
    pthread_t threads[MOST_READERS];
    pthread_mutex_t mutex;
    pthread_cond_t wanted;
    pthread_cond_t done;
    bool is_closing;
    bool has_failed;
    int64_t first_leaf;
    int64_t n_leaf;
    unsigned char *records;
    int64_t n_part; // 0: nothing is wanted
    int64_t n_begun;
    int64_t n_done;
};

// Reads the next part; the mutex is held before and after, not meanwhile.
static void read_part(tess_xp_ahead *ahead)
{
    const int64_t part = ahead->n_begun++;
    const int64_t begin = ahead->first_leaf + part * ahead->n_leaf / ahead->n_part;
    const int64_t end = ahead->first_leaf + (part + 1) * ahead->n_leaf / ahead->n_part;
    unsigned char *to = ahead->records + tess_xp_tiles_leaf_offset(ahead->tiles, begin) -
                        tess_xp_tiles_leaf_offset(ahead->tiles, ahead->first_leaf);
    pthread_mutex_unlock(&ahead->mutex);
    const tess_status status = tess_xp_txc2_read(ahead->file, ahead->tiles, begin, end - begin, to);
    pthread_mutex_lock(&ahead->mutex);
    ahead->has_failed = ahead->has_failed || status != TESS_OK;
    ahead->n_done++;
    pthread_cond_signal(&ahead->done);
}

static void *work(void *arg)
{
    tess_xp_ahead *ahead = arg;
    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->is_closing) {
        if (ahead->n_begun < ahead->n_part) {
            read_part(ahead);
        } else {
            pthread_cond_wait(&ahead->wanted, &ahead->mutex);
        }
    }
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

static void release(tess_xp_ahead *ahead)
{
    pthread_cond_destroy(&ahead->wanted);
    pthread_cond_destroy(&ahead->done);
    pthread_mutex_destroy(&ahead->mutex);
    tess_heap_free(&ahead->file->ctx->heap, ahead, sizeof *ahead, TESS_TAG_IO);
}

tess_status tess_xp_ahead_open(tess_xp_txc2 *file, const tess_xp_tiles *tiles, int64_t n_reader,
                               tess_xp_ahead **out)
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
    pthread_cond_init(&ahead->wanted, NULL);
    pthread_cond_init(&ahead->done, NULL);
    const int64_t most = n_reader < MOST_READERS ? n_reader : MOST_READERS;
    for (int64_t k = 0; k < most || k == 0; k++) {
        if (pthread_create(&ahead->threads[ahead->n_thread], NULL, work, ahead) != 0) {
            break;
        }
        ahead->n_thread++;
    }
    if (ahead->n_thread == 0) {
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
    ahead->is_closing = true;
    pthread_cond_broadcast(&ahead->wanted);
    pthread_mutex_unlock(&ahead->mutex);
    for (int32_t k = 0; k < ahead->n_thread; k++) {
        pthread_join(ahead->threads[k], NULL);
    }
    release(ahead);
}

void tess_xp_ahead_start(tess_xp_ahead *ahead, int64_t first_leaf, int64_t n_leaf,
                         unsigned char *records)
{
    const int64_t n_reader = ahead->n_thread;
    pthread_mutex_lock(&ahead->mutex);
    ahead->first_leaf = first_leaf;
    ahead->n_leaf = n_leaf;
    ahead->records = records;
    ahead->n_part = n_leaf < n_reader ? n_leaf : n_reader;
    ahead->n_begun = 0;
    ahead->n_done = 0;
    ahead->has_failed = false;
    pthread_cond_broadcast(&ahead->wanted);
    pthread_mutex_unlock(&ahead->mutex);
}

bool tess_xp_ahead_finish(tess_xp_ahead *ahead, int64_t first_leaf, int64_t n_leaf)
{
    pthread_mutex_lock(&ahead->mutex);
    const bool is_it =
        ahead->n_part > 0 && ahead->first_leaf == first_leaf && ahead->n_leaf == n_leaf;
    while (is_it && ahead->n_begun < ahead->n_part) {
        read_part(ahead); // on a busy machine nobody may have begun
    }
    ahead->n_part = ahead->n_begun; // what is not wanted any more is not begun
    while (ahead->n_done < ahead->n_begun) {
        pthread_cond_wait(&ahead->done, &ahead->mutex);
    }
    const bool is_good = is_it && !ahead->has_failed;
    ahead->n_part = 0;
    ahead->n_begun = 0;
    ahead->n_done = 0;
    pthread_mutex_unlock(&ahead->mutex);
    return is_good;
}
