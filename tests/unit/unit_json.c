// A reader that only judges: RFC 8259 and nothing more, so that the writer has an independent
// check.
#include "unit.h"

#include <ctype.h>
#include <string.h>

static const char *value(const char *s);

static const char *blanks(const char *s)
{
    return s + strspn(s, " \t\r\n");
}

static const char *string(const char *s)
{
    if (*s != '"') {
        return NULL;
    }
    for (s++; *s != '"'; s++) {
        if ((unsigned char)*s < 0x20) {
            return NULL;
        }
        if (*s != '\\') {
            continue;
        }
        s++;
        if (*s == 'u') {
            for (int i = 1; i <= 4; i++) {
                if (!isxdigit((unsigned char)s[i])) {
                    return NULL;
                }
            }
            s += 4;
        } else if (!*s || !strchr("\"\\/bfnrt", *s)) {
            return NULL;
        }
    }
    return s + 1;
}

static const char *digits(const char *s)
{
    return s && isdigit((unsigned char)*s) ? s + strspn(s, "0123456789") : NULL;
}

static const char *number(const char *s)
{
    s += *s == '-';
    s = *s == '0' ? s + 1 : digits(s);
    if (s && *s == '.') {
        s = digits(s + 1);
    }
    if (s && (*s == 'e' || *s == 'E')) {
        s++;
        s += *s == '+' || *s == '-';
        s = digits(s);
    }
    return s;
}

// Members of an object or array, behind the opening bracket.
static const char *members(const char *s, char closer)
{
    s = blanks(s);
    if (*s == closer) {
        return s + 1;
    }
    for (;;) {
        if (closer == '}') {
            s = string(blanks(s));
            s = s ? blanks(s) : NULL;
            if (!s || *s++ != ':') {
                return NULL;
            }
        }
        s = value(blanks(s));
        s = s ? blanks(s) : NULL;
        if (!s || (*s != ',' && *s != closer)) {
            return NULL;
        }
        if (*s++ == closer) {
            return s;
        }
    }
}

static const char *value(const char *s)
{
    static const char *const words[] = {"null", "true", "false"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strncmp(s, words[i], strlen(words[i])) == 0) {
            return s + strlen(words[i]);
        }
    }
    switch (*s) {
    case '{':
        return members(s + 1, '}');
    case '[':
        return members(s + 1, ']');
    case '"':
        return string(s);
    default:
        return number(s);
    }
}

int unit_is_json(const char *text, size_t *at)
{
    const char *end = value(blanks(text));
    end = end ? blanks(end) : NULL;
    if (at) {
        *at = end ? (size_t)(end - text) : 0;
    }
    return end && *end == '\0';
}
