#include "io/zip.h"

#include "base/checked.h"
#include "base/status.h"
#include "io/zip_layout.h"

#include <inttypes.h>
#include <string.h>

enum {
    MAX_COMMENT_BYTES = 65535,
    MAX_DIRECTORY_BYTES = 64 << 20,
    FLAG_ENCRYPTED = 1 << 0,
    FLAG_STRONG_ENCRYPTION = 1 << 6,
    FLAG_MASKED = 1 << 13
};

// The record at the end of the file, in either of its widths.
typedef struct end_record {
    uint64_t n_member;
    uint64_t directory_bytes;
    uint64_t directory_offset;
    uint64_t offset; // where the record itself starts: the directory must end before it
} end_record;

static tess_status read_at(const tess_zip *zip, uint64_t offset, uint64_t bytes, void *dst)
{
    return tess_infile_read(&zip->file, dst, (size_t)bytes, offset);
}

// The last place where a record with a matching comment length starts. *found is false if none.
static tess_status find_end(const tess_host *host, const tess_zip *zip, uint8_t end[],
                            uint64_t *offset, bool *found)
{
    const uint64_t file_bytes = zip->file.bytes;
    const uint64_t longest = TESS_ZIP_END_BYTES + MAX_COMMENT_BYTES;
    const uint64_t tail_bytes = file_bytes < longest ? file_bytes : longest;
    *found = false;
    if (tail_bytes < TESS_ZIP_END_BYTES) {
        return TESS_OK;
    }
    uint8_t *tail = host->alloc(host->user, (size_t)tail_bytes);
    if (tail == NULL) {
        return TESS_E_MEMORY;
    }
    const tess_status status = read_at(zip, file_bytes - tail_bytes, tail_bytes, tail);
    for (uint64_t at = tail_bytes - TESS_ZIP_END_BYTES + 1; status == TESS_OK && at-- > 0;) {
        if (tess_zip_get32(tail + at) == TESS_ZIP_END_SIGNATURE &&
            at + TESS_ZIP_END_BYTES + tess_zip_get16(tail + at + 20) == tail_bytes) {
            memcpy(end, tail + at, TESS_ZIP_END_BYTES);
            *offset = file_bytes - tail_bytes + at;
            *found = true;
            break;
        }
    }
    host->release(host->user, tail, (size_t)tail_bytes);
    return status;
}

// Replaces what the short record could not hold. end->offset is that of the short record.
static tess_status read_end64(const tess_zip *zip, end_record *end)
{
    uint8_t locator[TESS_ZIP_LOCATOR_BYTES];
    if (end->offset < TESS_ZIP_LOCATOR_BYTES) {
        return TESS_OK;
    }
    const uint64_t locator_offset = end->offset - TESS_ZIP_LOCATOR_BYTES;
    TESS_TRY(read_at(zip, locator_offset, sizeof locator, locator));
    if (tess_zip_get32(locator) != TESS_ZIP_LOCATOR_SIGNATURE) {
        return TESS_OK;
    }
    const uint64_t offset = tess_zip_get64(locator + 8);
    if (tess_zip_get32(locator + 4) != 0 || tess_zip_get32(locator + 16) > 1) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "%s: archive split over several disks; join it first",
                  zip->file.path);
    }
    uint8_t record[TESS_ZIP_END64_BYTES];
    if (locator_offset < TESS_ZIP_END64_BYTES || offset > locator_offset - TESS_ZIP_END64_BYTES) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %" PRIu64 ": the ZIP64 end record cannot start at byte %" PRIu64,
                  zip->file.path, locator_offset, offset);
    }
    TESS_TRY(read_at(zip, offset, sizeof record, record));
    if (tess_zip_get32(record) != TESS_ZIP_END64_SIGNATURE) {
        TESS_FAIL(TESS_E_FORMAT, "%s: byte %" PRIu64 ": expected the ZIP64 end record",
                  zip->file.path, offset);
    }
    end->n_member = tess_zip_get64(record + 32);
    end->directory_bytes = tess_zip_get64(record + 40);
    end->directory_offset = tess_zip_get64(record + 48);
    end->offset = offset;
    return TESS_OK;
}

