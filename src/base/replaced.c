#include "base/replaced.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 256 << 20 }; // bytes

// How many are being closed, and by which process (the upper half): a forked child has none of its
// parent's threads.
static _Atomic uint64_t n_closing;

static uint32_t closing_of(uint64_t state)
{
    return state >> 32 == (uint64_t)getpid() ? (uint32_t)state : 0;
}

static void count(int more)
{
    uint64_t state = atomic_load(&n_closing);
    uint64_t next;
    do {
        next = (uint64_t)getpid() << 32 | (uint32_t)((int64_t)closing_of(state) + more);
    } while (!atomic_compare_exchange_weak(&n_closing, &state, next));
}

int tess_replaced_hold(const char *path)
{
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat info;
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= LARGE) {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

static void *close_counted(void *fd)
{
    close((int)(intptr_t)fd);
    count(-1);
    return NULL;
}

void tess_replaced_let_go(int fd)
{
    if (fd < 0) {
        return;
    }
    pthread_t thread;
    count(1);
    if (pthread_create(&thread, NULL, close_counted, (void *)(intptr_t)fd) == 0) {
        pthread_detach(thread);
    } else {
        close_counted((void *)(intptr_t)fd);
    }
}

void tess_replaced_wait(void)
{
    const struct timespec moment = {.tv_nsec = 500000};
    while (closing_of(atomic_load(&n_closing)) > 0) {
        nanosleep(&moment, NULL);
    }
}
