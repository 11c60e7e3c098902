// The --profile table: where time went, and how near that is to what the device can do.
#include "base/status.h"
#include "runtime/context.h"

#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 128 };

static size_t write_row(char *text, size_t capacity, const tess_span_total *total,
                        const tess_device_ceilings *peak)
{
    const double seconds = (double)total->total_ns * 1e-9;
    const double bytes_per_s = seconds > 0 ? total->bytes / seconds : 0;
    const double flops_per_s = seconds > 0 ? total->flops / seconds : 0;
    char gb[16] = "-";
    char gflop[16] = "-";
    char share[16] = "-";
    if (total->bytes > 0) {
        snprintf(gb, sizeof gb, "%.2f", bytes_per_s * 1e-9);
    }
    if (total->flops > 0) {
        snprintf(gflop, sizeof gflop, "%.2f", flops_per_s * 1e-9);
    }
    double best = 0;
    if (peak->read_bytes_per_s > 0) {
        best = bytes_per_s / peak->read_bytes_per_s;
    }
    if (peak->flop_f64_per_s > 0 && flops_per_s / peak->flop_f64_per_s > best) {
        best = flops_per_s / peak->flop_f64_per_s;
    }
    if (best > 0) {
        snprintf(share, sizeof share, "%.0f %%", best * 100);
    }
    return (size_t)snprintf(text, capacity, "%-24s %8lld %10.4f %9s %9s %8s\n", total->name,
                            (long long)total->n_call, seconds, gb, gflop, share);
}

tess_status tess_context_profile_text(tess_context *ctx, const char **text)
{
    tess_error_clear();
    *text = "";
    if (!ctx->profile) {
        return TESS_OK;
    }
    tess_device_ceilings peak = {.struct_size = sizeof peak};
    TESS_TRY(tess_device_benchmark(ctx, ctx->device->info.id, &peak, sizeof peak));

    const size_t bytes = (size_t)(TESS_MAX_SPAN_NAMES + 4) * LINE_BYTES;
    char *table = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_CONTEXT, "profile table");
    if (!table) {
        return TESS_E_MEMORY;
    }
    size_t used = (size_t)snprintf(table, bytes, "%-24s %8s %10s %9s %9s %8s\n", "span", "calls",
                                   "seconds", "GB/s", "GFLOP/s", "of peak");
    pthread_mutex_lock(&ctx->tracer.mutex);
    for (int32_t i = 0; i < ctx->tracer.n_total && used < bytes; i++) {
        used += write_row(table + used, bytes - used, &ctx->tracer.totals[i], &peak);
    }
    pthread_mutex_unlock(&ctx->tracer.mutex);
    if (used < bytes) {
        snprintf(table + used, bytes - used,
                 "peak of %s, measured now: %.2f GB/s read, %.1f GFLOP/s f32, %.1f GFLOP/s f64\n",
                 ctx->device->info.id, peak.read_bytes_per_s * 1e-9, peak.flop_f32_per_s * 1e-9,
                 peak.flop_f64_per_s * 1e-9);
    }
    tess_heap_free(&ctx->heap, ctx->profile_text, ctx->profile_bytes, TESS_TAG_CONTEXT);
    ctx->profile_text = table;
    ctx->profile_bytes = bytes;
    *text = table;
    return TESS_OK;
}
