// Warnings by their ids: which are shown, which end the command with an error.
#ifndef TESSERA_CLI_WARNINGS_H
#define TESSERA_CLI_WARNINGS_H

#include "cli.h"

// Reads --werror and --no-warn. Exit code.
int warnings_init(const cli *c);

// What follows of it: errors and unwanted are lists of ids or their beginnings, "" for all, NULL
// for none.
void warnings_set(const char *as_errors, const char *unwanted);

// Whether a word is or begins an id.
int warnings_is_id(const char *word, size_t length);

// How many were met that are errors, and their ids.
int warnings_errors(char *ids, size_t capacity);

// 0 if the user does not want to hear of it. Counts it otherwise.
int warnings_take(const tess_warning_info *warning);

// 1 after a line that names those which --werror makes errors; code if there were none, or if the
// command has failed anyway.
int warnings_finish(int code);

#endif
