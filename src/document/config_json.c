// JSON by our own reader, which tells lines but no columns.

#include "base/json_read.h"
#include "base/status.h"
#include "document/config_tree.h"

#include <string.h>

static tess_place place_of(const tess_json_value *json)
{
    return (tess_place){json->line, 0};
}

// Numbers as they are written: the tables know which of them are 64-bit integers.
static const char *scalar_text(const tess_json_value *json)
{
    if (json->kind == TESS_JSON_NULL) {
        return "null";
    }
    if (json->kind == TESS_JSON_BOOL) {
        return json->number != 0 ? "true" : "false";
    }
    return json->text;
}

static tess_node *scalar_of(tess_tree *tree, const tess_json_value *json)
{
    const char *text = scalar_text(json);
    tess_node *node = tess_tree_node(tree, TESS_DOCUMENT_SCALAR, place_of(json));
    if (node == NULL) {
        return NULL;
    }
    node->is_quoted = json->kind == TESS_JSON_TEXT;
    node->text = tess_tree_text(tree, text, strlen(text));
    return node->text != NULL ? node : NULL;
}

// The reader has bounded the depth of recursion.
static tess_status convert(tess_tree *tree, const tess_json_value *json, tess_node **out)
{
    if (json->kind != TESS_JSON_OBJECT && json->kind != TESS_JSON_ARRAY) {
        *out = scalar_of(tree, json);
        return *out != NULL ? TESS_OK : TESS_E_MEMORY;
    }
    *out = tess_tree_node(
        tree, json->kind == TESS_JSON_OBJECT ? TESS_DOCUMENT_MAPPING : TESS_DOCUMENT_LIST,
        place_of(json));
    if (*out == NULL) {
        return TESS_E_MEMORY;
    }
    for (const tess_json_value *item = json->first; item != NULL; item = item->next) {
        const char *key = item->key ? tess_tree_text(tree, item->key, strlen(item->key)) : NULL;
        if (item->key != NULL && key == NULL) {
            return TESS_E_MEMORY;
        }
        tess_node *child = NULL;
        TESS_TRY(convert(tree, item, &child));
        TESS_TRY(tess_tree_append(tree, *out, key, place_of(item), child));
    }
    return TESS_OK;
}

tess_status tess_tree_parse_json(tess_tree *tree, const char *text, size_t bytes)
{
    tess_blocks memory;
    const tess_json_value *json = NULL;
    tess_blocks_init(&memory, tree->heap);
    tess_status status = tess_json_parse(&memory, tree->path, text, bytes, &json);
    if (status == TESS_OK) {
        status = convert(tree, json, &tree->root);
    } else if (status == TESS_E_FORMAT) {
        status = TESS_E_CONFIG; // the reader's sentence stands
    }
    tess_blocks_free(&memory);
    return status;
}
