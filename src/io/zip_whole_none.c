// Without libdeflate members are unpacked piece by piece.
#include "io/zip_whole.h"

uint64_t tess_zip_whole_bytes(const tess_host *host, const tess_zip_member *member)
{
    (void)host, (void)member;
    return 0;
}

tess_status tess_zip_whole_unpack(const tess_host *host, const tess_zip *zip,
                                  const tess_zip_member *member, uint8_t **whole)
{
    (void)host, (void)zip, (void)member;
    *whole = NULL;
    return TESS_OK;
}
