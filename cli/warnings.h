// Warnings by their ids: which are shown, which end the command with an error.
#ifndef TESSERA_CLI_WARNINGS_H
#define TESSERA_CLI_WARNINGS_H

#include "cli.h"

// Reads --werror and --no-warn. Exit code.
int warnings_init(const cli *c);

// 0 if the user does not want to hear of it. Counts it otherwise.
int warnings_take(const tess_warning_info *warning);

// 1 after a line that names those which --werror makes errors; code if there were none, or if the
// command has failed anyway.
int warnings_finish(int code);

#endif