static tess_status read_end(const tess_host *host, const tess_zip *zip, end_record *out)
{
    uint8_t end[TESS_ZIP_END_BYTES];
    bool found = false;
    TESS_TRY(find_end(host, zip, end, &out->offset, &found));
    if (!found) {
        TESS_FAIL(TESS_E_TRUNCATED,
                  "%s: no ZIP directory at the end (%" PRIu64
                  " bytes): the file is truncated or no .npz; copy it again",
                  zip->file.path, zip->file.bytes);
    }
    const uint32_t disk = tess_zip_get16(end + 4);
    const uint32_t start_disk = tess_zip_get16(end + 6);
    if ((disk != 0 && disk != 0xffff) || (start_disk != 0 && start_disk != 0xffff)) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "%s: archive split over several disks; join it first",
                  zip->file.path);
    }
    out->n_member = tess_zip_get16(end + 10);
    out->directory_bytes = tess_zip_get32(end + 12);
    out->directory_offset = tess_zip_get32(end + 16);
    if (out->n_member == 0xffff || out->directory_bytes == TESS_ZIP_SEE_ZIP64 ||
        out->directory_offset == TESS_ZIP_SEE_ZIP64) {
        TESS_TRY(read_end64(zip, out));
    }
    uint64_t directory_end = 0;
    uint64_t least_bytes = 0;
    if (!tess_add_u64(out->directory_offset, out->directory_bytes, &directory_end) ||
        directory_end > out->offset ||
        !tess_mul_u64(out->n_member, TESS_ZIP_ENTRY_BYTES, &least_bytes) ||
        least_bytes > out->directory_bytes) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %" PRIu64 ": the directory (%" PRIu64 " members in %" PRIu64
                  " bytes at byte %" PRIu64 ") does not fit the file",
                  zip->file.path, out->offset, out->n_member, out->directory_bytes,
                  out->directory_offset);
    }
    return TESS_OK;
}

// Sizes that did not fit 32 bits follow in the extra field, in this order, only those.
static bool read_zip64_extra(const uint8_t *extra, size_t extra_bytes, tess_zip_member *m)
{
    uint64_t *const fields[] = {&m->bytes, &m->packed_bytes, &m->header_offset};
    bool is_needed = false;
    for (size_t i = 0; i < 3; i++) {
        is_needed = is_needed || *fields[i] == TESS_ZIP_SEE_ZIP64;
    }
    size_t at = 0;
    while (is_needed && extra_bytes - at >= 4) {
        const size_t size = tess_zip_get16(extra + at + 2);
        if (size > extra_bytes - at - 4) {
            return false;
        }
        if (tess_zip_get16(extra + at) != TESS_ZIP_EXTRA_ZIP64) {
            at += 4 + size;
            continue;
        }
        size_t used = 0;
        for (size_t i = 0; i < 3; i++) {
            if (*fields[i] != TESS_ZIP_SEE_ZIP64) {
                continue;
            }
            if (size - used < 8) {
                return false;
            }
            *fields[i] = tess_zip_get64(extra + at + 4 + used);
            used += 8;
        }
        return true;
    }
    return !is_needed;
}

static bool is_safe_name(const char *name, size_t length)
{
    if (length == 0 || memchr(name, '\\', length) != NULL || name[0] == '/' ||
        (length >= 2 && name[1] == ':')) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        // Names are shown on terminals, which act on control characters.
        if ((unsigned char)name[i] < 32 || name[i] == 127) {
            return false;
        }
        const bool starts_part = i == 0 || name[i - 1] == '/';
        if (starts_part && length - i >= 2 && name[i] == '.' && name[i + 1] == '.' &&
            (length - i == 2 || name[i + 2] == '/')) {
            return false;
        }
    }
    return true;
}

