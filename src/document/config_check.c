#include "document/config_check.h"

#include "base/guess.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_CHARS = 128 };

typedef struct checker {
    tess_tree *tree;
    const tess_param_table *const *tables;
    int64_t n_table;
    tess_config_value **tail; // where the next value goes
    tess_text *warnings;
} checker;

// Tables below a section: the part of the name after "section.", or NULL.
static const char *name_below(const tess_param_table *table, const char *section)
{
    const size_t length = strlen(section);
    if (length == 0) {
        return table->name;
    }
    return strncmp(table->name, section, length) == 0 && table->name[length] == '.'
               ? table->name + length + 1
               : NULL;
}

static bool is_section(const checker *c, const char *name)
{
    for (int64_t i = 0; i < c->n_table; i++) {
        if (strcmp(c->tables[i]->name, name) == 0 || name_below(c->tables[i], name) != NULL) {
            return true;
        }
    }
    return false;
}

static const tess_param *find_param(const checker *c, const char *section, const char *key,
                                    const tess_param_table **table)
{
    for (int64_t i = 0; i < c->n_table; i++) {
        *table = c->tables[i];
        for (int64_t k = 0; strcmp((*table)->name, section) == 0 && k < (*table)->n_param; k++) {
            if (strcmp((*table)->params[k].name, key) == 0) {
                return &(*table)->params[k];
            }
        }
    }
    return NULL;
}

static tess_status unknown_key(const checker *c, const char *section, const tess_entry *entry)
{
    char here[TESS_PLACE_CHARS];
    tess_guess g;
    tess_guess_init(&g, entry->key);
    const char *home = NULL;
    for (int64_t i = 0; i < c->n_table; i++) {
        const tess_param_table *table = c->tables[i];
        const char *below = name_below(table, section);
        if (below != NULL) {
            tess_guess_offer(&g, below, strcspn(below, "."));
        }
        for (int64_t k = 0; k < table->n_param; k++) {
            if (strcmp(table->name, section) == 0) {
                tess_guess_offer(&g, table->params[k].name, strlen(table->params[k].name));
            } else if (strcmp(table->params[k].name, entry->key) == 0) {
                home = table->name;
            }
        }
    }
    tess_error_set(TESS_E_CONFIG, "%s: unknown key '%.80s'%s%s",
                   tess_place_text(c->tree->path, entry->key_place, here), entry->key,
                   section[0] ? " in " : "", section);
    if (strcmp(entry->key, "<<") == 0) {
        tess_error_append("; merge keys are not read, write the keys out");
    } else if (home != NULL) {
        tess_error_append("; it belongs into %s", home);
    } else if (tess_guess_is_near(&g)) {
        tess_error_append("; did you mean '%s'?", g.best);
    } else {
        tess_error_append("; known keys are: %s", g.known);
    }
    return TESS_E_CONFIG;
}

static bool is_nothing(const tess_node *node)
{
    return node->kind == TESS_DOCUMENT_SCALAR && !node->is_quoted &&
           (node->text[0] == '\0' || strcmp(node->text, "~") == 0 ||
            strcasecmp(node->text, "null") == 0);
}

static tess_status take_value(checker *c, const tess_param_table *table, const tess_param *param,
                              const tess_entry *entry)
{
    char here[TESS_PLACE_CHARS];
    const tess_node *node = entry->value;
    if (node->kind != TESS_DOCUMENT_SCALAR || is_nothing(node)) {
        TESS_FAIL(TESS_E_CONFIG, "%s: %s: expected one value, found %s",
                  tess_place_text(c->tree->path, node->place, here), param->name,
                  node->kind == TESS_DOCUMENT_MAPPING ? "a mapping"
                  : node->kind == TESS_DOCUMENT_LIST  ? "a list"
                                                      : "nothing");
    }
    // Tried on a field of its own: the real struct is the caller's and comes later.
    uint64_t fields[2] = {0};
    tess_param alone[2] = {*param};
    alone[0].offset = 0;
    if (param->choices != NULL && strchr(param->choices, ':') != NULL) {
        alone[1] = param[1]; // the number of a choice
        alone[1].offset = sizeof fields[0];
    }
    if (tess_param_set_text(alone, fields, node->text) != TESS_OK) {
        TESS_FAIL(TESS_E_CONFIG, "%s: %s", tess_place_text(c->tree->path, node->place, here),
                  tess_last_error());
    }
    const char *differs = c->tree->is_json ? NULL : tess_pyyaml_differs(node, param);
    if (differs != NULL) {
        tess_text_printf(c->warnings, "%s: %s: %.40s %s\n",
                         tess_place_text(c->tree->path, node->place, here), param->name, node->text,
                         differs);
    }
    tess_config_value *value = tess_tree_take(c->tree, sizeof *value);
    if (value == NULL) {
        return TESS_E_MEMORY;
    }
    *value = (tess_config_value){.table = table, .param = param, .node = node};
    *c->tail = value;
    c->tail = &value->next;
    return TESS_OK;
}

// Recursion goes as deep as the tables' names have dots, whatever the file looks like.
static tess_status check_section(checker *c, const char *section, const tess_node *mapping)
{
    for (const tess_entry *e = mapping->first; e != NULL; e = e->next) {
        char name[NAME_CHARS];
        const int length =
            snprintf(name, sizeof name, "%s%s%s", section, section[0] ? "." : "", e->key);
        const tess_param_table *table = NULL;
        const tess_param *param = find_param(c, section, e->key, &table);
        if (param != NULL) {
            TESS_TRY(take_value(c, table, param, e));
            continue;
        }
        // A dot in a key must not reach a table two levels down.
        if (length >= (int)sizeof name || strchr(e->key, '.') != NULL || !is_section(c, name)) {
            return unknown_key(c, section, e);
        }
        if (e->value->kind == TESS_DOCUMENT_MAPPING) {
            TESS_TRY(check_section(c, name, e->value));
        } else if (!is_nothing(e->value)) {
            char here[TESS_PLACE_CHARS];
            TESS_FAIL(TESS_E_CONFIG,
                      "%s: '%s' is a section: expected keys and values indented below it",
                      tess_place_text(c->tree->path, e->value->place, here), name);
        }
    }
    return TESS_OK;
}

tess_status tess_config_check(tess_tree *tree, const tess_param_table *const *tables,
                              int64_t n_table, tess_config_value **values, tess_text *warnings)
{
    *values = NULL;
    if (tree->root == NULL || is_nothing(tree->root)) {
        return TESS_OK;
    }
    if (tree->root->kind != TESS_DOCUMENT_MAPPING) {
        char here[TESS_PLACE_CHARS];
        TESS_FAIL(TESS_E_CONFIG, "%s: expected sections with keys and values, found %s",
                  tess_place_text(tree->path, tree->root->place, here),
                  tree->root->kind == TESS_DOCUMENT_LIST ? "a list" : "a single value");
    }
    checker c = {tree, tables, n_table, values, warnings};
    return check_section(&c, "", tree->root);
}
