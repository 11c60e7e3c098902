// Where a path leads, through links, whether a file is there or not.
#ifndef TESSERA_CLI_PLACE_H
#define TESSERA_CLI_PLACE_H

#include <limits.h>
#include <sys/stat.h>

// What there is of a path, and the names beyond that.
typedef struct place {
    dev_t device;
    ino_t inode;         // 0: not known
    char real[PATH_MAX]; // of what there is
    char rest[PATH_MAX]; // "" if all is there, else "/name/name"
} place;

void place_locate(const char *path, place *p);
int place_is_same(const place *a, const place *b);
int place_is_inside(const place *p, const place *folder);

// Moves the last name from one path to the front of the other, behind a slash.
void place_move_last(char path[PATH_MAX], char rest[PATH_MAX]);

#endif
