#include "base/json_read.h"

#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64, NUMBER_CHARS = 64 };

typedef struct parser {
    const char *path;
    const char *at;
    const char *end;
    int32_t line;
    int32_t depth;
    tess_json_value *values; // as many as the text can hold
    int64_t n_value;
    char *chars; // of texts, decoded, and numbers: with a zero never longer than with what follows
} parser;

static tess_status wrong(const parser *p, const char *what)
{
    if (p->at >= p->end) {
        TESS_FAIL(TESS_E_FORMAT, "%s: line %d: the text ends where %s is expected", p->path,
                  p->line, what);
    }
    TESS_FAIL(TESS_E_FORMAT, "%s: line %d: %s is expected, not '%.1s'; this is no JSON", p->path,
              p->line, what, (unsigned char)*p->at < 0x80 ? p->at : "?");
}

static void skip_space(parser *p)
{
    while (p->at < p->end &&
           (*p->at == ' ' || *p->at == '\t' || *p->at == '\r' || *p->at == '\n')) {
        p->line += *p->at == '\n';
        p->at++;
    }
}

static bool take(parser *p, char c)
{
    skip_space(p);
    if (p->at < p->end && *p->at == c) {
        p->at++;
        return true;
    }
    return false;
}

static bool is_digit(const parser *p)
{
    return p->at < p->end && *p->at >= '0' && *p->at <= '9';
}

static bool skip_digits(parser *p)
{
    if (!is_digit(p)) {
        return false;
    }
    while (is_digit(p)) {
        p->at++;
    }
    return true;
}

// strtod() obeys the locale; the file does not.
static double to_double(const char *text, size_t n)
{
    char copy[NUMBER_CHARS];
    char probe[8];
    memcpy(copy, text, n);
    copy[n] = '\0';
    snprintf(probe, sizeof probe, "%.1f", 0.5);
    char *point = strchr(copy, '.');
    if (point) {
        *point = probe[1];
    }
    return strtod(copy, NULL);
}

static tess_status read_number(parser *p, tess_json_value *value)
{
    const char *begin = p->at;
    p->at += *p->at == '-';
    const bool is_zero = p->at < p->end && *p->at == '0';
    if (!skip_digits(p) || (is_zero && p->at - begin > 1 + (*begin == '-'))) {
        return wrong(p, "a number");
    }
    if (p->at < p->end && *p->at == '.') {
        p->at++;
        if (!skip_digits(p)) {
            return wrong(p, "a digit");
        }
    }
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        p->at++;
        p->at += p->at < p->end && (*p->at == '+' || *p->at == '-');
        if (!skip_digits(p)) {
            return wrong(p, "a digit");
        }
    }
    if (p->at - begin >= NUMBER_CHARS) {
        TESS_FAIL(TESS_E_FORMAT, "%s: line %d: a number has more than %d characters", p->path,
                  p->line, NUMBER_CHARS - 1);
    }
    value->kind = TESS_JSON_NUMBER;
    value->number = to_double(begin, (size_t)(p->at - begin));
    value->text = p->chars;
    memcpy(p->chars, begin, (size_t)(p->at - begin));
    p->chars += p->at - begin;
    *p->chars++ = '\0';
    return TESS_OK;
}

static tess_status read_hex(parser *p, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        const char c = p->at < p->end ? *p->at : 'x';
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) {
            return wrong(p, "a hexadecimal digit");
        }
        *code = *code * 16 + (uint32_t)digit;
    }
    return TESS_OK;
}

static void put_code(parser *p, uint32_t code)
{
    if (code < 0x80) {
        *p->chars++ = (char)code;
    } else if (code < 0x800) {
        *p->chars++ = (char)(0xc0 | code >> 6);
        *p->chars++ = (char)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        *p->chars++ = (char)(0xe0 | code >> 12);
        *p->chars++ = (char)(0x80 | (code >> 6 & 63));
        *p->chars++ = (char)(0x80 | (code & 63));
    } else {
        *p->chars++ = (char)(0xf0 | code >> 18);
        *p->chars++ = (char)(0x80 | (code >> 12 & 63));
        *p->chars++ = (char)(0x80 | (code >> 6 & 63));
        *p->chars++ = (char)(0x80 | (code & 63));
    }
}

// Behind "\u".
static tess_status read_code(parser *p)
{
    uint32_t code;
    TESS_TRY(read_hex(p, &code));
    if (code >= 0xd800 && code < 0xdc00 && p->end - p->at >= 2 && p->at[0] == '\\' &&
        p->at[1] == 'u') {
        uint32_t low;
        p->at += 2;
        TESS_TRY(read_hex(p, &low));
        code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
                                             : 0xfffd;
    } else if (code >= 0xd800 && code < 0xe000) {
        code = 0xfffd;
    }
    if (code == 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: line %d: a text holds a zero character", p->path, p->line);
    }
    put_code(p, code);
    return TESS_OK;
}

