// Runs the command itself again, as a process of its own.
#ifndef TESSERA_CLI_CHILD_H
#define TESSERA_CLI_CHILD_H

#include "cli.h"

// Waits for the words, the first of which is the program's name; what they print on stdout goes to
// the descriptor, or with -1 nowhere. Its exit code, or one of ours after saying what went wrong.
int child_run(cli *c, char *const *words, int out);

#endif
