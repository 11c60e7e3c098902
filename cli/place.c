// Compares files by device and inode, whatever their names and links; those that do not exist yet
// by the folder they will lie in and their name there.

#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LINK = 40 }; // as the kernel

void place_move_last(char path[PATH_MAX], char rest[PATH_MAX])
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') {
        path[--n] = '\0';
    }
    char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const size_t length = strlen(name);
    const size_t n_rest = strlen(rest);
    if (strcmp(name, ".") != 0 && length > 0 && length + 1 + n_rest < PATH_MAX) {
        memmove(rest + length + 1, rest, n_rest + 1);
        rest[0] = '/';
        memcpy(rest + 1, name, length);
    }
    if (slash) {
        slash[slash == path] = '\0';
    } else {
        strcpy(path, ".");
    }
}

// Puts the target of a link in its place; 0 if it is no link.
static int follow(char path[PATH_MAX])
{
    char target[PATH_MAX];
    const ssize_t length = readlink(path, target, sizeof target - 1);
    char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;

    if (length <= 0 || folder + (size_t)length >= PATH_MAX) {
        return 0;
    }
    memcpy(path + (target[0] == '/' ? 0 : folder), target, (size_t)length);
    path[(target[0] == '/' ? 0 : folder) + (size_t)length] = '\0';
    return 1;
}

void place_locate(const char *path, place *p)
{
    struct stat there;
    char at[PATH_MAX];

    memset(p, 0, sizeof *p);
    if ((size_t)snprintf(at, sizeof at, "%s", path) >= sizeof at) {
        return; // whoever opens it will say that it is too long
    }
    for (int n_link = 0; stat(at, &there) != 0;) {
        if (strcmp(at, ".") == 0 || strcmp(at, "/") == 0) {
            return; // the folder one is in was removed
        }
        if (n_link < MAX_LINK && follow(at)) {
            n_link++;
        } else {
            place_move_last(at, p->rest);
        }
    }
    p->device = there.st_dev;
    p->inode = there.st_ino;
    if (!realpath(at, p->real)) {
        p->real[0] = '\0';
    }
}

int place_is_same(const place *a, const place *b)
{
    return a->inode != 0 && a->device == b->device && a->inode == b->inode &&
           strcmp(a->rest, b->rest) == 0;
}

int place_is_inside(const place *p, const place *folder)
{
    const size_t n = strlen(folder->rest);
    if (n > 0) {
        return p->device == folder->device && p->inode == folder->inode &&
               strncmp(p->rest, folder->rest, n) == 0 && p->rest[n] == '/';
    }
    char at[PATH_MAX];
    struct stat there;
    memcpy(at, p->real, sizeof at);
    for (int is_above = p->rest[0] != '\0'; at[0]; is_above = 1) {
        if (is_above && stat(at, &there) == 0 && there.st_dev == folder->device &&
            there.st_ino == folder->inode) {
            return 1;
        }
        if (strcmp(at, "/") == 0) {
            break;
        }
        char *slash = strrchr(at, '/');
        slash[slash == at] = '\0';
    }
    return 0;
}
