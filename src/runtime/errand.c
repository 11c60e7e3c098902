#include "runtime/errand.h"

#include "runtime/pool.h"

static void run(tess_errand *errand)
{
    errand->status = errand->fn(errand->arg);
    if (errand->status != TESS_OK) {
        tess_error_copy_out(errand->message);
    }
    atomic_store(&errand->is_done, true);
}

static void *errand_main(void *arg)
{
    tess_pool_stay_inline();
    run(arg);
    return NULL;
}

void tess_errand_start(tess_errand *errand, tess_status (*fn)(void *arg), void *arg)
{
    errand->fn = fn;
    errand->arg = arg;
    errand->status = TESS_OK;
    errand->is_under_way = true;
    atomic_store(&errand->is_done, false);
    errand->has_thread = pthread_create(&errand->thread, NULL, errand_main, errand) == 0;
    if (!errand->has_thread) {
        run(errand);
    }
}

tess_status tess_errand_wait(tess_errand *errand)
{
    if (!errand->is_under_way) {
        return TESS_OK;
    }
    if (errand->has_thread) {
        pthread_join(errand->thread, NULL);
    }
    errand->is_under_way = false;
    if (errand->status != TESS_OK) {
        tess_error_copy_in(errand->message);
    }
    return errand->status;
}

void tess_errand_drop(tess_errand *errand)
{
    char message[TESS_MESSAGE_BYTES];
    tess_error_copy_out(message);
    if (tess_errand_wait(errand) != TESS_OK) {
        tess_error_copy_in(message);
    }
}
