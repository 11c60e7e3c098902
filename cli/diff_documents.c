// Compares documents member by member: results in JSON, and the provenance of any two files.

#include "diff.h"
#include "member.h"

#include <tessera/device.h>
#include <tessera/io.h>
#include <tessera/sys/document.h>

#include <stdlib.h>
#include <string.h>

enum { PATH_CHARS = 256 };

typedef struct walk {
    diff *d;
    const char *prefix;
    int is_provenance;               // differences are settings
    const tess_document_node *root;  // of the first
    const tess_document_node *owner; // the mapping that is gone through
    int code;
} walk;

// By which two runs of the same computation differ, wherever it stands.
static int is_of_the_run(const char *key)
{
    static const char names[] =
        "|tessera_provenance|provenance|run|timestamp|execution_time|written|started|command_line|"
        "resumed|mtime_ns|identity|warnings|warnings_lost|device_name|threads|memory_limit_bytes|"
        "strategy|strategy_reason|chunks|rows_per_chunk|elapsed_s|";
    const size_t n = strlen(key);
    char wanted[PATH_CHARS];

    if (n > 2 && strcmp(key + n - 2, "_s") == 0 && n < 16 && strcmp(key, "dt_s") != 0) {
        return 1; // seconds spent
    }
    snprintf(wanted, sizeof wanted, "|%.200s|", key);
    return strstr(names, wanted) != NULL;
}

static const char *kind_text(const tess_document_node *node)
{
    static const char *const names[] = {"nothing", "a value", "an object", "a list"};
    return !node ? names[0] : node->kind == TESS_DOCUMENT_SCALAR ? node->text : names[node->kind];
}

static void add_difference(walk *w, const char *path, const char *a, const char *b,
                           diff_status status)
{
    if (w->is_provenance) {
        diff_add_setting(w->d, path, a, b);
        return;
    }
    diff_row *row = diff_add_row(w->d, w->prefix, path);
    if (row) {
        row->status = status;
        snprintf(row->detail, sizeof row->detail, "%.100s -> %.100s", a, b);
    }
}

static void compare_scalars(walk *w, const char *path, const tess_document_node *a,
                            const tess_document_node *b)
{
    double left = 0;
    double right = 0;

    if (strcmp(a->text, b->text) == 0 && (w->is_provenance || a->is_quoted)) {
        return;
    }
    if (!w->is_provenance && diff_is_number(a, &left) && diff_is_number(b, &right)) {
        diff_row *row = diff_add_row(w->d, w->prefix, path);
        if (row) {
            diff_take(w->d, row, left, right, path);
        }
    } else if (strcmp(a->text, b->text) != 0) {
        add_difference(w, path, a->text, b->text, DIFF_DIFFERENT);
    }
}

static void compare_nodes(walk *w, const char *path, const tess_document_node *a,
                          const tess_document_node *b);

static void compare_mappings(walk *w, const char *path, const tess_document_node *a,
                             const tess_document_node *b)
{
    char inner[PATH_CHARS];

    for (const tess_document_entry *e = a->first; e; e = e->next) {
        const tess_document_node *other = document_member(b, e->key);
        snprintf(inner, sizeof inner, "%.180s%s%.60s", path, path[0] ? "." : "", e->key);
        if (is_of_the_run(e->key)) {
            continue;
        }
        w->owner = a;
        if (other) {
            compare_nodes(w, inner, e->value, other);
        } else {
            add_difference(w, inner, kind_text(e->value), "nothing", DIFF_ONLY_A);
        }
    }
    for (const tess_document_entry *e = b->first; e; e = e->next) {
        if (!is_of_the_run(e->key) && !document_member(a, e->key)) {
            snprintf(inner, sizeof inner, "%.180s%s%.60s", path, path[0] ? "." : "", e->key);
            add_difference(w, inner, "nothing", kind_text(e->value), DIFF_ONLY_B);
        }
    }
}

// Numbers are one array, whose items go by the names of the channels where they have some.
static void compare_numbers(walk *w, const char *path, const tess_document_node *a,
                            const tess_document_node *b)
{
    const tess_document_node *channels = w->owner ? document_member(w->owner, "channels") : NULL;
    const int is_of_channels = channels && channels != a && channels->n_child == a->n_child;
    const diff_names names = {channels, document_member(w->root, "channel_names")};
    diff_row *row = diff_add_row(w->d, w->prefix, path);

    if (row) {
        diff_array(w->d, row, a, b, "", is_of_channels ? &names : NULL);
    }
}

static void compare_words(walk *w, const char *path, const tess_document_node *a,
                          const tess_document_node *b)
{
    char texts[2][160];
    diff_other_words(a, b, texts[0], sizeof texts[0]);
    diff_other_words(b, a, texts[1], sizeof texts[1]);
    if (strcmp(texts[0], texts[1]) != 0) {
        add_difference(w, path, texts[0], texts[1], DIFF_DIFFERENT);
    }
}

