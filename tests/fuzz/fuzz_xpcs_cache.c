// Caches of two-time matrices: whatever the members hold, opening tells yes or no.
//
// Archives carry checksums that a fuzzer does not hit, so the input is not an archive: its first
// bytes choose shapes and types, and the rest fills the members of one that is written here.

#include "fuzz_file.h"
#include "runtime/bundle.h"
#include "tessera/xpcs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A reader that honours the file's size never needs more than this for the inputs we give.
enum { MOST_BYTES = 64 << 20, N_MEMBER = 6, N_CHOICE = 12, MAX_ITEM = 4096 };

static volatile double sum; // makes the compiler keep the reads

static const char *path_of(const char *ending)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/tessera-fuzz-%ld%s",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid(), ending);
    return path;
}

// A member of so many axes; what the input does not reach is zero.
static void member(tess_format_writer_input *input, const char *name, tess_dtype dtype,
                   int32_t rank, const int64_t *shape, const uint8_t *data)
{
    tess_bundle_input(input, name, dtype, rank, shape, data);
    if (input->data_bytes > (uint64_t)MAX_ITEM * 8) {
        tess_bundle_input(input, name, dtype, 0, NULL, data);
    }
}

static void write_cache(tess_context *ctx, const char *path, const uint8_t *choices,
                        const uint8_t *rest)
{
    static const tess_dtype types[] = {TESS_F32, TESS_F64, TESS_I32, TESS_C64};
    tess_format_writer_input inputs[N_MEMBER];
    const int64_t stack[] = {choices[0] % 5, choices[1] % 20, choices[2] % 20};
    const int64_t n_t[] = {choices[3] % 20, 2};
    const int64_t n_q[] = {choices[4] % 5};
    const int64_t n_phi[] = {choices[5] % 5};
    const int64_t n_letter = choices[6];
    member(&inputs[0], "c2_exp", types[choices[7] % 4], choices[8] % 4, stack, rest);
    member(&inputs[1], "t1", types[choices[9] % 4], 1 + choices[9] / 128, n_t, rest + 64);
    member(&inputs[2], "t2", TESS_F64, 1, n_t, rest);
    member(&inputs[3], "phi_angles_list", types[choices[10] % 4], 1, n_phi, rest + 128);
    member(&inputs[4], "wavevector_q_list", types[choices[11] % 4], 1, n_q, rest + 192);
    // Letters of the metadata are the input's bytes, as code points.
    static uint32_t letters[256];
    for (int64_t i = 0; i < n_letter; i++) {
        letters[i] = rest[i];
    }
    tess_bundle_input(&inputs[5], "cache_metadata_json", TESS_UCS4, 0, NULL, letters);
    inputs[5].item_bytes = 4 * (n_letter > 0 ? n_letter : 1);
    inputs[5].data_bytes = (uint64_t)inputs[5].item_bytes;
    if (tess_bundle_write(ctx, path, inputs, N_MEMBER, 1) != TESS_OK) {
        fprintf(stderr, "%s\n", tess_last_error());
        abort();
    }
}

static void open_cache(tess_context *ctx, const char *path)
{
    tess_xpcs_data_config config;
    tess_xpcs_data *data = NULL;
    tess_xpcs_file *file = NULL;
    tess_xpcs_data_config_init(&config, sizeof config);
    config.q_max_deviation = 1e9;
    if (tess_xpcs_file_inspect(ctx, path, &file) == TESS_OK) {
        sum = sum + tess_xpcs_file_get_info(file)->dt_s;
    }
    tess_xpcs_file_close(file);
    if (tess_xpcs_data_open(ctx, path, &config, &data) == TESS_OK) {
        sum = sum + tess_xpcs_data_get_info(data)->mean[0];
    }
    tess_xpcs_data_destroy(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tess_context *ctx;
    static uint8_t padded[N_CHOICE + 8 * MAX_ITEM + 256];
    if (ctx == NULL) {
        tess_context_config config;
        tess_context_config_init(&config, sizeof config);
        config.n_thread = 1;
        config.device = "cpu";
        if (tess_context_create(&config, &ctx) != TESS_OK) {
            abort();
        }
    }
    uint64_t before = 0;
    uint64_t after = 0;
    uint64_t peak = 0;
    const char *path = path_of(".npz");
    memset(padded, 0, sizeof padded);
    memcpy(padded, data, size < sizeof padded ? size : sizeof padded);
    tess_context_memory(ctx, &before, &peak);
    write_cache(ctx, path, padded, padded + N_CHOICE);
    open_cache(ctx, path);
    unlink(path);
    tess_context_memory(ctx, &after, &peak);
    if (before != after || peak > MOST_BYTES) {
        abort();
    }
    return 0;
}
