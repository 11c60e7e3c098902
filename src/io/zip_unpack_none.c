// Without zlib: stored members only.

#include "base/status.h"
#include "io/zip_unpack.h"

tess_status tess_inflater_open(const tess_host *host, const tess_zip *zip,
                               const tess_zip_member *member, tess_inflater **out)
{
    (void)host;
    *out = NULL;
    TESS_FAIL(TESS_E_UNSUPPORTED,
              "%s: member '%s' is compressed and this build of Tessera has no zlib; save it with "
              "numpy.savez instead of savez_compressed, or build with zlib",
              zip->file.path, member->name);
}

tess_status tess_inflater_read(tess_inflater *inflater, uint64_t offset, uint64_t bytes, void *dst)
{
    (void)inflater;
    (void)offset;
    (void)bytes;
    (void)dst;
    TESS_FAIL(TESS_E_UNSUPPORTED, "this build of Tessera has no zlib");
}

uint64_t tess_inflater_held_bytes(const tess_inflater *inflater)
{
    (void)inflater;
    return 0;
}

void tess_inflater_close(tess_inflater *inflater)
{
    (void)inflater;
}
