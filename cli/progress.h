// Progress of a run on stderr: a bar on a terminal, lines elsewhere, JSON on request.
#ifndef TESSERA_CLI_PROGRESS_H
#define TESSERA_CLI_PROGRESS_H

#include <tessera/context.h>

typedef enum progress_mode {
    PROGRESS_NONE,
    PROGRESS_BAR,
    PROGRESS_PLAIN,
    PROGRESS_JSON
} progress_mode;

typedef struct progress {
    progress_mode mode;
    double interval_s; // least time between two reports
    double last_s;     // elapsed time of the last report
    double last_log_s; // the same of --log-json, and its stage
    const char *log_stage;
    int has_begun;
    int64_t first_done;        // what an earlier run had done already
    uint64_t first_done_bytes; // the same in bytes
} progress;

// asked: text of --progress, "" for the bare option, NULL for none.
void progress_init(progress *bar, const char *asked, int silent);

// A tess_progress_fn; user is the progress. Never cancels.
int progress_show(void *user, const tess_progress *now);

#endif
