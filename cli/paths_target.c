// Whether a result can appear under its name when the work is done.

#include "paths.h"

#include "text.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    TEMPORARY = 28,  // what ".tmp.<pid>.<random>" adds to a name
    MAX_OUTPUT = 900 // bytes of a path: writers add names of their own
};

static int has_ending(const char *path, const char *ending, size_t n)
{
    const size_t length = strlen(path);
    return n == 0 ? !text_has_suffix(path)
                  : length > n && strncasecmp(path + length - n, ending, n) == 0;
}

static int check_ending(const cli *c, const paths_item *item)
{
    char list[128] = "";
    const char *endings = item->endings ? item->endings : "";

    for (const char *at = endings; *at;) {
        const size_t n = strcspn(at, "|");
        const size_t used = strlen(list);
        if (has_ending(item->path, at, n)) {
            return 0;
        }
        snprintf(list + used, sizeof list - used, "%s%.*s", used ? ", " : "", n ? (int)n : 20,
                 n ? at : "no suffix (a folder)");
        at += n + (at[n] == '|');
    }
    return endings[0] ? cli_usage_error(c, "%s %s: results are written as %s; end the name so",
                                        item->label, item->path, list)
                      : 0;
}

// Hours of work end in this folder, so that it is looked at before them.
static int check_folder_of(const char *path)
{
    char folder[PATH_MAX];
    char name[PATH_MAX] = "";

    snprintf(folder, sizeof folder, "%s", path);
    place_move_last(folder, name);
    if (strlen(name) + TEMPORARY > NAME_MAX || strlen(path) > MAX_OUTPUT) {
        return console_fail(73, "%.80s...: the name is too long for a file", path);
    }
    return access(folder, W_OK | X_OK) == 0
               ? 0
               : console_fail(73, "%s: cannot create a file there: %s", path, strerror(errno));
}

// The folder, or the nearest above it that is there, takes files.
static int check_folder(const paths_item *item)
{
    struct stat there;
    const place *p = &item->at;

    size_t longest = 0;
    for (const char *at = p->rest; *at; at += strcspn(at, "/")) {
        at += *at == '/';
        longest = strcspn(at, "/") > longest ? strcspn(at, "/") : longest;
    }
    if (strlen(item->path) > MAX_OUTPUT) {
        return console_fail(73, "%s %.80s...: a path of %zu bytes; at most %d are possible",
                            item->label, item->path, strlen(item->path), (int)MAX_OUTPUT);
    }
    if (p->inode == 0 || longest > NAME_MAX) {
        return console_fail(73, "%s %.80s: no folder can be made there", item->label, item->path);
    }
    if (stat(p->real, &there) != 0) {
        there.st_mode = 0;
    }
    if (!S_ISDIR(there.st_mode) && !p->rest[0]) {
        return console_fail(73, "%s is no folder; name one for %s", item->path, item->label);
    }
    const int failure = !S_ISDIR(there.st_mode)             ? ENOTDIR
                        : access(p->real, W_OK | X_OK) != 0 ? errno
                                                            : 0;
    return failure ? console_fail(73, "%s: no results can be written there: %s", item->path,
                                  strerror(failure))
                   : 0;
}

// What the user gives to replace files: "overwrite", "force"; NULL where nothing is replaced.
static const char *overwrite_option(const cli *c)
{
    for (int64_t i = 0; i < c->options.n_item; i++) {
        if (c->options.items[i].target == (const void *)&c->values.overwrite) {
            return c->options.items[i].name;
        }
    }
    return NULL;
}

static int refuse_existing(const cli *c, const char *path)
{
    const char *option = overwrite_option(c);
    return option ? console_fail(73, "%s exists; give --%s to replace it", path, option)
                  : console_fail(73, "%s exists; give another name", path);
}

static int check_file(const cli *c, const char *path, int may_exist)
{
    struct stat there;

    // A finished result takes the place of what has its name: a device or pipe would be gone, and
    // so would a link to what a process has open, as /dev/stdout is.
    char target[PATH_MAX] = "";
    const int is_open_file =
        readlink(path, target, sizeof target - 1) > 0 && strncmp(target, "/proc/", 6) == 0;
    if (stat(path, &there) == 0 && (is_open_file || !S_ISREG(there.st_mode))) {
        return console_fail(73, "%s is %s, which a result would replace; give the name of a file",
                            path, S_ISDIR(there.st_mode) ? "a folder" : "no regular file");
    }
    if (!may_exist && lstat(path, &there) == 0) {
        return refuse_existing(c, path);
    }
    return check_folder_of(path);
}

int paths_check_target(const cli *c, const char *path)
{
    return path ? check_file(c, path, c->values.overwrite) : 0;
}

// A name without suffix is that of a folder, which may be there already.
static int check_result_folder(const cli *c, const paths_item *item, int may_exist)
{
    if (item->at.rest[0]) {
        return check_file(c, item->path, may_exist);
    }
    CLI_TRY(check_folder(item));
    return may_exist ? 0 : refuse_existing(c, item->path);
}

// Traces replace each other without a question, but nothing else.
static int is_trace(const char *path)
{
    static const char start[] = "{\"displayTimeUnit\"";
    char head[sizeof start] = "";
    FILE *file = text_open_file(path);
    const size_t n = file ? fread(head, 1, sizeof start - 1, file) : 0;

    if (file) {
        fclose(file);
    }
    return n == sizeof start - 1 && memcmp(head, start, n) == 0;
}

// Nothing takes the place of a log, so that it may be a device.
static int check_log(const char *path)
{
    struct stat there;

    if (stat(path, &there) != 0) {
        return check_file(NULL, path, 1);
    }
    const int failure = S_ISDIR(there.st_mode) ? EISDIR : access(path, W_OK) != 0 ? errno : 0;
    return failure ? console_fail(73, "--log-file %s: %s", path, strerror(failure)) : 0;
}

int paths_check_item(const cli *c, const paths_item *item)
{
    // Commands that resume tell their own results from other files.
    const int may_exist = c->values.overwrite || c->values.resume;

    switch (item->role) {
    case PATH_WRITE:
        CLI_TRY(check_ending(c, item));
        return check_file(c, item->path, may_exist);
    case PATH_RESULT:
        CLI_TRY(check_ending(c, item));
        return text_has_suffix(item->path) ? check_file(c, item->path, may_exist)
                                           : check_result_folder(c, item, may_exist);
    case PATH_REPLACE:
        return check_file(c, item->path, may_exist || is_trace(item->path));
    case PATH_APPEND:
        return check_log(item->path);
    case PATH_INTO:
    case PATH_OWN:
        return check_folder(item);
    default:
        return 0;
    }
}
