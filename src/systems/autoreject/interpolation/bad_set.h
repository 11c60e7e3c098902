// A set of bad channels as bits.
#ifndef TESS_AUTOREJECT_BAD_SET_H
#define TESS_AUTOREJECT_BAD_SET_H

#include <stdint.h>

// words has tess_ar_set_words(n) of them for n channels.
typedef struct tess_ar_bad_set {
    const uint64_t *words;
} tess_ar_bad_set;

static inline int64_t tess_ar_set_words(int64_t n)
{
    return (n + 63) / 64;
}

#endif
