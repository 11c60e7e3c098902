// The stage autoreject.votes of a backend against a plain reference, by itself and behind
// autoreject.ptp on what that left on the device.

#include "backend_check.h"
#include "stage/autoreject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, POISON_BYTE = 0xa5 };

typedef struct votes_case {
    int64_t n_epoch;
    int64_t n_chan;
    int64_t stride;
} votes_case;

// Device and host memory of a case.
typedef struct votes_memory {
    double *d_delta;
    double *d_thresholds;
    int8_t *d_votes;
    int64_t *d_counts;
    double *delta;
    double *thresholds;
    int8_t *votes; // with GUARD bytes before and behind
    int64_t *counts;
} votes_memory;

static int take_memory(check *t, const votes_case *c, votes_memory *m)
{
    const size_t n = (size_t)(c->n_epoch * c->stride);
    m->d_delta = check_memory(t, TESS_SPACE_DEVICE, n * sizeof(double) + 8);
    m->d_thresholds = check_memory(t, TESS_SPACE_DEVICE, (size_t)c->n_chan * sizeof(double) + 8);
    m->d_votes = check_memory(t, TESS_SPACE_DEVICE, n + 2 * GUARD);
    m->d_counts = check_memory(t, TESS_SPACE_DEVICE, (size_t)(c->n_epoch + 1) * sizeof(int64_t));
    m->delta = check_memory(t, TESS_SPACE_HOST, n * sizeof(double) + 8);
    m->thresholds = check_memory(t, TESS_SPACE_HOST, (size_t)c->n_chan * sizeof(double) + 8);
    m->votes = check_memory(t, TESS_SPACE_HOST, n + 2 * GUARD);
    m->counts = check_memory(t, TESS_SPACE_HOST, (size_t)(c->n_epoch + 1) * sizeof(int64_t));
    return m->d_delta && m->d_thresholds && m->d_votes && m->d_counts && m->delta &&
           m->thresholds && m->votes && m->counts;
}

static int start(check *t, const votes_case *c, const votes_memory *m)
{
    const tess_stage_autoreject_votes args = {m->d_delta,  m->d_thresholds, m->d_votes + GUARD,
                                              m->d_counts, c->n_epoch,      c->n_chan,
                                              c->stride};
    return check_ok(t,
                    t->backend->enqueue(t->queue, TESS_STAGE_AUTOREJECT_VOTES, &args, sizeof(args)),
                    "enqueue");
}

// delta lies on the host, too.
static void compare(check *t, const votes_case *c, const votes_memory *m)
{
    const size_t n = (size_t)(c->n_epoch * c->stride);
    if (!check_copy(t, m->votes, TESS_SPACE_HOST, m->d_votes, TESS_SPACE_DEVICE, n + 2 * GUARD) ||
        !check_copy(t, m->counts, TESS_SPACE_HOST, m->d_counts, TESS_SPACE_DEVICE,
                    (size_t)(c->n_epoch + 1) * sizeof(int64_t))) {
        return;
    }
    int is_right = m->counts[c->n_epoch] == -7;
    for (int64_t e = 0; e < c->n_epoch && is_right; e++) {
        int64_t count = 0;
        for (int64_t i = 0; i < c->stride; i++) {
            const int8_t got = m->votes[GUARD + e * c->stride + i];
            const int is_own = i < c->n_chan;
            const int8_t vote =
                is_own ? m->delta[e * c->stride + i] > m->thresholds[i] : (int8_t)POISON_BYTE;
            is_right = is_right && got == vote;
            count += is_own ? vote : 0;
        }
        is_right = is_right && m->counts[e] == count;
    }
    for (int i = 0; i < GUARD && is_right; i++) {
        is_right = m->votes[i] == (int8_t)POISON_BYTE &&
                   m->votes[GUARD + n + (size_t)i] == (int8_t)POISON_BYTE;
    }
    check_that(t, is_right, "[%lld][%lld] of rows of %lld: votes or counts differ",
               (long long)c->n_epoch, (long long)c->n_chan, (long long)c->stride);
}

static int upload(check *t, const votes_case *c, const votes_memory *m)
{
    const size_t n = (size_t)(c->n_epoch * c->stride);
    memset(m->votes, POISON_BYTE, n + 2 * GUARD);
    m->counts[c->n_epoch] = -7;
    return check_copy(t, m->d_delta, TESS_SPACE_DEVICE, m->delta, TESS_SPACE_HOST,
                      n * sizeof(double)) &&
           check_copy(t, m->d_thresholds, TESS_SPACE_DEVICE, m->thresholds, TESS_SPACE_HOST,
                      (size_t)c->n_chan * sizeof(double)) &&
           check_copy(t, m->d_votes, TESS_SPACE_DEVICE, m->votes, TESS_SPACE_HOST, n + 2 * GUARD) &&
           check_copy(t, m->d_counts, TESS_SPACE_DEVICE, m->counts, TESS_SPACE_HOST,
                      (size_t)(c->n_epoch + 1) * sizeof(int64_t));
}

