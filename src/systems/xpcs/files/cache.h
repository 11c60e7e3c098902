// Caches of what was read from a slow file: .npz as the original writes them, with the origin.
#ifndef TESS_XPCS_FILES_CACHE_H
#define TESS_XPCS_FILES_CACHE_H

#include "runtime/spool.h"
#include "systems/xpcs/files/matrices.h"
#include "systems/xpcs/files/select.h"

enum { TESS_XP_CACHE_PATH = 1024 };

// The file that a cache was made from.
typedef struct tess_xp_origin {
    uint64_t n_byte;
    int64_t mtime_ns;
    char sha256[65]; // of its first and its last MiB
} tess_xp_origin;

TESS_MUST_CHECK tess_status tess_xp_origin_of(tess_context *ctx, const char *path,
                                              tess_xp_origin *out);

// What a cache says of itself: the layout's state of an open one.
typedef struct tess_xp_cache_meta {
    double config_q;
    double actual_q; // mean of its matrices; NaN: it does not say
    double n_phi;    // likewise
    int64_t start_frame;
    int64_t end_frame;
    bool has_origin; // the original writes none
    tess_xp_origin origin;
} tess_xp_cache_meta;

// The cache's path in the config's folder: its template with ${start_frame}, ${end_frame} (as
// configured) and ${wavevector_q}, or {start_frame} and so on. TESS_E_CONFIG for a template with an
// unknown variable, or a name that leaves the folder.
TESS_MUST_CHECK tess_status tess_xp_cache_path(const tess_xpcs_data_config *config,
                                               char path[TESS_XP_CACHE_PATH]);

// Fills bins and times of an .npz cache, the original's or ours.
TESS_MUST_CHECK tess_status tess_xp_cache_describe(struct tess_xpcs_file *file);

// Whether an open cache holds this selection (all angles of a ring) of a file; else why not. name
// and origin are the file's.
bool tess_xp_cache_fits(const struct tess_xpcs_file *cache, const struct tess_xpcs_file *file,
                        const tess_xp_selection *ring, double config_q,
                        const tess_xp_origin *origin, char why[256]);

// A cache being written, matrix by matrix.
typedef struct tess_xp_cache_writer {
    tess_context *ctx;
    const tess_xp_selection *ring;
    const struct tess_xpcs_file *file;
    double config_q;
    double dt_s;
    tess_xp_origin origin;
    tess_spool spool; // fd -1: not begun
    char path[TESS_XP_CACHE_PATH];
} tess_xp_cache_writer;

TESS_MUST_CHECK tess_status tess_xp_cache_begin(tess_xp_cache_writer *writer);
// Matrix k of the ring as it is [n_frame][n_frame] of the file; its frames are moved together.
TESS_MUST_CHECK tess_status tess_xp_cache_put(tess_xp_cache_writer *writer, int64_t k,
                                              void *matrix);
// Gives the cache its name, and writes the lists of angles and q beside it.
TESS_MUST_CHECK tess_status tess_xp_cache_commit(tess_xp_cache_writer *writer);
void tess_xp_cache_end(tess_xp_cache_writer *writer);

#endif
