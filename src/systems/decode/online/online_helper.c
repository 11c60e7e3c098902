// Helpers: threads that evaluate waiting spikes ahead of the bin's end.
//
// A helper looks after every n-th electrode. It looks at the rings, works while there is work and
// sleeps a little when there is none; nobody wakes it, so that pushing a spike costs no system
// call.
#include "base/status.h"
#include "systems/decode/online/online.h"

#include <sched.h>
#include <time.h>

static const long NAP_NS = 20000;
static const long LONG_NAP_NS = 1000000;
// Fruitless looks after which the naps get longer.
enum { PATIENCE = 5000 };

// A row that nobody needs any more; -1: none.
static int32_t free_row(online_helper *helper)
{
    const tess_decode_online *online = helper->online;
    for (int32_t k = 0; k < ONLINE_HELPER_ROWS; k++) {
        const online_row *row = &helper->rows[k];
        if (row->electrode < 0 || atomic_load_explicit(&online->rings[row->electrode].tail,
                                                       memory_order_acquire) > row->index) {
            return k;
        }
    }
    return -1;
}

// Evaluates the electrode's next waiting spike; 0 if there is none, or no row for it.
static int evaluate_next(online_helper *helper, int64_t electrode)
{
    tess_decode_online *online = helper->online;
    online_ring *ring = &online->rings[electrode];
    const int64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    ring->next = ring->next > tail ? ring->next : tail;
    const int64_t index = ring->next;
    if (index >= atomic_load_explicit(&ring->head, memory_order_acquire)) {
        return 0;
    }
    const int32_t k = free_row(helper);
    if (k < 0) {
        return 0;
    }
    ring->next = index + 1;
    online_load_mark(helper->mark, ring->marks + (index & ring->mask) * ring->n_feature,
                     ring->n_feature);
    // What was copied is the spike's only if the consumer has not let the producer write over it.
    if (ring->is_deaf || atomic_load_explicit(&ring->tail, memory_order_relaxed) > index) {
        return 1;
    }
    helper->rows[k] = (online_row){.electrode = electrode, .index = index};
    tess_de_online_evaluate(online, electrode, helper->mark, helper->scratch,
                            helper->values + (int64_t)k * online->n_value);
    atomic_store_explicit(&ring->entries[index & ring->mask].note,
                          (uint64_t)(index + 1) << 8 | (uint64_t)(k + 1), memory_order_release);
    return 1;
}

static void *help(void *arg)
{
    online_helper *helper = arg;
    tess_decode_online *online = helper->online;
    int64_t n_fruitless = 0;
    while (!atomic_load_explicit(&online->is_ending, memory_order_acquire)) {
        int found = 0;
        // From the last electrode down: the consumer comes from the first, and they meet halfway.
        const int64_t n_own = (online->n_electrode - helper->number - 1) / online->n_helper + 1;
        for (int64_t k = n_own - 1; k >= 0; k--) {
            found |= evaluate_next(helper, helper->number + k * online->n_helper);
        }
        n_fruitless = found ? 0 : n_fruitless + 1;
        if (!found) {
            const struct timespec nap = {.tv_nsec = n_fruitless < PATIENCE ? NAP_NS : LONG_NAP_NS};
            nanosleep(&nap, NULL);
        }
    }
    return NULL;
}

// Where the creating thread has a real-time priority, helpers get the one below, so that they give
// way to the consumer.
static int start_thread(online_helper *helper)
{
    struct sched_param param;
    int policy = SCHED_OTHER;
    pthread_attr_t attributes;
    if (pthread_getschedparam(pthread_self(), &policy, &param) == 0 &&
        (policy == SCHED_FIFO || policy == SCHED_RR) &&
        param.sched_priority > sched_get_priority_min(policy) &&
        pthread_attr_init(&attributes) == 0) {
        param.sched_priority--;
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attributes, policy);
        pthread_attr_setschedparam(&attributes, &param);
        const int failed = pthread_create(&helper->thread, &attributes, help, helper);
        pthread_attr_destroy(&attributes);
        if (!failed) {
            return 1;
        }
    }
    return pthread_create(&helper->thread, NULL, help, helper) == 0;
}

tess_status tess_de_online_start(tess_decode_online *online)
{
    atomic_store(&online->is_ending, 0);
    for (int32_t k = 0; k < online->n_helper; k++) {
        online_helper *helper = &online->helpers[k];
        if (!start_thread(helper)) {
            tess_de_online_stop(online);
            TESS_FAIL(TESS_E_THREAD, "cannot start helper %d of the online decoder", k);
        }
        helper->has_thread = 1;
    }
    return TESS_OK;
}

void tess_de_online_stop(tess_decode_online *online)
{
    atomic_store(&online->is_ending, 1);
    for (int32_t k = 0; k < online->n_helper; k++) {
        if (online->helpers[k].has_thread) {
            pthread_join(online->helpers[k].thread, NULL);
            online->helpers[k].has_thread = 0;
        }
    }
}
