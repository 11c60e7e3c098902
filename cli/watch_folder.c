// Looks at a watched folder: hints, polls, and when a file counts as complete.

#include "watch.h"

#include "console.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOKS = 4096,          // at a time at most, so that hints and polls are not kept waiting
    RESTED = 8,            // the next wait is this part of the rest so far
    LOOKS_A_SECOND = 1000, // at files that rest, however many they are
    HINTED_DUTY = 20 // names that inotify tells are read again in this part of the time at most
};

static const double LONGEST_WAIT = 600;
// Earlier than all others in the queue.
static const double URGENT = 1e9;
// A folder's time may be as coarse as 2 s: what came just after its names were read shows no other.
static const double COARSE = 2.5;
// A fitted file that rested so long is looked at only when a hint or its inode says so.
static const double OLD = 3600;

double watch_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static watch_identity identity_of(const struct stat *there)
{
    return (watch_identity){
        .inode = there->st_ino, .size = there->st_size, .mtime_ns = nanoseconds(there->st_mtim)};
}

static int is_same(const watch_identity *a, const watch_identity *b)
{
    return a->inode == b->inode && a->size == b->size && a->mtime_ns == b->mtime_ns;
}

// Hidden names are those of programs at work (rsync's, ours); a line of a table has no room for
// control characters.
static int is_wanted(const watch_folder *w, const char *name)
{
    static const char *const endings[] = {".hdf", ".h5", ".hdf5", ".nxs", ".npz", ".txc2"};

    if (name[0] == '.') {
        return 0;
    }
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        if (*c < 0x20 || *c == 0x7f) {
            return 0;
        }
    }
    if (w->pattern) {
        return fnmatch(w->pattern, name, 0) == 0;
    }
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (text_ends_with(name, endings[i])) {
            return 1;
        }
    }
    return 0;
}

static void queue_look(watch_folder *w, int64_t file, double due)
{
    w->files.files[file].due = due;
    w->no_memory |= !watch_queue_push(&w->due, due, file);
}

// What a poll or a hint says of a name: it is there, with this inode (0: not known).
static void take_name(watch_folder *w, const char *name, uint64_t inode)
{
    int64_t file = watch_files_find(&w->files, name);

    if (file == WATCH_NONE) {
        if (!is_wanted(w, name)) {
            return;
        }
        file = watch_files_add(&w->files, name);
        if (file == WATCH_NONE) {
            w->no_memory = 1;
            return;
        }
    }
    const watch_file *known = &w->files.files[file];
    const int is_queued = known->due != 0;
    const int is_other = inode != known->seen.inode && !(is_queued && known->seen.size < 0);
    // The first time names from an earlier run are compared, too.
    if (inode == 0 || is_other || (w->n_scan == 0 && !is_queued)) {
        queue_look(w, file, watch_now() - URGENT);
    }
}

static void read_hints(watch_folder *w)
{
    union {
        struct inotify_event event;
        char bytes[16384];
    } buffer;

    for (ssize_t n = 0; w->hints >= 0 && (n = read(w->hints, &buffer, sizeof buffer)) > 0;) {
        for (ssize_t at = 0; at < n;) {
            struct inotify_event event;
            memcpy(&event, buffer.bytes + at, sizeof event);
            const char *name = buffer.bytes + at + sizeof event;
            at += (ssize_t)(sizeof event + event.len);
            w->is_stale |= (event.mask & IN_Q_OVERFLOW) != 0;
            if (event.len > 0) {
                w->hints_work = 1;
                take_name(w, name, 0);
            }
        }
    }
}

// Reads all names; no file is looked at.
static void scan(watch_folder *w)
{
    const double began = watch_now();
    const int fd = openat(w->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir) {
        if (fd >= 0) {
            close(fd);
        }
        return; // gone again: the next poll finds out
    }
    for (struct dirent *entry; (entry = readdir(dir));) {
        // A link has another inode than its file, and is looked at each time.
        if (entry->d_type == DT_REG || entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
            take_name(w, entry->d_name, entry->d_ino);
        }
    }
    closedir(dir);
    w->scanned = watch_now();
    w->scan_s = w->scanned - began;
    w->is_stale = 0;
    w->hints_work = 0;
    w->n_scan++;
}

