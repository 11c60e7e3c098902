#include "base/file.h"

#include "base/replaced.h"
#include "base/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

// One write() may move at most 2 GiB; smaller pieces also keep cancellation prompt.
enum { MAX_PIECE = 64 << 20, MAX_PATH = 4096 };

// How much of a path is the name that a file is to have: all but what tess_temp_name() adds.
static int shown_length(const char *path)
{
    int length = (int)strlen(path);
    for (const char *mark = path; (mark = strstr(mark, ".tmp.")) != NULL; mark++) {
        const size_t n_digit = strspn(mark + 5, "0123456789");
        const char *host = mark + 5 + n_digit;
        if (n_digit > 0 && *host == '.' && strspn(host + 1, "0123456789abcdef") == 8 && !host[9]) {
            length = (int)(mark - path);
            break;
        }
    }
    return length;
}

static tess_status write_error(const char *path, const char *what)
{
    const int code = errno;
    const char *remedy = code == ENOSPC || code == EDQUOT ? "; free some space and run again" : "";
    return tess_error_set(TESS_E_IO, "%.*s: cannot %s: %s%s", shown_length(path), path, what,
                          strerror(code), remedy);
}

// Data sets under git-annex are full of links to what was not fetched yet.
static tess_status open_error(const char *path)
{
    const int code = errno;
    char to[256];
    const ssize_t n = code == ENOENT ? readlink(path, to, sizeof to) : -1;
    if (n > 0) {
        TESS_FAIL(TESS_E_NOT_FOUND,
                  "%s: is a link to %.*s, which is not there: fetch the file first, as by 'datalad "
                  "get'",
                  path, (int)n, to);
    }
    TESS_FAIL(TESS_E_NOT_FOUND, "%s: cannot open: %s", path, strerror(code));
}

