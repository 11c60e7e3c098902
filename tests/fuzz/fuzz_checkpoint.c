// Checkpoints: whatever the bytes, opening tells yes or no, and what it accepts can be read.
//
// Random bytes hardly ever carry right checksums, so every input is also tried with its checksums
// repaired: only then do lengths and names get past the door.

#include "base/hash.h"
#include "fuzz_file.h"
#include "runtime/checkpoint.h"

#include <stdlib.h>
#include <string.h>

// The layout of runtime/checkpoint.h, as offsets.
enum {
    HEADER_BYTES = 64,
    HEADER_KIND = 16,
    HEADER_HASH = 48,
    BLOCK_BYTES = 32,
    BLOCK_LENGTH = 8,
    BLOCK_HASH = 16,
    TRAILER_BYTES = 64,
    TRAILER_COUNT = 8,
    TRAILER_HASH = 32,
    MAX_BLOCKS = 64
};

static uint64_t field_at(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void put_hash(uint8_t *at, tess_hash_kind kind, const void *data, size_t bytes)
{
    const tess_hash hash = tess_hash_bytes(kind, data, bytes);
    memcpy(at, &hash, sizeof hash);
}

static void repair(uint8_t *bytes, size_t size)
{
    uint32_t kind_value;
    if (size < HEADER_BYTES + TRAILER_BYTES) {
        return;
    }
    memcpy(&kind_value, bytes + HEADER_KIND, sizeof kind_value);
    const tess_hash_kind kind = (tess_hash_kind)kind_value;
    if (!tess_hash_supported(kind)) {
        return;
    }
    put_hash(bytes + HEADER_HASH, kind, bytes, HEADER_HASH);
    uint8_t *trailer = bytes + size - TRAILER_BYTES;
    const uint64_t file_bytes = size;
    memcpy(trailer + TRAILER_COUNT + 8, &file_bytes, sizeof file_bytes);
    uint8_t headers[MAX_BLOCKS * BLOCK_BYTES];
    const uint64_t n_block = field_at(trailer + TRAILER_COUNT);
    uint8_t *at = bytes + HEADER_BYTES;
    uint64_t i = 0;
    for (; i < n_block && i < MAX_BLOCKS && trailer - at >= BLOCK_BYTES; i++) {
        const uint64_t length = field_at(at + BLOCK_LENGTH);
        const uint64_t room = (uint64_t)(trailer - at) - BLOCK_BYTES;
        if (length > room || ((length + 7) & ~UINT64_C(7)) > room) {
            break;
        }
        put_hash(at + BLOCK_HASH, kind, at + BLOCK_BYTES, (size_t)length);
        memcpy(headers + i * BLOCK_BYTES, at, BLOCK_BYTES);
        at += BLOCK_BYTES + ((length + 7) & ~UINT64_C(7));
    }
    put_hash(trailer + TRAILER_HASH, kind, headers, (size_t)i * BLOCK_BYTES);
}

static void read_all(tess_context *ctx, const uint8_t *data, size_t size)
{
    static const char *const names[] = {"meta", "state", "", "12345678"};
    tess_checkpoint checkpoint;
    if (tess_checkpoint_open(ctx, fuzz_file_of(data, size), &checkpoint) != TESS_OK) {
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t bytes = tess_checkpoint_size(&checkpoint, names[i]);
        if (bytes > size) {
            abort(); // more than the file has
        }
        char *value = malloc(bytes + 1);
        if (bytes > 0 && tess_checkpoint_get(&checkpoint, names[i], value, bytes) != TESS_OK) {
            abort();
        }
        if (tess_checkpoint_get(&checkpoint, names[i], value, bytes + 1) == TESS_OK) {
            abort();
        }
        free(value);
    }
    tess_checkpoint_close(&checkpoint);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tess_context *ctx;
    if (ctx == NULL && tess_context_create(NULL, &ctx) != TESS_OK) {
        abort();
    }
    uint64_t before = 0;
    uint64_t after = 0;
    uint64_t peak = 0;
    tess_context_memory(ctx, &before, &peak);
    read_all(ctx, data, size);
    uint8_t *repaired = malloc(size + 1);
    memcpy(repaired, data, size);
    repair(repaired, size);
    read_all(ctx, repaired, size);
    free(repaired);
    tess_context_memory(ctx, &after, &peak);
    if (before != after) {
        abort();
    }
    return 0;
}
