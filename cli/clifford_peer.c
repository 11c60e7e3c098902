// Times of another program, or of another machine, beside ours: what 'clifford bench --json'
// writes.

#include "clifford.h"
#include "member.h"

#include <tessera/sys/document.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int check_text(const char *path, const tess_document_node *root, const char *key,
                      const char *wanted)
{
    const tess_document_node *found = document_member(root, key);
    if (!found || found->kind != TESS_DOCUMENT_SCALAR || strcmp(found->text, wanted) != 0) {
        return console_fail(
            65,
            "--peer: '%s': %s is '%s', expected '%s': a file of the same operation, "
            "as bench/clifford_sweep.py --peer or 'tessera clifford bench --json' writes",
            path, key, found ? found->text : "", wanted);
    }
    return 0;
}

// A number of a row, NAN where there is none.
static double real_of(const tess_document_node *row, const char *key)
{
    const tess_document_node *found = document_member(row, key);
    char *end = NULL;
    const double value = found ? strtod(found->text, &end) : (double)NAN;
    return found && end != found->text && *end == '\0' ? value : (double)NAN;
}

static int read_rows(const char *path, const tess_document_node *rows, clifford_peer *peer)
{
    if (!rows || rows->kind != TESS_DOCUMENT_LIST) {
        return console_fail(65, "--peer: '%s' has no list 'rows'", path);
    }
    peer->rows = calloc((size_t)rows->n_child + 1, sizeof *peer->rows);
    if (!peer->rows) {
        return console_fail(71, "no memory for the peer's rows");
    }
    for (const tess_document_entry *e = rows->first; e; e = e->next) {
        peer->rows[peer->n_row++] =
            (clifford_peer_row){.batch = real_of(e->value, "batch"),
                                .features = real_of(e->value, "features"),
                                .forward_s = real_of(e->value, "forward_s"),
                                .forward_backward_s = real_of(e->value, "forward_backward_s")};
    }
    return 0;
}

int clifford_peer_read(cli *c, const char *path, const char *operation, const char *signs,
                       const char *dtype, clifford_peer *peer)
{
    tess_document *document = NULL;
    CLI_CALL(tess_document_load(c->ctx, path, &document));
    const tess_document_node *root = tess_document_root(document);
    int code = check_text(path, root, "schema", "tessera.clifford.bench/1");
    code = code ? code : check_text(path, root, "op", operation);
    code = code ? code : check_text(path, root, "metric", signs);
    code = code ? code : check_text(path, root, "dtype", dtype);
    code = code ? code : read_rows(path, document_member(root, "rows"), peer);
    tess_document_destroy(document);
    return code;
}

const clifford_peer_row *clifford_peer_find(const clifford_peer *peer, int64_t batch,
                                            int64_t features)
{
    for (int64_t i = 0; i < peer->n_row; i++) {
        if (peer->rows[i].batch == (double)batch && peer->rows[i].features == (double)features) {
            return &peer->rows[i];
        }
    }
    return NULL;
}
