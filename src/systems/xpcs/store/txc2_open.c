// Opens .txc2 files. Every number is checked against the file's size before memory is taken.
#include "base/checked.h"
#include "base/status.h"
#include "systems/xpcs/store/txc2.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct opening {
    tess_context *ctx;
    tess_xp_txc2 *file;
    tess_xp_txc2_header header;
    tess_xpcs_data *data;
} opening;

static tess_status damaged(const opening *o, const char *what)
{
    TESS_FAIL(TESS_E_FORMAT,
              "%s: not a .txc2 file this version can read: %s; convert the original "
              "again",
              o->file->path, what);
}

static tess_status check_start(const opening *o)
{
    const tess_xp_txc2_header *h = &o->header;
    if (memcmp(h->magic, TESS_XP_TXC2_MAGIC, sizeof h->magic) != 0) {
        return damaged(o, "its first bytes are not TESSTXC2");
    }
    if (h->byte_order != TESS_XP_TXC2_BYTE_ORDER) {
        return damaged(o, "its numbers are not little-endian");
    }
    if (h->version != TESS_XP_TXC2_VERSION || h->header_bytes != TESS_XP_TXC2_ALIGN) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: version %u of .txc2, this build reads version %d; convert the original "
                  "again",
                  o->file->path, h->version, TESS_XP_TXC2_VERSION);
    }
    if (!tess_hash_supported((tess_hash_kind)h->hash_kind)) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "%s: its checksums (kind %d) cannot be computed by this build; convert the "
                  "original again",
                  o->file->path, h->hash_kind);
    }
    const tess_hash hash = tess_hash_bytes((tess_hash_kind)h->hash_kind, h,
                                           offsetof(tess_xp_txc2_header, header_hash));
    return tess_hash_equal(hash, h->header_hash) ? TESS_OK
                                                 : damaged(o, "the header's checksum is wrong");
}

static tess_status check_numbers(const opening *o)
{
    const tess_xp_txc2_header *h = &o->header;
    if (h->dtype != TESS_F32 && h->dtype != TESS_F64) {
        return damaged(o, "its element type is neither f32 nor f64");
    }
    if (h->run != TESS_STAGE_XPCS_RUN || h->pad != TESS_STAGE_XPCS_PAD ||
        h->leaf != TESS_STAGE_XPCS_LEAF) {
        return damaged(o, "its triangles are cut in another way");
    }
    if ((h->has_sigma & ~1) != 0 || (h->keep_t0 & ~1) != 0 || !isfinite(h->dt_s) || h->dt_s < 0 ||
        !isfinite(h->gap_angstrom) || h->gap_angstrom < 0 || h->start_frame < 1 ||
        h->end_frame < h->start_frame) {
        return damaged(o, "flags, frames, dt or gap are out of range");
    }
    return TESS_OK;
}

// The triangles alone, without heads and padding, must have room in the file: from then on no table
// can be much larger than the file.
static tess_status check_shape(const opening *o)
{
    const tess_xp_txc2_header *h = &o->header;
    uint64_t bytes = tess_dtype_bytes((tess_dtype)h->dtype);
    if (h->n_angle < 1 || h->n_frame < 3 || h->n_frame > INT64_C(1) << 30 ||
        !tess_mul_u64(bytes, (uint64_t)(h->n_frame * (h->n_frame - 1) / 2), &bytes) ||
        !tess_mul_u64(bytes, (uint64_t)h->n_angle, &bytes)) {
        return damaged(o, "its numbers of angles and frames are impossible");
    }
    if (bytes > o->file->in.bytes) {
        TESS_FAIL(TESS_E_TRUNCATED,
                  "%s: %llu bytes, but %lld angles of %lld frames need more than %llu; was it "
                  "copied completely?",
                  o->file->path, (unsigned long long)o->file->in.bytes, (long long)h->n_angle,
                  (long long)h->n_frame, (unsigned long long)bytes);
    }
    return TESS_OK;
}

