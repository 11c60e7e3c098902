// Makes the k-th call of one kind fail, or a file change before it. Loaded with LD_PRELOAD in front
// of the command.
//
//   TESS_FAULT_KIND    malloc (all allocators), open, read (and pread), write (and pwrite), fsync,
//                      fdatasync, rename, link, unlink (and unlinkat, rmdir), ftruncate, mmap,
//                      madvise, close, mkdir, opendir, pthread_create; any (all but malloc)
//   TESS_FAULT_AT      k, counted from 1; 0 only counts
//   TESS_FAULT_ERROR   EIO, ENOSPC, EDQUOT, EINTR, EMFILE, ENOMEM or EAGAIN
//   TESS_FAULT_MODE    once, from (this call and all later ones), short (read and write move half),
//                      kill (SIGKILL before the call); or the call goes through, but before it
//                      TESS_FAULT_SIGNAL comes (signal; signals: before all later ones, too), or
//                      TESS_FAULT_FILE is changed: cut (to half), grow, write (some bytes),
//                      replace (by TESS_FAULT_FILE.new)
//   TESS_FAULT_SIGNAL  its number, or two: of the first one, and of those before later calls; the
//                      thread that makes the call gets it, and has handled it (or the process has
//                      stopped) when the call is made
//   TESS_FAULT_FILE    what is changed
//   TESS_FAULT_AFTER   the end of a path: calls count once a file of that name was opened
//   TESS_FAULT_REPORT  file that receives "<calls> <faults> <renames>", the last of any kind
//   TESS_FAULT_HELPER  1: in the command's HDF5 helper, which cannot report, instead of the command
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

typedef enum fault_kind {
    KIND_NONE,
    KIND_MALLOC,
    KIND_OPEN,
    KIND_READ,
    KIND_WRITE,
    KIND_FSYNC,
    KIND_FDATASYNC,
    KIND_RENAME,
    KIND_LINK,
    KIND_UNLINK,
    KIND_FTRUNCATE,
    KIND_MMAP,
    KIND_MADVISE,
    KIND_CLOSE,
    KIND_MKDIR,
    KIND_OPENDIR,
    KIND_THREAD,
    KIND_ANY,
    KIND_COUNT
} fault_kind;

static const char *const kind_names[KIND_COUNT] = {
    "",          "malloc", "open",  "read",    "write",          "fsync",
    "fdatasync", "rename", "link",  "unlink",  "ftruncate",      "mmap",
    "madvise",   "close",  "mkdir", "opendir", "pthread_create", "any"};

typedef enum fault_mode {
    MODE_ONCE,
    MODE_FROM,
    MODE_SHORT,
    MODE_KILL,
    MODE_SIGNAL,
    MODE_SIGNALS,
    MODE_CUT, // from here on a file is changed
    MODE_GROW,
    MODE_WRITE,
    MODE_REPLACE,
    MODE_COUNT
} fault_mode;

static const char *const mode_names[MODE_COUNT] = {"once",    "from", "short", "kill",  "signal",
                                                   "signals", "cut",  "grow",  "write", "replace"};

static fault_kind wanted_kind;
static long wanted_at;
static int wanted_error;
static int wanted_signals[2];
static fault_mode wanted_mode;
static const char *armed_after;
static atomic_bool is_armed;
static atomic_long n_call;
static atomic_long n_fault;
static atomic_long n_rename;
static char report_path[1024];
static char changed_path[1024];

// By system calls: the report must not pass through the functions below. One thread at a time, or
// an older count could be the last to be written; who waits for ever waits in a handler of a signal
// for the thread that it interrupted.
static void write_report(void)
{
    static atomic_flag is_taken = ATOMIC_FLAG_INIT;
    enum { PATIENCE = 10000 };
    char text[80];
    if (!report_path[0]) {
        return;
    }
    for (int i = 0; atomic_flag_test_and_set(&is_taken) && i < PATIENCE; i++) {
        syscall(SYS_sched_yield);
    }
    const int n = snprintf(text, sizeof text, "%ld %ld %ld\n", atomic_load(&n_call),
                           atomic_load(&n_fault), atomic_load(&n_rename));
    const long fd = syscall(SYS_openat, AT_FDCWD, report_path, O_WRONLY | O_CREAT, 0666);
    if (fd >= 0) {
        syscall(SYS_pwrite64, fd, text, (size_t)n, 0L);
        syscall(SYS_close, fd);
    }
    atomic_flag_clear(&is_taken);
}

