#include "runtime/work_folder.h"

#include "base/file.h"
#include "base/status.h"
#include "runtime/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char SUFFIX[] = ".ckpt";

// ---- The lock ---------------------------------------------------------------------------------

// A plain file that has one name and is nobody's but the folder's.
static tess_status open_lock(const char *path, int *fd)
{
    struct stat info;
    do {
        *fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    } while (*fd < 0 && errno == EINTR);
    if (*fd < 0) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot create: %s", path,
                  errno == ELOOP ? "it is a link; remove it" : strerror(errno));
    }
    if (fstat(*fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink > 1) {
        TESS_FAIL(TESS_E_CREATE, "%s: is not a plain file of this folder alone; remove it", path);
    }
    return TESS_OK;
}

// A run that ends removes the file: what was locked must still be what the name says.
static tess_status hold(const char *folder, const char *path, int *fd)
{
    for (;;) {
        TESS_TRY(open_lock(path, fd));
        if (flock(*fd, LOCK_EX | LOCK_NB) != 0) {
            char holder[128] = "";
            const ssize_t n = pread(*fd, holder, sizeof holder - 1, 0);
            holder[n > 0 ? n : 0] = '\0';
            TESS_FAIL(TESS_E_LOCKED, "%s: another run is using this folder (%s)", folder,
                      holder[0] ? holder : "holder unknown");
        }
        struct stat held;
        struct stat named;
        if (fstat(*fd, &held) == 0 && lstat(path, &named) == 0 && held.st_ino == named.st_ino) {
            return TESS_OK;
        }
        close(*fd);
        *fd = -1;
    }
}

// A courtesy to whoever is refused: the lock holds without it, on a full disk too.
static void write_holder(const char *path, int fd)
{
    char host[64] = "";
    char text[128];
    gethostname(host, sizeof host - 1);
    const int n = snprintf(text, sizeof text, "pid %ld on %s", (long)getpid(), host);
    if (tess_file_resize(fd, path, 0) != TESS_OK ||
        tess_file_write_at(fd, path, text, (size_t)n, 0) != TESS_OK) {
        tess_error_clear();
    }
}

tess_status tess_work_folder_lock(const char *folder, int *fd)
{
    *fd = -1;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot create the checkpoint folder: %s", folder,
                  strerror(errno));
    }
    char path[1024];
    snprintf(path, sizeof path, "%s/lock", folder);
    const tess_status status = hold(folder, path, fd);
    if (status == TESS_OK) {
        write_holder(path, *fd);
    } else if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return status;
}

// ---- What lies there --------------------------------------------------------------------------

static tess_status open_folder(const char *path, DIR **folder)
{
    *folder = opendir(path);
    if (!*folder) {
        // Taken for an empty folder, it would be started afresh over the finished work.
        TESS_FAIL(errno == ENOMEM ? TESS_E_MEMORY : TESS_E_IO, "%s: cannot list: %s", path,
                  strerror(errno));
    }
    return TESS_OK;
}

// "<name>.<number>.ckpt": length of the name and the number; false if it is none.
static bool parse(const char *file, size_t *n_name, int64_t *number)
{
    const size_t length = strlen(file);
    if (length <= sizeof SUFFIX || strcmp(file + length - (sizeof SUFFIX - 1), SUFFIX) != 0) {
        return false;
    }
    const char *end = file + length - (sizeof SUFFIX - 1);
    const char *digits = end;
    while (digits > file && digits[-1] >= '0' && digits[-1] <= '9') {
        digits--;
    }
    *n_name = digits > file && digits[-1] == '.' ? (size_t)(digits - 1 - file) : 0;
    *number = end - digits < 18 ? strtoll(digits, NULL, 10) : 0;
    return true;
}

// Keeps the largest numbers, in falling order.
static void note(tess_work_listing *listing, int64_t number)
{
    const bool is_full = listing->n == TESS_WORK_LISTED;
    if (is_full && number <= listing->numbers[listing->n - 1]) {
        return;
    }
    int at = is_full ? listing->n - 1 : listing->n++;
    for (; at > 0 && listing->numbers[at - 1] < number; at--) {
        listing->numbers[at] = listing->numbers[at - 1];
    }
    listing->numbers[at] = number;
}

tess_status tess_work_folder_list(const char *folder, const char *name, tess_work_listing *listing)
{
    memset(listing, 0, sizeof *listing);
    DIR *open = NULL;
    TESS_TRY(open_folder(folder, &open));
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;) {
        size_t n_name = 0;
        int64_t number = 0;
        if (!parse(entry->d_name, &n_name, &number)) {
            continue;
        }
        if (number > 0 && n_name == strlen(name) && strncmp(entry->d_name, name, n_name) == 0) {
            note(listing, number);
        } else {
            snprintf(listing->stranger, sizeof listing->stranger, "%.255s", entry->d_name);
        }
    }
    closedir(open);
    return TESS_OK;
}

