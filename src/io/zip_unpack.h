// The bytes of a ZIP member: as they lie (stored) or unpacked front to back (deflated).
#ifndef TESS_IO_ZIP_UNPACK_H
#define TESS_IO_ZIP_UNPACK_H

#include "io/zip.h"

// CRC-32 of bytes seen without a gap from the start of a member. Whoever reads a member to its
// end in order learns whether it is intact; other readers are not told anything.
typedef struct tess_zip_check {
    uint64_t next; // offset of the first byte not seen yet
    uint32_t crc32;
} tess_zip_check;

// Takes note of member bytes offset..offset+bytes-1. TESS_E_FORMAT when these complete the member
// and its checksum is wrong.
TESS_MUST_CHECK tess_status tess_zip_check_add(tess_zip_check *check, const tess_host *host,
                                               const tess_zip *zip, const tess_zip_member *member,
                                               uint64_t offset, const void *data, uint64_t bytes);

// Unpacks a deflated member forwards, or at once where it fits into an eighth of the memory limit
// and the library was built with libdeflate. host, zip and member are borrowed until close.
typedef struct tess_inflater tess_inflater;

// TESS_E_UNSUPPORTED where the library was built without zlib. *out is NULL after a failure.
TESS_MUST_CHECK tess_status tess_inflater_open(const tess_host *host, const tess_zip *zip,
                                               const tess_zip_member *member, tess_inflater **out);
// Memory that reading may take; plans count it.
uint64_t tess_inflater_held_bytes(const tess_inflater *inflater);
// Reading before the current place may start over from the beginning.
TESS_MUST_CHECK tess_status tess_inflater_read(tess_inflater *inflater, uint64_t offset,
                                               uint64_t bytes, void *dst);
void tess_inflater_close(tess_inflater *inflater);

#endif
