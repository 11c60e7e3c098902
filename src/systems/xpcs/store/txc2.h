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

#include "base/infile.h"
#include "systems/xpcs/store/store.h"

#include <pthread.h>
#include <stdatomic.h>

// Records that lie in a file.
typedef struct tess_xp_txc2 {
    tess_context *ctx;
    tess_infile in;
    unsigned char *map; // of a scratch file while it is filled
    uint64_t map_bytes;
    uint64_t records_offset;
    tess_hash_kind hash_kind;
    tess_hash *leaf_hash; // [n_leaf]; NULL: a scratch file
    bool *is_lost;        // [n_leaf] given as ignored points, never read; NULL: none
    int64_t n_leaf;
    _Atomic(unsigned char *) held; // all records, once they were read into memory; NULL: not yet
    pthread_mutex_t holding;       // while they are
    char path[1024];               // for messages
} tess_xp_txc2;

TESS_MUST_CHECK tess_status tess_xp_txc2_alloc(tess_context *ctx, tess_xp_txc2 **out);
// A file without a name for the records of data, mapped for writing as data->records; once it is
// filled the mapping goes. release() gives back the pages of leaves that were filled.
TESS_MUST_CHECK tess_status tess_xp_txc2_scratch(tess_xpcs_data *data, const char *folder);
void tess_xp_txc2_release(tess_xp_txc2 *file, const tess_xp_tiles *tiles, int64_t first_leaf,
                          int64_t n_leaf);
void tess_xp_txc2_unmap(tess_xp_txc2 *file);
// Where records begin behind tables of so many bytes.
uint64_t tess_xp_txc2_records_offset(uint64_t tables_bytes);
// Whether a file begins like a .txc2 file; false for anything that cannot be read. TESS_E_CHANGED
// if it was written to meanwhile.
TESS_MUST_CHECK tess_status tess_xp_txc2_probe(const char *path, bool *is_it);
// Opens a .txc2 file; nothing is allocated before its size was found to fit its header.
TESS_MUST_CHECK tess_status tess_xp_txc2_open(tess_context *ctx, const char *path,
                                              tess_xpcs_data **out);
void tess_xp_txc2_close(tess_xp_txc2 *file);

// Reads leaves and checks them against their checksums. TESS_E_CHANGED where somebody wrote to the
// file, TESS_E_IO where it cannot be read.
TESS_MUST_CHECK tess_status tess_xp_txc2_read(tess_xp_txc2 *file, const tess_xp_tiles *tiles,
                                              int64_t first_leaf, int64_t n_leaf,
                                              unsigned char *records);

#endif
