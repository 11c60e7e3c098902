// Whether a file is already the result a run would write: a run killed after naming its output and
// resumed must say so, not refuse because the output exists.
#include "base/file.h"
#include "base/status.h"
#include "runtime/provenance.h"
#include "runtime/run_identity.h"
#include "runtime/source.h"

#include <unistd.h>

tess_status tess_run_is_finished(tess_context *ctx, const tess_plan *plan, tess_source *source,
                                 const char *path, const char *checkpoint_dir, int *finished)
{
    tess_error_clear();
    *finished = 0;
    if (access(path, F_OK) != 0) {
        return TESS_OK;
    }
    char digest[33];
    tess_hash fingerprint = {0, 0};
    if (source) {
        TESS_TRY(tess_source_fingerprint(source, &fingerprint));
    }
    tess_identity id;
    tess_run_identity_make(ctx, plan, fingerprint, &id);
    tess_identity_digest(&id, digest);
    tess_identity_free(&id);
    *finished = tess_provenance_is_of(ctx, path, digest);
    if (*finished) {
        tess_temp_file_sweep(path); // a run killed between its last two calls left one
    }
    if (*finished && checkpoint_dir && access(checkpoint_dir, F_OK) == 0) {
        return tess_checkpoint_clear(ctx, checkpoint_dir);
    }
    return TESS_OK;
}
