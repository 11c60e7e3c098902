// A disk that gives back other bytes than were written: pread() of the whole process, which flips
// bits on the way. The file itself, its times included, stays as it is.
#ifndef TESS_TESTS_BAD_DISK_H
#define TESS_TESTS_BAD_DISK_H

#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { BAD_DISK_PLACES = 4 };

// Bytes of every file that come with a bit flipped; 0: none. Not static: where the system has an
// inline pread(), clang takes the one below for inline as well.
extern atomic_llong bad_disk[BAD_DISK_PLACES];
atomic_llong bad_disk[BAD_DISK_PLACES];

ssize_t pread(int fd, void *dst, size_t bytes, off_t offset)
{
    const ssize_t n = (ssize_t)syscall(SYS_pread64, fd, dst, bytes, offset);
    for (int i = 0; i < BAD_DISK_PLACES; i++) {
        const long long at = atomic_load(&bad_disk[i]);
        if (at > 0 && at >= offset && at < offset + n) {
            ((unsigned char *)dst)[at - offset] ^= 16;
        }
    }
    return n;
}

#endif
