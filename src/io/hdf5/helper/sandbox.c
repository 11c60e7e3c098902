// What a file could make the library do, taken away from it.

#include "helper.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

static pid_t parent;

// Comes when the thread ends that started us, too: then the process that needs us still lives.
static void on_parents_end(int number)
{
    (void)number;
    if (getppid() != parent) {
        _exit(0);
    }
}

void tess_h5_settle(void)
{
    const struct rlimit none = {0, 0};
    struct sigaction action = {.sa_handler = on_parents_end, .sa_flags = SA_RESTART};
    parent = getppid();
    sigaction(SIGHUP, &action, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGHUP);
    (void)syscall(SYS_close_range, TESS_H5_SOCKET + 1, ~0U, 0);
    if (chdir("/") != 0) { // the folder we were started in may be unmounted
        _exit(1);
    }
    (void)setrlimit(RLIMIT_CORE, &none);
    if (!IS_SANITIZED) {
        (void)prctl(PR_SET_DUMPABLE, 0); // what catches cores may not ask for the limit
    }
}

void tess_h5_limit_memory(uint64_t n_byte)
{
    struct rlimit limit;
    if (IS_SANITIZED || getrlimit(RLIMIT_AS, &limit) != 0) {
        return; // sanitizers map the whole address space
    }
    limit.rlim_cur = n_byte == 0 || n_byte > limit.rlim_max ? limit.rlim_max : n_byte;
    (void)setrlimit(RLIMIT_AS, &limit);
}

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define REFUSED (SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA))

#ifdef ARCHITECTURE
// What memory, the given descriptors and the end of the process take; nothing that opens a path, no
// socket, no program, no other process.
static const uint32_t allowed[] = {
    SYS_pread64,
    SYS_pwrite64,
    SYS_ftruncate,
    SYS_fstat,
    SYS_newfstatat,
    SYS_close,
    SYS_recvmsg,
    SYS_sendmsg,
    SYS_ppoll,
#ifdef SYS_poll
    SYS_poll,
#endif
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_futex,
    SYS_getrandom,
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_getpid,
    SYS_getppid,
    SYS_rt_sigprocmask,
    SYS_rt_sigaction,
    SYS_rt_sigreturn,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
};
#endif

void tess_h5_lock_up(void)
{
#ifdef ARCHITECTURE
    enum { N_ALLOWED = sizeof allowed / sizeof *allowed, N_BEFORE = 4, N_AFTER = 5 };
    struct sock_filter program[N_BEFORE + N_ALLOWED + N_AFTER] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, REFUSED),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    const struct sock_filter after[N_AFTER] = {
        // Our own limits, not those of others.
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 2),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, REFUSED),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    for (uint8_t i = 0; i < N_ALLOWED; i++) {
        const uint8_t to_end = (uint8_t)(N_ALLOWED - 1 - i + N_AFTER - 1);
        program[N_BEFORE + i] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], to_end, 0);
    }
    memcpy(program + N_BEFORE + N_ALLOWED, after, sizeof after);
    const struct sock_fprog all = {.len = sizeof program / sizeof *program, .filter = program};
    // A kernel without it reads files all the same.
    if (!IS_SANITIZED && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
        (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
    }
#endif
}
