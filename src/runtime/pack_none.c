// Without zlib nothing is packed.

#include "base/status.h"
#include "runtime/pack.h"

tess_status tess_packer_open(tess_heap *heap, int fd, const char *path, tess_packer **out)
{
    (void)heap;
    (void)fd;
    *out = NULL;
    TESS_FAIL(TESS_E_UNSUPPORTED,
              "%s: cannot be compressed, this library was built without zlib; write a name without "
              ".gz, or build again with zlib's development package installed",
              path);
}

tess_status tess_packer_write(tess_packer *packer, const void *src, size_t bytes)
{
    (void)packer;
    (void)src;
    (void)bytes;
    TESS_FAIL(TESS_E_UNSUPPORTED, "built without zlib");
}

tess_status tess_packer_finish(tess_packer *packer)
{
    (void)packer;
    TESS_FAIL(TESS_E_UNSUPPORTED, "built without zlib");
}

void tess_packer_close(tess_packer *packer)
{
    (void)packer;
}
