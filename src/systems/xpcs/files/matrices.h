// A file of two-time matrices, whatever its layout: bins with q and phi, and a way to read one.
#ifndef TESS_XPCS_FILES_MATRICES_H
#define TESS_XPCS_FILES_MATRICES_H

#include "base/blocks.h"
#include "base/text.h"
#include "runtime/bundle.h"
#include "runtime/context.h"
#include "tessera/xpcs/data.h"

#include <stdbool.h>

struct tess_xpcs_file {
    tess_context *ctx;
    tess_xpcs_file_info info;
    char *path;
    // The full symmetric matrix of a bin [n_frame][n_frame] of info.dtype, diagonal as stored.
    tess_status (*read)(struct tess_xpcs_file *file, int64_t bin, void *matrix);
    void (*close_layout)(struct tess_xpcs_file *file);
    void *layout;        // the layout's own state
    tess_blocks memory;  // everything below, and what info points to
    tess_bundle bundle;  // the data sets of the file; ctx NULL: it is no bundle
    tess_text notes;     // a sentence per line, each ending in a newline
    tess_xpcs_bin *bins; // those of info
    uint64_t held_bytes; // that reading takes besides the matrix
    double q_tolerance;  // fraction of q where the config has none; negative: q does not select
    tess_source *stack;  // a data set of all matrices; NULL: each bin has its own
    void *items;         // of the stack where angles are its last axis: a row of it, or all
    bool has_all;
    bool has_own_sources; // read() may be called by several threads at once
    uint64_t item_bytes;  // of items
    uint64_t row_bytes;
};

// A layout of HDF5 files.
typedef struct tess_xp_layout {
    const char *name;   // "aps-u"
    const char *expect; // the data sets that tell it, for messages
    bool (*is_there)(const tess_bundle *bundle);
    // Fills bins and times.
    tess_status (*describe)(struct tess_xpcs_file *file);
} tess_xp_layout;

extern const tess_xp_layout tess_xp_aps_u;
extern const tess_xp_layout tess_xp_aps_legacy;
extern const tess_xp_layout tess_xp_chx;

// TESS_E_CHANGED if it is not any more what it was when it was opened.
TESS_MUST_CHECK tess_status tess_xp_file_check(const struct tess_xpcs_file *file);

// A file of any kind; config NULL or its c2_path NULL: the layout is found by content.
TESS_MUST_CHECK tess_status tess_xp_file_open(tess_context *ctx, const char *path,
                                              const tess_xpcs_data_config *config,
                                              struct tess_xpcs_file **out);

// TESS_E_FORMAT for a file that opening refused with TESS_E_VERSION, with its message.
TESS_MUST_CHECK tess_status tess_xp_file_refused(tess_status status);

// What layouts share (matrices.c).

// Numbers of a data set with one axis longer than 1; they live with the file. TESS_E_FORMAT naming
// the data set where it is not there or not a list of numbers.
TESS_MUST_CHECK tess_status tess_xp_file_reals(struct tess_xpcs_file *file, const char *dataset,
                                               int64_t *n, const double **values);
TESS_MUST_CHECK tess_status tess_xp_file_wholes(struct tess_xpcs_file *file, const char *dataset,
                                                int64_t *n, const int64_t **values);
// A single number; leaves *value alone where there is none that can be read.
void tess_xp_file_number(struct tess_xpcs_file *file, const char *dataset, double *value);

// One bin for every data set directly inside group ("a/b/"), in order of names, as valid ones with
// number 0 and without q and phi. Each has to be a square matrix of real numbers.
TESS_MUST_CHECK tess_status tess_xp_file_matrices(struct tess_xpcs_file *file, const char *group);
// Makes the matrix of a bin symmetric; TESS_E_NUMERIC "matrix not symmetric" where it is not.
TESS_MUST_CHECK tess_status tess_xp_file_complete(const struct tess_xpcs_file *file, int64_t bin,
                                                  void *matrix);
// Items of f32 as f64. They may be the back half of where they go: each is read before its place is
// written.
void tess_xp_widen(double *wide, const unsigned char *items, uint64_t n_item);
// Keeps the first n bins.
void tess_xp_file_keep(struct tess_xpcs_file *file, int64_t n);

// Bins of a data set of all matrices (stack.c): (P,N,N), (N,N), or (N,N,P) with angles_last; valid
// ones with numbers 1, 2, ... and without q and phi. dataset NULL: the only one.
TESS_MUST_CHECK tess_status tess_xp_file_stack(struct tess_xpcs_file *file, const char *dataset,
                                               int32_t angles_last);
void tess_xp_file_close_stack(struct tess_xpcs_file *file);
// Any data set that the config names, with the config's q and phi (stack.c).
TESS_MUST_CHECK tess_status tess_xp_dataset_describe(struct tess_xpcs_file *file,
                                                     const tess_xpcs_data_config *config);
// A matrix's size against what is read at all; name is the data set.
TESS_MUST_CHECK tess_status tess_xp_file_check_matrix(const struct tess_xpcs_file *file,
                                                      const char *name, int64_t n_row,
                                                      int64_t n_column, int32_t dtype,
                                                      const char *type_text);

#endif