static tess_status read_escape(parser *p)
{
    static const char names[] = "\"\\/bfnrt";
    static const char codes[] = "\"\\/\b\f\n\r\t";
    if (p->at >= p->end) {
        return wrong(p, "an escaped character");
    }
    if (*p->at == 'u') {
        p->at++;
        return read_code(p);
    }
    const char *found = *p->at ? strchr(names, *p->at) : NULL;
    if (!found) {
        return wrong(p, "an escaped character");
    }
    *p->chars++ = codes[found - names];
    p->at++;
    return TESS_OK;
}

static tess_status read_text(parser *p, const char **text)
{
    *text = p->chars;
    if (!take(p, '"')) {
        return wrong(p, "a text in quotes");
    }
    while (p->at < p->end && *p->at != '"') {
        const unsigned char c = (unsigned char)*p->at;
        if (c < 0x20) {
            return wrong(p, "a printable character");
        }
        p->at++;
        if (c == '\\') {
            TESS_TRY(read_escape(p));
        } else {
            *p->chars++ = (char)c;
        }
    }
    if (!take(p, '"')) {
        return wrong(p, "a closing quote");
    }
    *p->chars++ = '\0';
    return TESS_OK;
}

static tess_status read_value(parser *p, tess_json_value *value);

static tess_status read_items(parser *p, tess_json_value *value, bool is_object)
{
    const char close = is_object ? '}' : ']';
    const tess_json_value **link = &value->first;
    value->kind = is_object ? TESS_JSON_OBJECT : TESS_JSON_ARRAY;
    p->at++;
    if (++p->depth > MAX_DEPTH) {
        TESS_FAIL(TESS_E_FORMAT, "%s: line %d: nested more than %d deep", p->path, p->line,
                  MAX_DEPTH);
    }
    if (!take(p, close)) {
        do {
            tess_json_value *item = &p->values[p->n_value++];
            if (is_object) {
                TESS_TRY(read_text(p, &item->key));
                if (!take(p, ':')) {
                    return wrong(p, "a colon");
                }
            }
            TESS_TRY(read_value(p, item));
            *link = item;
            link = &item->next;
            value->n++;
        } while (take(p, ','));
        if (!take(p, close)) {
            return wrong(p, is_object ? "',' or '}'" : "',' or ']'");
        }
    }
    p->depth--;
    return TESS_OK;
}

static tess_status read_value(parser *p, tess_json_value *value)
{
    static const struct {
        const char *word;
        int32_t kind;
        double number;
    } words[] = {
        {"null", TESS_JSON_NULL, 0}, {"true", TESS_JSON_BOOL, 1}, {"false", TESS_JSON_BOOL, 0}};
    skip_space(p);
    value->line = p->line;
    if (p->at < p->end && (*p->at == '{' || *p->at == '[')) {
        return read_items(p, value, *p->at == '{');
    }
    if (p->at < p->end && *p->at == '"') {
        value->kind = TESS_JSON_TEXT;
        return read_text(p, &value->text);
    }
    if (p->at < p->end && (*p->at == '-' || is_digit(p))) {
        return read_number(p, value);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i].word);
        if ((size_t)(p->end - p->at) >= n && memcmp(p->at, words[i].word, n) == 0) {
            p->at += n;
            value->kind = words[i].kind;
            value->number = words[i].number;
            return TESS_OK;
        }
    }
    return wrong(p, "a value");
}

tess_status tess_json_parse(tess_blocks *memory, const char *path, const char *text, size_t bytes,
                            const tess_json_value **out)
{
    // Every value but the first follows an opening bracket or a comma.
    int64_t most = 1;
    for (size_t i = 0; i < bytes; i++) {
        most += text[i] == ',' || text[i] == '[' || text[i] == '{';
    }
    parser p = {.path = path, .at = text, .end = text + bytes, .line = 1};
    p.values = tess_blocks_alloc(memory, most, sizeof *p.values, "a JSON file");
    p.chars = tess_blocks_alloc(memory, (int64_t)bytes + 1, 1, "a JSON file");
    if (!p.values || !p.chars) {
        return TESS_E_MEMORY;
    }
    tess_json_value *root = &p.values[p.n_value++];
    TESS_TRY(read_value(&p, root));
    skip_space(&p);
    if (p.at < p.end) {
        return wrong(&p, "the end of the text");
    }
    *out = root;
    return TESS_OK;
}

const tess_json_value *tess_json_find(const tess_json_value *value, const char *key)
{
    if (!value || value->kind != TESS_JSON_OBJECT) {
        return NULL;
    }
    const tess_json_value *item = value->first;
    while (item && strcmp(item->key, key) != 0) {
        item = item->next;
    }
    return item;
}
