// Writing .npz: stored members whose data start at multiples of 64 bytes, so that they can be read
// where they lie. Dates are fixed: the same result gives the same bytes.

#include "base/file.h"
#include "base/npy_header.h"
#include "base/status.h"
#include "base/ucs4.h"
#include "io/format_file.h"
#include "io/npz.h"
#include "io/zip.h"
#include "io/zip_layout.h"
#include "runtime/crc32.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    DATA_ALIGN = 64,
    PIECE_BYTES = 1 << 20, // stays in the cache between checksum and write
    CRC32_AT = 14,         // in a local header
    MAX_MEMBERS = 65535,   // what the end record can count
    // Extra field id Android's zipalign uses for padding; readers skip ids they do not know.
    EXTRA_PADDING = 0xd935,
    ZIP64_LOCAL_EXTRA_BYTES = 20,
    VERSION_PLAIN = 20,
    VERSION_ZIP64 = 45,
    DOS_DATE = 33 // 1 January 1980, the earliest there is
};

// A member to write and, once written, where it is.
typedef struct out_member {
    char name[TESS_ZIP_NAME_BYTES];
    char header[TESS_NPY_HEADER_MAX_BYTES];
    size_t header_bytes;
    const tess_format_writer_input *input;
    uint64_t bytes; // header and data
    uint64_t offset;
    uint32_t crc32;
} out_member;

// Little-endian fields appended to a fixed buffer.
typedef struct record {
    uint8_t bytes[TESS_ZIP_NAME_BYTES + 160];
    size_t used;
} record;

static void put(record *r, uint64_t value, size_t n_byte)
{
    for (size_t i = 0; i < n_byte; i++) {
        r->bytes[r->used++] = (uint8_t)(value >> 8 * i);
    }
}

static void put_text(record *r, const char *text)
{
    memcpy(r->bytes + r->used, text, strlen(text));
    r->used += strlen(text);
}

static bool needs_zip64(uint64_t value)
{
    return value >= TESS_ZIP_SEE_ZIP64;
}

static uint64_t or_see_zip64(uint64_t value, bool is_wide)
{
    return is_wide ? TESS_ZIP_SEE_ZIP64 : value;
}

static tess_status init_member(out_member *m, const char *path,
                               const tess_format_writer_input *input)
{
    const char *name = input->dataset;
    const size_t length = strlen(name);
    const bool has_ending = length > 4 && strcmp(name + length - 4, ".npy") == 0;
    *m = (out_member){.input = input};
    if (length == 0 || length + 5 > sizeof m->name || name[0] == '/' || strstr(name, "..") ||
        strchr(name, '\\') || strchr(name, ':')) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "%s: '%.80s' cannot name an array in an archive; use letters, digits, '_' and "
                  "'/', at most 250 characters",
                  path, name);
    }
    snprintf(m->name, sizeof m->name, "%s%s", name, has_ending ? "" : ".npy");
    m->header_bytes = tess_npy_header_make(m->header, sizeof m->header, (tess_dtype)input->dtype,
                                           input->item_bytes, input->rank, input->shape);
    if (m->header_bytes == 0) {
        TESS_FAIL(TESS_E_DTYPE, "%s: NumPy has no type for items of type %d; write f32 instead",
                  path, input->dtype);
    }
    m->bytes = m->header_bytes + input->data_bytes;
    return TESS_OK;
}

// Fields that the local header and the directory entry have in common, version to name length.
static void put_common(record *r, const out_member *m)
{
    const bool is_wide = needs_zip64(m->bytes);
    put(r, is_wide ? VERSION_ZIP64 : VERSION_PLAIN, 2);
    put(r, 0, 2); // flags
    put(r, TESS_ZIP_STORED, 2);
    put(r, 0, 2); // time
    put(r, DOS_DATE, 2);
    put(r, m->crc32, 4);
    put(r, or_see_zip64(m->bytes, is_wide), 4);
    put(r, or_see_zip64(m->bytes, is_wide), 4);
    put(r, strlen(m->name), 2);
}