static int error_number(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } known[] = {{"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EINTR", EINTR},
                 {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) == 0) {
            return known[i].number;
        }
    }
    return EIO;
}

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

__attribute__((constructor)) static void begin(void)
{
    const char *kind = setting("TESS_FAULT_KIND");
    const char *mode = setting("TESS_FAULT_MODE");
    const bool is_helper = strcmp(program_invocation_short_name, "tessera-hdf5") == 0;
    if (is_helper != (setting("TESS_FAULT_HELPER")[0] == '1')) {
        return;
    }
    for (int i = KIND_MALLOC; i < KIND_COUNT; i++) {
        if (strcmp(kind, kind_names[i]) == 0) {
            wanted_kind = (fault_kind)i;
        }
    }
    wanted_at = atol(setting("TESS_FAULT_AT"));
    wanted_error = error_number(setting("TESS_FAULT_ERROR"));
    const char *numbers = setting("TESS_FAULT_SIGNAL");
    const char *second = strchr(numbers, ',');
    wanted_signals[0] = atoi(numbers);
    wanted_signals[1] = second ? atoi(second + 1) : wanted_signals[0];
    for (int i = 0; i < MODE_COUNT; i++) {
        if (strcmp(mode, mode_names[i]) == 0) {
            wanted_mode = (fault_mode)i;
        }
    }
    snprintf(changed_path, sizeof changed_path, "%s", setting("TESS_FAULT_FILE"));
    armed_after = setting("TESS_FAULT_AFTER");
    snprintf(report_path, sizeof report_path, "%s", setting("TESS_FAULT_REPORT"));
    atomic_store(&is_armed, armed_after[0] == '\0');
}

__attribute__((destructor)) static void end(void)
{
    atomic_store(&is_armed, false);
    write_report();
}

static void arm_when_named(const char *path)
{
    if (armed_after && !atomic_load(&is_armed)) {
        const size_t n = strlen(path);
        const size_t m = strlen(armed_after);
        if (m > 0 && n >= m && strcmp(path + n - m, armed_after) == 0) {
            atomic_store(&is_armed, true);
        }
    }
}

// By system calls as well.
static void change_file(void)
{
    struct stat info;
    char other[1040];
    unsigned char bytes[64] = {0};
    if (stat(changed_path, &info) != 0) {
        return;
    }
    if (wanted_mode == MODE_REPLACE) {
        snprintf(other, sizeof other, "%s.new", changed_path);
        syscall(SYS_renameat2, AT_FDCWD, other, AT_FDCWD, changed_path, 0);
        return;
    }
    if (wanted_mode == MODE_CUT) {
        syscall(SYS_truncate, changed_path, (long)(info.st_size / 2));
        return;
    }
    const long fd = syscall(SYS_openat, AT_FDCWD, changed_path, O_RDWR, 0);
    const long at = wanted_mode == MODE_GROW ? (long)info.st_size : (long)(info.st_size / 2);
    const long most = wanted_mode == MODE_GROW ? 64 : (long)info.st_size - at;
    const size_t n = most < 64 ? (size_t)most : 64;
    if (wanted_mode != MODE_GROW) {
        syscall(SYS_pread64, fd, bytes, n, at);
    }
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 1;
    }
    syscall(SYS_pwrite64, fd, bytes, n, at);
    syscall(SYS_close, fd);
}

// Counts a call; true if this one is to fail (or to be cut short).
static bool is_hit(fault_kind kind)
{
    const bool is_wanted = kind == wanted_kind || (wanted_kind == KIND_ANY && kind != KIND_MALLOC);
    if (kind == KIND_RENAME) {
        atomic_fetch_add(&n_rename, 1);
    }
    if (!is_wanted || !atomic_load(&is_armed)) {
        return false;
    }
    const long number = atomic_fetch_add(&n_call, 1) + 1;
    const bool is_from = wanted_mode == MODE_FROM || wanted_mode == MODE_SIGNALS;
    if (wanted_at == 0 || (is_from ? number < wanted_at : number != wanted_at)) {
        return false;
    }
    atomic_fetch_add(&n_fault, 1);
    write_report();
    if (wanted_mode == MODE_KILL) {
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    }
    if (wanted_mode == MODE_SIGNAL || wanted_mode == MODE_SIGNALS) {
        syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid),
                wanted_signals[number > wanted_at]);
        return false;
    }
    if (wanted_mode >= MODE_CUT) {
        change_file();
        return false;
    }
    errno = wanted_error;
    return true;
}

