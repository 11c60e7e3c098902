// Loading, setting single values, and letting go.
#include "systems/xpcs/settings/settings.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static tess_status keep_document(tess_xpcs_settings *settings, tess_document *document)
{
    if (settings->n_document == settings->document_capacity) {
        const int64_t capacity = 2 * settings->document_capacity + 4;
        tess_document **documents =
            tess_blocks_alloc(&settings->memory, capacity, sizeof *documents, "documents");
        if (documents == NULL) {
            tess_document_destroy(document);
            return TESS_E_MEMORY;
        }
        if (settings->n_document > 0) {
            memcpy(documents, settings->documents,
                   (size_t)settings->n_document * sizeof *documents);
        }
        settings->documents = documents;
        settings->document_capacity = capacity;
    }
    settings->documents[settings->n_document++] = document;
    return TESS_OK;
}

static tess_status load_file(tess_xpcs_settings *settings, const char *path)
{
    const size_t length = strlen(path);
    if (length >= sizeof settings->path) {
        TESS_FAIL(TESS_E_NOT_FOUND, "%.80s...: the name of the configuration is too long", path);
    }
    snprintf(settings->path, sizeof settings->path, "%s", path);
    settings->is_json = length >= 5 && strcasecmp(path + length - 5, ".json") == 0;
    tess_document *document = NULL;
    TESS_TRY(tess_document_load(settings->ctx, path, &document));
    TESS_TRY(keep_document(settings, document));
    return tess_xp_read_root(settings, tess_document_root(document));
}

tess_status tess_xpcs_settings_load(tess_context *ctx, const char *path, int lenient,
                                    tess_xpcs_settings **out)
{
    tess_error_clear();
    *out = NULL;
    tess_xpcs_settings *settings =
        tess_heap_alloc_zero(&ctx->heap, sizeof *settings, TESS_TAG_RESULT, "settings");
    if (settings == NULL) {
        return TESS_E_MEMORY;
    }
    settings->ctx = ctx;
    settings->is_lenient = lenient != 0;
    tess_blocks_init(&settings->memory, &ctx->heap);
    tess_blocks_init(&settings->resolved, &ctx->heap);
    tess_text_init(&settings->read_notices, &ctx->heap);
    tess_text_init(&settings->notices, &ctx->heap);
    tess_status status = path != NULL ? load_file(settings, path) : TESS_OK;
    if (status == TESS_OK) {
        status = tess_xp_resolve(settings);
    }
    if (status != TESS_OK) {
        tess_xpcs_settings_destroy(settings);
        return status;
    }
    *out = settings;
    return TESS_OK;
}

void tess_xpcs_settings_destroy(tess_xpcs_settings *settings)
{
    if (settings == NULL) {
        return;
    }
    for (int64_t i = 0; i < settings->n_document; i++) {
        tess_document_destroy(settings->documents[i]);
    }
    tess_text_destroy(&settings->read_notices);
    tess_text_destroy(&settings->notices);
    tess_blocks_free(&settings->resolved);
    tess_blocks_free(&settings->memory);
    tess_heap_free(&settings->ctx->heap, settings, sizeof *settings, TESS_TAG_RESULT);
}

const tess_xpcs_settings_info *tess_xpcs_settings_get_info(const tess_xpcs_settings *settings)
{
    return &settings->info;
}

// Whether a value is that of the key, or of something inside it.
static bool is_inside(const char *path, const char *key)
{
    const size_t n = strlen(key);
    return strncmp(path, key, n) == 0 && (path[n] == '\0' || path[n] == '.' || path[n] == '[');
}

// Values before `before` give way to a new one of this key, or come back.
static void shadow(tess_xpcs_settings *settings, const char *key, int64_t before, int32_t change)
{
    for (int64_t i = 0; i < before; i++) {
        tess_xp_value *value = settings->values[i];
        if (is_inside(value->path, key)) {
            value->n_shadow += change;
        }
    }
}

static bool is_list_row(const char *key)
{
    const tess_xp_found found = tess_xp_settings_find(key);
    const int32_t type = found.exact != NULL ? tess_xp_rule_of(found.exact).type : 0;
    return type == TESS_XP_REALS || type == TESS_XP_INTS || type == TESS_XP_NAMES;
}

// "1, 2" is a list where a list is wanted.
static tess_status parse_text(tess_xpcs_settings *settings, const char *key, const char *text)
{
    tess_document *document = NULL;
    tess_text list;
    const char *chars = text;
    const char *start = text + strspn(text, " \t");
    tess_text_init(&list, &settings->ctx->heap);
    if (is_list_row(key) && *start != '[' && strcasecmp(start, "null") != 0) {
        tess_text_add(&list, "[");
        tess_text_add(&list, text);
        tess_text_add(&list, "]");
        tess_status status = tess_text_finish(&list, &chars);
        if (status != TESS_OK) {
            tess_text_destroy(&list);
            return status;
        }
    }
    const tess_status status = tess_document_parse(settings->ctx, key, chars, &document);
    tess_text_destroy(&list);
    TESS_TRY(status);
    return keep_document(settings, document);
}

static void truncate_text(tess_text *text, size_t used)
{
    text->used = used;
    if (text->chars != NULL) {
        text->chars[used] = '\0';
    }
}

tess_status tess_xpcs_settings_set(tess_xpcs_settings *settings, const char *key, const char *text)
{
    tess_error_clear();
    const int64_t n_before = settings->n_value;
    const size_t notices = settings->read_notices.used;
    const int64_t n_notice = settings->n_read_notice;
    TESS_TRY(parse_text(settings, key, text));
    const tess_document *document = settings->documents[settings->n_document - 1];
    shadow(settings, key, n_before, 1);
    tess_status status = tess_xp_read_key(settings, key, tess_document_root(document));
    if (status == TESS_OK) {
        status = tess_xp_resolve(settings);
    }
    if (status != TESS_OK) {
        // As if nothing had been asked for: info still is that of the last success.
        settings->n_value = n_before;
        shadow(settings, key, n_before, -1);
        truncate_text(&settings->read_notices, notices);
        settings->n_read_notice = n_notice;
    }
    return status;
}
