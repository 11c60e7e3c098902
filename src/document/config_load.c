// A tree out of a file, whichever parser the build found.
#include "base/infile.h"
#include "base/status.h"
#include "document/config_tree.h"

#include <inttypes.h>

tess_status tess_tree_load(tess_tree *tree)
{
    tess_infile file;
    TESS_TRY(tess_infile_open(tree->path, &file));
    const uint64_t bytes = file.bytes;
    tess_status status = TESS_OK;
    char *text = NULL;
    if (bytes > TESS_CONFIG_MAX_BYTES) {
        status =
            tess_error_set(TESS_E_CONFIG, "%s: %" PRIu64 " bytes; a configuration has at most %d",
                           tree->path, bytes, TESS_CONFIG_MAX_BYTES);
        goto done;
    }
    text = tess_heap_alloc(tree->heap, bytes, TESS_TAG_IO, "a configuration file");
    if (text == NULL) {
        status = TESS_E_MEMORY;
        goto done;
    }
    status = tess_infile_read(&file, text, bytes, 0);
    if (status == TESS_OK) {
        status = tess_tree_parse(tree, text, bytes);
    }
done:
    if (text != NULL) {
        tess_heap_free(tree->heap, text, bytes, TESS_TAG_IO);
    }
    tess_infile_close(&file);
    return status;
}