tess_status tess_file_open_read(const char *path, int *fd, uint64_t *bytes, int64_t *mtime_ns)
{
    *fd = -1;
    int opened;
    do {
        // Without O_NONBLOCK a named pipe would be waited for before it can be refused.
        opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (opened < 0 && errno == EINTR);
    if (opened < 0) {
        return open_error(path);
    }
    struct stat info;
    if (fstat(opened, &info) != 0) {
        tess_error_set(TESS_E_NOT_FOUND, "%s: cannot stat: %s", path, strerror(errno));
        close(opened);
        return TESS_E_NOT_FOUND;
    }
    if (!S_ISREG(info.st_mode)) {
        tess_error_set(TESS_E_NOT_FOUND, "%s: is not a regular file", path);
        close(opened);
        return TESS_E_NOT_FOUND;
    }
    *fd = opened;
    *bytes = (uint64_t)info.st_size;
    if (mtime_ns) {
        *mtime_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    }
    return TESS_OK;
}

tess_status tess_file_read_at(int fd, const char *path, void *dst, size_t bytes, uint64_t offset)
{
    size_t done = 0;
    while (done < bytes) {
        const size_t piece = bytes - done < MAX_PIECE ? bytes - done : MAX_PIECE;
        const ssize_t n = pread(fd, (char *)dst + done, piece, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            TESS_FAIL(TESS_E_IO, "%s: cannot read at byte %llu: %s", path,
                      (unsigned long long)(offset + done), strerror(errno));
        }
        if (n == 0) {
            TESS_FAIL(TESS_E_TRUNCATED, "%s: ends at byte %llu, %zu bytes more were expected", path,
                      (unsigned long long)(offset + done), bytes - done);
        }
        done += (size_t)n;
    }
    return TESS_OK;
}

// Whether a disk that is full may have room after all: once, when what was just replaced has left.
static bool is_worth_a_wait(int code, bool *has_waited)
{
    if ((code != ENOSPC && code != EDQUOT) || *has_waited) {
        return false;
    }
    *has_waited = true;
    tess_replaced_wait();
    return true;
}

tess_status tess_file_write_at(int fd, const char *path, const void *src, size_t bytes,
                               uint64_t offset)
{
    size_t done = 0;
    bool has_waited = false;
    while (done < bytes) {
        const size_t piece = bytes - done < MAX_PIECE ? bytes - done : MAX_PIECE;
        const ssize_t n = pwrite(fd, (const char *)src + done, piece, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            if (n == 0) {
                errno = ENOSPC;
            }
            if (is_worth_a_wait(errno, &has_waited)) {
                continue;
            }
            return write_error(path, "write");
        }
        done += (size_t)n;
    }
    return TESS_OK;
}

void tess_file_begin_sync(int fd, uint64_t offset, uint64_t bytes)
{
    // A failure shows when the file is synced.
    (void)sync_file_range(fd, (off_t)offset, (off_t)bytes, SYNC_FILE_RANGE_WRITE);
}

tess_status tess_file_sync(int fd, const char *path)
{
    // A failed sync is never tried again: the kernel may have dropped the pages already and would
    // report success the second time. One that a signal cut short has not failed.
    int result;
    do {
        result = fdatasync(fd);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? TESS_OK : write_error(path, "sync to disk");
}

tess_status tess_file_disk_free(const char *folder, uint64_t *bytes)
{
    struct statvfs disk;
    tess_replaced_wait();
    if (statvfs(folder, &disk) != 0) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot write there: %s", folder, strerror(errno));
    }
    *bytes = (uint64_t)disk.f_bavail * (uint64_t)disk.f_frsize;
    return TESS_OK;
}

tess_status tess_file_resize(int fd, const char *path, uint64_t bytes)
{
    int result;
    do {
        result = ftruncate(fd, (off_t)bytes);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? TESS_OK : write_error(path, "set its length");
}

int tess_file_reserve(int fd, uint64_t bytes)
{
    bool has_waited = false;
    int code;
    do {
        code = posix_fallocate(fd, 0, (off_t)bytes);
    } while (is_worth_a_wait(code, &has_waited));
    return code;
}

// Four digits for the machine: one that shares the disk may have a process of the same number.
static unsigned host_digits(void)
{
    char name[256] = "";
    unsigned digits = 0;
    (void)gethostname(name, sizeof name - 1);
    for (const char *c = name; *c; c++) {
        digits = digits * 31 + (unsigned char)*c;
    }
    return digits & 0xffff;
}

tess_status tess_temp_name(const char *final_path, char *name, size_t capacity)
{
    static atomic_uint n_name;
    const unsigned number = atomic_fetch_add(&n_name, 1) & 0xffff;
    if ((size_t)snprintf(name, capacity, "%s.tmp.%ld.%04x%04x", final_path, (long)getpid(),
                         host_digits(), number) >= capacity) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", final_path);
    }
    return TESS_OK;
}

tess_status tess_temp_file_create(const char *final_path, unsigned mode, tess_temp_file *out)
{
    *out = (tess_temp_file){.fd = -1};
    tess_temp_file_sweep(final_path);
    for (int attempt = 0; attempt < 16; attempt++) {
        const tess_status status = tess_temp_name(final_path, out->path, sizeof out->path);
        if (status != TESS_OK) {
            out->path[0] = '\0';
            return status;
        }
        out->fd = open(out->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
        if (out->fd >= 0) {
            snprintf(out->final_path, sizeof out->final_path, "%s", final_path);
            return TESS_OK;
        }
        if (errno != EEXIST && errno != EINTR) {
            break;
        }
    }
    out->path[0] = '\0';
    TESS_FAIL(TESS_E_CREATE, "%s: cannot create a file there: %s", final_path, strerror(errno));
}

// Opens the directory a path lies in; name says which, for messages.
static tess_status open_directory_of(const char *path, char name[1024], int *fd)
{
    const char *slash = strrchr(path, '/');
    const int n = slash ? (int)(slash - path) : 0;
    if (snprintf(name, 1024, "%.*s", n, path) >= 1024) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", path);
    }
    if (n == 0) {
        snprintf(name, 1024, "%s", slash ? "/" : ".");
    }
    do {
        *fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } while (*fd < 0 && errno == EINTR);
    return *fd >= 0 ? TESS_OK : write_error(name, "open the directory");
}

static tess_status sync_directory(int fd, const char *name)
{
    int result;
    do {
        result = fsync(fd);
    } while (result != 0 && errno == EINTR);
    // Some file systems cannot sync directories; they say EINVAL, which is not a failure.
    const bool failed = result != 0 && errno != EINVAL && errno != ENOTSUP;
    return failed ? write_error(name, "sync the directory") : TESS_OK;
}

// Gives path a name that must be free. *linked: path still exists beside it.
static tess_status link_new(const char *path, const char *final_path, bool *linked)
{
    // link() fails if the name exists, which rename() would silently replace.
    *linked = link(path, final_path) == 0;
    if (*linked) {
        return TESS_OK;
    }
    // Other failures: no hard links here (FAT, some network mounts).
    if (errno == EEXIST || access(final_path, F_OK) == 0) {
        TESS_FAIL(TESS_E_EXISTS, "%s: exists already; pass --overwrite to replace it", final_path);
    }
    return rename(path, final_path) == 0
               ? TESS_OK
               : write_error(final_path, "give the finished file its name");
}

static tess_status rename_in(int directory, const char *directory_name, const char *path,
                             const char *final_path, int overwrite)
{
    if (overwrite) {
        if (rename(path, final_path) != 0) {
            return write_error(final_path, "give the finished file its name");
        }
        return sync_directory(directory, directory_name);
    }
    bool linked = false;
    TESS_TRY(link_new(path, final_path, &linked));
    const tess_status status = sync_directory(directory, directory_name);
    if (status != TESS_OK) {
        unlink(final_path); // what may not last must not look finished
    } else if (linked) {
        unlink(path);
    }
    return status;
}

// A device, pipe or folder is never replaced, whoever asks: rename() would do it. Neither is a link
// to what a process has open, as /dev/stdout is, whatever that is this time.
static tess_status check_replaceable(const char *final_path)
{
    static const char open_files[] = "/proc/";
    struct stat there;
    char target[sizeof open_files] = "";
    const bool is_open_file =
        readlink(final_path, target, sizeof target - 1) > 0 && strcmp(target, open_files) == 0;
    if (is_open_file || (stat(final_path, &there) == 0 && !S_ISREG(there.st_mode))) {
        TESS_FAIL(TESS_E_CREATE, "%s: is not a regular file; choose another name for the output",
                  final_path);
    }
    return TESS_OK;
}

tess_status tess_file_rename(const char *path, const char *final_path, int overwrite)
{
    TESS_TRY(check_replaceable(final_path));
    // The directory is opened first: too many open files must show before anything is renamed.
    char name[1024];
    int directory = -1;
    TESS_TRY(open_directory_of(final_path, name, &directory));
    const int replaced = overwrite ? tess_replaced_hold(final_path) : -1;
    const tess_status status = rename_in(directory, name, path, final_path, overwrite);
    tess_replaced_let_go(replaced);
    close(directory);
    return status;
}

tess_status tess_temp_file_commit(tess_temp_file *file, int overwrite)
{
    tess_status status = tess_file_sync(file->fd, file->final_path);
    const int fd = file->fd;
    file->fd = -1;
    // Interrupted or not, the descriptor is closed; the data were synced above.
    if (close(fd) != 0 && errno != EINTR && status == TESS_OK) {
        status = write_error(file->final_path, "close");
    }
    if (status == TESS_OK) {
        status = tess_file_rename(file->path, file->final_path, overwrite);
    }
    if (status == TESS_OK) {
        file->path[0] = '\0';
    } else {
        tess_temp_file_discard(file);
    }
    return status;
}

void tess_temp_file_discard(tess_temp_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        file->fd = -1;
    }
    if (file->path[0]) {
        unlink(file->path);
        file->path[0] = '\0';
    }
}

