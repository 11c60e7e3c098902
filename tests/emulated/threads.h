// The threads of a block as fibers of one thread of the host: who runs, who waits for whom, and
// what is said of threads that wait for nobody.
#ifndef EMULATED_THREADS_H
#define EMULATED_THREADS_H

#include "emulated/vectors.h"

#include <cstddef>
#include <cstdint>

namespace emulated
{

constexpr int warp_lanes = 32;
constexpr int most_threads = 1024;
constexpr int most_barriers = 16;
constexpr size_t most_shared_bytes = size_t(163) << 10; // of compute capability 8.0

// Where the sources call, for messages and to tell one barrier of a kernel from another.
struct place {
    const char *what; // "__syncthreads"
    const char *file;
    int line;
};

// What all kernels see of their launch.
struct launch_shape {
    dim3 grid;
    dim3 block;
    size_t dynamic_bytes;
};
extern launch_shape shape;
extern uint3 block_index;

// The thread that runs: its index, and the copies to shared memory that it has not waited for.
struct thread;
extern thread *here;
const uint3 &thread_index();
int lane();

// A step of all lanes of mask together: the last that comes does act() with what each brought.
using warp_act = void(void *const (&mine)[warp_lanes], unsigned mask);
void meet_warp(const place &at, unsigned mask, void *mine, warp_act *act);

// A step of `threads` threads of the block (0: all) at a barrier. How many said yes.
int meet_block(const place &at, int barrier, int threads, bool says_yes);

// cp.async: copied no sooner than somebody waits, so that who does not wait reads what was before.
void copy_later(void *to, const void *from, int bytes, int there);
void copies_commit();
void copies_wait(int newest);

// Shared memory. That of a declaration is known by its key; that of the launch is 1024-aligned.
// Both are full of NaNs when a block begins. A shared address is what 32-bit registers hold.
void *shared_memory(const void *key, size_t bytes, size_t align);
void *dynamic_memory();
uint32_t shared_address(const void *pointer);
void *shared_pointer(uint32_t address, size_t bytes);

// More threads than the kernel was promised are a fault.
void check_bounds(int threads);

// Runs a grid, block after block. body(held) is one thread.
void run_grid(const char *kernel, const launch_shape &of, void (*body)(void *), void *held);

// Bytes that a kernel's first declaration of shared memory asks for; 0 if none came.
size_t first_shared_bytes(void (*body)(void *), void *held);

// Says what is wrong, in which kernel, block and thread, and ends the process.
[[noreturn]] void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace emulated

#endif
