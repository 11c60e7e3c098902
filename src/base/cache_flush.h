// Throwing data out of the caches, so that a measurement reads memory and not a cache, however
// large the cache and however small the buffer.
#ifndef TESS_BASE_CACHE_FLUSH_H
#define TESS_BASE_CACHE_FLUSH_H

#include <stddef.h>

// Writes back and drops every cache line of the range, in all levels. Does nothing on processors
// other than x86-64 and aarch64.
void tess_cache_flush(const void *data, size_t bytes);

#endif
