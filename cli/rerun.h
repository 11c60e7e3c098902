// Doing again what the provenance of a result says.
#ifndef TESSERA_CLI_RERUN_H
#define TESSERA_CLI_RERUN_H

#include "cli.h"

#include <tessera/sys/document.h>

enum { RERUN_MAX_WORD = 256 };

// The command line to run, and what it will write.
typedef struct rerun_line {
    char *words[RERUN_MAX_WORD]; // owned; NULL behind the last
    int n_word;
    char made[PATH_MAX]; // the file or folder that stands for the one asked for
} rerun_line;

// Fills the line for the file at path from its provenance; outputs go into folder. Checks inputs by
// name and size, looks for them here and beside the file, and where --input says. Exit code.
int rerun_make_line(cli *c, const tess_document_node *provenance, const tess_document_node *beside,
                    const char *path, const char *folder, rerun_line *line);
void rerun_free_line(rerun_line *line);

#endif
