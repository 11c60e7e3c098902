// The first 4096 bytes of a .txc2 file; see txc2.h for the rest.
#ifndef TESS_XPCS_STORE_TXC2_LAYOUT_H
#define TESS_XPCS_STORE_TXC2_LAYOUT_H

#include "base/hash.h"

enum {
    TESS_XP_TXC2_VERSION = 1,
    TESS_XP_TXC2_ALIGN = 4096,
    TESS_XP_TXC2_BYTE_ORDER = 0x01020304,
    TESS_XP_TXC2_MOST_NOTES = 1 << 20,
    TESS_XP_TXC2_ORIGIN = TESS_XP_TXC2_ALIGN - 184 // bytes that are left of the header
};

#define TESS_XP_TXC2_MAGIC "TESSTXC2"

typedef struct tess_xp_txc2_header {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint32_t header_bytes;
    int32_t dtype; // TESS_F32 or TESS_F64
    int32_t has_sigma;
    int32_t hash_kind;
    int32_t keep_t0;
    int32_t run; // how triangles are cut: TESS_STAGE_XPCS_RUN, PAD, LEAF
    int32_t pad;
    int32_t leaf;
    int64_t n_angle;
    int64_t n_frame;
    int64_t n_leaf;
    int64_t start_frame;
    int64_t end_frame;
    double dt_s;
    double gap_angstrom;
    uint64_t tables_bytes; // from 4096 on
    uint64_t notes_bytes;  // of them, without a zero
    uint64_t records_offset;
    uint64_t records_bytes;
    tess_hash fingerprint;
    tess_hash tables_hash;
    char origin[TESS_XP_TXC2_ORIGIN]; // provenance behind its name; zeros to the end
    tess_hash header_hash;            // of everything before
} tess_xp_txc2_header;

_Static_assert(sizeof(tess_xp_txc2_header) == TESS_XP_TXC2_ALIGN, "the header is one page");

#endif
