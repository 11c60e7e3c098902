// Signal handlers; everything they call is async-signal-safe.

#include "signals.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static tess_context *volatile watched;
static volatile sig_atomic_t caught;
static volatile sig_atomic_t pipe_closed;

// A closed pipe cancels too, so that temporary files are removed; it may come again with every
// message that is still written, hence it never ends the process by itself.
static void on_signal(int number)
{
    tess_context *ctx = watched;

    if (number == SIGPIPE) {
        pipe_closed = 1;
    }
    if (!ctx || (number != SIGPIPE && caught)) {
        _exit(128 + number);
    }
    if (number != SIGPIPE) {
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

int signals_caught(void)
{
    return (int)caught;
}

int signals_pipe_closed(void)
{
    return pipe_closed != 0;
}