// The layout that follows from the shape is the only one there is.
static tess_status check_layout(const opening *o)
{
    const tess_xp_txc2_header *h = &o->header;
    const tess_xpcs_data_info *info = &o->data->info;
    if (h->notes_bytes > TESS_XP_TXC2_MOST_NOTES) {
        return damaged(o, "its notes are too long");
    }
    const uint64_t n_leaf = (uint64_t)tess_xp_tiles_n_leaf(&o->data->tiles);
    const uint64_t tables_bytes =
        (uint64_t)info->n_angle * 32 + n_leaf * sizeof(tess_hash) + h->notes_bytes;
    if ((uint64_t)h->n_leaf != n_leaf || h->tables_bytes != tables_bytes ||
        h->records_offset != tess_xp_txc2_records_offset(tables_bytes) ||
        h->records_bytes != info->bytes) {
        return damaged(o, "its tables do not fit its shape");
    }
    const uint64_t expected = h->records_offset + h->records_bytes;
    if (o->file->in.bytes != expected) {
        TESS_FAIL(o->file->in.bytes < expected ? TESS_E_TRUNCATED : TESS_E_FORMAT,
                  "%s: %llu bytes, expected %llu; was it copied completely?", o->file->path,
                  (unsigned long long)o->file->in.bytes, (unsigned long long)expected);
    }
    return TESS_OK;
}

static tess_status check_angles(const opening *o)
{
    const tess_xpcs_data_info *info = &o->data->info;
    const int64_t n_pair = info->n_frame * (info->n_frame - 1) / 2;
    for (int64_t a = 0; a < info->n_angle; a++) {
        if (!(info->q[a] > 0) || !isfinite(info->q[a]) || !(fabs(info->phi[a]) <= 180) ||
            !isfinite(info->mean[a]) || info->n_finite[a] < 0 || info->n_finite[a] > n_pair) {
            return damaged(o, "phi, q, mean or number of points of an angle are out of range");
        }
    }
    return TESS_OK;
}

// buffer holds the tables as they lie in the file.
static tess_status take_tables(opening *o, const unsigned char *buffer)
{
    const tess_xp_txc2_header *h = &o->header;
    tess_xpcs_data *data = o->data;
    const tess_hash hash =
        tess_hash_bytes((tess_hash_kind)h->hash_kind, buffer, (size_t)h->tables_bytes);
    if (!tess_hash_equal(hash, h->tables_hash)) {
        return damaged(o, "the checksum of its tables is wrong");
    }
    const size_t angle_bytes = (size_t)h->n_angle * 32;
    const size_t leaf_bytes = (size_t)h->n_leaf * sizeof(tess_hash);
    memcpy(data->tables, buffer, angle_bytes);
    TESS_TRY(check_angles(o));
    o->file->n_leaf = h->n_leaf;
    o->file->hash_kind = (tess_hash_kind)h->hash_kind;
    o->file->leaf_hash = tess_heap_alloc(&o->ctx->heap, leaf_bytes, TESS_TAG_IO, "checksums");
    if (!o->file->leaf_hash) {
        return TESS_E_MEMORY;
    }
    memcpy(o->file->leaf_hash, buffer + angle_bytes, leaf_bytes);
    memcpy(data->origin, h->origin, sizeof data->origin - 1);
    const char *notes = (const char *)buffer + angle_bytes + leaf_bytes;
    const size_t length = strnlen(notes, (size_t)h->notes_bytes);
    if (length > 0) {
        tess_xp_data_note(data, "%.*s", (int)length, notes);
    }
    return TESS_OK;
}

