#include "heap.h"

#include <string.h>
#include <unistd.h>

enum {
    COLLECTION_HEADER = 16, // "GCOL", version, reserved, size u64
    OBJECT_HEADER = 16      // index u16, count u16, reserved, size u64
};
static const uint64_t MAX_COLLECTION = 64 << 20; // the library makes them of 4 KiB

static uint64_t number_at(const uint8_t *bytes, int n_byte)
{
    uint64_t value = 0;
    for (int i = n_byte - 1; i >= 0; i--) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static bool read_exactly(int fd, void *dst, size_t n_byte, uint64_t offset)
{
    return offset < INT64_MAX && pread(fd, dst, n_byte, (off_t)offset) == (ssize_t)n_byte;
}

bool tess_h5_heap_text(int fd, const uint8_t *reference, char *text, uint64_t capacity)
{
    const uint64_t length = number_at(reference, 4);
    const uint64_t address = number_at(reference + 4, 8);
    const uint64_t index = number_at(reference + 12, 4);
    uint8_t header[COLLECTION_HEADER];
    text[0] = '\0';
    if (length == 0) {
        return true;
    }
    if (!read_exactly(fd, header, sizeof header, address) || memcmp(header, "GCOL\1", 5) != 0) {
        return false;
    }
    const uint64_t bytes = number_at(header + 8, 8);
    uint64_t at = COLLECTION_HEADER;
    while (bytes <= MAX_COLLECTION && at + OBJECT_HEADER <= bytes) {
        uint8_t object[OBJECT_HEADER];
        if (!read_exactly(fd, object, sizeof object, address + at)) {
            return false;
        }
        const uint64_t found = number_at(object, 2);
        const uint64_t size = number_at(object + 8, 8);
        at += OBJECT_HEADER;
        if (found == 0 || size > bytes - at) { // the free rest, or damage
            return false;
        }
        if (found == index) {
            const uint64_t n = size < length ? size : length;
            const uint64_t kept = n < capacity ? n : capacity - 1;
            text[kept] = '\0';
            return read_exactly(fd, text, (size_t)kept, address + at);
        }
        at += (size + 7) / 8 * 8;
    }
    return false;
}
