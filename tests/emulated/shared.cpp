// Shared memory of the block that runs.
//
// Every declaration has an allocation of its own, that a sanitizer may watch its ends. 32-bit
// addresses, which inline PTX takes, count it among these: 2 MiB for each.

#include "emulated/shared.h"
#include "emulated/threads.h"

#include <cstdlib>
#include <cstring>

namespace emulated
{

namespace
{

constexpr int most_regions = 32;
constexpr uint32_t window = uint32_t(1) << 21;
constexpr int not_a_number = 0xff; // every byte: as float, double, half and bfloat16

struct region {
    const void *key;
    char *at;
    size_t bytes;
    bool is_fresh; // poisoned for the block at hand
};

region regions[most_regions];
int n_region = 0;
const char dynamic_key = 0;

char *allocate(size_t bytes, size_t align)
{
    void *at = nullptr;
    if (posix_memalign(&at, align < sizeof(void *) ? sizeof(void *) : align, bytes) != 0) {
        fault("no memory for %zu bytes of shared memory", bytes);
    }
    return static_cast<char *>(at);
}

} // namespace

void shared_begin_block()
{
    for (int i = 0; i < n_region; i++) {
        regions[i].is_fresh = false;
    }
}

void shared_end_grid()
{
    size_t bytes = 0;
    for (int i = 0; i < n_region; i++) {
        bytes += regions[i].bytes;
    }
    if (bytes > most_shared_bytes) {
        fault("%zu bytes of shared memory, at most %zu", bytes, most_shared_bytes);
    }
    for (int i = 0; i < n_region; i++) {
        free(regions[i].at);
    }
    n_region = 0;
}

void *shared_memory(const void *key, size_t bytes, size_t align)
{
    if (key != &dynamic_key) {
        end_measured(bytes);
    }
    int i = 0;
    while (i < n_region && regions[i].key != key) {
        i++;
    }
    if (i == most_regions || bytes >= window) {
        fault("more shared memory than the emulation knows of");
    }
    if (i == n_region) {
        regions[n_region++] = {key, allocate(bytes, align), bytes, false};
    }
    if (!regions[i].is_fresh) {
        memset(regions[i].at, not_a_number, bytes);
        regions[i].is_fresh = true;
    }
    return regions[i].at;
}

void *dynamic_memory()
{
    return shared_memory(&dynamic_key, shape.dynamic_bytes, 1024);
}

uint32_t shared_address(const void *pointer)
{
    const char *at = static_cast<const char *>(pointer);
    for (int i = 0; i < n_region; i++) {
        if (at >= regions[i].at && at <= regions[i].at + regions[i].bytes) {
            return uint32_t(i + 1) * window + uint32_t(at - regions[i].at);
        }
    }
    fault("an address that is asked for as one of shared memory is none");
}

void *shared_pointer(uint32_t address, size_t bytes)
{
    const int i = int(address / window) - 1;
    const size_t offset = address % window;
    if (i < 0 || i >= n_region || offset + bytes > regions[i].bytes) {
        fault("%zu bytes at shared address 0x%x, where none are", bytes, address);
    }
    return regions[i].at + offset;
}

} // namespace emulated
