// Records in a file: .txc2 files, and scratch files where memory does not suffice.
//
// A .txc2 file, everything little-endian:
//
//   header   4096 bytes: what tess_xp_txc2_header says, zeros, at the end its own checksum
//   tables   phi, q, mean f64 [n_angle], n_finite i64 [n_angle], checksum of every leaf [n_leaf] of
//            16 bytes, the notes as text, their checksum; padded to 4096 bytes
//   records  as stage/xpcs.h lays them out, from a multiple of 4096 bytes on to the end of the file
#ifndef TESS_XPCS_STORE_TXC2_H
#define TESS_XPCS_STORE_TXC2_H

#include "systems/xpcs/store/store.h"

#include <stdatomic.h>

// Records that lie in a file.
typedef struct tess_xp_txc2 {
    tess_context *ctx;
    int fd;
    unsigned char *map; // of the whole file
    uint64_t file_bytes;
    uint64_t records_offset;
    tess_hash_kind hash_kind;
    tess_hash *leaf_hash;    // [n_leaf]; NULL: a scratch file
    atomic_bool *is_checked; // [n_leaf] its checksum was right; passes may run at the same time
    bool *is_lost;           // [n_leaf] given as ignored points, never read; NULL: none
    int64_t n_leaf;
    atomic_bool no_populate; // the kernel cannot fault a range in by itself
    char path[1024];         // for messages
} tess_xp_txc2;

TESS_MUST_CHECK tess_status tess_xp_txc2_alloc(tess_context *ctx, tess_xp_txc2 **out);
TESS_MUST_CHECK tess_status tess_xp_txc2_map_file(tess_xp_txc2 *file, uint64_t bytes,
                                                  bool is_writable);
// A file without a name for the records of data, mapped for writing as data->records.
TESS_MUST_CHECK tess_status tess_xp_txc2_scratch(tess_xpcs_data *data, const char *folder);
// Where records begin behind tables of so many bytes.
uint64_t tess_xp_txc2_records_offset(uint64_t tables_bytes);
// Begins like a .txc2 file; false for anything that cannot be read.
bool tess_xp_txc2_probe(const char *path);
// Opens a .txc2 file; nothing is allocated before its size was found to fit its header.
TESS_MUST_CHECK tess_status tess_xp_txc2_open(tess_context *ctx, const char *path,
                                              tess_xpcs_data **out);
void tess_xp_txc2_close(tess_xp_txc2 *file);

// Leaves through the mapping or by reading, checked against their checksums: always when read, once
// when mapped. TESS_E_TRUNCATED where the file became shorter, TESS_E_IO where it cannot be read.
// Leaves that are lost can only be read.
TESS_MUST_CHECK tess_status tess_xp_txc2_map(tess_xp_txc2 *file, const tess_xp_tiles *tiles,
                                             int64_t first_leaf, int64_t n_leaf,
                                             const unsigned char **records);
TESS_MUST_CHECK tess_status tess_xp_txc2_read(tess_xp_txc2 *file, const tess_xp_tiles *tiles,
                                              int64_t first_leaf, int64_t n_leaf,
                                              unsigned char *records);
// Gives mapped leaves back, and asks for others.
void tess_xp_txc2_release(tess_xp_txc2 *file, const tess_xp_tiles *tiles, int64_t first_leaf,
                          int64_t n_leaf);
void tess_xp_txc2_want(tess_xp_txc2 *file, const tess_xp_tiles *tiles, int64_t first_leaf,
                       int64_t n_leaf);

#endif