static void tell_missing(watch_folder *w)
{
    if (!w->is_missing_told) {
        console_fail(0, "%s: %s; waiting for it to come back", w->path, strerror(errno));
        w->is_missing_told = 1;
    }
    if (w->fd >= 0) {
        close(w->fd);
    }
    w->fd = -1;
}

static void hint_at_folder(watch_folder *w)
{
    if (w->hints >= 0) {
        inotify_rm_watch(w->hints, w->hint_of);
        w->hint_of =
            inotify_add_watch(w->hints, w->path, IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR);
    }
}

// Opened anew: that is when a client of NFS asks the server how things are.
static void poll_folder(watch_folder *w, double now)
{
    const int fd = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat there;

    w->polled = now;
    if (fd < 0 || fstat(fd, &there) != 0) {
        if (fd >= 0) {
            close(fd);
        }
        tell_missing(w);
        return;
    }
    if (w->fd >= 0) {
        close(w->fd);
    }
    w->fd = fd;
    w->is_missing_told = 0;
    const int is_other = there.st_ino != w->inode || there.st_dev != w->device;
    if (is_other) {
        w->inode = there.st_ino;
        w->device = there.st_dev;
        hint_at_folder(w);
    }
    const int64_t mtime = nanoseconds(there.st_mtim);
    if (is_other || mtime != w->mtime_ns || w->n_scan == 0) {
        w->mtime_ns = mtime;
        w->is_stale = 1;
        w->again = now + COARSE;
    }
    if (w->again > 0 && now >= w->again) {
        w->is_stale = 1;
        w->again = 0;
    }
    const double pause = w->scan_s * (w->hints_work ? HINTED_DUTY : 1);
    if (w->is_stale && (w->n_scan == 0 || now - w->scanned >= pause)) {
        scan(w);
    }
}

double watch_rest(const watch_folder *w, int64_t file)
{
    return watch_now() - w->files.files[file].changed;
}

void watch_retry(watch_folder *w, int64_t file)
{
    const double rest = watch_rest(w, file);
    const double least = w->poll_s > w->settle_s ? w->poll_s : w->settle_s;
    const double shared = (double)w->due.n / LOOKS_A_SECOND;
    double wait = rest / RESTED < LONGEST_WAIT ? rest / RESTED : LONGEST_WAIT;

    wait = wait < least ? least : wait;
    queue_look(w, file, watch_now() + (wait > shared ? wait : shared));
}

