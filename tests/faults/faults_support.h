// What the two sweeps share: a small input file, one run over it, a look at files.
#ifndef TESS_TESTS_FAULTS_SUPPORT_H
#define TESS_TESTS_FAULTS_SUPPORT_H

#include "tessera/tessera.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_EPOCH = 10, N_CHAN = 3, N_TIME = 40 };

// Ends the program with the place and the library's message.
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s does not hold (last error: %s)\n", __FILE__, __LINE__,      \
                    #condition, tess_last_error());                                                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

// Enters an empty folder; the program's files lie there.
void work_in(const char *folder);
// Writes N_EPOCH epochs of simulated data.
void make_input(const char *path, tess_dtype dtype);

typedef struct run_options {
    tess_context_config context;
    tess_run_config run;
    int64_t tile_epochs;
    const char *input;
    const char *output; // NULL: memory
} run_options;

void run_options_init(run_options *options, const char *input, const char *output);
// Context, source, plan, sink, run: everything made and freed. *done: items finished.
tess_status run_once(const run_options *options, int64_t *done);

bool file_exists(const char *path);
// The arrays in two files, bit for bit; provenance may differ.
bool same_values(const char *a, const char *b);
// Names below the folder that contain a text.
int count_named(const char *folder, const char *text);
void remove_folder(const char *folder);

#endif
