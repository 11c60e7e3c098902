#include "io/npy_parse.h"

#include "base/checked.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// NumPy itself allows 64 axes.
enum { MAX_AXES = 64, MAX_NESTING = 32 };

// The dictionary's text and how far we are. Offsets in messages count from the magic.
typedef struct cursor {
    const char *name;
    const uint8_t *text;
    size_t at;
    size_t end;
} cursor;

typedef struct span {
    size_t start;
    size_t length;
} span;

int tess_npy_probe(const uint8_t *head, size_t head_bytes)
{
    return head_bytes >= 8 && memcmp(head, "\x93NUMPY", 6) == 0;
}

tess_status tess_npy_header_length(const char *name, const uint8_t *head, size_t head_bytes,
                                   uint64_t *header_bytes)
{
    if (!tess_npy_probe(head, head_bytes)) {
        TESS_FAIL(TESS_E_FORMAT, "%s: byte 0: not a .npy array: expected the magic \\x93NUMPY",
                  name);
    }
    const unsigned major = head[6];
    const unsigned minor = head[7];
    if (major < 1 || major > 3 || minor != 0) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte 6: .npy version %u.%u is unknown; 1.0, 2.0 and 3.0 are read", name,
                  major, minor);
    }
    const size_t preamble = major == 1 ? 10 : 12;
    if (head_bytes < preamble) {
        TESS_FAIL(TESS_E_TRUNCATED,
                  "%s: ends after %zu bytes, inside its header; copy the file again", name,
                  head_bytes);
    }
    uint64_t length = (uint64_t)head[8] | (uint64_t)head[9] << 8;
    if (major > 1) {
        length |= (uint64_t)head[10] << 16 | (uint64_t)head[11] << 24;
    }
    *header_bytes = preamble + length;
    if (*header_bytes > TESS_NPY_MAX_HEADER_BYTES) {
        TESS_FAIL(TESS_E_FORMAT, "%s: byte 8: header of %" PRIu64 " bytes; at most %d are read",
                  name, *header_bytes, TESS_NPY_MAX_HEADER_BYTES);
    }
    return TESS_OK;
}

static int is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static void skip_space(cursor *c)
{
    while (c->at < c->end && is_space(c->text[c->at])) {
        c->at++;
    }
}

// The next character after space, or 0 at the end.
static uint8_t peek(cursor *c)
{
    skip_space(c);
    return c->at < c->end ? c->text[c->at] : 0;
}

static bool take(cursor *c, char wanted)
{
    if (peek(c) != (uint8_t)wanted) {
        return false;
    }
    c->at++;
    return true;
}

static tess_status expected(cursor *c, const char *what)
{
    skip_space(c);
    if (c->at >= c->end) {
        TESS_FAIL(TESS_E_FORMAT, "%s: byte %zu: the header ends where %s was expected", c->name,
                  c->at, what);
    }
    const uint8_t found = c->text[c->at];
    const bool printable = found > 32 && found < 127;
    TESS_FAIL(TESS_E_FORMAT, "%s: byte %zu: expected %s in the header, found %s%.*s%s", c->name,
              c->at, what, printable ? "'" : "an unprintable byte", printable ? 1 : 0,
              (const char *)c->text + c->at, printable ? "'" : "");
}

// A quoted string without its quotes. Escapes are skipped, not resolved: no text we act upon
// contains one.
static tess_status take_string(cursor *c, const char *what, span *out)
{
    const uint8_t quote = peek(c);
    if (quote != '\'' && quote != '"') {
        return expected(c, what);
    }
    const size_t start = ++c->at;
    while (c->at < c->end && c->text[c->at] != quote) {
        c->at += c->text[c->at] == '\\' ? 2 : 1;
    }
    if (c->at >= c->end) {
        c->at = c->end;
        return expected(c, "the end of a string");
    }
    *out = (span){start, c->at - start};
    c->at++;
    return TESS_OK;
}

static bool span_is(const cursor *c, span s, const char *word)
{
    return s.length == strlen(word) && memcmp(c->text + s.start, word, s.length) == 0;
}

// Steps over a list or tuple of any literals: what NumPy writes as 'descr' of structured types.
static tess_status skip_nested(cursor *c)
{
    int depth = 0;
    do {
        const uint8_t next = peek(c);
        if (next == '\'' || next == '"') {
            span ignored;
            TESS_TRY(take_string(c, "a string", &ignored));
            continue;
        }
        if (next == 0) {
            return expected(c, "a closing bracket");
        }
        if (next == '(' || next == '[') {
            depth++;
        }
        if (next == ')' || next == ']') {
            depth--;
        }
        if (depth > MAX_NESTING) {
            return expected(c, "a type nested less deeply");
        }
        c->at++;
    } while (depth > 0);
    return TESS_OK;
}

