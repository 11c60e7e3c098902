// What tests of file readers share: golden texts, small files to spoil.
#ifndef TESS_TESTS_AUTOREJECT_FILES_H
#define TESS_TESTS_AUTOREJECT_FILES_H

#include "tessera/autoreject.h"
#include "unit_golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMATS TESS_GOLDEN "/autoreject/formats/"

// 1 if this build reads compressed files.
static inline int has_zlib(tess_context *ctx)
{
    tess_autoreject_epochs *epochs = NULL;
    const tess_status status =
        tess_autoreject_epochs_open(ctx, FORMATS "epochs_double-epo.fif.gz", NULL, &epochs);
    tess_autoreject_epochs_close(epochs);
    return status != TESS_E_UNSUPPORTED;
}

// Fixed-width texts of golden file ar08_formats.
typedef struct golden_texts {
    char *bytes;
    int64_t n;
    int64_t width;
} golden_texts;

static inline golden_texts golden_read_texts(tess_context *ctx, const char *name)
{
    golden_texts texts = {0};
    tess_source_config config;
    tess_source *source = NULL;
    tess_source_config_init(&config, sizeof config);
    config.dataset = name;
    assert_ok(tess_source_open(ctx, TESS_GOLDEN "/autoreject/ar08_formats.npz", &config, &source));
    const tess_source_info *info = tess_source_get_info(source);
    texts.n = info->rank > 0 ? info->shape[0] : 1;
    texts.width = info->item_bytes;
    texts.bytes = calloc((size_t)texts.n, (size_t)texts.width);
    assert_ok(tess_source_read(source, 0, texts.n, texts.bytes, (uint64_t)(texts.n * texts.width)));
    tess_source_close(source);
    return texts;
}

// Item i is this text.
static inline void assert_text(const golden_texts *texts, int64_t i, const char *got)
{
    char want[512] = "";
    assert_true(i < texts->n && texts->width < (int64_t)sizeof want);
    memcpy(want, texts->bytes + i * texts->width, (size_t)texts->width);
    assert_string_equal(got, want);
}

// Opens a file without its projectors applied.
static inline tess_status ar_open_as_stored(tess_context *ctx, const char *path,
                                            tess_autoreject_epochs **epochs)
{
    tess_autoreject_epochs_config config;
    tess_autoreject_epochs_config_init(&config, sizeof config);
    config.proj = 0;
    return tess_autoreject_epochs_open(ctx, path, &config, epochs);
}

#endif
