// tessera/sys/document.h: a tree on its own, for those who judge it themselves.

#include "base/status.h"
#include "document/config_tree.h"
#include "runtime/context.h"

#include <string.h>

struct tess_document {
    tess_heap *heap;
    char *path;
    tess_tree tree;
};

static tess_document *document_create(tess_context *ctx, const char *path)
{
    tess_document *document =
        tess_heap_alloc_zero(&ctx->heap, sizeof *document, TESS_TAG_IO, "a document");
    if (document == NULL) {
        return NULL;
    }
    document->heap = &ctx->heap;
    document->path = tess_heap_strdup(&ctx->heap, path, TESS_TAG_IO);
    if (document->path == NULL) {
        tess_document_destroy(document);
        return NULL;
    }
    tess_tree_init(&document->tree, &ctx->heap, document->path);
    return document;
}

static tess_status finish(tess_document *document, tess_status status, tess_document **out)
{
    if (status != TESS_OK) {
        tess_document_destroy(document);
        return status;
    }
    *out = document;
    return TESS_OK;
}

tess_status tess_document_load(tess_context *ctx, const char *path, tess_document **out)
{
    tess_error_clear();
    *out = NULL;
    tess_document *document = document_create(ctx, path);
    if (document == NULL) {
        return TESS_E_MEMORY;
    }
    return finish(document, tess_tree_load(&document->tree), out);
}

// A scalar as it stands, which no parser needs to see.
static tess_status plain_scalar(tess_tree *tree, const char *text)
{
    tree->root = tess_tree_node(tree, TESS_DOCUMENT_SCALAR, (tess_place){0, 0});
    const char *copy = tess_tree_text(tree, text, strlen(text));
    if (tree->root == NULL || copy == NULL) {
        return TESS_E_MEMORY;
    }
    tree->root->text = copy;
    return TESS_OK;
}

tess_status tess_document_parse(tess_context *ctx, const char *name, const char *text,
                                tess_document **out)
{
    tess_error_clear();
    *out = NULL;
    const size_t bytes = strlen(text);
    if (bytes > TESS_CONFIG_MAX_BYTES) {
        TESS_FAIL(TESS_E_CONFIG, "%s: %zu bytes; a configuration has at most %d", name, bytes,
                  TESS_CONFIG_MAX_BYTES);
    }
    tess_document *document = document_create(ctx, name);
    if (document == NULL) {
        return TESS_E_MEMORY;
    }
    const char *start = text + strspn(text, " \t\r\n");
    document->tree.is_json = true; // in brackets both languages are the same
    const tess_status status = *start == '[' || *start == '{'
                                   ? tess_tree_parse(&document->tree, text, bytes)
                                   : plain_scalar(&document->tree, text);
    return finish(document, status, out);
}

void tess_document_destroy(tess_document *document)
{
    if (document == NULL) {
        return;
    }
    tess_heap *heap = document->heap;
    if (document->path != NULL) {
        tess_tree_release(&document->tree);
        tess_heap_free(heap, document->path, strlen(document->path) + 1, TESS_TAG_IO);
    }
    tess_heap_free(heap, document, sizeof *document, TESS_TAG_IO);
}

const tess_document_node *tess_document_root(const tess_document *document)
{
    return document->tree.root;
}
