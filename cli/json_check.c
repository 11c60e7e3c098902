// Whether a text is one JSON value: stored provenance comes from files anybody may have written,
// and must not break our own output.

#include "outline.h"

#include <ctype.h>
#include <string.h>

enum { DEEPEST = 64 };

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

// Each of these returns where the value ends, or NULL if it is not one.

static const char *string_end(const char *at)
{
    for (at++; *at && *at != '"'; at++) {
        if ((unsigned char)*at < 0x20) {
            return NULL;
        }
        if (*at == '\\') {
            at++;
            if (*at == '\0' || !strchr("\"\\/bfnrtu", *at)) {
                return NULL;
            }
            for (int i = 1; *at == 'u' && i <= 4; i++) {
                if (!isxdigit((unsigned char)at[i])) {
                    return NULL;
                }
            }
        }
    }
    return *at == '"' ? at + 1 : NULL;
}

static const char *digits_end(const char *at)
{
    const size_t n = strspn(at, "0123456789");
    return n > 0 ? at + n : NULL;
}

static const char *number_end(const char *at)
{
    at += *at == '-';
    const char *end = digits_end(at);
    if (!end || (at[0] == '0' && end > at + 1)) {
        return NULL;
    }
    if (*end == '.') {
        end = digits_end(end + 1);
    }
    if (end && (*end == 'e' || *end == 'E')) {
        end++;
        end = digits_end(end + (*end == '+' || *end == '-'));
    }
    return end;
}

static const char *word_end(const char *at)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strncmp(at, words[i], strlen(words[i])) == 0) {
            return at + strlen(words[i]);
        }
    }
    return number_end(at);
}

static const char *value_end(const char *at, int depth);

static const char *group_end(const char *at, int depth)
{
    const int is_object = *at == '{';
    const char close = is_object ? '}' : ']';

    at = skip_space(at + 1);
    if (*at == close) {
        return at + 1;
    }
    while (at) {
        if (is_object) {
            at = *at == '"' ? string_end(at) : NULL;
            at = at ? skip_space(at) : NULL;
            at = at && *at == ':' ? skip_space(at + 1) : NULL;
        }
        at = at ? value_end(at, depth + 1) : NULL;
        at = at ? skip_space(at) : NULL;
        if (at && *at == close) {
            return at + 1;
        }
        at = at && *at == ',' ? skip_space(at + 1) : NULL;
    }
    return NULL;
}

static const char *value_end(const char *at, int depth)
{
    if (*at == '"') {
        return string_end(at);
    }
    if (*at == '{' || *at == '[') {
        return depth < DEEPEST ? group_end(at, depth) : NULL;
    }
    return word_end(at);
}

int json_is_valid(const char *text)
{
    const char *end = value_end(skip_space(text), 0);
    return end && *skip_space(end) == '\0';
}
