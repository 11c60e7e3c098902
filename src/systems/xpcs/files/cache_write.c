#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "base/ucs4.h"
#include "systems/xpcs/files/cache.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_MEMBER = 6 };

tess_status tess_xp_cache_begin(tess_xp_cache_writer *writer)
{
    const int64_t n = writer->ring->n_frame;
    const tess_dtype dtype = (tess_dtype)writer->file->info.dtype;
    const tess_array shape = {.dtype = (int32_t)dtype,
                              .rank = 3,
                              .item_bytes = (int64_t)tess_dtype_bytes(dtype),
                              .shape = {writer->ring->n, n, n}};
    char folder[TESS_XP_CACHE_PATH];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(writer->path, '/') - writer->path),
             writer->path);
    TESS_TRY(tess_file_make_folders(folder[0] ? folder : "/"));
    TESS_TRY(tess_file_check_distinct(writer->file->path, writer->path));
    return tess_spool_create(writer->path, &shape, &writer->spool);
}

tess_status tess_xp_cache_put(tess_xp_cache_writer *writer, int64_t k, void *matrix)
{
    const tess_xp_selection *ring = writer->ring;
    const size_t item = tess_dtype_bytes((tess_dtype)writer->file->info.dtype);
    const size_t n_all = (size_t)writer->file->bins[ring->index[k]].n_frame;
    const size_t first = (size_t)(ring->start_frame - 1);
    const size_t n = (size_t)ring->n_frame;
    unsigned char *items = matrix;
    for (size_t i = 0; i < n && n < n_all; i++) {
        memmove(items + i * n * item, items + ((first + i) * n_all + first) * item, n * item);
    }
    return tess_spool_write(&writer->spool, k, 1, matrix);
}

// As the original writes it, then what tells the file it was made from.
static tess_status make_json(const tess_xp_cache_writer *writer, tess_json *json, const char **text)
{
    const tess_xp_selection *ring = writer->ring;
    char number[32];
    double mean = 0;
    double variance = 0;
    for (int64_t k = 0; k < ring->n; k++) {
        mean += ring->q[k] / (double)ring->n;
    }
    for (int64_t k = 0; k < ring->n; k++) {
        variance += (ring->q[k] - mean) * (ring->q[k] - mean) / (double)ring->n;
    }
    tess_json_object_begin(json, NULL);
    tess_json_real(json, "config_wavevector_q", writer->config_q);
    tess_json_real(json, "actual_wavevector_q", mean);
    tess_json_real(json, "q_variance", sqrt(variance));
    tess_json_int(json, "q_count", ring->n);
    tess_json_int(json, "start_frame", ring->start_frame);
    tess_json_int(json, "end_frame", ring->end_frame);
    tess_json_int(json, "phi_count", ring->n);
    tess_json_text(json, "cache_version", "2.0");
    tess_json_bool(json, "selective_q_caching", 1);
    tess_json_text(json, "source_path", writer->file->path);
    snprintf(number, sizeof number, "%" PRIu64, writer->origin.n_byte);
    tess_json_text(json, "source_bytes", number);
    snprintf(number, sizeof number, "%" PRId64, writer->origin.mtime_ns);
    tess_json_text(json, "source_mtime_ns", number);
    tess_json_text(json, "source_sha256", writer->origin.sha256);
    tess_json_object_end(json);
    return tess_json_finish(json, text);
}

// A text without axes, as numpy.array(text) is.
static tess_status text_input(tess_blocks *memory, const char *name, const char *text,
                              tess_format_writer_input *input)
{
    const size_t n = tess_ucs4_from_utf8(text, NULL);
    uint32_t *letters = tess_blocks_alloc(memory, (int64_t)n, sizeof *letters, "metadata");
    if (!letters) {
        return TESS_E_MEMORY;
    }
    tess_ucs4_from_utf8(text, letters);
    tess_bundle_input(input, name, TESS_UCS4, 0, NULL, letters);
    input->item_bytes = (int64_t)(n * sizeof *letters);
    input->data_bytes = n * sizeof *letters;
    return TESS_OK;
}