static tess_status take_shape(cursor *c, tess_npy_header *out)
{
    if (!take(c, '(')) {
        return expected(c, "a tuple of lengths as 'shape'");
    }
    out->rank = 0;
    bool has_comma = true;
    while (peek(c) != ')') {
        if (!has_comma) {
            return expected(c, "',' or ')' in 'shape'");
        }
        int64_t length = 0;
        const size_t start = c->at;
        while (c->at < c->end && c->text[c->at] >= '0' && c->text[c->at] <= '9') {
            if (__builtin_mul_overflow(length, 10, &length) ||
                __builtin_add_overflow(length, c->text[c->at] - '0', &length)) {
                TESS_FAIL(TESS_E_FORMAT, "%s: byte %zu: a length in 'shape' exceeds 2^63 - 1",
                          c->name, start);
            }
            c->at++;
        }
        if (c->at == start) {
            return expected(c, "a length of 0 or more in 'shape'");
        }
        if (c->at < c->end && c->text[c->at] == 'L') {
            c->at++; // a long integer of Python 2
        }
        if (out->rank == MAX_AXES) {
            return expected(c, "at most 64 axes in 'shape'");
        }
        if (out->rank < TESS_MAX_RANK) {
            out->shape[out->rank] = length;
        }
        out->rank++;
        has_comma = take(c, ',');
    }
    c->at++;
    if (out->rank == 1 && !has_comma) {
        // (3) is a number in Python; no version of NumPy wrote it.
        return expected(c, "',' inside a 'shape' of one axis");
    }
    return TESS_OK;
}

static tess_status take_bool(cursor *c, bool *out)
{
    skip_space(c);
    if (c->end - c->at >= 4 && memcmp(c->text + c->at, "True", 4) == 0) {
        c->at += 4;
        *out = true;
        return TESS_OK;
    }
    if (c->end - c->at >= 5 && memcmp(c->text + c->at, "False", 5) == 0) {
        c->at += 5;
        *out = false;
        return TESS_OK;
    }
    return expected(c, "True or False as 'fortran_order'");
}

static tess_dtype dtype_of(char kind, int64_t width)
{
    if (kind == 'S') {
        return TESS_BYTES;
    }
    if (kind == 'U') {
        return TESS_UCS4;
    }
#define DTYPE_CASE(name, value, text, bytes, kind_char)                                            \
    if (kind == kind_char && width == bytes && kind_char != 'V') {                                 \
        return name;                                                                               \
    }
    TESS_DTYPE_LIST(DTYPE_CASE)
#undef DTYPE_CASE
    return (tess_dtype)0;
}

static uint32_t unit_bytes(tess_dtype dtype, int64_t item_bytes)
{
    switch (dtype) {
    case TESS_C64:
    case TESS_UCS4:
        return 4;
    case TESS_C128:
        return 8;
    case TESS_BYTES:
        return 1;
    default:
        return (uint32_t)item_bytes;
    }
}

// Fills dtype and sizes from "<f4"; leaves dtype 0 for what NumPy has and we do not.
static void interpret_type(tess_npy_header *out)
{
    static const char native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '<' : '>';
    const char *text = out->type_text;
    char order = '=';
    if (*text != '\0' && strchr("<>|=", *text)) {
        order = *text++;
    }
    const char kind = *text;
    int64_t width = 0;
    size_t digits = kind ? strspn(text + 1, "0123456789") : 0;
    if (digits == 0 || digits > 9 || text[1 + digits] != '\0') {
        return; // dates, objects, structures, or nothing NumPy ever wrote
    }
    for (size_t i = 1; i <= digits; i++) {
        width = width * 10 + (text[i] - '0');
    }
    const tess_dtype dtype = dtype_of(kind, width);
    if (dtype == 0 || width == 0) {
        return;
    }
    out->dtype = (int32_t)dtype;
    out->item_bytes = dtype == TESS_UCS4 ? 4 * width : width;
    out->align_bytes = unit_bytes(dtype, out->item_bytes);
    const bool is_foreign = (order == '<' || order == '>') && order != native;
    out->swap_bytes = is_foreign && out->align_bytes > 1 ? out->align_bytes : 0;
}