// Fills *m from the entry at p; *entry_bytes is its length. NULL if all is well, else what is not.
static const char *parse_entry(const uint8_t *p, uint64_t left, tess_zip_member *m,
                               uint64_t *entry_bytes)
{
    if (left < TESS_ZIP_ENTRY_BYTES || tess_zip_get32(p) != TESS_ZIP_ENTRY_SIGNATURE) {
        return "expected a directory entry";
    }
    const size_t name_bytes = tess_zip_get16(p + 28);
    const size_t extra_bytes = tess_zip_get16(p + 30);
    *entry_bytes = TESS_ZIP_ENTRY_BYTES + name_bytes + extra_bytes + tess_zip_get16(p + 32);
    if (*entry_bytes > left) {
        return "directory entry runs past the end of the directory";
    }
    *m = (tess_zip_member){
        .flags = tess_zip_get16(p + 8),
        .method = tess_zip_get16(p + 10),
        .crc32 = tess_zip_get32(p + 16),
        .packed_bytes = tess_zip_get32(p + 20),
        .bytes = tess_zip_get32(p + 24),
        .header_offset = tess_zip_get32(p + 42),
    };
    const char *name = (const char *)p + TESS_ZIP_ENTRY_BYTES;
    if (name_bytes >= sizeof m->name) {
        return "member name longer than 255 bytes";
    }
    if (!is_safe_name(name, name_bytes)) {
        return "member name not allowed ('..', absolute, '\\' or control characters)";
    }
    memcpy(m->name, name, name_bytes);
    if (!read_zip64_extra(p + TESS_ZIP_ENTRY_BYTES + name_bytes, extra_bytes, m)) {
        return "ZIP64 field missing or too short";
    }
    return NULL;
}

static tess_status check_entries(const tess_zip *zip)
{
    uint64_t at = 0;
    for (uint64_t i = 0; i < zip->n_member; i++) {
        tess_zip_member m;
        uint64_t entry_bytes = 0;
        const char *wrong =
            parse_entry(zip->directory + at, zip->directory_bytes - at, &m, &entry_bytes);
        if (wrong != NULL) {
            TESS_FAIL(TESS_E_FORMAT, "%s: byte %" PRIu64 ": member %" PRIu64 " of %" PRIu64 ": %s",
                      zip->file.path, zip->directory_offset + at, i + 1, zip->n_member, wrong);
        }
        if (m.header_offset > zip->directory_offset ||
            m.packed_bytes > zip->directory_offset - m.header_offset) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: byte %" PRIu64 ": member '%s' (%" PRIu64 " bytes at byte %" PRIu64
                      ") runs into the directory",
                      zip->file.path, zip->directory_offset + at, m.name, m.packed_bytes,
                      m.header_offset);
        }
        at += entry_bytes;
    }
    if (at != zip->directory_bytes) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %" PRIu64 ": the directory has bytes beyond its %" PRIu64 " members",
                  zip->file.path, zip->directory_offset + at, zip->n_member);
    }
    return TESS_OK;
}

static tess_status load_directory(const tess_host *host, tess_zip *zip)
{
    if (zip->directory_bytes > MAX_DIRECTORY_BYTES) {
        TESS_FAIL(TESS_E_FORMAT, "%s: directory of %" PRIu64 " bytes; at most %d are read",
                  zip->file.path, zip->directory_bytes, MAX_DIRECTORY_BYTES);
    }
    zip->directory = host->alloc(host->user, (size_t)zip->directory_bytes + 1);
    if (zip->directory == NULL) {
        return TESS_E_MEMORY;
    }
    return read_at(zip, zip->directory_offset, zip->directory_bytes, zip->directory);
}

