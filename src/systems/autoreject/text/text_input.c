#include "systems/autoreject/text/text_input.h"

#include "base/infile.h"
#include "base/status.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { NUMBER_CHARS = 64 };

static tess_status read_whole(tess_context *ctx, const tess_infile *file, tess_ar_text *out)
{
    const char *path = file->path;
    const uint64_t bytes = file->bytes;
    if (bytes > TESS_AR_TEXT_MAX_BYTES) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: %llu bytes are too many for a text file of this kind (at most %d)", path,
                  (unsigned long long)bytes, TESS_AR_TEXT_MAX_BYTES);
    }
    *out = (tess_ar_text){.heap = &ctx->heap, .path = path, .bytes = (size_t)bytes};
    out->chars = tess_heap_alloc(out->heap, out->bytes + 1, TESS_TAG_IO, "a text file");
    if (!out->chars) {
        return TESS_E_MEMORY;
    }
    out->chars[bytes] = '\0';
    out->next = out->chars;
    return bytes > 0 ? tess_infile_read(file, out->chars, (size_t)bytes, 0) : TESS_OK;
}

tess_status tess_ar_text_open(tess_context *ctx, const char *path, tess_ar_text *out)
{
    tess_infile file;
    *out = (tess_ar_text){0};
    TESS_TRY(tess_infile_open(path, &file));
    const tess_status status = read_whole(ctx, &file, out);
    tess_infile_close(&file);
    if (status != TESS_OK) {
        tess_ar_text_close(out);
        return status;
    }
    if (strncmp(out->chars, "\xef\xbb\xbf", 3) == 0) {
        out->next += 3;
    }
    return TESS_OK;
}

void tess_ar_text_close(tess_ar_text *text)
{
    if (text->chars) {
        tess_heap_free(text->heap, text->chars, text->bytes + 1, TESS_TAG_IO);
    }
    *text = (tess_ar_text){0};
}

char *tess_ar_text_line(tess_ar_text *text)
{
    char *line = text->next;
    const size_t left = line ? text->bytes - (size_t)(line - text->chars) : 0;
    if (left == 0) {
        return NULL;
    }
    char *end = memchr(line, '\n', left);
    text->next = end ? end + 1 : NULL;
    text->line++;
    end = end ? end : line + left;
    if (end > line && end[-1] == '\r') {
        end--;
    }
    *end = '\0';
    return line;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

char *tess_ar_trim(char *text)
{
    while (is_blank(*text)) {
        text++;
    }
    char *end = text + strlen(text);
    while (end > text && is_blank(end[-1])) {
        end--;
    }
    *end = '\0';
    return text;
}

int64_t tess_ar_split(char *line, char separator, char **fields, int64_t capacity)
{
    int64_t n = 0;
    for (char *field = line; field && n < capacity; n++) {
        char *end = n + 1 < capacity ? strchr(field, separator) : NULL;
        if (end) {
            *end++ = '\0';
        }
        fields[n] = tess_ar_trim(field);
        field = end;
    }
    return n;
}

int64_t tess_ar_split_blanks(char *line, char **fields, int64_t capacity)
{
    int64_t n = 0;
    char *field = tess_ar_trim(line);
    while (*field && n < capacity) {
        fields[n++] = field;
        while (*field && !is_blank(*field)) {
            field++;
        }
        if (*field) {
            *field++ = '\0';
        }
        while (is_blank(*field)) {
            field++;
        }
    }
    return n;
}

// strtod() obeys the locale; a recording's decimal point does not.
bool tess_ar_number(const char *text, double *out)
{
    char copy[NUMBER_CHARS];
    char probe[8];
    while (is_blank(*text)) {
        text++;
    }
    size_t n = strlen(text);
    while (n > 0 && is_blank(text[n - 1])) {
        n--;
    }
    if (n == 0 || n >= sizeof copy || strspn(text, "0123456789+-.eE") < n) {
        return false;
    }
    memcpy(copy, text, n);
    copy[n] = '\0';
    snprintf(probe, sizeof probe, "%.1f", 0.5);
    char *point = strchr(copy, '.');
    if (point && probe[1] != '.') {
        *point = probe[1];
    }
    char *end = NULL;
    *out = strtod(copy, &end);
    return end == copy + n && isfinite(*out);
}

bool tess_ar_integer(const char *text, int64_t *out)
{
    double value = 0;
    if (!tess_ar_number(text, &value) || value != floor(value) ||
        fabs(value) > 9007199254740992.0) {
        return false;
    }
    *out = (int64_t)value;
    return true;
}

// Bytes of the UTF-8 sequence at src, 0 if it is none.
static size_t sequence_bytes(const unsigned char *src, size_t n)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t i = 0; i < 4; i++) {
        if ((src[0] & forms[i].mask) != forms[i].lead || i >= n) {
            continue;
        }
        uint32_t code = src[0] & (unsigned char)~forms[i].mask;
        for (size_t k = 1; k <= i; k++) {
            if ((src[k] & 0xc0) != 0x80) {
                return 0;
            }
            code = code << 6 | (src[k] & 0x3f);
        }
        const bool is_half = code >= 0xd800 && code < 0xe000;
        return code >= forms[i].least && code < 0x110000 && !is_half ? i + 1 : 0;
    }
    return 0;
}

void tess_ar_utf8(const char *src, size_t n, char *dst)
{
    const unsigned char *bytes = (const unsigned char *)src;
    for (size_t i = 0; i < n && bytes[i];) {
        const size_t taken = sequence_bytes(bytes + i, n - i);
        if (taken > 0) {
            memcpy(dst, bytes + i, taken);
            dst += taken;
            i += taken;
        } else {
            *dst++ = (char)(0xc0 | bytes[i] >> 6);
            *dst++ = (char)(0x80 | (bytes[i] & 0x3f));
            i++;
        }
    }
    *dst = '\0';
}

size_t tess_ar_put_utf8(uint32_t code, char *dst)
{
    if (code >= 0x110000 || (code >= 0xd800 && code < 0xe000)) {
        code = '?';
    }
    const size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; code >>= 6) {
        dst[i] = (char)(0x80 | (code & 0x3f));
    }
    dst[0] = (char)(leads[n] | code);
    return n;
}

static char *join_path(tess_heap *heap, const char *path, size_t n, const char *end)
{
    const size_t bytes = n + strlen(end) + 1;
    char *out = tess_heap_alloc(heap, bytes, TESS_TAG_IO, "a path");
    if (out) {
        memcpy(out, path, n);
        memcpy(out + n, end, bytes - n);
    }
    return out;
}

char *tess_ar_beside(tess_heap *heap, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    const char *inner = strrchr(name, '\\');
    if (!inner && name[0] == '/') {
        inner = strrchr(name, '/');
    }
    return join_path(heap, path, slash ? (size_t)(slash - path) + 1 : 0, inner ? inner + 1 : name);
}

static size_t stem_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    return dot ? (size_t)(dot - path) : strlen(path);
}

char *tess_ar_with_extension(tess_heap *heap, const char *path, const char *extension)
{
    return join_path(heap, path, stem_bytes(path), extension);
}

void tess_ar_path_free(tess_heap *heap, char *path)
{
    if (path) {
        tess_heap_free(heap, path, strlen(path) + 1, TESS_TAG_IO);
    }
}

bool tess_ar_file_exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

bool tess_ar_has_extension(const char *path, const char *extension)
{
    return strcasecmp(path + stem_bytes(path), extension) == 0;
}
