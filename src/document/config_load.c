// A tree out of a file, whichever parser the build found.
#include "base/file.h"
#include "base/status.h"
#include "document/config_tree.h"

#include <inttypes.h>
#include <unistd.h>

tess_status tess_tree_load(tess_tree *tree)
{
    int fd = -1;
    uint64_t bytes = 0;
    TESS_TRY(tess_file_open_read(tree->path, &fd, &bytes, NULL));
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
    status = tess_file_read_at(fd, tree->path, text, bytes, 0);
    if (status == TESS_OK) {
        status = tess_tree_parse(tree, text, bytes);
    }
done:
    if (text != NULL) {
        tess_heap_free(tree->heap, text, bytes, TESS_TAG_IO);
    }
    close(fd);
    return status;
}
