// Whether a file is already the result a run would write: a run killed after naming its output and
// resumed must say so, not refuse because the output exists.
#include "base/status.h"
#include "runtime/run_identity.h"
#include "runtime/source.h"
#include "runtime/work.h"

#include <unistd.h>

tess_status tess_run_is_finished(tess_context *ctx, const tess_plan *plan, tess_source *source,
                                 const char *path, const char *checkpoint_dir, int *finished)
{
    tess_error_clear();
    *finished = 0;
    if (access(path, F_OK) != 0) {
        return TESS_OK;
    }
    tess_hash fingerprint = {0, 0};
    if (source) {
        TESS_TRY(tess_source_fingerprint(source, &fingerprint));
    }
    tess_identity id;
    tess_run_identity_make(ctx, plan, fingerprint, &id);
    const tess_status status = tess_work_is_finished(ctx, &id, path, checkpoint_dir, finished);
    tess_identity_free(&id);
    return status;
}
