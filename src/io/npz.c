// .npz archives: ZIP files of .npy members. A stored member that happens to be aligned is read
// where it lies, like a .npy file; others are copied and checked, or unpacked, tile by tile.

#include "io/npz.h"

#include "base/status.h"
#include "base/ucs4.h"
#include "io/formats.h"
#include "io/npy_array.h"
#include "io/zip.h"
#include "io/zip_unpack.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_RATIO = 1000,            // deflate cannot exceed 1032; real data stay far below
    RATIO_GRACE_BYTES = 1 << 20, // small constant arrays may
    MAX_PROVENANCE_BYTES = 16 << 20,
    LISTED_CHARS = 512
};

typedef struct npz_reader {
    size_t own_bytes; // of this allocation
    tess_host host;
    tess_zip zip;
    tess_zip_member member;
    tess_zip_check check;
    tess_inflater *inflater; // NULL for stored members
    tess_npy_array array;
    char label[TESS_ZIP_NAME_BYTES + 256]; // "file.npz[x.npy]", for messages
    char path[];
} npz_reader;

static int npz_probe(const uint8_t *head, size_t head_bytes)
{
    return head_bytes >= 4 && head[0] == 'P' && head[1] == 'K' &&
           ((head[2] == 3 && head[3] == 4) || (head[2] == 5 && head[3] == 6));
}

static tess_status read_member_at(void *self, uint64_t offset, uint64_t bytes, void *dst)
{
    npz_reader *npz = self;
    if (npz->inflater != NULL) {
        return tess_inflater_read(npz->inflater, offset, bytes, dst);
    }
    TESS_TRY(
        tess_infile_read(&npz->zip.file, dst, (size_t)bytes, npz->member.data_offset + offset));
    return tess_zip_check_add(&npz->check, &npz->host, &npz->zip, &npz->member, offset, dst, bytes);
}

static tess_byte_source source_of(npz_reader *npz)
{
    return (tess_byte_source){
        .read_at = read_member_at,
        .self = npz,
        .bytes = npz->member.bytes,
        .is_forward_only = npz->inflater != NULL,
    };
}

static tess_status check_method(const npz_reader *npz)
{
    const tess_zip_member *m = &npz->member;
    if (m->method == TESS_ZIP_STORED) {
        if (m->bytes == m->packed_bytes) {
            return TESS_OK;
        }
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: stored without compression, yet %" PRIu64 " bytes are said to be %" PRIu64,
                  npz->label, m->packed_bytes, m->bytes);
    }
    if (m->method != TESS_ZIP_DEFLATED) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "%s: compression method %u is not read; save with numpy.savez or "
                  "savez_compressed",
                  npz->label, m->method);
    }
    const uint64_t grace = m->bytes > RATIO_GRACE_BYTES ? m->bytes - RATIO_GRACE_BYTES : 0;
    if (grace / MAX_RATIO > m->packed_bytes) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: %" PRIu64 " bytes would unpack to %" PRIu64 ", more than %d times as many; "
                  "if you trust the file, save it with numpy.savez",
                  npz->label, m->packed_bytes, m->bytes, MAX_RATIO);
    }
    return TESS_OK;
}

static void end_member(npz_reader *npz)
{
    tess_inflater_close(npz->inflater);
    npz->inflater = NULL;
    npz->check = (tess_zip_check){0};
}

// Makes a member the current one and reads its array header. On failure nothing is current.
static tess_status begin_member(npz_reader *npz, const tess_zip_member *member,
                                tess_npy_header *header)
{
    npz->member = *member;
    // The end of a long path tells more than its start.
    const size_t length = strlen(npz->path);
    snprintf(npz->label, sizeof npz->label, "%s%s[%s]", length > 200 ? "..." : "",
             npz->path + (length > 200 ? length - 200 : 0), member->name);
    TESS_TRY(tess_zip_locate(&npz->zip, &npz->member));
    TESS_TRY(check_method(npz));
    if (member->method == TESS_ZIP_DEFLATED) {
        TESS_TRY(tess_inflater_open(&npz->host, &npz->zip, &npz->member, &npz->inflater));
    }
    const tess_byte_source source = source_of(npz);
    tess_status status = tess_npy_header_load(&npz->host, npz->label, &source, header);
    if (status == TESS_OK) {
        status = tess_npy_header_fit(npz->label, npz->member.bytes, 0, header);
    }
    if (status != TESS_OK) {
        end_member(npz);
    }
    return status;
}

static void destroy_reader(const tess_host *host, npz_reader *npz)
{
    tess_npy_array_release(host, &npz->array);
    end_member(npz);
    tess_zip_close(host, &npz->zip);
    host->release(host->user, npz, npz->own_bytes);
}

