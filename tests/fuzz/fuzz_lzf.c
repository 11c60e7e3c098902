// What of the HDF5 module reads bytes without the library: LZF chunks, and texts of the heap.

#include "fuzz_file.h"
#include "io/hdf5/helper/heap.h"
#include "io/hdf5/lzf.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, TEXT_BYTES = 64 };

static void unpack(const uint8_t *data, size_t size)
{
    const size_t n = tess_lzf_unpack(data, size, NULL, 0);
    if (n == 0 || n > MOST_BYTES) {
        return;
    }
    uint8_t *out = malloc(n);
    if (tess_lzf_unpack(data, size, out, n) != n || tess_lzf_unpack(data, size, out, n - 1) != 0) {
        abort();
    }
    free(out);
}

static void pack(const uint8_t *data, size_t size)
{
    static uint32_t table[1 << TESS_LZF_TABLE_BITS];
    const size_t capacity = size + size / 32 + 1;
    uint8_t *packed = malloc(capacity);
    uint8_t *out = malloc(size);
    const size_t n = tess_lzf_pack(data, size, packed, capacity, table);
    if (n == 0 || tess_lzf_unpack(packed, n, out, size) != size || memcmp(out, data, size) != 0) {
        abort();
    }
    free(out);
    free(packed);
}

static void read_text(const uint8_t *data, size_t size)
{
    char text[TEXT_BYTES];
    const int fd = open(fuzz_file_of(data, size), O_RDONLY | O_CLOEXEC);
    if (tess_h5_heap_text(fd, data, text, sizeof text) && strlen(text) >= sizeof text) {
        abort();
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unpack(data, size);
    if (size > 0) {
        pack(data, size);
    }
    if (size >= TESS_H5_REFERENCE_BYTES) {
        read_text(data, size);
    }
    return 0;
}
