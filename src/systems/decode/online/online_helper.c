// Helpers: threads that evaluate waiting spikes ahead of the bin's end.
//
// A helper looks after every n-th electrode. It looks at the rings, works while there is work and
// sleeps a little when there is none; nobody wakes it, so that pushing a spike costs no system
// call. Between spikes it does a step of what a learning decoder has to do.
#include "base/status.h"
#include "systems/decode/online/learn.h"

#include <sched.h>
#include <time.h>

static const long NAP_NS = 20000;
static const long LONG_NAP_NS = 1000000;
// Fruitless looks after which the naps get longer.
enum { PATIENCE = 5000 };

// A row that nobody needs any more; -1: none.
static int32_t free_row(const online_helper *helper, int64_t version)
{
    const tess_decode_online *online = helper->online;
    for (int32_t k = 0; k < ONLINE_HELPER_ROWS; k++) {
        const online_row *row = &helper->rows[k];
        if (row->electrode < 0 || row->version != version ||
            atomic_load_explicit(&online->rings[row->electrode].tail, memory_order_acquire) >
                row->index) {
            return k;
        }
    }
    return -1;
}

// Evaluates the electrode's next waiting spike with the model of a version, which stays as it is
// meanwhile; 0 if there is none, or no row for it.
static int evaluate_next(online_helper *helper, int64_t version, int64_t electrode)
{
    tess_decode_online *online = helper->online;
    online_ring *ring = &online->rings[electrode];
    const int64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    ring->next = ring->next > tail && ring->next_version == version ? ring->next : tail;
    ring->next_version = version;
    const int64_t index = ring->next;
    if (index >= atomic_load_explicit(&ring->head, memory_order_acquire)) {
        return 0;
    }
    const int32_t k = free_row(helper, version);
    if (k < 0) {
        return 0;
    }
    ring->next = index + 1;
    online_load_mark(helper->mark, ring->marks + (index & ring->mask) * ring->n_feature,
                     ring->n_feature);
    // What was copied is the spike's only if the consumer has not let the producer write over it.
    if (tess_de_online_is_deaf(online, version, electrode) ||
        atomic_load_explicit(&ring->tail, memory_order_relaxed) > index) {
        return 1;
    }
    helper->rows[k] = (online_row){.electrode = electrode, .index = index, .version = version};
    tess_de_online_evaluate(online, version, electrode, helper->mark, helper->scratch,
                            helper->values + (int64_t)k * online->n_value);
    atomic_store_explicit(&ring->entries[index & ring->mask].note, online_note(index, version, k),
                          memory_order_release);
    return 1;
}

// Announced first, then asked: whoever changes the model does it the other way round.
static int look_at(online_helper *helper, int64_t electrode)
{
    const tess_decode_online *online = helper->online;
    const online_ring *ring = &online->rings[electrode];
    int found = 0;
    if (atomic_load_explicit(&ring->tail, memory_order_relaxed) ==
        atomic_load_explicit(&ring->head, memory_order_relaxed)) {
        return 0;
    }
    const int64_t version = atomic_load(&online->version);
    atomic_store(&helper->version_in_use, version + 1);
    if (!atomic_load(&online->is_paused) && atomic_load(&online->version) == version) {
        found = evaluate_next(helper, version, electrode);
    }
    atomic_store(&helper->version_in_use, 0);
    return found;
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
            found |= look_at(helper, helper->number + k * online->n_helper);
        }
        found |= tess_de_learn_step(online);
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

// Keeps a helper to one CPU.
static tess_status pin(const online_helper *helper, int64_t cpu)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    if (cpu < CPU_SETSIZE) {
        CPU_SET((size_t)cpu, &only);
    }
    if (cpu >= CPU_SETSIZE || pthread_setaffinity_np(helper->thread, sizeof only, &only) != 0) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "cpu: helper %d cannot run on CPU %lld, which is not there or not allowed; "
                  "'taskset -p $$' shows those that are",
                  helper->number, (long long)cpu);
    }
    return TESS_OK;
}

void tess_de_online_pause(tess_decode_online *online)
{
    atomic_store(&online->is_paused, 1);
    for (int32_t k = 0; k < online->n_helper; k++) {
        while (atomic_load(&online->helpers[k].version_in_use)) {
            // Not a yield: that would never let a helper of lower real-time priority run.
            const struct timespec nap = {.tv_nsec = NAP_NS};
            nanosleep(&nap, NULL);
        }
    }
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
        if (online->config.helper_cpu >= 0) {
            TESS_TRY(pin(helper, online->config.helper_cpu + k));
        }
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