tess_status tess_work_folder_check_files(const char *folder, const char *const *files)
{
    for (; files && *files; files++) {
        char path[1024];
        struct stat info;
        snprintf(path, sizeof path, "%s/%s", folder, *files);
        if (lstat(path, &info) == 0 && !S_ISDIR(info.st_mode) &&
            (!S_ISREG(info.st_mode) || info.st_nlink > 1)) {
            TESS_FAIL(TESS_E_CREATE,
                      "%s: would be written, but is a link or no plain file; remove it", path);
        }
    }
    return TESS_OK;
}

void tess_work_folder_sweep(const char *folder)
{
    DIR *open = opendir(folder);
    if (!open) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;) {
        if (strstr(entry->d_name, ".ckpt.tmp.")) {
            unlinkat(dirfd(open), entry->d_name, 0);
        }
    }
    closedir(open);
}

// ---- The end ----------------------------------------------------------------------------------

// A file, or a folder of files. What is not there is removed already.
static tess_status remove_entry(int at, const char *folder, const char *name)
{
    if (unlinkat(at, name, 0) == 0 || errno == ENOENT) {
        return TESS_OK;
    }
    const int inner_fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *inner = inner_fd >= 0 ? fdopendir(inner_fd) : NULL;
    if (inner_fd >= 0 && !inner) {
        close(inner_fd);
    }
    for (const struct dirent *entry; inner && (entry = readdir(inner)) != NULL;) {
        unlinkat(dirfd(inner), entry->d_name, 0);
    }
    if (inner) {
        closedir(inner);
    }
    if (unlinkat(at, name, AT_REMOVEDIR) != 0 && errno != ENOENT) {
        TESS_FAIL(TESS_E_IO, "%s/%s: cannot remove: %s", folder, name, strerror(errno));
    }
    return TESS_OK;
}

tess_status tess_work_folder_clear(const char *folder, const char *const *files)
{
    DIR *open = NULL;
    TESS_TRY(open_folder(folder, &open));
    tess_status status = TESS_OK;
    // Checkpoints last: whoever is killed here leaves one that names what is still to be removed.
    for (; status == TESS_OK && files && *files; files++) {
        status = remove_entry(dirfd(open), folder, *files);
    }
    for (const struct dirent *entry; status == TESS_OK && (entry = readdir(open)) != NULL;) {
        size_t n_name = 0;
        int64_t number = 0;
        if (parse(entry->d_name, &n_name, &number)) {
            status = remove_entry(dirfd(open), folder, entry->d_name);
        }
    }
    closedir(open);
    return status;
}

// Names in block "files", each with its zero. They come from a file: only plain names are taken.
static tess_status clear_named(const char *folder, const char *names, size_t bytes)
{
    const char *files[TESS_WORK_LISTED + 1] = {NULL};
    int n = 0;
    for (size_t at = 0; at < bytes && n < TESS_WORK_LISTED; at += strlen(names + at) + 1) {
        const char *name = names + at;
        if (name[0] && name[0] != '.' && !strchr(name, '/')) {
            files[n++] = name;
        }
    }
    return tess_work_folder_clear(folder, files);
}

// The first checkpoint that can be read tells the names; without one only checkpoints go.
static tess_status read_names(tess_context *ctx, const char *folder, char **names, size_t *bytes)
{
    DIR *open = NULL;
    TESS_TRY(open_folder(folder, &open));
    tess_status status = TESS_OK;
    for (const struct dirent *entry; !*names && status == TESS_OK && (entry = readdir(open));) {
        size_t n_name = 0;
        int64_t number = 0;
        tess_checkpoint checkpoint;
        char path[1024];
        snprintf(path, sizeof path, "%.700s/%.255s", folder, entry->d_name);
        if (!parse(entry->d_name, &n_name, &number) ||
            tess_checkpoint_open(ctx, path, &checkpoint) != TESS_OK) {
            continue;
        }
        const size_t n = tess_checkpoint_size(&checkpoint, "files");
        *bytes = n + 1;
        *names = tess_heap_alloc_zero(&ctx->heap, n + 1, TESS_TAG_IO, "names of files");
        status = *names ? tess_checkpoint_get(&checkpoint, "files", *names, n) : TESS_E_MEMORY;
        tess_checkpoint_close(&checkpoint);
    }
    closedir(open);
    return status;
}

tess_status tess_work_folder_clear_all(tess_context *ctx, const char *folder)
{
    char *names = NULL;
    size_t bytes = 0;
    tess_status status = read_names(ctx, folder, &names, &bytes);
    if (status == TESS_OK) {
        tess_work_folder_sweep(folder);
        status = clear_named(folder, names ? names : "", names ? bytes - 1 : 0);
    }
    tess_heap_free(&ctx->heap, names, bytes, TESS_TAG_IO);
    return status;
}

void tess_work_folder_remove(const char *folder)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/lock", folder);
    unlink(path);
    rmdir(folder); // stays if the user keeps other things there
}
