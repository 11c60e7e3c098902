// YAML (and JSON, which is YAML) through libyaml's events. No recursion: open mappings and lists
// stand on a stack of fixed depth.

#include "base/status.h"
#include "document/config_tree.h"

#include <inttypes.h>
#include <string.h>
#include <yaml.h>

enum { MAX_ANCHORS = 1024 };

// An open mapping or list. In a mapping, key is the one that waits for its value.
typedef struct open_node {
    tess_node *node;
    const char *key;
    tess_place key_place;
    const char *anchor; // known to aliases once the node is complete
} open_node;

typedef struct anchor {
    const char *name;
    tess_node *node;
} anchor;

typedef struct builder {
    tess_tree *tree;
    int64_t n_event;
    int64_t n_aliased;
    int depth;
    int n_anchor;
    bool has_document;
    open_node stack[TESS_CONFIG_MAX_DEPTH];
    anchor anchors[MAX_ANCHORS];
} builder;

static tess_place place_of(const yaml_mark_t *mark)
{
    return (tess_place){(int64_t)mark->line + 1, (int64_t)mark->column + 1};
}

static tess_status complain(const builder *b, const yaml_event_t *event, const char *what)
{
    char here[TESS_PLACE_CHARS];
    TESS_FAIL(TESS_E_CONFIG, "%s: %s",
              tess_place_text(b->tree->path, place_of(&event->start_mark), here), what);
}

static const char *copy_of(builder *b, const yaml_char_t *text)
{
    const char *chars = (const char *)text;
    return tess_tree_text(b->tree, chars, strlen(chars));
}

// Plain YAML types may be named; anything else asks a program to build an object.
static bool is_plain_tag(const yaml_char_t *tag)
{
    static const char *const plain[] = {YAML_STR_TAG,  YAML_INT_TAG, YAML_FLOAT_TAG, YAML_BOOL_TAG,
                                        YAML_NULL_TAG, YAML_MAP_TAG, YAML_SEQ_TAG};
    bool found = tag == NULL;
    for (size_t i = 0; !found && i < sizeof plain / sizeof *plain; i++) {
        found = strcmp((const char *)tag, plain[i]) == 0;
    }
    return found;
}

static tess_status remember(builder *b, const yaml_event_t *event, const char *name,
                            tess_node *node)
{
    if (name == NULL) {
        return TESS_OK;
    }
    // A later anchor of the same name wins, as YAML says.
    int i = 0;
    while (i < b->n_anchor && strcmp(b->anchors[i].name, name) != 0) {
        i++;
    }
    if (i == MAX_ANCHORS) {
        return complain(b, event, "more than 1024 anchors");
    }
    b->anchors[i] = (anchor){name, node};
    b->n_anchor += i == b->n_anchor;
    return TESS_OK;
}

// Puts a complete or just opened node where it belongs.
static tess_status attach(builder *b, tess_node *node)
{
    if (b->depth == 0) {
        b->tree->root = node;
        return TESS_OK;
    }
    open_node *top = &b->stack[b->depth - 1];
    const char *key = top->key;
    top->key = NULL;
    return tess_tree_append(b->tree, top->node, key, top->key_place, node);
}

static bool waits_for_key(const builder *b)
{
    return b->depth > 0 && b->stack[b->depth - 1].node->kind == TESS_DOCUMENT_MAPPING &&
           b->stack[b->depth - 1].key == NULL;
}

static tess_status take_scalar(builder *b, const yaml_event_t *event)
{
    const char *text =
        tess_tree_text(b->tree, (const char *)event->data.scalar.value, event->data.scalar.length);
    if (text == NULL) {
        return TESS_E_MEMORY;
    }
    if (!is_plain_tag(event->data.scalar.tag)) {
        return complain(b, event, "custom tags are not allowed; write a plain value");
    }
    if (strlen(text) != event->data.scalar.length) {
        return complain(b, event, "a zero character in text");
    }
    if (waits_for_key(b)) {
        open_node *top = &b->stack[b->depth - 1];
        top->key = text;
        top->key_place = place_of(&event->start_mark);
        return TESS_OK;
    }
    tess_node *node = tess_tree_node(b->tree, TESS_DOCUMENT_SCALAR, place_of(&event->start_mark));
    if (node == NULL) {
        return TESS_E_MEMORY;
    }
    node->text = text;
    node->is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    TESS_TRY(attach(b, node));
    if (event->data.scalar.anchor == NULL) {
        return TESS_OK;
    }
    const char *name = copy_of(b, event->data.scalar.anchor);
    return name != NULL ? remember(b, event, name, node) : TESS_E_MEMORY;
}