static tess_status create_reader(const tess_host *host, const char *path, npz_reader **out)
{
    *out = NULL;
    const size_t path_bytes = strlen(path) + 1;
    npz_reader *npz = host->alloc(host->user, sizeof *npz + path_bytes);
    if (npz == NULL) {
        return TESS_E_MEMORY;
    }
    *npz = (npz_reader){.own_bytes = sizeof *npz + path_bytes, .host = *host};
    npz->zip.file.fd = -1;
    memcpy(npz->path, path, path_bytes);
    const tess_status status = tess_zip_open(host, npz->path, &npz->zip);
    if (status != TESS_OK) {
        destroy_reader(host, npz);
        return status;
    }
    *out = npz;
    return TESS_OK;
}

static bool has_npy_ending(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".npy") == 0;
}

// Arrays of the user: what a listing shows and what may be the only one.
static bool is_user_array(const tess_zip_member *m)
{
    return has_npy_ending(m->name) && strcmp(m->name, TESS_NPZ_PROVENANCE) != 0;
}

static bool is_called(const tess_zip_member *m, const char *dataset)
{
    const size_t length = strlen(dataset);
    return strncmp(m->name, dataset, length) == 0 &&
           (m->name[length] == '\0' || strcmp(m->name + length, ".npy") == 0);
}

// Name without the ending, as numpy.load() shows it.
static void dataset_name(const tess_zip_member *m, char *name, size_t capacity)
{
    const size_t length = strlen(m->name) - (has_npy_ending(m->name) ? 4 : 0);
    snprintf(name, capacity, "%.*s", (int)length, m->name);
}

static void append_name(char *text, const tess_zip_member *m)
{
    const size_t used = strlen(text);
    char name[TESS_ZIP_NAME_BYTES];
    dataset_name(m, name, sizeof name);
    if (used + strlen(name) + 8 < LISTED_CHARS) {
        snprintf(text + used, LISTED_CHARS - used, "%s%s", used ? ", " : "", name);
    } else if (strcmp(text + used - 3, "...") != 0) {
        snprintf(text + used, LISTED_CHARS - used, ", ...");
    }
}

// The member for a data set name, or the only array if dataset is NULL.
static tess_status choose_member(const npz_reader *npz, const char *dataset, tess_zip_member *out)
{
    char listed[LISTED_CHARS] = "";
    uint64_t n_array = 0;
    uint64_t n_match = 0;
    tess_zip_member m;
    for (uint64_t cursor = 0; tess_zip_next(&npz->zip, &cursor, &m);) {
        if (is_user_array(&m)) {
            n_array++;
            append_name(listed, &m);
        }
        if (dataset != NULL ? is_called(&m, dataset) : is_user_array(&m)) {
            n_match++;
            *out = m;
        }
    }
    if (n_match == 1) {
        return TESS_OK;
    }
    if (n_array == 0) {
        TESS_FAIL(TESS_E_NOT_FOUND, "%s: the archive has no .npy member", npz->path);
    }
    if (dataset == NULL) {
        TESS_FAIL(TESS_E_ARGUMENT, "%s: has %" PRIu64 " arrays; choose one with --dataset: %s",
                  npz->path, n_array, listed);
    }
    if (n_match > 1) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: has %" PRIu64 " members called '%s'; which one is meant is "
                  "unknowable",
                  npz->path, n_match, dataset);
    }
    TESS_FAIL(TESS_E_NOT_FOUND, "%s: no array '%s'; there are: %s", npz->path, dataset, listed);
}

static tess_status open_array(const tess_host *host, npz_reader *npz, const char *dataset,
                              tess_format_reader *out)
{
    tess_zip_member member;
    tess_npy_header header;
    TESS_TRY(choose_member(npz, dataset, &member));
    TESS_TRY(begin_member(npz, &member, &header));
    TESS_TRY(tess_npy_header_check(npz->label, &header));
    const uint64_t file_offset = npz->member.data_offset + header.data_offset;
    if (member.method == TESS_ZIP_STORED && tess_npy_header_is_direct(&header, file_offset)) {
        out->direct_offset = file_offset;
        host->log(host->user, TESS_LOG_INFO, "%s: its CRC-32 is not checked", npz->label);
    }
    if (npz->inflater != NULL) {
        out->held_bytes = tess_inflater_held_bytes(npz->inflater);
    }
    const tess_byte_source source = source_of(npz);
    TESS_TRY(tess_npy_array_init(host, &header, &source, &npz->array));
    tess_npy_header_describe(&header, out);
    dataset_name(&member, out->dataset, sizeof out->dataset);
    return TESS_OK;
}