// The file's own angles: what is read from the cache is what is read from the file.
static double *raw_angles(const tess_xp_cache_writer *writer, tess_blocks *memory)
{
    const tess_xp_selection *ring = writer->ring;
    double *phi = tess_blocks_alloc(memory, ring->n, sizeof *phi, "angles");
    for (int64_t k = 0; phi && k < ring->n; k++) {
        phi[k] = writer->file->bins[ring->index[k]].phi;
    }
    return phi;
}

static tess_status write_members(const tess_xp_cache_writer *writer, tess_blocks *memory,
                                 tess_json *json, const double *phi)
{
    const tess_xp_selection *ring = writer->ring;
    const int64_t n = ring->n_frame;
    tess_format_writer_input inputs[N_MEMBER];
    const char *text = NULL;
    double *t = tess_blocks_alloc(memory, n, sizeof *t, "times");
    if (!t) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        t[i] = (double)i * writer->dt_s;
    }
    TESS_TRY(make_json(writer, json, &text));
    tess_bundle_input(&inputs[0], "wavevector_q_list", TESS_F64, 1, &ring->n, ring->q);
    tess_bundle_input(&inputs[1], "phi_angles_list", TESS_F64, 1, &ring->n, phi);
    tess_bundle_input(&inputs[2], "t1", TESS_F64, 1, &n, t);
    tess_bundle_input(&inputs[3], "t2", TESS_F64, 1, &n, t);
    tess_bundle_input(&inputs[4], "c2_exp", (tess_dtype)writer->file->info.dtype, 3,
                      (int64_t[]){ring->n, n, n}, NULL);
    tess_spool_input(&writer->spool, &inputs[4]);
    TESS_TRY(text_input(memory, "cache_metadata_json", text, &inputs[5]));
    const tess_origin origin = {.stage = "xpcs.cache", .inputs = {writer->file->path}};
    return tess_bundle_write_from(writer->ctx, &origin, writer->path, inputs, N_MEMBER, 1);
}

static tess_status write_list(const tess_xp_cache_writer *writer, const char *name,
                              bool is_scientific, const double *values)
{
    char path[TESS_XP_CACHE_PATH + 32];
    const char *slash = strrchr(writer->path, '/');
    tess_text text;
    const char *lines = NULL;
    snprintf(path, sizeof path, "%.*s%s", (int)(slash + 1 - writer->path), writer->path, name);
    tess_text_init(&text, &writer->ctx->heap);
    for (int64_t k = 0; k < writer->ring->n; k++) {
        if (is_scientific) {
            tess_text_printf(&text, "%.8e\n", values[k]);
        } else {
            tess_text_printf(&text, "%.6f\n", values[k]);
        }
    }
    tess_status status = tess_text_finish(&text, &lines);
    if (status == TESS_OK) {
        status = tess_file_write_text(path, lines, 1);
    }
    tess_text_destroy(&text);
    return status;
}

static tess_status write_all(const tess_xp_cache_writer *writer, tess_blocks *memory)
{
    tess_json *json = NULL;
    const double *phi = raw_angles(writer, memory);
    if (!phi) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_json_create_on(&writer->ctx->heap, 0, &json));
    tess_status status = write_members(writer, memory, json, phi);
    tess_json_destroy(json);
    TESS_TRY(status);
    TESS_TRY(write_list(writer, "phi_angles_list.txt", false, phi));
    return write_list(writer, "wavevector_q_list.txt", true, writer->ring->q);
}

tess_status tess_xp_cache_commit(tess_xp_cache_writer *writer)
{
    tess_blocks memory;
    tess_blocks_init(&memory, &writer->ctx->heap);
    const tess_status status = write_all(writer, &memory);
    tess_blocks_free(&memory);
    return status;
}

void tess_xp_cache_end(tess_xp_cache_writer *writer)
{
    if (writer->spool.fd >= 0) {
        tess_spool_close(&writer->spool);
    }
}
