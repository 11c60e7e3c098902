#include "runtime/identity.h"

#include "base/status.h"

#include <stdio.h>
#include <string.h>

void tess_identity_make(const tess_context *ctx, const tess_plan *plan, tess_hash fingerprint,
                        tess_identity *id)
{
    memset(id, 0, sizeof *id);
    snprintf(id->name, sizeof id->name, "%s", plan->ops->name);
    snprintf(id->version, sizeof id->version, "%s", TESS_VERSION);
    memcpy(id->settings, plan->settings, sizeof id->settings);
    snprintf(id->backend, sizeof id->backend, "%s", ctx->device->backend->name);
    id->fingerprint = fingerprint;
    id->in_rank = plan->in.rank;
    id->out_rank = plan->out.rank;
    id->in_dtype = plan->in.dtype;
    id->out_dtype = plan->out.dtype;
    memcpy(id->in_shape, plan->in.shape, sizeof id->in_shape);
    memcpy(id->out_shape, plan->out.shape, sizeof id->out_shape);
    id->hash_kind = (int32_t)tess_hash_default();
}

tess_status tess_identity_compare(const tess_identity *found, const tess_identity *own,
                                  const char *path)
{
    const char *remedy = "remove the folder, or run with the settings and input it was made with";
    if (memcmp(found->name, own->name, sizeof own->name) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: checkpoint of '%.31s', this run is '%s'; %s", path,
                  found->name, own->name, remedy);
    }
    if (memcmp(found->version, own->version, sizeof own->version) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: written by Tessera %.15s, this is %s; %s", path,
                  found->version, own->version, remedy);
    }
    if (memcmp(found->settings, own->settings, sizeof own->settings) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: settings were '%.200s', are '%.200s'; %s", path,
                  found->settings, own->settings, remedy);
    }
    if (memcmp(found->backend, own->backend, sizeof own->backend) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: made on device '%.15s', this run uses '%s'; %s", path,
                  found->backend, own->backend, remedy);
    }
    if (found->in_rank != own->in_rank || found->in_dtype != own->in_dtype ||
        memcmp(found->in_shape, own->in_shape, sizeof own->in_shape) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: the input had another shape or type; %s", path, remedy);
    }
    if (found->hash_kind != own->hash_kind) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "%s: made by a build with other checksums (with and without xxHash); %s", path,
                  remedy);
    }
    if (!tess_hash_equal(found->fingerprint, own->fingerprint)) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "%s: the input has changed since (size, time or content of its first or last "
                  "MiB); %s",
                  path, remedy);
    }
    if (memcmp(found, own, sizeof *own) != 0) {
        TESS_FAIL(TESS_E_MISMATCH, "%s: the output had another shape or type; %s", path, remedy);
    }
    return TESS_OK;
}

void tess_identity_text(const tess_identity *id, char text[33])
{
    tess_hash_text(tess_hash_bytes(tess_hash_default(), id, sizeof *id), text);
}
