// Lists of a document side by side: numbers as one array, words as words.

#include "diff.h"

#include <stdlib.h>
#include <string.h>

enum { INDEX_CHARS = 96 };

int diff_is_number(const tess_document_node *node, double *value)
{
    char *end = NULL;
    if (node->kind != TESS_DOCUMENT_SCALAR || node->is_quoted || node->text[0] == '\0') {
        return 0;
    }
    *value = strtod(node->text, &end);
    return *end == '\0';
}

static int is_null(const tess_document_node *node)
{
    return node->kind == TESS_DOCUMENT_SCALAR && !node->is_quoted &&
           strcmp(node->text, "null") == 0;
}

int diff_is_array(const tess_document_node *node)
{
    double value = 0;

    if (node->kind != TESS_DOCUMENT_LIST) {
        return 0;
    }
    for (const tess_document_entry *e = node->first; e; e = e->next) {
        if (!diff_is_number(e->value, &value) && !is_null(e->value) && !diff_is_array(e->value)) {
            return 0;
        }
    }
    return 1;
}

static const tess_document_node *item(const tess_document_node *list, int64_t i)
{
    const tess_document_entry *e = list && list->kind == TESS_DOCUMENT_LIST ? list->first : NULL;
    while (e && i-- > 0) {
        e = e->next;
    }
    return e ? e->value : NULL;
}

// Of the numbers of channels and of all their names: what item i of a list beside them is of.
static const char *name_at(const diff_names *names, int64_t i)
{
    double number = 0;
    const tess_document_node *channel = names ? item(names->channels, i) : NULL;
    const tess_document_node *name =
        channel && diff_is_number(channel, &number) && number >= 0 && number < 1e9
            ? item(names->names, (int64_t)number)
            : NULL;
    return name && name->kind == TESS_DOCUMENT_SCALAR ? name->text : NULL;
}

static void differ(diff_row *row, const char *index, const char *a, const char *b)
{
    row->n_value++;
    if (row->n_different++ == 0) {
        snprintf(row->first, sizeof row->first, "%s", index);
        snprintf(row->detail, sizeof row->detail, "%.100s -> %.100s", a, b);
    }
    row->status = DIFF_DIFFERENT;
}

static void compare_items(const diff *d, diff_row *row, const tess_document_node *a,
                          const tess_document_node *b, const char *index)
{
    double left = 0;
    double right = 0;

    if (a->kind == TESS_DOCUMENT_LIST && b->kind == TESS_DOCUMENT_LIST) {
        diff_array(d, row, a, b, index, NULL);
    } else if (diff_is_number(a, &left) && diff_is_number(b, &right)) {
        diff_take(d, row, left, right, index);
    } else if (a->kind != b->kind || strcmp(a->text, b->text) != 0) {
        differ(row, index, a->kind == TESS_DOCUMENT_SCALAR ? a->text : "a list",
               b->kind == TESS_DOCUMENT_SCALAR ? b->text : "a list");
    } else {
        row->n_value++;
    }
}

void diff_array(const diff *d, diff_row *row, const tess_document_node *a,
                const tess_document_node *b, const char *prefix, const diff_names *names)
{
    const tess_document_entry *right = b->first;
    int64_t i = 0;

    if (a->n_child != b->n_child) {
        char texts[2][32];
        snprintf(texts[0], sizeof texts[0], "%lld items", (long long)a->n_child);
        snprintf(texts[1], sizeof texts[1], "%lld items", (long long)b->n_child);
        differ(row, prefix, texts[0], texts[1]);
        return;
    }
    for (const tess_document_entry *e = a->first; e && right; e = e->next, right = right->next) {
        const char *name = name_at(names, i);
        char index[INDEX_CHARS];
        if (name) {
            snprintf(index, sizeof index, "%.60s", name);
        } else {
            snprintf(index, sizeof index, "%.60s[%lld]", prefix, (long long)i);
        }
        compare_items(d, row, e->value, right->value, index);
        i++;
    }
}

static int has_word(const tess_document_node *list, const char *word)
{
    for (const tess_document_entry *e = list->first; e; e = e->next) {
        if (e->value->kind == TESS_DOCUMENT_SCALAR && strcmp(e->value->text, word) == 0) {
            return 1;
        }
    }
    return 0;
}

void diff_other_words(const tess_document_node *list, const tess_document_node *other, char *text,
                      size_t capacity)
{
    size_t used = 0;

    snprintf(text, capacity, "nothing");
    for (const tess_document_entry *e = list->first; e && used + 1 < capacity; e = e->next) {
        if (e->value->kind == TESS_DOCUMENT_SCALAR && !has_word(other, e->value->text)) {
            const int n =
                snprintf(text + used, capacity - used, "%s%s", used > 0 ? " " : "", e->value->text);
            used += n > 0 ? (size_t)n : 0;
        }
    }
}
