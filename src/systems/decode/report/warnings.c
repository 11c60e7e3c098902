// The warnings of a run, from the file of details beside its result.
#include "base/status.h"
#include "base/text.h"
#include "systems/decode/report/tree.h"
#include "systems/decode/report/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A result may have been moved next to the details of another.
static bool belongs(const tess_de_view *view, const tess_document_node *root)
{
    const tess_document_node *identity = tess_de_tree_child(root, "identity");
    char *provenance = NULL;
    const bool has_both = identity && identity->text[0] &&
                          tess_de_view_provenance(view, &provenance) == TESS_OK && provenance;
    const bool same = has_both && strstr(provenance, identity->text) != NULL;
    tess_text_free(provenance);
    return same;
}

static tess_status list(const tess_document_node *root, char **lines)
{
    const tess_document_node *warnings = tess_de_tree_child(root, "warnings");
    const tess_document_node *lost = tess_de_tree_child(root, "warnings_lost");
    char more[64] = "";
    size_t bytes = sizeof more;
    if (!warnings || warnings->kind != TESS_DOCUMENT_LIST) {
        return TESS_OK;
    }
    for (const tess_document_entry *e = warnings->first; e; e = e->next) {
        bytes += strlen(e->value->text) + 1;
    }
    char *text = malloc(bytes);
    if (!text) {
        TESS_FAIL(TESS_E_MEMORY, "cannot allocate %zu bytes for warnings", bytes);
    }
    char *at = text;
    for (const tess_document_entry *e = warnings->first; e; e = e->next) {
        at += sprintf(at, "%s\n", e->value->text);
    }
    if (lost && strtol(lost->text, NULL, 10) > 0) {
        snprintf(more, sizeof more, "and %.12s more\n", lost->text);
    }
    strcpy(at, more);
    *lines = text;
    return TESS_OK;
}

tess_status tess_de_view_warnings(const tess_de_view *view, char **lines)
{
    char path[1200];
    tess_document *document = NULL;
    *lines = NULL;
    snprintf(path, sizeof path, "%s.json", view->path);
    if (access(path, R_OK) != 0 || tess_document_load(view->ctx, path, &document) != TESS_OK) {
        tess_error_clear(); // a result without it is a result all the same
        return TESS_OK;
    }
    const tess_document_node *root = tess_document_root(document);
    const tess_status status = belongs(view, root) ? list(root, lines) : TESS_OK;
    tess_document_destroy(document);
    return status;
}
