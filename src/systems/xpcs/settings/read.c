// Walking a document: every key finds its row, or is an error with the nearest known key.
#include "base/guess.h"
#include "base/status.h"
#include "systems/xpcs/settings/settings.h"

#include <stdio.h>
#include <string.h>

// Where the walk stands. Both paths grow and shrink together; in pattern items are name[].
typedef struct walk {
    tess_xpcs_settings *settings;
    bool is_set;
    char path[TESS_XP_PATH_CHARS];
    char pattern[TESS_XP_PATH_CHARS];
} walk;

static tess_status take_node(walk *w, const tess_document_node *node,
                             tess_document_place key_place);

static tess_status too_long(const walk *w, tess_document_place place)
{
    char here[TESS_XP_PLACE_CHARS];
    TESS_FAIL(TESS_E_CONFIG, "%s%.80s...: a key with all above it has at most %d characters",
              tess_xp_place(w->settings, w->is_set, place, here), w->path, TESS_XP_PATH_CHARS - 1);
}

// Appends a key to both paths. A dot inside it must not look like a level.
static tess_status push_key(walk *w, const char *key, tess_document_place place)
{
    const size_t used = strlen(w->path);
    const size_t used_pattern = strlen(w->pattern);
    const char *dot = used > 0 ? "." : "";
    if (used + strlen(key) + 2 > sizeof w->path ||
        used_pattern + strlen(key) + 2 > sizeof w->path) {
        return too_long(w, place);
    }
    snprintf(w->path + used, sizeof w->path - used, "%s%s", dot, key);
    snprintf(w->pattern + used_pattern, sizeof w->pattern - used_pattern, "%s%s", dot, key);
    for (char *at = w->pattern + used_pattern + strlen(dot); *at != '\0'; at++) {
        *at = *at == '.' ? '/' : *at;
    }
    return TESS_OK;
}

static tess_status push_item(walk *w, int64_t index, tess_document_place place)
{
    const size_t used = strlen(w->path);
    const size_t used_pattern = strlen(w->pattern);
    if (used + 24 > sizeof w->path || used_pattern + 3 > sizeof w->pattern) {
        return too_long(w, place);
    }
    snprintf(w->path + used, sizeof w->path - used, "[%lld]", (long long)index);
    snprintf(w->pattern + used_pattern, sizeof w->pattern - used_pattern, "[]");
    return TESS_OK;
}

static tess_status grow(tess_xpcs_settings *settings)
{
    if (settings->n_value < settings->value_capacity) {
        return TESS_OK;
    }
    const int64_t capacity = settings->value_capacity > 0 ? 2 * settings->value_capacity : 128;
    tess_xp_value **values =
        tess_blocks_alloc(&settings->memory, capacity, sizeof *values, "values of a configuration");
    if (values == NULL) {
        return TESS_E_MEMORY;
    }
    if (settings->n_value > 0) {
        memcpy(values, settings->values, (size_t)settings->n_value * sizeof *values);
    }
    settings->values = values;
    settings->value_capacity = capacity;
    return TESS_OK;
}

static tess_status add_value(walk *w, const tess_xp_setting *row, const tess_document_node *node)
{
    tess_xpcs_settings *settings = w->settings;
    tess_xp_value *value = tess_blocks_alloc(&settings->memory, 1, sizeof *value, "a value");
    const char *path = tess_blocks_copy(&settings->memory, w->path, (int64_t)strlen(w->path) + 1, 1,
                                        "the name of a key");
    if (value == NULL || path == NULL) {
        return TESS_E_MEMORY;
    }
    *value = (tess_xp_value){.path = path, .row = row, .node = node, .is_set = w->is_set};
    TESS_TRY(grow(settings));
    settings->values[settings->n_value++] = value;
    return TESS_OK;
}

static tess_status add_and_read(walk *w, const tess_xp_setting *row, const tess_document_node *node)
{
    TESS_TRY(add_value(w, row, node));
    return tess_xp_read_value(w->settings, w->settings->values[w->settings->n_value - 1]);
}

static bool is_list_of_scalars(const tess_document_node *list)
{
    for (const tess_document_entry *e = list->first; e != NULL; e = e->next) {
        if (e->value->kind != TESS_DOCUMENT_SCALAR) {
            return false;
        }
    }
    return true;
}

// Everything below a row in **, untyped. Recursion is bounded by the document's depth.
static tess_status take_all(walk *w, const tess_xp_setting *row, const tess_document_node *node)
{
    if (node->kind == TESS_DOCUMENT_SCALAR ||
        (node->kind == TESS_DOCUMENT_LIST && is_list_of_scalars(node))) {
        return add_and_read(w, row, node);
    }
    const size_t used = strlen(w->path);
    const size_t used_pattern = strlen(w->pattern);
    int64_t index = 0;
    for (const tess_document_entry *e = node->first; e != NULL; e = e->next) {
        TESS_TRY(e->key != NULL ? push_key(w, e->key, e->key_place)
                                : push_item(w, index++, e->value->place));
        TESS_TRY(take_all(w, row, e->value));
        w->path[used] = '\0';
        w->pattern[used_pattern] = '\0';
    }
    return TESS_OK;
}

static tess_status take_children(walk *w, const tess_document_node *node)
{
    const size_t used = strlen(w->path);
    const size_t used_pattern = strlen(w->pattern);
    int64_t index = 0;
    for (const tess_document_entry *e = node->first; e != NULL; e = e->next) {
        TESS_TRY(e->key != NULL ? push_key(w, e->key, e->key_place)
                                : push_item(w, index++, e->value->place));
        TESS_TRY(take_node(w, e->value, e->key != NULL ? e->key_place : e->value->place));
        w->path[used] = '\0';
        w->pattern[used_pattern] = '\0';
    }
    return TESS_OK;
}