static void compare_lists(walk *w, const char *path, const tess_document_node *a,
                          const tess_document_node *b)
{
    const tess_document_entry *right = b->first;
    char inner[PATH_CHARS];
    int64_t i = 0;

    if (!w->is_provenance && a->first && diff_is_array(a) && diff_is_array(b)) {
        compare_numbers(w, path, a, b);
        return;
    }
    if (w->is_provenance && strcmp(path, "command") == 0) {
        compare_words(w, path, a, b);
        return;
    }
    if (a->n_child != b->n_child) {
        char texts[2][32];
        snprintf(texts[0], sizeof texts[0], "%lld items", (long long)a->n_child);
        snprintf(texts[1], sizeof texts[1], "%lld items", (long long)b->n_child);
        add_difference(w, path, texts[0], texts[1], DIFF_DIFFERENT);
        return;
    }
    for (const tess_document_entry *e = a->first; e && right; e = e->next, right = right->next) {
        snprintf(inner, sizeof inner, "%.200s[%lld]", path, (long long)i++);
        compare_nodes(w, inner, e->value, right->value);
    }
}

// Depth is bounded by what reads the documents.
static void compare_nodes(walk *w, const char *path, const tess_document_node *a,
                          const tess_document_node *b)
{
    if (a->kind != b->kind) {
        add_difference(w, path, kind_text(a), kind_text(b), DIFF_DIFFERENT);
    } else if (a->kind == TESS_DOCUMENT_MAPPING) {
        compare_mappings(w, path, a, b);
    } else if (a->kind == TESS_DOCUMENT_LIST) {
        compare_lists(w, path, a, b);
    } else {
        compare_scalars(w, path, a, b);
    }
}

static void compare_roots(walk *w, const tess_document *a, const tess_document *b)
{
    const tess_document_node *left = tess_document_root(a);
    const tess_document_node *right = tess_document_root(b);

    w->root = left;
    if (left && right) {
        compare_nodes(w, "", left, right);
    } else if (left || right) {
        add_difference(w, "", kind_text(left), kind_text(right), DIFF_DIFFERENT);
    }
}

int diff_documents(diff *d, const char *prefix, const char *a, const char *b)
{
    walk w = {.d = d, .prefix = prefix};
    tess_document *documents[2] = {NULL, NULL};
    tess_status status = tess_document_load(d->c->ctx, a, &documents[0]);
    status = status == TESS_OK ? tess_document_load(d->c->ctx, b, &documents[1]) : status;

    if (status == TESS_OK) {
        const int64_t n_before = d->n_row;
        compare_roots(&w, documents[0], documents[1]);
        if (d->n_row == n_before) {
            (void)diff_add_row(d, prefix, ""); // texts alone, and all the same
        }
    }
    tess_document_destroy(documents[0]);
    tess_document_destroy(documents[1]);
    if (status == TESS_E_CONFIG) { // a result that is broken is no configuration
        return console_fail(65, "%s", tess_last_error());
    }
    return status == TESS_OK ? 0 : console_status(status);
}

int diff_texts(diff *d, const char *prefix, const char *a, const char *b)
{
    walk w = {.d = d, .prefix = prefix};
    tess_document *documents[2] = {NULL, NULL};
    const int is_pair = tess_document_parse(d->c->ctx, prefix, a, &documents[0]) == TESS_OK &&
                        tess_document_parse(d->c->ctx, prefix, b, &documents[1]) == TESS_OK;

    if (is_pair) {
        compare_roots(&w, documents[0], documents[1]);
    }
    tess_document_destroy(documents[0]);
    tess_document_destroy(documents[1]);
    return is_pair;
}

int diff_provenance(diff *d, const char *a, const char *b)
{
    walk w = {.d = d, .prefix = "", .is_provenance = 1};
    char *texts[2] = {NULL, NULL};
    tess_document *documents[2] = {NULL, NULL};

    // Files without provenance, or with one that cannot be read, have no settings to compare.
    if (tess_file_provenance(d->c->ctx, a, &texts[0]) == TESS_OK && texts[0] &&
        tess_file_provenance(d->c->ctx, b, &texts[1]) == TESS_OK && texts[1] &&
        tess_document_parse(d->c->ctx, a, texts[0], &documents[0]) == TESS_OK &&
        tess_document_parse(d->c->ctx, b, texts[1], &documents[1]) == TESS_OK) {
        compare_roots(&w, documents[0], documents[1]);
    }
    tess_document_destroy(documents[0]);
    tess_document_destroy(documents[1]);
    tess_text_free(texts[0]);
    tess_text_free(texts[1]);
    return 0;
}
