// Seconds of an exchange between ranks, by bytes that each brings: one JSON object on stdout.
#include "base/clock.h"
#include "base/status.h"
#include "runtime/comm.h"

#include <stdio.h>
#include <stdlib.h>

enum { REPEATS = 200, MOST_BYTES = 1 << 20 };

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// The median, in seconds, of gathering so many bytes of every rank.
static tess_status time_gather(tess_context *ctx, const void *mine, size_t bytes, double *median)
{
    double seconds[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        tess_comm_parts parts;
        TESS_TRY(tess_comm_agree(ctx, (tess_comm_point){"ready", 0}, TESS_OK));
        const int64_t begin_ns = tess_now_ns();
        TESS_TRY(
            tess_comm_gather(ctx, (tess_comm_point){"bytes", bytes}, TESS_OK, mine, bytes, &parts));
        seconds[i] = (double)(tess_now_ns() - begin_ns) * 1e-9;
        tess_comm_parts_free(&parts);
    }
    qsort(seconds, REPEATS, sizeof *seconds, compare);
    *median = seconds[REPEATS / 2];
    return TESS_OK;
}

static tess_status run(tess_context *ctx, const void *mine)
{
    const bool speaks = tess_comm_is_first(ctx);
    if (speaks) {
        printf("{\"ranks\": %d, \"gather\": [", (int)tess_comm_size(ctx));
    }
    for (size_t bytes = 16; bytes <= MOST_BYTES; bytes *= 4) {
        double median = 0;
        TESS_TRY(time_gather(ctx, mine, bytes, &median));
        if (speaks) {
            printf("%s[%zu, %.9f]", bytes == 16 ? "" : ", ", bytes, median);
        }
    }
    if (speaks) {
        printf("]}\n");
    }
    return tess_context_leave(ctx, TESS_OK);
}

int main(void)
{
    tess_context_config config;
    tess_context *ctx = NULL;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 1;
    config.comm = "mpi";
    void *mine = calloc(1, MOST_BYTES);
    tess_status status = mine ? tess_context_create(&config, &ctx) : TESS_E_MEMORY;
    if (status == TESS_OK) {
        status = run(ctx, mine);
    }
    if (status != TESS_OK) {
        fprintf(stderr, "comm_speed: %s\n", tess_last_error());
    }
    tess_context_destroy(ctx);
    free(mine);
    return status == TESS_OK ? 0 : 1;
}