static void run_random(check *t, votes_case c)
{
    static const double specials[] = {0.0, -0.0, 0.5, HUGE_VAL, -HUGE_VAL, (double)NAN};
    const int n_block = t->n_block;
    votes_memory m;
    if (!take_memory(t, &c, &m)) {
        return;
    }
    for (int64_t i = 0; i < c.n_chan; i++) {
        m.thresholds[i] = i % 5 == 4 ? specials[check_random(t) % 6] : 0.5;
    }
    for (int64_t i = 0; i < c.n_epoch * c.stride; i++) {
        const uint64_t bits = check_random(t);
        m.delta[i] = bits % 8 ? (double)(bits >> 11) * 0x1p-53 : specials[bits / 8 % 6];
    }
    if (upload(t, &c, &m) && start(t, &c, &m)) {
        compare(t, &c, &m);
    }
    check_release(t, n_block);
}

static void shapes_case(check *t)
{
    static const int64_t epochs[] = {1, 2, 7, 8, 9, 255, 256, 257, 3001};
    static const int64_t channels[] = {1, 2, 31, 32, 33, 64, 306};
    for (size_t e = 0; e < sizeof(epochs) / sizeof(epochs[0]); e++) {
        for (size_t c = 0; c < sizeof(channels) / sizeof(channels[0]) && !t->case_failed; c++) {
            run_random(t, (votes_case){epochs[e], channels[c], channels[c]});
            run_random(t, (votes_case){epochs[e], channels[c], channels[c] + 5});
        }
    }
}

static void empty_case(check *t)
{
    run_random(t, (votes_case){0, 8, 8});
    run_random(t, (votes_case){5, 0, 3});
}

// Peak-to-peaks that no copy has touched.
static void behind_ptp_case(check *t)
{
    enum { N_TIME = 50 };
    const votes_case c = {40, 33, 33};
    const size_t n = (size_t)(c.n_epoch * c.stride);
    votes_memory m;
    double *x = check_memory(t, TESS_SPACE_HOST, n * N_TIME * sizeof(double));
    double *d_x = check_memory(t, TESS_SPACE_DEVICE, n * N_TIME * sizeof(double));
    if (!take_memory(t, &c, &m) || !x || !d_x) {
        return;
    }
    for (size_t r = 0; r < n; r++) {
        double low = HUGE_VAL;
        double high = -HUGE_VAL;
        for (size_t i = 0; i < N_TIME; i++) {
            const double value = (double)(check_random(t) >> 11) * 0x1p-53;
            x[r * N_TIME + i] = value;
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        m.delta[r] = 0;
        m.thresholds[r % (size_t)c.n_chan] = 0.96;
        x[r * N_TIME] = low + (high - low) * 0.5;
    }
    if (!upload(t, &c, &m) ||
        !check_copy(t, d_x, TESS_SPACE_DEVICE, x, TESS_SPACE_HOST, n * N_TIME * sizeof(double))) {
        return;
    }
    const tess_stage_autoreject_ptp ptp = {
        d_x, m.d_delta, c.n_epoch, c.n_chan, N_TIME, c.n_chan * N_TIME, N_TIME, TESS_F64, 0};
    if (check_ok(t, t->backend->enqueue(t->queue, TESS_STAGE_AUTOREJECT_PTP, &ptp, sizeof(ptp)),
                 "enqueue") &&
        start(t, &c, &m) &&
        check_copy(t, m.delta, TESS_SPACE_HOST, m.d_delta, TESS_SPACE_DEVICE, n * sizeof(double))) {
        check_that(t, m.delta[0] > 0 && m.delta[n - 1] > 0, "no peak-to-peaks");
        compare(t, &c, &m);
    }
}

static void refused_case(check *t)
{
    tess_stage_autoreject_votes args = {NULL, NULL, NULL, NULL, -1, 3, 3};
    check_fails(t, t->backend->supports(t->device, TESS_STAGE_AUTOREJECT_VOTES, &args),
                TESS_E_UNSUPPORTED, "autoreject.votes", "fewer than no epochs");
    args.n_epoch = 2;
    args.stride_epoch = 2;
    check_fails(t, t->backend->supports(t->device, TESS_STAGE_AUTOREJECT_VOTES, &args),
                TESS_E_UNSUPPORTED, "autoreject.votes", "rows within each other");
}

void votes_cases(check *t)
{
    check_case(t, "votes.shapes", shapes_case);
    check_case(t, "votes.empty", empty_case);
    check_case(t, "votes.behind_ptp", behind_ptp_case);
    check_case(t, "votes.refused", refused_case);
}
