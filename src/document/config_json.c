// Configuration without libyaml: JSON only. jansson tells no line numbers once a file is parsed,
// so later messages name keys.

#include "base/status.h"
#include "document/config_tree.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const tess_place nowhere = {0, 0};

static tess_node *scalar_of(tess_tree *tree, const json_t *json)
{
    char number[48] = "null";
    const char *text = number;
    if (json_is_string(json)) {
        text = json_string_value(json);
    } else if (json_is_integer(json)) {
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(json));
    } else if (json_is_real(json)) {
        snprintf(number, sizeof number, "%.17g", json_real_value(json));
    } else if (json_is_boolean(json)) {
        text = json_is_true(json) ? "true" : "false";
    }
    tess_node *node = tess_tree_node(tree, TESS_DOCUMENT_SCALAR, nowhere);
    if (node == NULL) {
        return NULL;
    }
    node->is_quoted = json_is_string(json);
    node->text = tess_tree_text(tree, text, strlen(text));
    return node->text != NULL ? node : NULL;
}

// Recursion is bounded by the depth cap.
static tess_status convert(tess_tree *tree, json_t *json, int depth, tess_node **out)
{
    if (depth > TESS_CONFIG_MAX_DEPTH) {
        TESS_FAIL(TESS_E_CONFIG, "%s: nested deeper than %d levels", tree->path,
                  TESS_CONFIG_MAX_DEPTH);
    }
    if (!json_is_object(json) && !json_is_array(json)) {
        *out = scalar_of(tree, json);
        return *out != NULL ? TESS_OK : TESS_E_MEMORY;
    }
    const tess_document_kind kind =
        json_is_object(json) ? TESS_DOCUMENT_MAPPING : TESS_DOCUMENT_LIST;
    *out = tess_tree_node(tree, kind, nowhere);
    if (*out == NULL) {
        return TESS_E_MEMORY;
    }
    const char *key;
    json_t *value;
    tess_node *child = NULL;
    json_object_foreach(json, key, value)
    {
        const char *copy = tess_tree_text(tree, key, strlen(key));
        if (copy == NULL) {
            return TESS_E_MEMORY;
        }
        TESS_TRY(convert(tree, value, depth + 1, &child));
        TESS_TRY(tess_tree_append(tree, *out, copy, nowhere, child));
    }
    size_t index;
    json_array_foreach(json, index, value)
    {
        TESS_TRY(convert(tree, value, depth + 1, &child));
        TESS_TRY(tess_tree_append(tree, *out, NULL, nowhere, child));
    }
    return TESS_OK;
}

tess_status tess_tree_parse(tess_tree *tree, const char *text, size_t bytes)
{
    if (!tree->is_json) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "%s: this build of Tessera has no libyaml; write the configuration as a .json "
                  "file or build with libyaml",
                  tree->path);
    }
    json_error_t error;
    json_t *json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL) {
        char here[TESS_PLACE_CHARS];
        const tess_place place = {error.line, error.column};
        TESS_FAIL(TESS_E_CONFIG, "%s: %s", tess_place_text(tree->path, place, here), error.text);
    }
    const tess_status status = convert(tree, json, 1, &tree->root);
    json_decref(json);
    return status;
}