// The next definition of a function, looked up once.
#define NEXT(type, name)                                                                           \
    static type next;                                                                              \
    if (!next) {                                                                                   \
        *(void **)&next = dlsym(RTLD_NEXT, name);                                                  \
    }

#ifndef TESS_FAULT_NO_MALLOC
// dlsym() allocates, so these go to the C library's own names.
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *ptr, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

EXPORTED void *malloc(size_t bytes)
{
    return is_hit(KIND_MALLOC) ? NULL : __libc_malloc(bytes);
}

EXPORTED void *calloc(size_t n, size_t bytes)
{
    return is_hit(KIND_MALLOC) ? NULL : __libc_calloc(n, bytes);
}

EXPORTED void *realloc(void *ptr, size_t bytes)
{
    return is_hit(KIND_MALLOC) ? NULL : __libc_realloc(ptr, bytes);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t bytes)
{
    return is_hit(KIND_MALLOC) ? NULL : __libc_memalign(alignment, bytes);
}

EXPORTED int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (is_hit(KIND_MALLOC)) {
        return ENOMEM;
    }
    void *ptr = __libc_memalign(alignment, bytes);
    if (!ptr) {
        return ENOMEM;
    }
    *out = ptr;
    return 0;
}
#endif

typedef int (*open_fn)(const char *, int, ...);
typedef int (*openat_fn)(int, const char *, int, ...);

static int open_file(const char *path, int flags, mode_t mode)
{
    NEXT(open_fn, "open")
    arm_when_named(path);
    return is_hit(KIND_OPEN) ? -1 : next(path, flags, mode);
}

static mode_t mode_argument(int flags, va_list args)
{
    return (flags & (O_CREAT | __O_TMPFILE)) ? va_arg(args, mode_t) : 0;
}

EXPORTED int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = mode_argument(flags, args);
    va_end(args);
    return open_file(path, flags, mode);
}

EXPORTED int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = mode_argument(flags, args);
    va_end(args);
    return open_file(path, flags, mode);
}

// Fortified builds call these.
EXPORTED int __open_2(const char *path, int flags);
EXPORTED int __open64_2(const char *path, int flags);

EXPORTED int __open_2(const char *path, int flags)
{
    return open_file(path, flags, 0);
}

EXPORTED int __open64_2(const char *path, int flags)
{
    return open_file(path, flags, 0);
}

EXPORTED int openat(int folder, const char *path, int flags, ...)
{
    NEXT(openat_fn, "openat")
    va_list args;
    va_start(args, flags);
    const mode_t mode = mode_argument(flags, args);
    va_end(args);
    arm_when_named(path);
    return is_hit(KIND_OPEN) ? -1 : next(folder, path, flags, mode);
}

EXPORTED DIR *opendir(const char *path)
{
    typedef DIR *(*opendir_fn)(const char *);
    NEXT(opendir_fn, "opendir")
    return is_hit(KIND_OPENDIR) ? NULL : next(path);
}

EXPORTED int mkdir(const char *path, mode_t mode)
{
    typedef int (*mkdir_fn)(const char *, mode_t);
    NEXT(mkdir_fn, "mkdir")
    return is_hit(KIND_MKDIR) ? -1 : next(path, mode);
}

// How much of a transfer goes through: all, half, or (-1) nothing.
static ssize_t allowed(fault_kind kind, size_t bytes)
{
    if (!is_hit(kind)) {
        return (ssize_t)bytes;
    }
    if (wanted_mode != MODE_SHORT) {
        return -1;
    }
    return bytes > 1 ? (ssize_t)(bytes / 2) : (ssize_t)bytes;
}

EXPORTED ssize_t read(int fd, void *dst, size_t bytes)
{
    typedef ssize_t (*read_fn)(int, void *, size_t);
    NEXT(read_fn, "read")
    const ssize_t n = allowed(KIND_READ, bytes);
    return n < 0 ? -1 : next(fd, dst, (size_t)n);
}

typedef ssize_t (*pread_fn)(int, void *, size_t, off_t);
typedef ssize_t (*pwrite_fn)(int, const void *, size_t, off_t);

static ssize_t read_at(int fd, void *dst, size_t bytes, off_t offset)
{
    NEXT(pread_fn, "pread")
    const ssize_t n = allowed(KIND_READ, bytes);
    return n < 0 ? -1 : next(fd, dst, (size_t)n, offset);
}

