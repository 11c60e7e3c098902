#include "base/infile.h"
#include "base/status.h"
#include "runtime/source.h"
#include "systems/decode/report/view.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_PROVENANCE = 16 << 20 };

tess_status tess_de_view_provenance(const tess_de_view *view, char **text)
{
    *text = NULL;
    if (!view->is_folder) {
        return tess_file_provenance(view->ctx, view->path, text);
    }
    char path[1200];
    tess_infile file;
    snprintf(path, sizeof path, "%s/provenance.json", view->path);
    if (tess_infile_open(path, &file) != TESS_OK || file.bytes > MAX_PROVENANCE) {
        tess_error_clear(); // a folder without it is a result all the same
        tess_infile_close(&file);
        return TESS_OK;
    }
    const uint64_t bytes = file.bytes;
    char *found = calloc(1, (size_t)bytes + 1);
    const tess_status status =
        found ? tess_infile_read(&file, found, (size_t)bytes, 0)
              : tess_error_set(TESS_E_MEMORY, "cannot allocate %llu bytes for provenance",
                               (unsigned long long)bytes);
    tess_infile_close(&file);
    if (status != TESS_OK) {
        free(found);
        return status;
    }
    *text = found;
    return TESS_OK;
}