// Header and data of the array, then their checksum where the local header has room for it.
static tess_status write_data(tess_outfile *file, out_member *m, void *buffer)
{
    const tess_format_writer_input *input = m->input;
    m->crc32 = tess_crc32(0, m->header, m->header_bytes);
    TESS_TRY(tess_outfile_write(file, m->header, m->header_bytes));
    for (uint64_t at = 0; at < input->data_bytes; at += PIECE_BYTES) {
        const uint64_t left = input->data_bytes - at;
        const uint64_t n = left < PIECE_BYTES ? left : PIECE_BYTES;
        const void *piece = input->data ? (const char *)input->data + at : buffer;
        if (!input->data) {
            TESS_TRY(input->read(input->self, at, n, buffer));
        }
        m->crc32 = tess_crc32(m->crc32, piece, n);
        TESS_TRY(tess_outfile_write(file, piece, n));
    }
    record r = {.used = 0};
    put(&r, m->crc32, 4);
    return tess_file_write_at(file->fd, file->path, r.bytes, r.used, m->offset + CRC32_AT);
}

static tess_status write_member(tess_outfile *file, out_member *m, void *buffer)
{
    const bool is_wide = needs_zip64(m->bytes);
    const size_t zip64_bytes = is_wide ? ZIP64_LOCAL_EXTRA_BYTES : 0;
    m->offset = file->bytes;
    const uint64_t unpadded = m->offset + TESS_ZIP_LOCAL_BYTES + strlen(m->name) + zip64_bytes + 4;
    const size_t padding = (size_t)((DATA_ALIGN - unpadded % DATA_ALIGN) % DATA_ALIGN);

    record r = {.used = 0};
    put(&r, TESS_ZIP_LOCAL_SIGNATURE, 4);
    put_common(&r, m);
    put(&r, zip64_bytes + 4 + padding, 2);
    put_text(&r, m->name);
    if (is_wide) {
        put(&r, TESS_ZIP_EXTRA_ZIP64, 2);
        put(&r, 16, 2);
        put(&r, m->bytes, 8);
        put(&r, m->bytes, 8);
    }
    put(&r, EXTRA_PADDING, 2);
    put(&r, padding, 2);
    for (size_t i = 0; i < padding; i++) {
        put(&r, 0, 1);
    }
    TESS_TRY(tess_outfile_write(file, r.bytes, r.used));
    return write_data(file, m, buffer);
}

static tess_status write_entry(tess_outfile *file, const out_member *m)
{
    const bool has_wide_size = needs_zip64(m->bytes);
    const bool has_wide_offset = needs_zip64(m->offset);
    const size_t zip64_bytes = (has_wide_size ? 16u : 0u) + (has_wide_offset ? 8u : 0u);
    record r = {.used = 0};
    put(&r, TESS_ZIP_ENTRY_SIGNATURE, 4);
    put(&r, VERSION_ZIP64 | 3 << 8, 2); // made by: Unix
    put_common(&r, m);
    put(&r, zip64_bytes ? zip64_bytes + 4 : 0, 2);
    put(&r, 0, 2);               // comment
    put(&r, 0, 2);               // disk
    put(&r, 0, 2);               // internal attributes
    put(&r, 0100644ul << 16, 4); // a plain file, readable by all
    put(&r, or_see_zip64(m->offset, has_wide_offset), 4);
    put_text(&r, m->name);
    if (zip64_bytes) {
        put(&r, TESS_ZIP_EXTRA_ZIP64, 2);
        put(&r, zip64_bytes, 2);
    }
    if (has_wide_size) {
        put(&r, m->bytes, 8);
        put(&r, m->bytes, 8);
    }
    if (has_wide_offset) {
        put(&r, m->offset, 8);
    }
    return tess_outfile_write(file, r.bytes, r.used);
}

static tess_status write_end(tess_outfile *file, uint64_t directory_offset, uint64_t n_member)
{
    const uint64_t end_offset = file->bytes;
    const uint64_t directory_bytes = end_offset - directory_offset;
    const bool is_wide = needs_zip64(directory_offset);
    record r = {.used = 0};
    if (is_wide) {
        put(&r, TESS_ZIP_END64_SIGNATURE, 4);
        put(&r, TESS_ZIP_END64_BYTES - 12, 8);
        put(&r, VERSION_ZIP64 | 3 << 8, 2);
        put(&r, VERSION_ZIP64, 2);
        put(&r, 0, 8); // disks
        put(&r, n_member, 8);
        put(&r, n_member, 8);
        put(&r, directory_bytes, 8);
        put(&r, directory_offset, 8);
        put(&r, TESS_ZIP_LOCATOR_SIGNATURE, 4);
        put(&r, 0, 4);
        put(&r, end_offset, 8);
        put(&r, 1, 4); // disks in all
    }
    put(&r, TESS_ZIP_END_SIGNATURE, 4);
    put(&r, 0, 4); // disks
    put(&r, n_member, 2);
    put(&r, n_member, 2);
    put(&r, directory_bytes, 4);
    put(&r, or_see_zip64(directory_offset, is_wide), 4);
    put(&r, 0, 2); // comment
    return tess_outfile_write(file, r.bytes, r.used);
}

