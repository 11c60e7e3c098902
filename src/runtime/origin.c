#include "runtime/origin.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "base/text.h"
#include "runtime/group.h"
#include "tessera/io.h"

#include <string.h>
#include <sys/stat.h>

static const char SCHEMA[] = "tessera.provenance/1";

void tess_origin_head(tess_json *json, const char *stage, const char *command)
{
    tess_json_text(json, "schema", SCHEMA);
    tess_json_text(json, "tessera", TESS_VERSION);
    tess_json_text(json, "commit", tess_build_commit());
    tess_json_text(json, "stage", stage);
    if (command) {
        tess_json_raw(json, "command", command);
    }
}

void tess_origin_setting(tess_json *json, const tess_param *param, const char *text)
{
    // Numbers keep their spelling: 0.1, not 0.10000000000000001. JSON has no infinity and no NaN.
    if (param->type == TESS_PARAM_CHOICE || strpbrk(text, "nN")) {
        tess_json_text(json, param->name, text);
    } else {
        tess_json_raw(json, param->name, text);
    }
}

void tess_origin_settings(tess_json *json, const tess_param_table *table, const void *values)
{
    for (int64_t i = 0; i < table->n_param; i++) {
        char text[64];
        tess_param_get_text(&table->params[i], values, text, sizeof text);
        tess_origin_setting(json, &table->params[i], text);
    }
}

void tess_origin_machine(tess_json *json, const tess_context *ctx)
{
    tess_json_text(json, "device", tess_group_id(ctx, ctx->device));
    tess_json_text(json, "device_name", ctx->device->info.name);
    tess_json_text(json, "isa", ctx->isa);
    tess_json_int(json, "threads", ctx->n_thread);
    tess_json_uint(json, "memory_limit_bytes", ctx->memory_limit_bytes);
}

const char *tess_origin_command(const tess_context *ctx, const char *command_line)
{
    if (command_line && command_line[0]) {
        return command_line;
    }
    return ctx->command_line ? ctx->command_line : "";
}

static void write_inputs(tess_json *json, const tess_origin *origin)
{
    tess_json_array_begin(json, "inputs");
    for (int i = 0; i < TESS_ORIGIN_MAX && origin->inputs[i]; i++) {
        const char *path = origin->inputs[i];
        const char *slash = strrchr(path, '/');
        struct stat there;
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "name", slash ? slash + 1 : path);
        if (stat(path, &there) == 0 && S_ISREG(there.st_mode)) {
            tess_json_int(json, "bytes", (int64_t)there.st_size);
        }
        tess_json_object_end(json);
    }
    if (origin->hashes && origin->hashes[0]) {
        tess_json_raw(json, NULL, origin->hashes);
    }
    tess_json_array_end(json);
}

static void write_origin(tess_json *json, const tess_context *ctx, const tess_origin *origin)
{
    tess_json_object_begin(json, NULL);
    tess_origin_head(json, origin->stage, ctx->command);
    if (origin->identity) {
        tess_json_text(json, "identity", origin->identity);
    }
    write_inputs(json, origin);
    if (origin->tables[0]) {
        tess_json_object_begin(json, "settings");
        for (int i = 0; i < TESS_ORIGIN_MAX && origin->tables[i]; i++) {
            tess_origin_settings(json, origin->tables[i], origin->values[i]);
        }
        tess_json_object_end(json);
    }
    if (origin->result) {
        tess_json_raw(json, "result", origin->result);
    }
    if (origin->with_run) {
        char now[32];
        tess_utc_text(now, sizeof now);
        tess_json_text(json, "command_line", tess_origin_command(ctx, NULL));
        tess_origin_machine(json, ctx);
        tess_json_text(json, "written", now);
    }
    tess_json_object_end(json);
}

tess_status tess_origin_make(tess_context *ctx, const tess_origin *origin, char **text,
                             size_t *bytes)
{
    tess_json *json = NULL;
    *text = NULL;
    TESS_TRY(tess_json_create_on(&ctx->heap, 0, &json));
    write_origin(json, ctx, origin);
    return tess_json_keep(json, text, bytes);
}

// Length of the object at the start of the text; 0 if it does not end.
static size_t object_length(const char *text, size_t n)
{
    int depth = 0;
    bool is_quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (is_quoted && text[i] == '\\') {
            i++; // whatever follows
        } else if (is_quoted) {
            is_quoted = text[i] != '"';
        } else if (text[i] == '"') {
            is_quoted = true;
        } else if (text[i] == '{') {
            depth++;
        } else if (text[i] == '}' && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

const char *tess_origin_find(const char *bytes, size_t n, size_t *length)
{
    const size_t n_name = strlen(TESS_ORIGIN_NAME);
    enum { GAP = 8, HEAD = 64 }; // quotes, colon, blank, zeros
    const size_t head = n < HEAD ? n : HEAD;
    if (n > 0 && bytes[0] == '{' && memmem(bytes, head, SCHEMA, strlen(SCHEMA)) &&
        !memmem(bytes, head, TESS_ORIGIN_NAME, n_name)) {
        *length = object_length(bytes, n); // the file is nothing else
        return *length > 0 ? bytes : NULL;
    }
    for (size_t at = 0; at + n_name + GAP < n; at++) {
        if (bytes[at] != TESS_ORIGIN_NAME[0] || memcmp(bytes + at, TESS_ORIGIN_NAME, n_name) != 0) {
            continue;
        }
        for (size_t i = at + n_name; i < at + n_name + GAP; i++) {
            if (bytes[i] == '{') {
                *length = object_length(bytes + i, n - i);
                return *length > 0 ? bytes + i : NULL;
            }
        }
    }
    return NULL;
}

tess_status tess_text_save(tess_context *ctx, const char *path, const char *stage, const char *text,
                           int overwrite)
{
    tess_error_clear();
    if (!stage) {
        return tess_file_write_text(path, text, overwrite);
    }
    tess_text whole;
    char *origin = NULL;
    size_t bytes = 0;
    const char *chars = NULL;
    TESS_TRY(
        tess_origin_make(ctx, &(tess_origin){.stage = stage, .with_run = true}, &origin, &bytes));
    tess_text_init(&whole, &ctx->heap);
    tess_text_add(&whole, "# " TESS_ORIGIN_NAME " ");
    tess_text_add(&whole, origin);
    tess_text_add(&whole, "\n");
    tess_text_add(&whole, text);
    tess_status status = tess_text_finish(&whole, &chars);
    if (status == TESS_OK) {
        status = tess_file_write_text(path, chars, overwrite);
    }
    tess_text_destroy(&whole);
    tess_heap_free(&ctx->heap, origin, bytes, TESS_TAG_RESULT);
    return status;
}
