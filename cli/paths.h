// One look at every path of a command line, before any file is opened for writing.
#ifndef TESSERA_CLI_PATHS_H
#define TESSERA_CLI_PATHS_H

#include "cli.h"
#include "place.h"

enum { PATHS_LABEL = 48 };

// A path of the command line.
typedef struct paths_item {
    char label[PATHS_LABEL]; // as the user knows it: "--trace", "RECORDING"
    const char *path;
    path_role role;
    const char *endings;
    place at;
} paths_item;

// Refuses what is read and written at once, by whatever names; outputs that are one file; outputs
// that exist, unless the user allows it; those of an unknown kind; and those that could not be
// created when the work is done. With --resume an output that exists is left to the command, which
// knows whether it is the finished result. Exit code.
int paths_check(const cli *c);

// What is wrong with one path alone; nothing about those that are read. Exit code.
int paths_check_item(const cli *c, const paths_item *item);

// Refuses a file that exists, unless --overwrite, or cannot be created. path may be NULL.
int paths_check_target(const cli *c, const char *path);

// Calls visit with the names of the files that are read with this one: header, markers and samples
// of a recording, the parts of a split one, side-cars, the arrays of a folder.
void paths_for_companions(const char *path, void (*visit)(void *user, const char *path),
                          void *user);

#endif