// The pid in a name that tess_temp_name() makes on this machine of base, or of base, a dot and
// more; 0 for other names.
static long owner_of_temporary(const char *entry, const char *base)
{
    const size_t n = strlen(base);
    const char *mark = strstr(entry, ".tmp.");
    char host[8];
    if (strncmp(entry, base, n) != 0 || entry[n] != '.' || !mark || mark < entry + n) {
        return 0;
    }
    char *end = NULL;
    const long pid = strtol(mark + 5, &end, 10);
    snprintf(host, sizeof host, ".%04x", host_digits());
    const bool is_ours = pid > 0 && strncmp(end, host, 5) == 0 &&
                         strspn(end + 1, "0123456789abcdef") == 8 && end[9] == '\0';
    return is_ours ? pid : 0;
}

// A file, or a folder of files.
static void remove_temporary(int directory, const char *name)
{
    if (unlinkat(directory, name, 0) == 0 || (errno != EISDIR && errno != EPERM)) {
        return;
    }
    const int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *inside = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *entry; inside && (entry = readdir(inside)) != NULL;) {
        unlinkat(dirfd(inside), entry->d_name, 0);
    }
    if (inside) {
        closedir(inside);
    } else if (fd >= 0) {
        close(fd);
    }
    unlinkat(directory, name, AT_REMOVEDIR);
}

