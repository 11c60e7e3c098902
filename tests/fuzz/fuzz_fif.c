// FIF files of epochs, continuous recordings and events, opened, read and written again.
#include "fuzz_file.h"
#include "systems/autoreject/files/recording.h"
#include "tessera/tessera.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A reader that honours the file's size never needs more than this for the inputs we give.
enum { MAX_BLOCK_BYTES = 256 << 20, MAX_READ_ITEMS = 1 << 22 };

static int64_t n_live;
static volatile size_t sum; // makes the compiler keep the reads

static void *block_alloc(void *user, size_t bytes, size_t alignment, tess_tag tag)
{
    (void)user;
    (void)tag;
    if (bytes > MAX_BLOCK_BYTES) {
        fprintf(stderr, "a reader asked for %zu bytes\n", bytes);
        abort();
    }
    n_live++;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void block_release(void *user, void *ptr, size_t bytes, tess_tag tag)
{
    (void)user;
    (void)tag;
    if (ptr) {
        memset(ptr, 0xdd, bytes); // ASan sees a wrong size
        n_live--;
    }
    free(ptr);
}

static tess_context *context(void)
{
    static tess_context *ctx;
    if (!ctx) {
        static const tess_allocator allocator = {.alloc = block_alloc, .release = block_release};
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.n_thread = 1;
        config.allocator = &allocator;
        if (tess_context_create(&config, &ctx) != TESS_OK) {
            abort();
        }
    }
    return ctx;
}

static void touch_info(const tess_autoreject_epochs_info *info)
{
    size_t n = strlen(info->notes) + (info->metadata ? strlen(info->metadata) : 0);
    for (int64_t i = 0; i < info->n_original; i++) {
        n += strlen(info->drop_log[i]);
    }
    for (int64_t i = 0; i < info->n_event_name; i++) {
        n += strlen(info->event_names[i]);
    }
    for (int64_t c = 0; c < info->sensors->n_chan; c++) {
        n += strlen(info->sensors->channels[c].name);
    }
    sum = sum + n;
}

static void open_and_read(const char *path, const tess_autoreject_epochs_config *config)
{
    tess_context *ctx = context();
    tess_autoreject_epochs *epochs = NULL;
    if (tess_autoreject_epochs_open(ctx, path, config, &epochs) != TESS_OK) {
        if (!*tess_last_error()) {
            abort(); // a failure without a word
        }
        return;
    }
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
    touch_info(info);
    const int64_t items = info->sensors->n_chan * info->n_time;
    if (items <= MAX_READ_ITEMS) {
        double *samples = malloc((size_t)items * sizeof *samples);
        const tess_status first = tess_autoreject_epochs_read(ctx, epochs, 0, 1, NULL, 0, samples);
        const tess_status last =
            tess_autoreject_epochs_read(ctx, epochs, info->n_epoch - 1, 1, NULL, 0, samples);
        if (first != TESS_OK || last != TESS_OK) {
            abort(); // the file has what it promised
        }
        free(samples);
    }
    tess_autoreject_epochs_close(epochs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t n_before = (context(), n_live);
    const char *path = fuzz_file_of(data, size);
    tess_autoreject_epochs_config config;
    tess_autoreject_epochs_config_init(&config, sizeof config);
    open_and_read(path, &config);
    config.window = 0.5;
    config.keep_annotated = 1;
    config.baseline = TESS_AR_BASELINE_INTERVAL;
    open_and_read(path, &config);
    config.window = 0;
    config.events = path; // events of epochs are a file of events as well
    config.event = "1,a/b";
    open_and_read(path, &config);
    if (n_live != n_before) {
        fprintf(stderr, "%lld blocks were not given back\n", (long long)(n_live - n_before));
        abort();
    }
    return 0;
}