static tess_status npz_open(const tess_host *host, const char *path, const char *dataset,
                            int allow_truncated, tess_format_reader *out)
{
    // A truncated archive has lost its directory: there is nothing to allow.
    (void)allow_truncated;
    *out = (tess_format_reader){0};
    npz_reader *npz = NULL;
    TESS_TRY(create_reader(host, path, &npz));
    const tess_status status = open_array(host, npz, dataset, out);
    if (status != TESS_OK) {
        destroy_reader(host, npz);
        return status;
    }
    out->impl = npz;
    return TESS_OK;
}

static tess_status npz_read(const tess_host *host, tess_format_reader *reader, int64_t first,
                            int64_t count, void *dst)
{
    (void)host;
    const npz_reader *npz = reader->impl;
    return tess_npy_array_read(&npz->array, first, count, dst);
}

static void npz_close(const tess_host *host, tess_format_reader *reader)
{
    if (reader->impl != NULL) {
        destroy_reader(host, reader->impl);
    }
    *reader = (tess_format_reader){0};
}

static tess_status npz_list(const tess_host *host, const char *path, tess_dataset_fn visit,
                            void *user)
{
    npz_reader *npz = NULL;
    TESS_TRY(create_reader(host, path, &npz));
    tess_status status = TESS_OK;
    bool stop = false;
    tess_zip_member m;
    for (uint64_t cursor = 0;
         !stop && status == TESS_OK && tess_zip_next(&npz->zip, &cursor, &m);) {
        if (!is_user_array(&m)) {
            continue;
        }
        tess_npy_header header;
        status = begin_member(npz, &m, &header);
        if (status != TESS_OK) {
            break;
        }
        end_member(npz);
        char name[TESS_ZIP_NAME_BYTES];
        char type_text[TESS_NPY_TYPE_CHARS + 16];
        dataset_name(&m, name, sizeof name);
        snprintf(type_text, sizeof type_text, "%s%s", header.type_text,
                 m.method == TESS_ZIP_DEFLATED ? ", deflate" : "");
        stop = tess_npy_header_visit(&header, name, type_text, visit, user) != 0;
    }
    destroy_reader(host, npz);
    return status;
}

// Reads the current member, a text without axes, as UTF-8 from host->alloc.
static tess_status read_text(const tess_host *host, npz_reader *npz, const tess_npy_header *header,
                             char **text, size_t *bytes)
{
    if (header->dtype != TESS_UCS4 || header->rank != 0 ||
        header->item_bytes > MAX_PROVENANCE_BYTES) {
        TESS_FAIL(TESS_E_FORMAT, "%s: expected one text of at most %d bytes", npz->label,
                  MAX_PROVENANCE_BYTES);
    }
    const size_t wide_bytes = (size_t)header->item_bytes;
    uint32_t *wide = host->alloc(host->user, wide_bytes);
    if (wide == NULL) {
        return TESS_E_MEMORY;
    }
    const tess_npy_array array = {.header = *header, .source = source_of(npz)};
    tess_status status = tess_npy_array_read(&array, 0, 1, wide);
    if (status == TESS_OK) {
        *bytes = wide_bytes + 1;
        *text = host->alloc(host->user, *bytes);
        status = *text != NULL ? TESS_OK : TESS_E_MEMORY;
    }
    if (status == TESS_OK) {
        tess_utf8_from_ucs4(wide, wide_bytes / 4, *text);
    }
    host->release(host->user, wide, wide_bytes);
    return status;
}

static tess_status npz_provenance(const tess_host *host, const char *path, char **text,
                                  size_t *bytes)
{
    *text = NULL;
    *bytes = 0;
    npz_reader *npz = NULL;
    TESS_TRY(create_reader(host, path, &npz));
    tess_status status = TESS_OK;
    tess_zip_member m;
    for (uint64_t cursor = 0; tess_zip_next(&npz->zip, &cursor, &m);) {
        if (strcmp(m.name, TESS_NPZ_PROVENANCE) != 0) {
            continue;
        }
        tess_npy_header header;
        status = begin_member(npz, &m, &header);
        if (status == TESS_OK) {
            status = read_text(host, npz, &header, text, bytes);
        }
        break;
    }
    destroy_reader(host, npz);
    return status;
}

const tess_format tess_format_npz = {
    .struct_size = sizeof tess_format_npz,
    .abi = TESS_MODULE_ABI,
    .name = "npz",
    .extensions = ".npz",
    .probe = npz_probe,
    .open = npz_open,
    .read = npz_read,
    .close = npz_close,
    .list = npz_list,
    .provenance = npz_provenance,
    .write = tess_npz_write,
    .write_many = tess_npz_write_many,
};
