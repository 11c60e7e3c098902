// Reads JSON and prints it as an outline. It may come from a file next to a result, so anything is
// survived, and no control character reaches the terminal.

#include "outline.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_COLUMN = 26, DEEPEST = 16 };

typedef struct reader {
    FILE *file;
    const char *at;
} reader;

static void skip_space(reader *r)
{
    r->at += strspn(r->at, " \t\r\n,:");
}

static void print_escape(reader *r)
{
    const char kind = *r->at++;

    if (kind == 'u') {
        char digits[5] = {0};
        for (int i = 0; i < 4 && *r->at; i++) {
            digits[i] = *r->at++;
        }
        const long code = strtol(digits, NULL, 16);
        text_print_char(r->file, code < 0x7f ? (char)code : '?');
    } else {
        text_print_char(r->file, strchr("bfnrt", kind) ? ' ' : kind);
    }
}

static void print_string(reader *r, int is_key)
{
    r->at++;
    while (*r->at && *r->at != '"') {
        if (*r->at == '\\' && r->at[1]) {
            r->at++;
            print_escape(r);
        } else {
            text_print_char(r->file, is_key && *r->at == '_' ? ' ' : *r->at);
            r->at++;
        }
    }
    r->at += *r->at == '"';
}

static void print_scalar(reader *r)
{
    static const char *const words[][2] = {{"true", "yes"}, {"false", "no"}, {"null", "-"}};

    if (strncmp(r->at, "\"\"", 2) == 0) {
        fputc('-', r->file);
        r->at += 2;
        return;
    }
    if (*r->at == '"') {
        print_string(r, 0);
        return;
    }
    const size_t length = strcspn(r->at, ",]} \t\r\n");
    for (size_t i = 0; i < 3; i++) {
        if (length > 0 && strncmp(r->at, words[i][0], length) == 0) {
            fputs(words[i][1], r->file);
            r->at += length;
            return;
        }
    }
    for (size_t i = 0; i < length; i++) {
        text_print_char(r->file, r->at[i]);
    }
    r->at += length > 0 || *r->at == '\0' ? length : 1; // a stray bracket is skipped
}

// Everything below the second level stays on its line: "name avx2, built yes".
static void print_inline(reader *r, int depth)
{
    const char open = *r->at;
    const char close = open == '{' ? '}' : ']';
    int n = 0;

    if ((open != '{' && open != '[') || depth > DEEPEST) {
        print_scalar(r);
        return;
    }
    r->at++;
    for (skip_space(r); *r->at && *r->at != close; skip_space(r)) {
        fputs(n++ > 0 ? ", " : "", r->file);
        if (open == '{') {
            print_string(r, 1);
            fputc(' ', r->file);
            skip_space(r);
        }
        print_inline(r, depth + 1);
    }
    r->at += *r->at == close;
}

// A list of objects takes a line for each.
static void print_list(reader *r, int indent)
{
    fputc('\n', r->file);
    r->at++;
    for (skip_space(r); *r->at == '{'; skip_space(r)) {
        fprintf(r->file, "%*s", indent + 2, "");
        print_inline(r, 0);
        fputc('\n', r->file);
    }
    r->at += *r->at == ']';
}

static int is_list_of_objects(const reader *r)
{
    return *r->at == '[' && r->at[1 + strspn(r->at + 1, " \t\r\n")] == '{';
}

// "memory_bytes": 25275125760 reads better as 23.5 GiB.
static int print_size(reader *r, const char *key, const char *key_end)
{
    static const char suffix[] = "_bytes\"";
    const size_t length = sizeof suffix - 1;
    char *end = NULL;
    char text[32];

    if ((size_t)(key_end - key) < length || strncmp(key_end - length, suffix, length) != 0) {
        return 0;
    }
    const unsigned long long bytes = strtoull(r->at, &end, 10);
    if (end == r->at) {
        return 0;
    }
    text_bytes(text, sizeof text, bytes);
    fputs(text, r->file);
    r->at = end;
    return 1;
}

static void print_object(reader *r, int indent)
{
    r->at++;
    for (skip_space(r); *r->at && *r->at != '}'; skip_space(r)) {
        const char *key = r->at;
        fprintf(r->file, "%*s", indent, "");
        print_string(r, 1);
        const char *key_end = r->at;
        const int width = indent + (int)(key_end - key) - 2;
        skip_space(r);
        if (*r->at == '{' && indent == 0) {
            fputc('\n', r->file);
            print_object(r, indent + 2);
        } else if (is_list_of_objects(r)) {
            print_list(r, indent);
        } else {
            fprintf(r->file, "%*s", width < KEY_COLUMN ? KEY_COLUMN - width : 1, "");
            if (!print_size(r, key, key_end)) {
                print_inline(r, 0);
            }
            fputc('\n', r->file);
        }
    }
    r->at += *r->at == '}';
}

void outline_print(FILE *file, const char *json)
{
    reader r = {.file = file, .at = json};

    skip_space(&r);
    if (*r.at == '{') {
        print_object(&r, 0);
    } else {
        print_inline(&r, 0);
        fputc('\n', file);
    }
}
