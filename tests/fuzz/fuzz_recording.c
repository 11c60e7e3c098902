#include "fuzz_recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A reader that honours the file's size never needs more than this for the inputs we give.
enum { MEMORY_LIMIT = 64 << 20, MAX_READ = 1 << 16 };

static volatile double sum; // makes the compiler keep the reads

static tess_context *context(void)
{
    static tess_context *ctx;
    if (ctx == NULL) {
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.n_thread = 1;
        config.memory_limit_bytes = MEMORY_LIMIT;
        config.device = "cpu";
        if (tess_context_create(&config, &ctx) != TESS_OK) {
            fprintf(stderr, "%s\n", tess_last_error());
            abort();
        }
    }
    return ctx;
}

const char *fuzz_named_file(const char *name, const uint8_t *data, size_t size)
{
    static char folder[64];
    static char path[128];
    if (folder[0] == '\0') {
        // In memory where there is such a folder: libFuzzer writes thousands of files a second.
        snprintf(folder, sizeof folder, "%s/tessera-fuzz-%ld",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
        mkdir(folder, 0700);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        abort();
    }
    return path;
}

static void read_some(tess_context *ctx, tess_ar_continuous *continuous,
                      const tess_autoreject_epochs *epochs)
{
    const int64_t n_chan = continuous != NULL ? continuous->sensors.n_chan : epochs->sensors.n_chan;
    const int64_t n = continuous != NULL ? continuous->n_sample : epochs->info.n_epoch;
    const int64_t width = continuous != NULL ? 1 : epochs->info.n_time;
    if (n_chan < 1 || n < 1 || width < 1) {
        abort();
    }
    const int64_t channels[] = {n_chan - 1, 0};
    const int64_t count = n < MAX_READ / width ? n : MAX_READ / width;
    double *dst = malloc(2 * MAX_READ * sizeof *dst);
    for (int end = 0; end < 2 && count > 0; end++) {
        const int64_t first = end == 0 ? 0 : n - count;
        const tess_status status =
            continuous != NULL
                ? continuous->read(ctx, continuous->impl, first, count, channels, 2, dst)
                : epochs->reader.read(ctx, epochs->reader.impl, first, count, channels, 2, dst);
        if (status == TESS_OK) {
            sum = sum + dst[0] + dst[2 * count * width - 1];
        }
    }
    free(dst);
}

void fuzz_recording(const tess_ar_file_format *format, const char *path)
{
    tess_context *ctx = context();
    tess_autoreject_epochs *epochs = NULL;
    tess_ar_continuous continuous = {0};
    bool is_continuous = false;
    const uint64_t before = atomic_load(&ctx->heap.now_bytes);
    if (tess_ar_epochs_create(ctx, &epochs) != TESS_OK) {
        abort();
    }
    if (format->open(ctx, path, NULL, epochs, &continuous, &is_continuous) == TESS_OK) {
        read_some(ctx, is_continuous ? &continuous : NULL, epochs);
        if (is_continuous && continuous.close) {
            continuous.close(ctx, continuous.impl);
        }
    }
    tess_autoreject_epochs_close(epochs);
    if (atomic_load(&ctx->heap.now_bytes) != before) {
        fprintf(stderr, "%s: blocks were not given back\n", format->name);
        abort();
    }
}
