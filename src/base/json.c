#include "base/json.h"

#include "base/status.h"
#include "base/text.h"
#include "base/ucs4.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 32 };

struct tess_json {
    tess_text text;
    int indent;
    int depth;
    bool has_item[MAX_DEPTH + 1]; // something was written at this depth
    char closer[MAX_DEPTH + 1];
    bool misused;
};

tess_status tess_json_create_on(tess_heap *heap, int indent, tess_json **out)
{
    *out = NULL;
    tess_json *json = tess_heap_alloc_zero(heap, sizeof *json, TESS_TAG_GENERAL, "JSON writer");
    if (!json) {
        return TESS_E_MEMORY;
    }
    tess_text_init(&json->text, heap);
    json->indent = indent;
    *out = json;
    return TESS_OK;
}

void tess_json_destroy(tess_json *json)
{
    if (!json) {
        return;
    }
    tess_heap *heap = json->text.heap;
    tess_text_destroy(&json->text);
    tess_heap_free(heap, json, sizeof *json, TESS_TAG_GENERAL);
}

static void newline(tess_json *json)
{
    if (json->indent == 0) {
        return;
    }
    tess_text_append(&json->text, "\n", 1);
    for (int i = 0; i < json->indent * json->depth; i++) {
        tess_text_append(&json->text, " ", 1);
    }
}

static void append_quoted(tess_json *json, const char *value)
{
    tess_text_append(&json->text, "\"", 1);
    const unsigned char *s = (const unsigned char *)value;
    while (*s) {
        const size_t n = tess_utf8_bytes((const char *)s);
        if (n == 0) {
            tess_text_add(&json->text, "\xEF\xBF\xBD");
            s++;
        } else if (*s == '"' || *s == '\\') {
            tess_text_append(&json->text, "\\", 1);
            tess_text_append(&json->text, (const char *)s, 1);
            s++;
        } else if (*s < 0x20) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", *s);
            tess_text_add(&json->text, escape);
            s++;
        } else {
            tess_text_append(&json->text, (const char *)s, n);
            s += n;
        }
    }
    tess_text_append(&json->text, "\"", 1);
}

// Comma, line break and key before a value.
static void begin_item(tess_json *json, const char *key)
{
    const bool second_value = json->depth == 0 && json->has_item[0];
    if (json->has_item[json->depth]) {
        tess_text_append(&json->text, ",", 1);
        if (json->indent == 0) {
            tess_text_append(&json->text, " ", 1);
        }
    }
    json->has_item[json->depth] = true;
    if (json->depth > 0) {
        newline(json);
    }
    const bool wants_key = json->depth > 0 && json->closer[json->depth] == '}';
    if (wants_key != (key != NULL) || second_value) {
        json->misused = true;
        return;
    }
    if (key) {
        append_quoted(json, key);
        tess_text_add(&json->text, ": ");
    }
}

static void open_bracket(tess_json *json, const char *key, char opener, char closer)
{
    if (json->depth == MAX_DEPTH) {
        json->misused = true;
        return;
    }
    begin_item(json, key);
    tess_text_append(&json->text, &opener, 1);
    json->depth++;
    json->has_item[json->depth] = false;
    json->closer[json->depth] = closer;
}

static void close_bracket(tess_json *json, char closer)
{
    if (json->depth == 0 || json->closer[json->depth] != closer) {
        json->misused = true;
        return;
    }
    const bool had_item = json->has_item[json->depth];
    json->depth--;
    if (had_item) {
        newline(json);
    }
    tess_text_append(&json->text, &closer, 1);
}

void tess_json_object_begin(tess_json *json, const char *key)
{
    open_bracket(json, key, '{', '}');
}

void tess_json_object_end(tess_json *json)
{
    close_bracket(json, '}');
}

void tess_json_array_begin(tess_json *json, const char *key)
{
    open_bracket(json, key, '[', ']');
}

void tess_json_array_end(tess_json *json)
{
    close_bracket(json, ']');
}

void tess_json_text(tess_json *json, const char *key, const char *value)
{
    begin_item(json, key);
    if (value) {
        append_quoted(json, value);
    } else {
        tess_text_add(&json->text, "null");
    }
}

void tess_json_int(tess_json *json, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    tess_json_raw(json, key, text);
}

void tess_json_uint(tess_json *json, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    tess_json_raw(json, key, text);
}

void tess_json_real(tess_json *json, const char *key, double value)
{
    if (!isfinite(value)) {
        tess_json_raw(json, key, NULL);
        return;
    }
    char text[40];
    tess_real_text(value, 15, text, sizeof text);
    tess_json_raw(json, key, text);
}

void tess_json_bool(tess_json *json, const char *key, int value)
{
    tess_json_raw(json, key, value ? "true" : "false");
}

void tess_json_raw(tess_json *json, const char *key, const char *value)
{
    begin_item(json, key);
    tess_text_add(&json->text, value ? value : "null");
}

tess_status tess_json_finish(tess_json *json, const char **text)
{
    *text = "";
    if (json->misused || json->depth != 0 || !json->has_item[0]) {
        TESS_FAIL(TESS_E_INTERNAL,
                  "JSON writer misused: unbalanced brackets, a missing key, or not one value");
    }
    return tess_text_finish(&json->text, text);
}

tess_status tess_json_hand_out(tess_json *json, char **text)
{
    const char *finished = NULL;
    *text = NULL;
    tess_status status = tess_json_finish(json, &finished);
    if (status == TESS_OK) {
        status = tess_text_hand_out(finished, text);
    }
    tess_json_destroy(json);
    return status;
}

tess_status tess_json_keep(tess_json *json, char **text, size_t *bytes)
{
    const char *finished = NULL;
    *text = NULL;
    tess_status status = tess_json_finish(json, &finished);
    if (status == TESS_OK) {
        *bytes = strlen(finished) + 1;
        *text = tess_heap_strdup(json->text.heap, finished, TESS_TAG_RESULT);
        status = *text ? TESS_OK : TESS_E_MEMORY;
    }
    tess_json_destroy(json);
    return status;
}
