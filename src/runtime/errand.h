// Work that one other thread does meanwhile.
//
// A computation whose steps need different machines sends one of them ahead: the likelihood of the
// next rows on a GPU while the CPU filters these, rows to a file while the next are computed. One
// errand is under way at a time; what it calls in parallel runs in its own thread, for the pool is
// the caller's.
//
//   TESS_TRY(tess_errand_wait(&errand));            the one before
//   tess_errand_start(&errand, write_rows, &job);
//   ... something else ...
//   TESS_TRY(tess_errand_wait(&errand));            job is the caller's again
#ifndef TESS_RUNTIME_ERRAND_H
#define TESS_RUNTIME_ERRAND_H

#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct tess_errand {
    tess_status (*fn)(void *arg);
    void *arg;
    pthread_t thread;
    bool is_under_way;
    bool has_thread;
    atomic_bool is_done; // the wait will be short
    tess_status status;
    char message[TESS_MESSAGE_BYTES];
} tess_errand; // all zero: none

// arg stays untouched by the caller until the wait. Where no thread can be had the work is done by
// the time of the return.
void tess_errand_start(tess_errand *errand, tess_status (*fn)(void *arg), void *arg);
// Its failure, with its message on this thread; TESS_OK if there is none under way.
TESS_MUST_CHECK tess_status tess_errand_wait(tess_errand *errand);
// For the end of something that failed already, whose message stays.
void tess_errand_drop(tess_errand *errand);

#endif