// A lease is refused while anybody on this machine has the file open for writing. Where there are
// no leases (network file systems, files of others) nothing is known.
static int is_being_written(const watch_folder *w, const char *name)
{
    const int fd = openat(w->fd, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return 0; // who reads it says why
    }
    const int is_open = fcntl(fd, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN;
    close(fd); // and with it the lease
    return is_open;
}

// It is there, but not complete.
static void wait_for(watch_folder *w, int64_t file, const char *why)
{
    watch_file *f = &w->files.files[file];

    if (w->is_once) {
        console_fail(0, "%s %s: left out", f->name, why);
        return;
    }
    watch_retry(w, file);
}

static void take_change(watch_folder *w, int64_t file, const struct stat *there, double now)
{
    watch_file *f = &w->files.files[file];
    const int is_moving = f->seen.size >= 0 && !f->is_done && !f->is_failed;

    f->seen = identity_of(there);
    f->changed = now;
    f->is_done = 0;
    f->is_failed = 0;
    f->is_told = 0;
    if (w->is_once && is_moving) {
        wait_for(w, file, "is being written");
        return;
    }
    if (f->seen.size == 0) {
        wait_for(w, file, "is empty");
        return;
    }
    queue_look(w, file, now + w->settle_s);
}

static void look(watch_folder *w, int64_t file, double now)
{
    watch_file *f = &w->files.files[file];
    struct stat there;

    f->due = 0;
    if (fstatat(w->fd, f->name, &there, 0) != 0 || !S_ISREG(there.st_mode)) {
        f->seen.inode = 0; // whatever comes under its name is looked at
        return;
    }
    const watch_identity seen = identity_of(&there);
    if (!is_same(&seen, &f->seen)) {
        take_change(w, file, &there, now);
    } else if (f->is_done) {
        if (now - f->changed < OLD) {
            watch_retry(w, file);
        }
    } else if (now - f->changed < w->settle_s) {
        queue_look(w, file, f->changed + w->settle_s);
    } else if (f->seen.size == 0) {
        wait_for(w, file, "is empty");
    } else if (is_being_written(w, f->name)) {
        wait_for(w, file, "is being written");
    } else if (!f->is_ready) {
        f->is_ready = 1;
        w->no_memory |= !watch_queue_push(&w->ready, (double)f->seen.mtime_ns, file);
    }
}

static void look_at_due(watch_folder *w)
{
    const double now = watch_now();
    double due = 0;

    for (int k = 0; k < LOOKS && w->fd >= 0 && w->due.n > 0 && w->due.items[0].key <= now; k++) {
        const int64_t file = watch_queue_pop(&w->due, &due);
        if (w->files.files[file].due == due) { // else it was queued anew
            look(w, file, now);
        }
    }
}

// -1: it is not there; 1: it is what was seen.
static int compare(const watch_folder *w, int64_t file)
{
    const watch_file *f = &w->files.files[file];
    struct stat there;

    if (w->fd < 0 || fstatat(w->fd, f->name, &there, 0) != 0) {
        return -1;
    }
    const watch_identity seen = identity_of(&there);
    return is_same(&seen, &f->seen);
}

int watch_is_same(const watch_folder *w, int64_t file)
{
    return compare(w, file) != 0;
}

int64_t watch_next(watch_folder *w)
{
    const double now = watch_now();
    double key = 0;

    read_hints(w);
    if (w->n_scan == 0 || (!w->is_once && now - w->polled >= w->poll_s)) {
        poll_folder(w, now);
    }
    look_at_due(w);
    while (w->ready.n > 0) {
        const int64_t file = watch_queue_pop(&w->ready, &key);
        w->files.files[file].is_ready = 0;
        if (compare(w, file) > 0) {
            return file;
        }
        queue_look(w, file, now);
    }
    return WATCH_NONE;
}

int watch_is_over(const watch_folder *w)
{
    return w->is_once && w->n_scan > 0 && w->due.n == 0 && w->ready.n == 0;
}

void watch_sleep(const watch_folder *w)
{
    const double now = watch_now();
    double until = w->is_once ? now + w->settle_s : w->polled + w->poll_s;

    if (w->due.n > 0 && w->due.items[0].key < until) {
        until = w->due.items[0].key;
    }
    struct pollfd hints = {.fd = w->hints, .events = POLLIN};
    const int wait_ms = until > now ? (int)((until - now) * 1000) + 1 : 0;
    poll(&hints, 1, wait_ms); // interrupted by signals: the caller looks
}

int watch_open(watch_folder *w)
{
    struct stat there;

    w->fd = -1;
    w->hints = -1;
    signal(SIGIO, SIG_IGN); // of a lease that somebody opens against
    if (stat(w->path, &there) != 0) {
        return console_fail(66, "%s: %s", w->path, strerror(errno));
    }
    if (!S_ISDIR(there.st_mode)) {
        return console_fail(66, "%s is no folder; fit one file with tessera xpcs fit", w->path);
    }
    if (!w->is_once) {
        w->hints = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    }
    return 0;
}

void watch_close(watch_folder *w)
{
    if (w->fd >= 0) {
        close(w->fd);
    }
    if (w->hints >= 0) {
        close(w->hints);
    }
    free(w->due.items);
    free(w->ready.items);
    watch_files_close(&w->files);
}
