// The directory of a ZIP archive, as far as .npz files need it.
//
// The central directory is kept in memory as it is in the file and walked by a cursor, so that
// a hostile count of members allocates nothing.
#ifndef TESS_IO_ZIP_H
#define TESS_IO_ZIP_H

#include "base/infile.h"
#include "tessera/sys/module.h"

#include <stdbool.h>

enum { TESS_ZIP_STORED = 0, TESS_ZIP_DEFLATED = 8, TESS_ZIP_NAME_BYTES = 256 };

typedef struct tess_zip {
    tess_infile file;
    uint8_t *directory;
    uint64_t directory_bytes;
    uint64_t directory_offset;
    uint64_t n_member;
} tess_zip;

typedef struct tess_zip_member {
    char name[TESS_ZIP_NAME_BYTES];
    uint32_t method;
    uint32_t flags;
    uint32_t crc32;
    uint64_t packed_bytes;
    uint64_t bytes;         // unpacked
    uint64_t header_offset; // of the local header
    uint64_t data_offset;   // set by tess_zip_locate()
} tess_zip_member;

// Reads the directory and checks every entry: bounds, names, no encryption, one disk.
// path is borrowed and must outlive the archive.
TESS_MUST_CHECK tess_status tess_zip_open(const tess_host *host, const char *path, tess_zip *out);
void tess_zip_close(const tess_host *host, tess_zip *zip);

// Walks the members: start with *cursor 0; false after the last one.
bool tess_zip_next(const tess_zip *zip, uint64_t *cursor, tess_zip_member *out);

// Reads the local header, checks that it agrees with the directory and that the member shares no
// byte with another one, and fills data_offset.
TESS_MUST_CHECK tess_status tess_zip_locate(const tess_zip *zip, tess_zip_member *member);

#endif