static tess_status write_archive(const char *path, out_member *members, size_t n_member,
                                 void *buffer)
{
    tess_outfile file;
    TESS_TRY(tess_outfile_create(path, &file));
    tess_status status = TESS_OK;
    for (size_t i = 0; i < n_member && status == TESS_OK; i++) {
        status = write_member(&file, &members[i], buffer);
    }
    const uint64_t directory_offset = file.bytes;
    for (size_t i = 0; i < n_member && status == TESS_OK; i++) {
        status = write_entry(&file, &members[i]);
    }
    if (status == TESS_OK) {
        status = write_end(&file, directory_offset, n_member);
    }
    return tess_outfile_finish(&file, status);
}

// The provenance as NumPy text; *wide is from host->alloc, NULL if there is none.
static tess_status widen(const tess_host *host, const char *provenance, uint32_t **wide,
                         size_t *wide_bytes)
{
    *wide = NULL;
    *wide_bytes = 0;
    if (provenance == NULL || provenance[0] == '\0') {
        return TESS_OK;
    }
    *wide_bytes = 4 * tess_ucs4_from_utf8(provenance, NULL);
    *wide = host->alloc(host->user, *wide_bytes);
    if (*wide == NULL) {
        return TESS_E_MEMORY;
    }
    tess_ucs4_from_utf8(provenance, *wide);
    return TESS_OK;
}

// Members of all inputs and, behind them, of the provenance, if there is any.
static tess_status write_members(const tess_host *host, const char *path,
                                 const tess_format_writer_input *inputs, int64_t n_input,
                                 const tess_format_writer_input *provenance, out_member *members)
{
    bool has_buffer = false;
    for (int64_t i = 0; i < n_input; i++) {
        TESS_TRY(init_member(&members[i], path, &inputs[i]));
        has_buffer = has_buffer || !inputs[i].data;
    }
    if (provenance->data) {
        TESS_TRY(init_member(&members[n_input], path, provenance));
    }
    void *buffer = has_buffer ? host->alloc(host->user, PIECE_BYTES) : NULL;
    if (has_buffer && !buffer) {
        return TESS_E_MEMORY;
    }
    const tess_status status =
        write_archive(path, members, (size_t)n_input + (provenance->data != NULL), buffer);
    if (buffer) {
        host->release(host->user, buffer, PIECE_BYTES);
    }
    return status;
}

tess_status tess_npz_write_many(const tess_host *host, const char *temporary_path,
                                const tess_format_writer_input *inputs, int64_t n_input)
{
    if (n_input < 1 || n_input >= MAX_MEMBERS) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: an archive holds 1 to %d arrays, got %lld", temporary_path,
                  MAX_MEMBERS - 1, (long long)n_input);
    }
    const size_t member_bytes = ((size_t)n_input + 1) * sizeof(out_member);
    out_member *members = host->alloc(host->user, member_bytes);
    if (members == NULL) {
        return TESS_E_MEMORY;
    }
    uint32_t *wide = NULL;
    size_t wide_bytes = 0;
    tess_status status = widen(host, inputs[0].provenance, &wide, &wide_bytes);
    if (status == TESS_OK) {
        const tess_format_writer_input provenance = {.dataset = TESS_NPZ_PROVENANCE,
                                                     .dtype = TESS_UCS4,
                                                     .item_bytes = (int64_t)wide_bytes,
                                                     .data = wide,
                                                     .data_bytes = wide_bytes};
        status = write_members(host, temporary_path, inputs, n_input, &provenance, members);
    }
    if (wide != NULL) {
        host->release(host->user, wide, wide_bytes);
    }
    host->release(host->user, members, member_bytes);
    return status;
}

tess_status tess_npz_write(const tess_host *host, const char *temporary_path,
                           const tess_format_writer_input *input)
{
    return tess_npz_write_many(host, temporary_path, input, 1);
}