static tess_status read_tables(opening *o)
{
    const size_t bytes = (size_t)o->header.tables_bytes;
    unsigned char *buffer = tess_heap_alloc(&o->ctx->heap, bytes, TESS_TAG_IO, "tables of a file");
    if (!buffer) {
        return TESS_E_MEMORY;
    }
    tess_status status = tess_infile_read(&o->file->in, buffer, bytes, TESS_XP_TXC2_ALIGN);
    if (status == TESS_OK) {
        status = take_tables(o, buffer);
    }
    tess_heap_free(&o->ctx->heap, buffer, bytes, TESS_TAG_IO);
    return status;
}

static tess_status describe(opening *o)
{
    const tess_xp_txc2_header *h = &o->header;
    tess_xpcs_data_info *info = &o->data->info;
    info->dt_s = h->dt_s;
    info->gap_angstrom = h->gap_angstrom;
    info->start_frame = h->start_frame;
    info->end_frame = h->end_frame;
    info->keep_t0 = h->keep_t0;
    info->layout = "txc2";
    for (int64_t a = 0; a < info->n_angle; a++) {
        info->n_used += info->n_finite[a];
    }
    o->data->fingerprint = h->fingerprint;
    return tess_xp_data_set_path(o->data, o->file->path);
}

static tess_status open_all(opening *o, const char *path)
{
    tess_xp_txc2 *file = o->file;
    if (snprintf(file->path, sizeof file->path, "%s", path) >= (int)sizeof file->path) {
        TESS_FAIL(TESS_E_NOT_FOUND, "%.80s...: path is too long", path);
    }
    TESS_TRY(tess_infile_open(file->path, &file->in));
    if (o->file->in.bytes < sizeof o->header) {
        TESS_FAIL(TESS_E_TRUNCATED, "%s: %llu bytes, a .txc2 file has more than %d", path,
                  (unsigned long long)o->file->in.bytes, TESS_XP_TXC2_ALIGN);
    }
    TESS_TRY(tess_infile_read(&file->in, &o->header, sizeof o->header, 0));
    TESS_TRY(check_start(o));
    TESS_TRY(check_numbers(o));
    TESS_TRY(check_shape(o));
    TESS_TRY(tess_xp_data_create(o->ctx, TESS_XPCS_IN_FILE, o->header.n_angle, o->header.n_frame,
                                 (tess_dtype)o->header.dtype, o->header.has_sigma, NULL, NULL,
                                 &o->data));
    TESS_TRY(check_layout(o));
    TESS_TRY(read_tables(o));
    TESS_TRY(describe(o));
    file->records_offset = o->header.records_offset;
    return TESS_OK;
}

tess_status tess_xp_txc2_probe(const char *path, bool *is_it)
{
    char magic[sizeof TESS_XP_TXC2_MAGIC - 1];
    tess_infile file;
    *is_it = false;
    tess_status status = tess_infile_open(path, &file);
    if (status == TESS_OK && file.bytes >= sizeof magic) {
        status = tess_infile_read(&file, magic, sizeof magic, 0);
        *is_it = status == TESS_OK && memcmp(magic, TESS_XP_TXC2_MAGIC, sizeof magic) == 0;
    }
    tess_infile_close(&file);
    if (status == TESS_E_CHANGED) {
        return status;
    }
    tess_error_clear(); // whoever opens it for what it is says what is wrong
    return TESS_OK;
}

tess_status tess_xp_txc2_open(tess_context *ctx, const char *path, tess_xpcs_data **out)
{
    *out = NULL;
    opening *o = tess_heap_alloc_zero(&ctx->heap, sizeof *o, TESS_TAG_IO, "header of a file");
    if (!o) {
        return TESS_E_MEMORY;
    }
    o->ctx = ctx;
    tess_status status = tess_xp_txc2_alloc(ctx, &o->file);
    if (status == TESS_OK) {
        status = open_all(o, path);
    }
    if (status == TESS_OK) {
        o->data->file = o->file;
        *out = o->data;
    } else {
        tess_xp_txc2_close(o->file);
        tess_xpcs_data_destroy(o->data);
    }
    tess_heap_free(&ctx->heap, o, sizeof *o, TESS_TAG_IO);
    return status;
}
