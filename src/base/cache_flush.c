#include "base/cache_flush.h"

enum { LINE_BYTES = 64 };

#if defined(__x86_64__)
#include <emmintrin.h>

static void flush_line(const char *line)
{
    _mm_clflush(line);
}

static void wait_for_flushes(void)
{
    _mm_mfence();
}
#elif defined(__aarch64__)
static void flush_line(const char *line)
{
    __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
}

static void wait_for_flushes(void)
{
    __asm__ volatile("dsb sy" : : : "memory");
}
#else
static void flush_line(const char *line)
{
    (void)line;
}

static void wait_for_flushes(void)
{
}
#endif

void tess_cache_flush(const void *data, size_t bytes)
{
    const char *line = data;
    for (size_t i = 0; i < bytes; i += LINE_BYTES) {
        flush_line(line + i);
    }
    wait_for_flushes();
}
