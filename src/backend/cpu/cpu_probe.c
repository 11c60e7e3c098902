// Ceilings of the CPU: streaming read, copy, and multiply-add rates over all threads of the
// context.
#include "backend/cpu/cpu_backend.h"
#include "base/cache_flush.h"
#include "base/clock.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const size_t BLOCK_BYTES = 256 << 10;
// It is flushed before every pass, so it need not exceed the caches; flushing is what takes long.
static const uint64_t BUFFER_BYTES = UINT64_C(64) << 20;
static const size_t FMA_ROUNDS = 2000000;

enum { REPEATS = 5 };

typedef struct probe {
    const tess_kernels *kernels;
    char *memory; // the buffer to read; the second half is the copy's target
    size_t bytes;
    double flops; // out, of worker 0
} probe;

static tess_status read_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const probe *p = arg;
    uint64_t sum = 0;
    p->kernels->probe_read(p->memory + (size_t)block * BLOCK_BYTES, BLOCK_BYTES, &sum);
    // The sum goes nowhere; the kernel is behind a pointer, so the reads cannot be left out.
    return TESS_OK;
}

static tess_status copy_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const probe *p = arg;
    memcpy(p->memory + p->bytes / 2 + (size_t)block * BLOCK_BYTES,
           p->memory + (size_t)block * BLOCK_BYTES, BLOCK_BYTES);
    return TESS_OK;
}

static tess_status flush_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    const probe *p = arg;
    tess_cache_flush(p->memory + (size_t)block * BLOCK_BYTES, BLOCK_BYTES);
    return TESS_OK;
}

static tess_status fma_f32_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    probe *p = arg;
    float out = 0;
    double flops = 0;
    p->kernels->probe_fma_f32(FMA_ROUNDS, &out, &flops);
    if (block == 0) {
        p->flops = flops;
    }
    return TESS_OK;
}

static tess_status fma_f64_block(void *arg, int64_t block, int32_t worker)
{
    (void)worker;
    probe *p = arg;
    double out = 0;
    double flops = 0;
    p->kernels->probe_fma_f64(FMA_ROUNDS, &out, &flops);
    if (block == 0) {
        p->flops = flops;
    }
    return TESS_OK;
}

// The ceiling is the best of several passes: anything slower was disturbed. Where flush_blocks are
// given, every pass finds the buffer in memory, not in a cache.
static tess_status best_time(tess_context *ctx, int64_t flush_blocks, int64_t n_block,
                             tess_block_fn fn, probe *p, double *seconds)
{
    *seconds = 0;
    for (int i = 0; i < REPEATS; i++) {
        TESS_TRY(tess_parallel_for(ctx->pool, flush_blocks, flush_block, p));
        const int64_t begin_ns = tess_now_ns();
        TESS_TRY(tess_parallel_for(ctx->pool, n_block, fn, p));
        const double s = (double)(tess_now_ns() - begin_ns) * 1e-9;
        *seconds = i == 0 || s < *seconds ? s : *seconds;
    }
    return TESS_OK;
}

static tess_status measure(tess_context *ctx, probe *p, tess_device_ceilings *out)
{
    const int64_t n_block = (int64_t)(p->bytes / BLOCK_BYTES);
    double s = 0;
    TESS_TRY(best_time(ctx, n_block, n_block, read_block, p, &s));
    out->read_bytes_per_s = (double)p->bytes / s;
    TESS_TRY(best_time(ctx, n_block, n_block / 2, copy_block, p, &s));
    out->copy_bytes_per_s = (double)p->bytes / s; // read half, write half
    TESS_TRY(best_time(ctx, 0, ctx->n_thread, fma_f32_block, p, &s));
    out->flop_f32_per_s = p->flops * ctx->n_thread / s;
    TESS_TRY(best_time(ctx, 0, ctx->n_thread, fma_f64_block, p, &s));
    out->flop_f64_per_s = p->flops * ctx->n_thread / s;
    return TESS_OK;
}

tess_status tess_cpu_benchmark(tess_backend_device *device, tess_device_ceilings *ceilings)
{
    tess_context *ctx = device->ctx;
    const uint64_t quarter = ctx->memory_limit_bytes / 4;
    uint64_t bytes = BUFFER_BYTES;
    while (bytes > quarter && bytes > 2 * BLOCK_BYTES) {
        bytes /= 2;
    }
    probe p = {.kernels = device->kernels, .bytes = (size_t)bytes};
    // Whatever pages the system gives an ordinary array.
    p.memory = mmap(NULL, p.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p.memory == MAP_FAILED) {
        TESS_FAIL(TESS_E_MEMORY, "cannot allocate %zu bytes to measure bandwidth", p.bytes);
    }
    memset(p.memory, 1, p.bytes);
    ceilings->n_thread = ctx->n_thread;
    const tess_status status = measure(ctx, &p, ceilings);
    munmap(p.memory, p.bytes);
    return status;
}
