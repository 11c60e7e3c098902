#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SHOWN_FAILURES = 5, PATTERN = 0xff };

void check_fail(check *t, const char *format, ...)
{
    if (t->n_failure++ < SHOWN_FAILURES) {
        va_list args;
        va_start(args, format);
        fputs("    ", stdout);
        vprintf(format, args);
        putchar('\n');
        va_end(args);
    }
}

void check_skip(check *t, const char *reason)
{
    t->skipped = 1;
    snprintf(t->note, sizeof(t->note), "%s", reason);
}

// splitmix64: small, seedable, good enough to choose test data.
uint64_t check_random(check *t)
{
    uint64_t z = (t->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double check_uniform(check *t, double low, double high)
{
    return low + (high - low) * (double)(check_random(t) >> 11) * 0x1p-53;
}

check_block check_take(size_t bytes, size_t tail_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t n_page = (bytes + tail_bytes + page - 1) / page;
    check_block block = {.tail_bytes = tail_bytes, .map_bytes = (n_page + 1) * page};
    block.map =
        mmap(NULL, block.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block.map == MAP_FAILED || mprotect((char *)block.map + n_page * page, page, PROT_NONE)) {
        perror("check_take: cannot map a guarded block");
        exit(1);
    }
    memset(block.map, PATTERN, n_page * page);
    block.tail = (unsigned char *)block.map + n_page * page - tail_bytes;
    block.data = block.tail - bytes;
    return block;
}

int check_release(check_block *block)
{
    int untouched = 1;
    for (size_t k = 0; k < block->tail_bytes; k++) {
        untouched &= block->tail[k] == PATTERN;
    }
    munmap(block->map, block->map_bytes);
    return untouched;
}

double check_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