static tess_status open_container(builder *b, const yaml_event_t *event, tess_document_kind kind,
                                  const yaml_char_t *tag, const yaml_char_t *anchor_name)
{
    if (!is_plain_tag(tag)) {
        return complain(b, event, "custom tags are not allowed; write a plain value");
    }
    if (waits_for_key(b)) {
        return complain(b, event, "a key must be plain text");
    }
    if (b->depth == TESS_CONFIG_MAX_DEPTH) {
        return complain(b, event, "nested deeper than 64 levels");
    }
    open_node opened = {.node = tess_tree_node(b->tree, kind, place_of(&event->start_mark))};
    opened.anchor = anchor_name != NULL ? copy_of(b, anchor_name) : NULL;
    if (opened.node == NULL || (anchor_name != NULL && opened.anchor == NULL)) {
        return TESS_E_MEMORY;
    }
    b->stack[b->depth++] = opened;
    return TESS_OK;
}

// Attached only now: its size is known, and nothing inside could refer to it.
static tess_status close_container(builder *b, const yaml_event_t *event)
{
    const open_node closed = b->stack[--b->depth];
    TESS_TRY(attach(b, closed.node));
    return remember(b, event, closed.anchor, closed.node);
}

static tess_status take_alias(builder *b, const yaml_event_t *event)
{
    if (waits_for_key(b)) {
        return complain(b, event, "a key must be plain text, not an alias");
    }
    const char *name = (const char *)event->data.alias.anchor;
    int i = 0;
    while (i < b->n_anchor && strcmp(b->anchors[i].name, name) != 0) {
        i++;
    }
    if (i == b->n_anchor) {
        return complain(b, event, "alias of an anchor that is not complete before it");
    }
    b->n_aliased += b->anchors[i].node->n_node;
    if (b->n_aliased > TESS_CONFIG_MAX_ALIASED) {
        return complain(b, event, "aliases stand for more than 100000 values");
    }
    return attach(b, b->anchors[i].node);
}

static tess_status take_event(builder *b, const yaml_event_t *event)
{
    if (++b->n_event > TESS_CONFIG_MAX_EVENTS) {
        return complain(b, event, "more than 1000000 values");
    }
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->has_document) {
            return complain(b, event, "a second document; one file holds one configuration");
        }
        b->has_document = true;
        return TESS_OK;
    case YAML_SCALAR_EVENT:
        return take_scalar(b, event);
    case YAML_MAPPING_START_EVENT:
        return open_container(b, event, TESS_DOCUMENT_MAPPING, event->data.mapping_start.tag,
                              event->data.mapping_start.anchor);
    case YAML_SEQUENCE_START_EVENT:
        return open_container(b, event, TESS_DOCUMENT_LIST, event->data.sequence_start.tag,
                              event->data.sequence_start.anchor);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        return close_container(b, event);
    case YAML_ALIAS_EVENT:
        return take_alias(b, event);
    default:
        return TESS_OK;
    }
}

static tess_status syntax_error(const builder *b, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR) {
        TESS_FAIL(TESS_E_MEMORY, "%s: no memory to parse", b->tree->path);
    }
    // Reader errors (bytes that are no UTF-8) come with an offset instead of a mark.
    const bool has_mark = parser->error != YAML_READER_ERROR;
    const tess_place place = has_mark ? place_of(&parser->problem_mark) : (tess_place){0, 0};
    char here[TESS_PLACE_CHARS];
    tess_error_set(TESS_E_CONFIG, "%s: %s", tess_place_text(b->tree->path, place, here),
                   parser->problem != NULL ? parser->problem : "not valid YAML");
    if (!has_mark) {
        tess_error_append(" at byte %zu", parser->problem_offset);
    } else if (parser->context != NULL) {
        tess_error_append(" (%s that starts on line %zu)", parser->context,
                          parser->context_mark.line + 1);
    }
    if (parser->problem != NULL && strstr(parser->problem, "cannot start any token") != NULL) {
        tess_error_append("; indent with spaces, never with tabs");
    }
    return TESS_E_CONFIG;
}

static tess_status build(builder *b, yaml_parser_t *parser)
{
    for (bool at_end = false; !at_end;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event)) {
            return syntax_error(b, parser);
        }
        at_end = event.type == YAML_STREAM_END_EVENT;
        const tess_status status = take_event(b, &event);
        yaml_event_delete(&event);
        TESS_TRY(status);
    }
    return TESS_OK;
}

tess_status tess_tree_parse(tess_tree *tree, const char *text, size_t bytes)
{
    builder *b = tess_heap_alloc_zero(tree->heap, sizeof *b, TESS_TAG_IO, "the YAML parser");
    if (b == NULL) {
        return TESS_E_MEMORY;
    }
    b->tree = tree;
    yaml_parser_t parser;
    tess_status status = TESS_E_MEMORY;
    if (yaml_parser_initialize(&parser)) {
        yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
        status = build(b, &parser);
        yaml_parser_delete(&parser);
    }
    tess_heap_free(tree->heap, b, sizeof *b, TESS_TAG_IO);
    return status;
}
