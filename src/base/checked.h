// Overflow-checked arithmetic for sizes that come from files and users.
#ifndef TESS_BASE_CHECKED_H
#define TESS_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

// Return false on overflow, *out untouched or unspecified then.
static inline bool tess_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool tess_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline bool tess_mul_i64(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

#endif
