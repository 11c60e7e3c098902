// When what was learned becomes what is decoded with.
#include "base/clock.h"
#include "systems/decode/online/learn.h"

#include <math.h>
#include <time.h>

static const long NAP_NS = 20000;

// A model of all that the logs hold.
static void order(online_learner *learner)
{
    learner->n_left = learner->n_sample_told - learner->sample_first + 1 + learner->n_electrode;
    learner->sample_due = learner->n_sample_told;
    for (int64_t k = 0; k < learner->n_electrode; k++) {
        learn_electrode *e = &learner->electrodes[k];
        e->due = e->n_item;
        learner->n_left += e->due - e->first;
    }
    learner->phase = 0;
    learner->is_changed = 0;
    learner->has_next = 1;
    atomic_fetch_add(&learner->n_ordered, 1);
}

void tess_de_learn_finish(tess_decode_online *online)
{
    const online_learner *learner = online->learner;
    while (atomic_load(&learner->n_done) != atomic_load(&learner->n_ordered)) {
        if (!tess_de_learn_step(online)) {
            // Not a yield: that would never let a helper of lower real-time priority run.
            const struct timespec nap = {.tv_nsec = NAP_NS};
            nanosleep(&nap, NULL);
        }
    }
}

// Goes over to the model that was ordered, if there is one.
static void go_over(tess_decode_online *online)
{
    online_learner *learner = online->learner;
    tess_de_learn_finish(online);
    if (!learner->has_next) {
        return;
    }
    learner->has_next = 0;
    learner->stats.n_refresh++;
    learner->sample_first = learner->sample_due;
    for (int64_t k = 0; k < learner->n_electrode; k++) {
        learner->electrodes[k].first = learner->electrodes[k].fresh;
        learner->electrodes[k].fresh = learner->electrodes[k].due;
    }
    const int64_t version = atomic_fetch_add(&online->version, 1) + 1;
    online->encodings[0].ground = learn_model_of(learner, version)->intensity;
}

static void note_time(online_learner *learner, int64_t begin_ns)
{
    const double seconds = 1e-9 * (double)(tess_now_ns() - begin_ns);
    learner->stats.refresh_max_s = fmax(learner->stats.refresh_max_s, seconds);
}

void tess_de_learn_refresh(tess_decode_online *online)
{
    online_learner *learner = online->learner;
    const int64_t begin_ns = tess_now_ns();
    go_over(online);
    if (learner->is_changed) {
        order(learner);
        go_over(online);
    }
    note_time(learner, begin_ns);
}

void tess_de_learn_empty_logs(tess_decode_online *online)
{
    for (int k = 0; k < 2; k++) { // each of the models
        online->learner->is_changed = 1;
        tess_de_learn_refresh(online);
    }
}

// Where nobody helps, the steps are spread over the bins until they must be done.
static void work_a_little(tess_decode_online *online, double end_s)
{
    const online_learner *learner = online->learner;
    const double n_bin = floor((learner->next_refresh_s - end_s) / online->config.bin_width_s);
    int64_t n = 1 + (int64_t)((double)learner->n_left / fmax(n_bin, 1));
    while (n > 0 && tess_de_learn_step(online)) {
        n--;
    }
}

void tess_de_learn_after_bin(tess_decode_online *online, double end_s)
{
    online_learner *learner = online->learner;
    if (end_s >= learner->next_refresh_s) {
        const int64_t begin_ns = tess_now_ns();
        go_over(online);
        if (learner->is_changed) {
            order(learner);
        }
        learner->next_refresh_s = end_s + online->config.learn_refresh_s;
        note_time(learner, begin_ns);
    } else if (online->n_helper == 0) {
        work_a_little(online, end_s);
    }
}
