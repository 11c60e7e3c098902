// Signals: the first INT or TERM stops at the next tile, the second at once, but for a TERM that
// only repeats one; USR1 asks for a checkpoint. They are in place before any work, whatever the
// command.
#ifndef TESSERA_CLI_SIGNALS_H
#define TESSERA_CLI_SIGNALS_H

#include <tessera/context.h>

#include <time.h>

void signals_install(void);

// The context that the first signal cancels; NULL: a signal ends the process.
void signals_watch(tess_context *ctx);

// Stops what is watched after this time, as a signal does.
void signals_limit(double seconds);

// When that was, by the clock of files.
struct timespec signals_limit_began(void);

// 1 once a signal has come or the time is up.
int signals_caught(void);

// 130 or 143 of the signal, 75 of the time limit, else 0.
int signals_exit_code(void);

// 1 once the reader of stdout or stderr has gone away.
int signals_pipe_closed(void);

#endif
