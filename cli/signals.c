// Signal handlers; everything they call is async-signal-safe.

#include "signals.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static tess_context *volatile watched;
static volatile sig_atomic_t caught;
static volatile sig_atomic_t pipe_closed;
static struct timespec limited; // when the time limit began
static time_t told;             // when the first SIGTERM came

// A batch system tells every process of a job, and srun or the job's script tells the run again:
// one order, for which the work is kept. Whoever means another one waits this long.
enum { SAME_ORDER_S = 5 };

static int is_same_order(int number)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (number != SIGTERM || caught != SIGTERM) {
        told = number == SIGTERM ? now.tv_sec : told;
        return 0;
    }
    return now.tv_sec - told < SAME_ORDER_S;
}

// A closed pipe cancels too, so that temporary files are removed; it may come again with every
// message that is still written, hence it never ends the process by itself.
static void on_signal(int number)
{
    tess_context *ctx = watched;

    if (number == SIGPIPE) {
        pipe_closed = 1;
    }
    // Whoever stops a run whose time is up does not stop it twice.
    if (number == SIGALRM && (!ctx || caught)) {
        return;
    }
    const int is_same = is_same_order(number);
    if (ctx && is_same) {
        return;
    }
    if (!ctx || (number != SIGPIPE && caught && caught != SIGALRM)) {
        _exit(128 + number);
    }
    if (number == SIGALRM) {
        caught = number;
    } else if (number != SIGPIPE) {
        static const char hint[] = "\r\033[Ktessera: stopping; once more to stop at once\n";
        caught = number;
        if (isatty(STDERR_FILENO) && write(STDERR_FILENO, hint, sizeof hint - 1) < 0) {
            pipe_closed = 1;
        }
    }
    tess_context_cancel(ctx);
}

// What a batch system sends ahead of its time limit: keep what there is, and go on.
static void on_checkpoint(int number)
{
    (void)number;
    tess_context_checkpoint(watched);
}

void signals_install(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    action.sa_handler = on_checkpoint;
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = SIG_IGN; // a file over its limit is a failed write, and no end
    sigaction(SIGXFSZ, &action, NULL);
}

void signals_watch(tess_context *ctx)
{
    watched = ctx;
    if (ctx && caught) {
        tess_context_cancel(ctx);
    }
}

void signals_limit(double seconds)
{
    struct itimerval timer;

    clock_gettime(CLOCK_REALTIME, &limited);
    memset(&timer, 0, sizeof timer);
    timer.it_value.tv_sec = (time_t)seconds;
    timer.it_value.tv_usec = (suseconds_t)((seconds - (double)timer.it_value.tv_sec) * 1e6);
    setitimer(ITIMER_REAL, &timer, NULL);
}

struct timespec signals_limit_began(void)
{
    return limited;
}

int signals_caught(void)
{
    return caught != 0;
}

int signals_exit_code(void)
{
    return caught == SIGALRM ? 75 : caught ? 128 + (int)caught : 0;
}

int signals_pipe_closed(void)
{
    return pipe_closed != 0;
}