tess_status tess_zip_open(const tess_host *host, const char *path, tess_zip *out)
{
    *out = (tess_zip){.file = {.fd = -1}};
    TESS_TRY(tess_infile_open(path, &out->file));
    end_record end = {0};
    tess_status status = read_end(host, out, &end);
    if (status == TESS_OK) {
        out->directory_bytes = end.directory_bytes;
        out->directory_offset = end.directory_offset;
        out->n_member = end.n_member;
        status = load_directory(host, out);
    }
    if (status == TESS_OK) {
        status = check_entries(out);
    }
    if (status != TESS_OK) {
        tess_zip_close(host, out);
    }
    return status;
}

void tess_zip_close(const tess_host *host, tess_zip *zip)
{
    if (zip->directory != NULL) {
        host->release(host->user, zip->directory, (size_t)zip->directory_bytes + 1);
        zip->directory = NULL;
    }
    tess_infile_close(&zip->file);
}

bool tess_zip_next(const tess_zip *zip, uint64_t *cursor, tess_zip_member *out)
{
    uint64_t entry_bytes = 0;
    if (*cursor >= zip->directory_bytes ||
        parse_entry(zip->directory + *cursor, zip->directory_bytes - *cursor, out, &entry_bytes)) {
        return false;
    }
    *cursor += entry_bytes;
    return true;
}

static tess_status check_overlap(const tess_zip *zip, const tess_zip_member *member)
{
    const uint64_t start = member->header_offset;
    const uint64_t end = member->data_offset + member->packed_bytes;
    tess_zip_member other;
    bool met_itself = false;
    for (uint64_t cursor = 0; tess_zip_next(zip, &cursor, &other);) {
        if (other.header_offset == start && !met_itself && strcmp(other.name, member->name) == 0) {
            met_itself = true;
            continue;
        }
        const uint64_t other_end =
            other.header_offset + TESS_ZIP_LOCAL_BYTES + strlen(other.name) + other.packed_bytes;
        if (other.header_offset < end && start < other_end) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: byte %" PRIu64 ": members '%s' and '%s' overlap; the archive is "
                      "corrupt or made to harm",
                      zip->file.path, other.header_offset, member->name, other.name);
        }
    }
    return TESS_OK;
}

tess_status tess_zip_locate(const tess_zip *zip, tess_zip_member *member)
{
    const char *path = zip->file.path;
    const uint64_t offset = member->header_offset;
    if (member->flags & (FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION | FLAG_MASKED)) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "%s: member '%s' is encrypted; save it without a password",
                  path, member->name);
    }
    uint8_t local[TESS_ZIP_LOCAL_BYTES];
    char name[TESS_ZIP_NAME_BYTES];
    const size_t name_bytes = strlen(member->name);
    if (zip->directory_offset - offset < sizeof local + name_bytes) {
        TESS_FAIL(TESS_E_FORMAT, "%s: byte %" PRIu64 ": no room for the header of member '%s'",
                  path, offset, member->name);
    }
    TESS_TRY(read_at(zip, offset, sizeof local, local));
    TESS_TRY(read_at(zip, offset + sizeof local, name_bytes, name));
    if (tess_zip_get32(local) != TESS_ZIP_LOCAL_SIGNATURE ||
        tess_zip_get16(local + 8) != member->method || tess_zip_get16(local + 26) != name_bytes ||
        memcmp(name, member->name, name_bytes) != 0) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %" PRIu64 ": the header of member '%s' does not agree with the "
                  "directory",
                  path, offset, member->name);
    }
    member->data_offset = offset + sizeof local + name_bytes + tess_zip_get16(local + 28);
    if (member->data_offset > zip->directory_offset ||
        member->packed_bytes > zip->directory_offset - member->data_offset) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %" PRIu64 ": member '%s' of %" PRIu64
                  " bytes runs into the directory at byte %" PRIu64,
                  path, member->data_offset, member->name, member->packed_bytes,
                  zip->directory_offset);
    }
    return check_overlap(zip, member);
}
