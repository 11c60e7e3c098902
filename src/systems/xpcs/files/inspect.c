// Opening a file: its layout by content, and the public view of what it has.
#include "base/status.h"
#include "runtime/source.h"
#include "systems/xpcs/files/cache.h"
#include "systems/xpcs/files/flat.h"
#include "systems/xpcs/files/matrices.h"
#include "systems/xpcs/store/txc2.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { KEYS_CHARS = 240 };

// In the order they are tried.
static const tess_xp_layout *const layouts[] = {&tess_xp_aps_u, &tess_xp_aps_legacy, &tess_xp_chx};

// "entry, exchange, xpcs": the first parts of the names.
static void top_level(const tess_bundle *bundle, char text[KEYS_CHARS])
{
    size_t used = 0;
    const char *last = "";
    size_t last_n = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < bundle->n_entry; i++) {
        const char *name = bundle->entries[i].name;
        const size_t n = strcspn(name, "/");
        if (n == last_n && strncmp(name, last, n) == 0) {
            continue;
        }
        last = name;
        last_n = n;
        if (used + n + 8 > KEYS_CHARS) {
            snprintf(text + used, KEYS_CHARS - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, KEYS_CHARS - used, "%s%.*s", used ? ", " : "", (int)n,
                                 name);
    }
}

static tess_status no_layout(const struct tess_xpcs_file *file)
{
    char keys[KEYS_CHARS];
    top_level(&file->bundle, keys);
    TESS_FAIL(TESS_E_FORMAT,
              "%s: an HDF5 file of no known layout; at its top it has [%s]. Known are %s (%s), %s "
              "(%s) and %s (%s); take any other data set with --c2-path, --q, --phi and --dt",
              file->path, keys, layouts[0]->name, layouts[0]->expect, layouts[1]->name,
              layouts[1]->expect, layouts[2]->name, layouts[2]->expect);
}

static tess_status describe_hdf5(struct tess_xpcs_file *file)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        if (layouts[i]->is_there(&file->bundle)) {
            file->info.layout = layouts[i]->name;
            return layouts[i]->describe(file);
        }
    }
    return no_layout(file);
}

// Not of a format that is read at all, or damaged.
static tess_status find_format(struct tess_xpcs_file *file, const tess_format **format)
{
    const tess_status status = tess_format_of_file(file->ctx, file->path, format);
    if (status == TESS_E_FORMAT) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: not an HDF5 file, nor an .npz cache, nor .txc2; its first bytes are none of "
                  "theirs",
                  file->path);
    }
    return status;
}

static tess_status describe(struct tess_xpcs_file *file, const tess_xpcs_data_config *config)
{
    const tess_format *format = NULL;
    bool is_flat;
    TESS_TRY(tess_xp_txc2_probe(file->path, &is_flat));
    if (is_flat) {
        return tess_xp_flat_describe(file);
    }
    TESS_TRY(find_format(file, &format));
    const bool is_single = strcmp(format->name, "npy") == 0;
    if (!is_single) {
        TESS_TRY(tess_bundle_open(file->ctx, file->path, &file->bundle));
    }
    if (config && (config->c2_path || is_single)) {
        file->info.layout = "dataset";
        return tess_xp_dataset_describe(file, config);
    }
    if (strcmp(format->name, "npz") == 0) {
        file->info.layout = "cache";
        return tess_xp_cache_describe(file);
    }
    if (strcmp(format->name, "hdf5") == 0) {
        return describe_hdf5(file);
    }
    TESS_FAIL(TESS_E_FORMAT, "%s: a %s file says neither q nor phi; give them with --q and --phi",
              file->path, format->name);
}

tess_status tess_xp_file_check(const struct tess_xpcs_file *file)
{
    TESS_TRY(file->bundle.ctx ? tess_bundle_check(&file->bundle) : TESS_OK);
    return file->stack ? tess_source_check(file->stack) : TESS_OK;
}

tess_status tess_xp_file_open(tess_context *ctx, const char *path,
                              const tess_xpcs_data_config *config, struct tess_xpcs_file **out)
{
    *out = NULL;
    struct tess_xpcs_file *file =
        tess_heap_alloc_zero(&ctx->heap, sizeof *file, TESS_TAG_IO, "a description of a file");
    if (!file) {
        return TESS_E_MEMORY;
    }
    file->ctx = ctx;
    file->info = (tess_xpcs_file_info){
        .struct_size = sizeof file->info, .stride = 1, .averaging = 1, .layout = "", .filter = ""};
    tess_blocks_init(&file->memory, &ctx->heap);
    tess_text_init(&file->notes, &ctx->heap);
    file->path = tess_heap_strdup(&ctx->heap, path, TESS_TAG_IO);
    tess_status status = file->path ? describe(file, config) : TESS_E_MEMORY;
    if (status == TESS_OK) {
        status = tess_text_finish(&file->notes, &file->info.notes);
    }
    if (status != TESS_OK) {
        tess_xpcs_file_close(file);
        return status;
    }
    *out = file;
    return TESS_OK;
}

// A file that is too old is bad input; a version that the caller got wrong is not.
tess_status tess_xp_file_refused(tess_status status)
{
    if (status != TESS_E_VERSION) {
        return status;
    }
    char text[1024];
    snprintf(text, sizeof text, "%s", tess_last_error());
    TESS_FAIL(TESS_E_FORMAT, "%s", text);
}

tess_status tess_xpcs_file_inspect(tess_context *ctx, const char *path, tess_xpcs_file **out)
{
    tess_error_clear();
    return tess_xp_file_refused(tess_xp_file_open(ctx, path, NULL, out));
}

const tess_xpcs_file_info *tess_xpcs_file_get_info(const tess_xpcs_file *file)
{
    return &file->info;
}

void tess_xpcs_file_close(tess_xpcs_file *file)
{
    if (!file) {
        return;
    }
    tess_heap *heap = &file->ctx->heap;
    tess_xp_file_close_stack(file);
    tess_bundle_close(&file->bundle);
    tess_text_destroy(&file->notes);
    tess_blocks_free(&file->memory);
    if (file->path) {
        tess_heap_free(heap, file->path, strlen(file->path) + 1, TESS_TAG_IO);
    }
    tess_heap_free(heap, file, sizeof *file, TESS_TAG_IO);
}
