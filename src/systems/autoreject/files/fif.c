// FIF among the formats.
#include "systems/autoreject/files/fif.h"
#include "base/status.h"

#include <string.h>

static int probe(const char *path, const uint8_t *head, size_t head_bytes)
{
    static const uint8_t big[8] = {0, 0, 0, 100, 0, 0, 0, 31};
    static const uint8_t little[8] = {100, 0, 0, 0, 31, 0, 0, 0};
    if (head_bytes >= 2 && head[0] == 0x1f && head[1] == 0x8b) {
        return 1; // nothing else is read in compressed form
    }
    if (head_bytes >= 8 && (memcmp(head, big, 8) == 0 || memcmp(head, little, 8) == 0)) {
        return 1;
    }
    // What is called so and is not gets the better message.
    const size_t n = strlen(path);
    return n >= 4 && strcmp(path + n - 4, ".fif") == 0;
}

static bool has_block(const tess_ar_fif_file *file, int32_t kind)
{
    return tess_ar_fif_block_in(file, 0, kind, -1) >= 0;
}

static tess_status open_fif(tess_context *ctx, const char *path,
                            const tess_autoreject_epochs_config *config,
                            tess_autoreject_epochs *epochs, tess_ar_continuous *continuous,
                            bool *is_continuous)
{
    (void)config;
    tess_ar_fif_file file;
    epochs->info.format = "fif";
    TESS_TRY(tess_ar_fif_file_open(ctx, path, &file));
    *is_continuous = has_block(&file, TESS_AR_FIF_B_RAW) ||
                     has_block(&file, TESS_AR_FIF_B_CONTINUOUS) ||
                     has_block(&file, TESS_AR_FIF_B_SHIELDED);
    if (has_block(&file, TESS_AR_FIF_B_EPOCHS) || has_block(&file, TESS_AR_FIF_B_OLD_EPOCHS)) {
        *is_continuous = false;
        return tess_ar_fif_open_epochs(ctx, &file, epochs);
    }
    if (*is_continuous) {
        return tess_ar_fif_open_raw(ctx, &file, epochs, continuous);
    }
    const unsigned long long end = (unsigned long long)file.in.bytes;
    tess_ar_fif_file_close(&file);
    TESS_FAIL(TESS_E_FORMAT,
              "%s: a FIF file that ends at byte %llu without block 373 (epochs) or block 102 (raw "
              "data); give epochs or a continuous recording",
              path, end);
}

const tess_ar_file_format tess_ar_fif = {.name = "fif", .probe = probe, .open = open_fif};
