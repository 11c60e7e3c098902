/** The allocator table. Replaceable, so that hosts can account and tests can make it fail. */
#ifndef TESSERA_SYS_ALLOCATOR_H
#define TESSERA_SYS_ALLOCATOR_H

#include "tessera/base.h"

TESS_BEGIN_DECLS

/** What a block is for; memory use is reported per tag. */
typedef enum tess_tag {
    TESS_TAG_GENERAL = 0,
    TESS_TAG_CONTEXT = 1,
    TESS_TAG_PLAN = 2,
    TESS_TAG_TILE = 3,    /* tile buffers of a pipeline */
    TESS_TAG_SCRATCH = 4, /* per-worker scratch */
    TESS_TAG_IO = 5,
    TESS_TAG_RESULT = 6,
    TESS_TAG_COUNT = 7
} tess_tag;

typedef struct tess_allocator {
    /** bytes > 0, alignment a power of two >= 16. NULL when there is no memory. Any thread. */
    void *(*alloc)(void *user, size_t bytes, size_t alignment, tess_tag tag);
    /** ptr may be NULL; bytes and tag are those of the allocation. Any thread. */
    void (*release)(void *user, void *ptr, size_t bytes, tess_tag tag);
    void *user;
} tess_allocator;

TESS_END_DECLS

#endif
