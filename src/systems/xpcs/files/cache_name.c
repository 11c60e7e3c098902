// Where a cache lies, and what tells its origin.
#include "base/infile.h"
#include "base/sha256.h"
#include "base/status.h"
#include "systems/xpcs/files/cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_CHARS = 256, END_BYTES = 1 << 20 };

#define DEFAULT_TEMPLATE "cached_c2_frames_${start_frame}_${end_frame}.npz"
#define EXTENSION ".npz"

static bool value_of(const tess_xpcs_data_config *config, const char *name, size_t n, char text[32])
{
    if (n == strlen("start_frame") && strncmp(name, "start_frame", n) == 0) {
        snprintf(text, 32, "%" PRId64, config->start_frame);
    } else if (n == strlen("end_frame") && strncmp(name, "end_frame", n) == 0) {
        snprintf(text, 32, "%" PRId64, config->end_frame);
    } else if (n == strlen("wavevector_q") && strncmp(name, "wavevector_q", n) == 0) {
        snprintf(text, 32, "%.4f", config->q);
    } else {
        return false;
    }
    return true;
}

static tess_status expand(const tess_xpcs_data_config *config, const char *from,
                          char name[NAME_CHARS])
{
    size_t used = 0;
    const char *at = from;
    while (*at) {
        char value[32] = {*at};
        const size_t lead = strncmp(at, "${", 2) == 0 ? 2 : *at == '{' ? 1 : 0;
        const size_t n = lead ? strcspn(at + lead, "}") : 0;
        if (lead && (at[lead + n] != '}' || !value_of(config, at + lead, n, value))) {
            TESS_FAIL(TESS_E_CONFIG,
                      "cache_template: '%.100s' has an unknown variable at '%.40s'; known are "
                      "${start_frame}, ${end_frame} and ${wavevector_q}",
                      from, at);
        }
        at += lead ? lead + n + 1 : 1;
        const size_t n_value = strlen(value);
        if (used + n_value + sizeof EXTENSION > NAME_CHARS) {
            TESS_FAIL(TESS_E_CONFIG,
                      "cache_template: '%.100s' makes a name of more than %d letters", from,
                      (int)NAME_CHARS);
        }
        memcpy(name + used, value, n_value);
        used += n_value;
    }
    name[used] = '\0';
    return TESS_OK;
}

tess_status tess_xp_cache_path(const tess_xpcs_data_config *config, char path[TESS_XP_CACHE_PATH])
{
    const char *from = config->cache_template ? config->cache_template : DEFAULT_TEMPLATE;
    char name[NAME_CHARS];
    TESS_TRY(expand(config, from, name));
    if (name[0] == '\0' || strchr(name, '/') || strchr(name, '\\') || strstr(name, "..")) {
        TESS_FAIL(
            TESS_E_CONFIG,
            "cache_template: '%.200s' is no plain file name; leave out '/', '\\' and '..' and "
            "set cache_folder",
            name);
    }
    const size_t n = strlen(name);
    const size_t n_extension = strlen(EXTENSION);
    if (n < n_extension || strcmp(name + n - n_extension, EXTENSION) != 0) {
        memcpy(name + n, EXTENSION, n_extension + 1);
    }
    if (snprintf(path, TESS_XP_CACHE_PATH, "%s/%s", config->cache_folder, name) >=
        TESS_XP_CACHE_PATH) {
        TESS_FAIL(TESS_E_CONFIG, "cache_folder: '%.80s...' is too long", config->cache_folder);
    }
    return TESS_OK;
}

static tess_status hash_ends(const tess_infile *file, void *buffer, tess_xp_origin *out)
{
    const size_t part = file->bytes < END_BYTES ? (size_t)file->bytes : END_BYTES;
    tess_sha256 hash;
    tess_sha256_init(&hash);
    TESS_TRY(tess_infile_read(file, buffer, part, 0));
    tess_sha256_add(&hash, buffer, part);
    TESS_TRY(tess_infile_read(file, buffer, part, file->bytes - part));
    tess_sha256_add(&hash, buffer, part);
    tess_sha256_text(&hash, out->sha256);
    return TESS_OK;
}

tess_status tess_xp_origin_of(tess_context *ctx, const char *path, tess_xp_origin *out)
{
    tess_infile file;
    TESS_TRY(tess_infile_open(path, &file));
    *out = (tess_xp_origin){.n_byte = file.bytes, .mtime_ns = tess_infile_mtime_ns(&file)};
    void *buffer = tess_heap_alloc(&ctx->heap, END_BYTES, TESS_TAG_IO, "a fingerprint");
    const tess_status status = buffer ? hash_ends(&file, buffer, out) : TESS_E_MEMORY;
    tess_heap_free(&ctx->heap, buffer, END_BYTES, TESS_TAG_IO);
    tess_infile_close(&file);
    return status;
}