EXPORTED ssize_t pread(int fd, void *dst, size_t bytes, off_t offset)
{
    return read_at(fd, dst, bytes, offset);
}

EXPORTED ssize_t pread64(int fd, void *dst, size_t bytes, off64_t offset)
{
    return read_at(fd, dst, bytes, offset);
}

EXPORTED ssize_t write(int fd, const void *src, size_t bytes)
{
    typedef ssize_t (*write_fn)(int, const void *, size_t);
    NEXT(write_fn, "write")
    const ssize_t n = allowed(KIND_WRITE, bytes);
    return n < 0 ? -1 : next(fd, src, (size_t)n);
}

static ssize_t write_at(int fd, const void *src, size_t bytes, off_t offset)
{
    NEXT(pwrite_fn, "pwrite")
    const ssize_t n = allowed(KIND_WRITE, bytes);
    return n < 0 ? -1 : next(fd, src, (size_t)n, offset);
}

EXPORTED ssize_t pwrite(int fd, const void *src, size_t bytes, off_t offset)
{
    return write_at(fd, src, bytes, offset);
}

EXPORTED ssize_t pwrite64(int fd, const void *src, size_t bytes, off64_t offset)
{
    return write_at(fd, src, bytes, offset);
}

typedef int (*fd_fn)(int);

EXPORTED int fsync(int fd)
{
    NEXT(fd_fn, "fsync")
    return is_hit(KIND_FSYNC) ? -1 : next(fd);
}

EXPORTED int fdatasync(int fd)
{
    NEXT(fd_fn, "fdatasync")
    return is_hit(KIND_FDATASYNC) ? -1 : next(fd);
}

// As the kernel does it: the descriptor is gone even when close() reports an error.
EXPORTED int close(int fd)
{
    NEXT(fd_fn, "close")
    const int result = next(fd);
    return is_hit(KIND_CLOSE) ? -1 : result;
}

EXPORTED int rename(const char *from, const char *to)
{
    typedef int (*rename_fn)(const char *, const char *);
    NEXT(rename_fn, "rename")
    return is_hit(KIND_RENAME) ? -1 : next(from, to);
}

EXPORTED int link(const char *from, const char *to)
{
    typedef int (*link_fn)(const char *, const char *);
    NEXT(link_fn, "link")
    return is_hit(KIND_LINK) ? -1 : next(from, to);
}

EXPORTED int unlink(const char *path)
{
    typedef int (*unlink_fn)(const char *);
    NEXT(unlink_fn, "unlink")
    return is_hit(KIND_UNLINK) ? -1 : next(path);
}

EXPORTED int unlinkat(int folder, const char *path, int flags)
{
    typedef int (*unlinkat_fn)(int, const char *, int);
    NEXT(unlinkat_fn, "unlinkat")
    return is_hit(KIND_UNLINK) ? -1 : next(folder, path, flags);
}

EXPORTED int rmdir(const char *path)
{
    typedef int (*rmdir_fn)(const char *);
    NEXT(rmdir_fn, "rmdir")
    return is_hit(KIND_UNLINK) ? -1 : next(path);
}

typedef int (*ftruncate_fn)(int, off_t);

EXPORTED int ftruncate(int fd, off_t bytes)
{
    NEXT(ftruncate_fn, "ftruncate")
    return is_hit(KIND_FTRUNCATE) ? -1 : next(fd, bytes);
}

EXPORTED int ftruncate64(int fd, off64_t bytes)
{
    return ftruncate(fd, bytes);
}

EXPORTED void *mmap(void *at, size_t bytes, int access, int flags, int fd, off_t offset)
{
    typedef void *(*mmap_fn)(void *, size_t, int, int, int, off_t);
    NEXT(mmap_fn, "mmap")
    return is_hit(KIND_MMAP) ? MAP_FAILED : next(at, bytes, access, flags, fd, offset);
}

EXPORTED void *mmap64(void *at, size_t bytes, int access, int flags, int fd, off64_t offset)
{
    return mmap(at, bytes, access, flags, fd, offset);
}

EXPORTED int madvise(void *at, size_t bytes, int advice)
{
    typedef int (*madvise_fn)(void *, size_t, int);
    NEXT(madvise_fn, "madvise")
    return is_hit(KIND_MADVISE) ? -1 : next(at, bytes, advice);
}

EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                            void *(*start)(void *), void *arg)
{
    typedef int (*create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    NEXT(create_fn, "pthread_create")
    return is_hit(KIND_THREAD) ? wanted_error : next(thread, attributes, start, arg);
}
