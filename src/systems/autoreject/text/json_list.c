#include "systems/autoreject/text/json_list.h"

#include <string.h>

// Blanks of JSON.
static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

// Behind the string that starts here; NULL if it does not end.
static const char *skip_string(const char *at)
{
    for (at++; *at && *at != '"'; at++) {
        if (*at == '\\' && !*++at) {
            return NULL;
        }
    }
    return *at ? at + 1 : NULL;
}

// Behind the value that starts here; NULL if it does not end. Only nesting is looked at.
static const char *skip_value(const char *at)
{
    int64_t depth = 0;
    const char *start = at;
    while (*at) {
        if (*at == '"') {
            at = skip_string(at);
            if (!at) {
                return NULL;
            }
            if (depth == 0) {
                return at;
            }
            continue;
        }
        if (*at == '[' || *at == '{') {
            depth++;
        } else if (*at == ']' || *at == '}') {
            if (depth == 0) {
                break;
            }
            if (--depth == 0) {
                return at + 1;
            }
        } else if (*at == ',' && depth == 0) {
            break;
        }
        at++;
    }
    return depth == 0 && at > start ? at : NULL;
}

bool tess_ar_json_next(const char **at, const char **item, size_t *bytes)
{
    const char *text = skip_blanks(*at);
    const bool is_first = *item == NULL;
    const char opening = is_first ? '[' : ',';
    if (!is_first && *text == ']') {
        *at = text + 1;
        return false;
    }
    if (*text != opening) {
        *at = NULL;
        return false;
    }
    text = skip_blanks(text + 1);
    if (is_first && *text == ']') {
        *at = text + 1;
        return false;
    }
    *item = text;
    *at = skip_value(text);
    if (!*at) {
        return false;
    }
    const char *end = *at;
    while (end > text && strchr(" \t\r\n", end[-1])) {
        end--;
    }
    *bytes = (size_t)(end - text);
    return true;
}

int64_t tess_ar_json_count(const char *text)
{
    const char *item = NULL;
    size_t bytes;
    int64_t n = 0;
    while (tess_ar_json_next(&text, &item, &bytes)) {
        n++;
    }
    return text ? n : -1;
}

static bool read_hex(const char *at, const char *end, uint32_t *code)
{
    *code = 0;
    if (end - at < 4) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        const char c = at[i];
        const uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                               : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                               : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                      : 16;
        if (digit > 15) {
            return false;
        }
        *code = *code << 4 | digit;
    }
    return true;
}

static char *put_utf8(uint32_t code, char *dst)
{
    if (code < 0x80) {
        *dst++ = (char)code;
    } else if (code < 0x800) {
        *dst++ = (char)(0xc0 | code >> 6);
        *dst++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *dst++ = (char)(0xe0 | code >> 12);
        *dst++ = (char)(0x80 | (code >> 6 & 0x3f));
        *dst++ = (char)(0x80 | (code & 0x3f));
    } else {
        *dst++ = (char)(0xf0 | code >> 18);
        *dst++ = (char)(0x80 | (code >> 12 & 0x3f));
        *dst++ = (char)(0x80 | (code >> 6 & 0x3f));
        *dst++ = (char)(0x80 | (code & 0x3f));
    }
    return dst;
}

// The escape behind a backslash at *at, which moves behind it.
static bool read_escape(const char **at, const char *end, char **dst)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    const char *found = **at ? strchr(from, **at) : NULL;
    if (found) {
        *(*dst)++ = to[found - from];
        ++*at;
        return true;
    }
    uint32_t code;
    uint32_t low;
    if (**at != 'u' || !read_hex(*at + 1, end, &code)) {
        return false;
    }
    *at += 5;
    if (code >> 10 == 0x36 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u' &&
        read_hex(*at + 2, end, &low) && low >> 10 == 0x37) {
        code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
        *at += 6;
    }
    *dst = put_utf8(code, *dst);
    return true;
}

bool tess_ar_json_string(const char *item, size_t bytes, char *dst)
{
    const char *end = item + bytes - 1;
    if (bytes < 2 || *item != '"' || *end != '"') {
        return false;
    }
    for (const char *at = item + 1; at < end;) {
        if (*at != '\\') {
            *dst++ = *at++;
            continue;
        }
        at++;
        if (at >= end || !read_escape(&at, end, &dst)) {
            return false;
        }
    }
    *dst = '\0';
    return true;
}