void tess_temp_file_sweep(const char *final_path)
{
    char name[1024];
    int fd = -1;
    if (open_directory_of(final_path, name, &fd) != TESS_OK) {
        return; // whoever creates the file will say why
    }
    DIR *directory = fdopendir(fd);
    if (!directory) {
        close(fd);
        return;
    }
    const char *slash = strrchr(final_path, '/');
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        const long pid = owner_of_temporary(entry->d_name, slash ? slash + 1 : final_path);
        if (pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH) {
            remove_temporary(dirfd(directory), entry->d_name);
        }
    }
    closedir(directory);
}

tess_status tess_file_write_text(const char *path, const char *text, int overwrite)
{
    return tess_file_write_whole(path, text, strlen(text), overwrite);
}

tess_status tess_file_write_whole(const char *path, const void *bytes, size_t n, int overwrite)
{
    tess_temp_file file;
    TESS_TRY(tess_temp_file_create(path, 0666, &file));
    const tess_status status = tess_file_write_at(file.fd, file.path, bytes, n, 0);
    if (status != TESS_OK) {
        tess_temp_file_discard(&file);
        return status;
    }
    return tess_temp_file_commit(&file, overwrite);
}

tess_status tess_file_check_distinct(const char *input, const char *output)
{
    struct stat in;
    struct stat out;
    if (input && input[0] && stat(input, &in) == 0 && stat(output, &out) == 0 &&
        in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%s: is the file %s, which is read; give the result another name", output, input);
    }
    return TESS_OK;
}

static tess_status make_folder(const char *path)
{
    struct stat found;
    if (mkdir(path, 0777) == 0) {
        return TESS_OK;
    }
    const int code = errno;
    if (stat(path, &found) == 0 && S_ISDIR(found.st_mode)) {
        return TESS_OK; // also where a folder above it is not ours to write
    }
    if (code != EEXIST) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot create this folder: %s", path, strerror(code));
    }
    TESS_FAIL(TESS_E_CREATE, "%s: is there already and no folder; choose another name", path);
}

tess_status tess_file_make_folders(const char *path)
{
    char part[MAX_PATH];
    if ((size_t)snprintf(part, sizeof part, "%s", path) >= sizeof part) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", path);
    }
    for (char *at = part + 1; part[0] && *at; at++) {
        if (*at == '/' && at[-1] != '/') {
            *at = '\0';
            TESS_TRY(make_folder(part));
            *at = '/';
        }
    }
    return make_folder(part);
}