static tess_status take_type(cursor *c, tess_npy_header *out)
{
    span text;
    const uint8_t next = peek(c);
    if (next == '[' || next == '(') {
        text.start = c->at;
        TESS_TRY(skip_nested(c));
        text.length = c->at - text.start;
    } else {
        TESS_TRY(take_string(c, "a type such as '<f4' as 'descr'", &text));
    }
    // Only printable ASCII goes on to messages and listings.
    const size_t keep =
        text.length < sizeof out->type_text ? text.length : sizeof out->type_text - 1;
    for (size_t i = 0; i < keep; i++) {
        const uint8_t byte = c->text[text.start + i];
        out->type_text[i] = byte >= 32 && byte < 127 ? (char)byte : '?';
    }
    out->type_text[keep] = '\0';
    if (keep == text.length && next != '[' && next != '(') {
        interpret_type(out);
    }
    return TESS_OK;
}

static tess_status take_entry(cursor *c, unsigned *seen, tess_npy_header *out)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    span key;
    TESS_TRY(take_string(c, "a key ('descr', 'fortran_order' or 'shape')", &key));
    unsigned which = 0;
    while (which < 3 && !span_is(c, key, keys[which])) {
        which++;
    }
    if (which == 3) {
        c->at = key.start;
        return expected(c, "one of the keys 'descr', 'fortran_order', 'shape'");
    }
    if (*seen & 1u << which) {
        TESS_FAIL(TESS_E_FORMAT, "%s: byte %zu: the header gives '%s' twice", c->name, key.start,
                  keys[which]);
    }
    *seen |= 1u << which;
    if (!take(c, ':')) {
        return expected(c, "':'");
    }
    switch (which) {
    case 0:
        return take_type(c, out);
    case 1:
        return take_bool(c, &out->fortran_order);
    default:
        return take_shape(c, out);
    }
}

static tess_status take_dictionary(cursor *c, tess_npy_header *out)
{
    unsigned seen = 0;
    if (!take(c, '{')) {
        return expected(c, "'{'");
    }
    bool has_comma = true;
    while (peek(c) != '}') {
        if (!has_comma) {
            return expected(c, "',' or '}'");
        }
        TESS_TRY(take_entry(c, &seen, out));
        has_comma = take(c, ',');
    }
    c->at++;
    if (seen != 7) {
        TESS_FAIL(TESS_E_FORMAT, "%s: byte %zu: the header lacks '%s'", c->name, c->at,
                  !(seen & 1)   ? "descr"
                  : !(seen & 2) ? "fortran_order"
                                : "shape");
    }
    return peek(c) == 0 && c->at == c->end ? TESS_OK : expected(c, "nothing more");
}

// The product leaves axes of length 0 out, as NumPy does: an empty array whose other axes
// overflow is as hostile as a full one.
static tess_status count_bytes(const char *name, tess_npy_header *out)
{
    int64_t total = out->item_bytes;
    bool is_empty = false;
    for (int32_t axis = 0; axis < out->rank; axis++) {
        is_empty = is_empty || out->shape[axis] == 0;
        if (out->shape[axis] != 0 && !tess_mul_i64(total, out->shape[axis], &total)) {
            TESS_FAIL(TESS_E_FORMAT, "%s: the shape in the header takes more than 2^63 bytes",
                      name);
        }
    }
    out->data_bytes = is_empty ? 0 : (uint64_t)total;
    return TESS_OK;
}

tess_status tess_npy_header_parse(const char *name, const uint8_t *header, size_t header_bytes,
                                  tess_npy_header *out)
{
    *out = (tess_npy_header){.data_offset = header_bytes};
    cursor c = {name, header, header[6] == 1 ? 10 : 12, header_bytes};
    TESS_TRY(take_dictionary(&c, out));
    if (out->rank > TESS_MAX_RANK) {
        out->dtype = 0;
    }
    if (out->dtype == 0) {
        return TESS_OK;
    }
    if (out->rank < 2) {
        out->fortran_order = false; // the two orders coincide
    }
    return count_bytes(name, out);
}

tess_status tess_npy_header_check(const char *name, const tess_npy_header *header)
{
    if (header->rank > TESS_MAX_RANK) {
        TESS_FAIL(TESS_E_SHAPE, "%s: array of %d axes; at most %d are read", name, header->rank,
                  TESS_MAX_RANK);
    }
    if (header->dtype != 0) {
        return TESS_OK;
    }
    const char *type = header->type_text;
    if (strchr(type, 'O') != NULL && type[0] != '[') {
        TESS_FAIL(TESS_E_DTYPE,
                  "%s: type '%s' is a Python object array, which is a pickle and can run code; "
                  "save it again with a plain type, e.g. x.astype('f8')",
                  name, type);
    }
    TESS_FAIL(TESS_E_DTYPE,
              "%s: type '%s' is not read; save plain numbers (f2 f4 f8, i1-i8, u1-u8, b1, c8, "
              "c16) or text (S, U)%s",
              name, type, type[0] == '[' ? ", one array per field of the structure" : "");
}
