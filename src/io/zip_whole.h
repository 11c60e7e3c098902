// A deflated member unpacked in one go.
#ifndef TESS_IO_ZIP_WHOLE_H
#define TESS_IO_ZIP_WHOLE_H

#include "io/zip.h"

// Memory that unpacking takes at most; 0 where the member is to be unpacked piece by piece, because
// it is too large or too small, or because the library was built without libdeflate.
uint64_t tess_zip_whole_bytes(const tess_host *host, const tess_zip_member *member);
// *whole: the member's bytes, unchecked, from host->alloc. NULL, though TESS_OK, where they cannot
// be unpacked: piece by piece it is found out where they break.
TESS_MUST_CHECK tess_status tess_zip_whole_unpack(const tess_host *host, const tess_zip *zip,
                                                  const tess_zip_member *member, uint8_t **whole);

#endif
