// Whether a file is already the result a run would write: a run killed after naming its output and
// resumed must say so, not refuse because the output exists.
#include "base/file.h"
#include "base/status.h"
#include "runtime/identity.h"
#include "runtime/journal.h"
#include "runtime/source.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static tess_status own_identity(tess_context *ctx, const tess_plan *plan, tess_source *source,
                                char text[33])
{
    tess_hash fingerprint = {0, 0};
    if (source) {
        TESS_TRY(tess_source_fingerprint(source, &fingerprint));
    }
    tess_identity id;
    tess_identity_make(ctx, plan, fingerprint, &id);
    tess_identity_text(&id, text);
    return TESS_OK;
}

tess_status tess_run_is_finished(tess_context *ctx, const tess_plan *plan, tess_source *source,
                                 const char *path, const char *checkpoint_dir, int *finished)
{
    tess_error_clear();
    *finished = 0;
    if (access(path, F_OK) != 0) {
        return TESS_OK;
    }
    char identity[33];
    TESS_TRY(own_identity(ctx, plan, source, identity));
    char *provenance = NULL;
    if (tess_file_provenance(ctx, path, &provenance) != TESS_OK) {
        tess_error_clear(); // not a file of ours, or a damaged one: not our result
        return TESS_OK;
    }
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"identity\": \"%s\"", identity);
    *finished = provenance && strstr(provenance, wanted) != NULL;
    tess_text_free(provenance);
    if (*finished) {
        tess_temp_file_sweep(path); // a run killed between its last two calls left one
    }
    if (*finished && checkpoint_dir && access(checkpoint_dir, F_OK) == 0) {
        return tess_journal_clear(ctx, plan, checkpoint_dir);
    }
    return TESS_OK;
}