// The key of a row right below a parent of n characters ("" for the top); NULL if it is elsewhere.
static const char *key_below(const char *row, const char *parent, size_t n)
{
    if (n > 0 && (strncmp(row, parent, n) != 0 || row[n] != '.')) {
        return NULL;
    }
    return row + n + (n > 0);
}

// Whether a row of another group has the same last key.
static const char *find_elsewhere(const char *key)
{
    int64_t n = 0;
    const tess_xp_setting *rows = tess_xp_settings_rows(&n);
    for (int64_t i = 0; i < n; i++) {
        const char *last = strrchr(rows[i].path, '.');
        if (last != NULL && strcmp(last + 1, key) == 0 && strchr(rows[i].path, '*') == NULL) {
            return rows[i].path;
        }
    }
    return NULL;
}

static tess_status unknown_key(walk *w, tess_document_place place)
{
    int64_t n = 0;
    const tess_xp_setting *rows = tess_xp_settings_rows(&n);
    const char *dot = strrchr(w->pattern, '.');
    const size_t n_parent = dot != NULL ? (size_t)(dot - w->pattern) : 0;
    const char *key = dot != NULL ? dot + 1 : w->pattern;
    tess_guess guess;
    tess_guess_init(&guess, key);
    for (int64_t i = 0; i < n; i++) {
        const char *known = key_below(rows[i].path, w->pattern, n_parent);
        if (known != NULL && known[0] != '*') {
            tess_guess_offer(&guess, known, strcspn(known, ".["));
        }
    }
    const char *elsewhere = find_elsewhere(key);
    char here[TESS_XP_PLACE_CHARS];
    char path[TESS_XP_PATH_CHARS];
    memcpy(path, w->path, sizeof path);
    tess_error_set(TESS_E_CONFIG, "%sunknown key '%s'",
                   tess_xp_place(w->settings, w->is_set, place, here), tess_xp_tame(path));
    if (strcmp(key, "<<") == 0) {
        tess_error_append("; merge keys are not read, write the keys out");
    } else if (elsewhere != NULL && guess.best_distance > 1) {
        tess_error_append("; did you mean '%s'?", elsewhere);
    } else if (tess_guess_is_near(&guess)) {
        tess_error_append("; did you mean '%s'?", guess.best);
    } else if (guess.known[0] != '\0') {
        tess_error_append("; known keys here are: %s", guess.known);
    }
    if (!w->settings->is_lenient || w->is_set) {
        return TESS_E_CONFIG;
    }
    tess_xp_note(w->settings, "%s (ignored)", tess_last_error());
    tess_error_clear();
    return TESS_OK;
}

static tess_status expected_group(const walk *w, const tess_document_node *node, bool is_list)
{
    char here[TESS_XP_PLACE_CHARS];
    TESS_FAIL(TESS_E_CONFIG, "%s%s: expected %s, found %s",
              tess_xp_place(w->settings, w->is_set, node->place, here), w->path,
              is_list ? "a list of keys and values" : "keys and values below it",
              node->kind == TESS_DOCUMENT_LIST      ? "a list"
              : node->kind == TESS_DOCUMENT_MAPPING ? "keys and values"
                                                    : "one value");
}

static tess_status take_node(walk *w, const tess_document_node *node, tess_document_place key_place)
{
    const tess_xp_found found = tess_xp_settings_find(w->pattern);
    const bool is_scalar = node->kind == TESS_DOCUMENT_SCALAR;
    if (node->kind == TESS_DOCUMENT_MAPPING && found.group != NULL) {
        return take_children(w, node);
    }
    if (node->kind == TESS_DOCUMENT_LIST && found.list != NULL) {
        return take_children(w, node);
    }
    if (found.exact != NULL) {
        return add_and_read(w, found.exact, node);
    }
    const tess_xp_setting *parent = found.group != NULL ? found.group : found.list;
    if (is_scalar && parent != NULL && tess_xp_is_null(node)) {
        TESS_TRY(add_value(w, parent, node));
        w->settings->values[w->settings->n_value - 1]->is_null = true;
        return TESS_OK;
    }
    if (found.below != NULL) {
        return take_all(w, found.below, node);
    }
    return parent != NULL ? expected_group(w, node, found.list != NULL) : unknown_key(w, key_place);
}

tess_status tess_xp_read_root(tess_xpcs_settings *settings, const tess_document_node *root)
{
    walk w = {.settings = settings};
    if (root == NULL || tess_xp_is_null(root)) {
        return TESS_OK;
    }
    if (root->kind != TESS_DOCUMENT_MAPPING) {
        char here[TESS_XP_PLACE_CHARS];
        TESS_FAIL(TESS_E_CONFIG, "%sexpected keys and values, found %s",
                  tess_xp_place(settings, false, root->place, here),
                  root->kind == TESS_DOCUMENT_LIST ? "a list" : "one value");
    }
    return take_children(&w, root);
}

tess_status tess_xp_read_key(tess_xpcs_settings *settings, const char *key,
                             const tess_document_node *node)
{
    walk w = {.settings = settings, .is_set = true};
    if (strlen(key) >= sizeof w.path) {
        TESS_FAIL(TESS_E_CONFIG, "%.80s...: a key has at most %d characters", key,
                  TESS_XP_PATH_CHARS - 1);
    }
    snprintf(w.path, sizeof w.path, "%s", key);
    // In the pattern list[3] is list[].
    char *pattern = w.pattern;
    for (const char *at = key; *at != '\0'; at++) {
        *pattern++ = *at;
        at += *at == '[' ? strspn(at + 1, "0123456789") : 0;
    }
    return take_node(&w, node, node->place);
}
