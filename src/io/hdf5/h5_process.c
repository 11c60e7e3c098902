#include "io/hdf5/h5_process.h"

#include "base/status.h"
#include "io/hdf5/h5_wire.h"
#include "runtime/module.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_IDLE = 16, TIME_LIMIT_S = 30, MAX_TIME_LIMIT_S = 86400, PATIENCE_MS = 2000 };

#ifndef P_PIDFD
#define P_PIDFD 3 // Linux 5.4
#endif

extern char **environ;

// Those nobody uses. The lock is held for the moment of a look only, and over fork().
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static tess_h5_process idle[MAX_IDLE];
static int n_idle;

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

// They are the parent's: two would talk to one.
static void in_child(void)
{
    for (; n_idle > 0; n_idle--) {
        close(idle[n_idle - 1].socket);
        if (idle[n_idle - 1].pidfd >= 0) {
            close(idle[n_idle - 1].pidfd);
        }
    }
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

int tess_h5_time_limit_s(void)
{
    const char *text = getenv("TESSERA_HDF5_TIMEOUT");
    const long given = text != NULL ? strtol(text, NULL, 10) : 0;
    return given < 1 ? TIME_LIMIT_S : given < MAX_TIME_LIMIT_S ? (int)given : MAX_TIME_LIMIT_S;
}

// A group of its own, so that the terminal's Ctrl-C is for us to decide on; no descriptor but its
// end of the socket, and no output: what a dying library has to say helps nobody.
static int spawn(const char *program, int socket, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    char *const arguments[] = {(char *)(uintptr_t)program, NULL};
    int error = posix_spawn_file_actions_init(&files);
    if (error != 0) {
        return error;
    }
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                                  POSIX_SPAWN_SETSIGMASK);
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setsigmask(&attributes, &none);
        error = posix_spawn_file_actions_adddup2(&files, socket, TESS_H5_SOCKET);
        for (int fd = 0; fd < 3 && error == 0; fd++) {
            error = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
        }
        if (error == 0) {
            error = posix_spawn(pid, program, &files, &attributes, arguments, environ);
        }
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static bool says_hello(const tess_h5_process *process)
{
    tess_h5_head head;
    uint32_t wire = 0;
    const int limit_s = tess_h5_time_limit_s();
    return tess_h5_receive(process->socket, limit_s, &head, sizeof head, NULL) == TESS_H5_OK &&
           head.kind == TESS_H5_HELLO && head.bytes == sizeof wire &&
           tess_h5_receive(process->socket, limit_s, &wire, sizeof wire, NULL) == TESS_H5_OK &&
           wire == TESS_H5_WIRE;
}

static tess_status start(const char *path, tess_h5_process *out)
{
    char program[TESS_MODULE_PATH_BYTES];
    char why[512];
    int ends[2];
    if (!tess_module_find("tessera-hdf5", "TESSERA_HDF5_PLUGIN", program, why, sizeof why)) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "%s: needs HDF5, but %s", path, why);
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        TESS_FAIL(TESS_E_IO, "%s: cannot talk to %s: %s", path, program, strerror(errno));
    }
    const struct timeval limit = {.tv_sec = tess_h5_time_limit_s()};
    (void)setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    *out = (tess_h5_process){.socket = ends[0], .pidfd = -1};
    const int error = spawn(program, ends[1], &out->pid);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        TESS_FAIL(error == ENOMEM ? TESS_E_MEMORY : TESS_E_UNSUPPORTED,
                  "%s: needs HDF5, but %s cannot be started: %s", path, program, strerror(error));
    }
    out->pidfd = (int)syscall(SYS_pidfd_open, out->pid, 0);
    if (!says_hello(out)) {
        char how[128];
        tess_h5_process_end(out, how, sizeof how);
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "%s: needs HDF5, but %s does not work (%s): install libhdf5, and the helper of "
                  "version " TESS_VERSION,
                  path, program, how);
    }
    return TESS_OK;
}

// An idle process has nothing to say: what can be read is its end.
static bool is_well(const tess_h5_process *process)
{
    struct pollfd socket = {.fd = process->socket, .events = POLLIN};
    return poll(&socket, 1, 0) == 0;
}

// Takes the idle one of the session, else (with any) one that has no data set open, else the last.
static bool take_idle(uint64_t session, bool any, tess_h5_process *out)
{
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
    int best = any ? n_idle - 1 : -1;
    for (int i = 0; i < n_idle; i++) {
        if (session != 0 && idle[i].session == session) {
            best = i;
            break;
        }
        best = any && idle[i].session == 0 ? i : best;
    }
    if (best >= 0) {
        *out = idle[best];
        idle[best] = idle[--n_idle];
    }
    pthread_mutex_unlock(&lock);
    return best >= 0;
}

bool tess_h5_process_take_session(uint64_t session, tess_h5_process *out)
{
    return take_idle(session, false, out);
}

tess_status tess_h5_process_take(const char *path, uint64_t session, tess_h5_process *out)
{
    while (take_idle(session, true, out)) {
        if (is_well(out)) {
            return TESS_OK;
        }
        char how[128];
        tess_h5_process_end(out, how, sizeof how);
    }
    return start(path, out);
}

void tess_h5_process_give_back(const tess_h5_process *process)
{
    pthread_mutex_lock(&lock);
    const bool has_room = n_idle < MAX_IDLE;
    if (has_room) {
        idle[n_idle++] = *process;
    }
    pthread_mutex_unlock(&lock);
    if (!has_room) {
        char how[128];
        tess_h5_process surplus = *process;
        tess_h5_process_end(&surplus, how, sizeof how);
    }
}

// The host may have waited for it before us, or have told the system that nobody will.
static void describe_end(const siginfo_t *info, char *how, size_t capacity)
{
    if (info->si_pid == 0) {
        snprintf(how, capacity, "it ended");
    } else if (info->si_code == CLD_EXITED) {
        snprintf(how, capacity, "exit status %d", info->si_status);
    } else {
        snprintf(how, capacity, "signal %d (%s)", info->si_status, strsignal(info->si_status));
    }
}

void tess_h5_process_end(tess_h5_process *process, char *how, size_t capacity)
{
    siginfo_t info = {0};
    close(process->socket);
    if (process->pidfd >= 0) {
        // By descriptor: the number may have passed to a stranger if the host waits for all.
        (void)syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0);
        // One that a dead disk holds in the kernel is left to the host's end.
        struct pollfd end = {.fd = process->pidfd, .events = POLLIN};
        while (poll(&end, 1, PATIENCE_MS) < 0 && errno == EINTR) {
        }
        (void)waitid((idtype_t)P_PIDFD, (id_t)process->pidfd, &info, WEXITED | WNOHANG);
        close(process->pidfd);
    } else {
        kill(process->pid, SIGKILL);
        while (waitid(P_PID, (id_t)process->pid, &info, WEXITED) < 0 && errno == EINTR) {
        }
    }
    describe_end(&info, how, capacity);
    process->socket = -1;
}
