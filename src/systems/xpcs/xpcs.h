// The inside of the handles that callers hold: data, and what a fit found.
#ifndef TESS_XPCS_XPCS_H
#define TESS_XPCS_XPCS_H

#include "base/hash.h"
#include "runtime/context.h"
#include "stage/xpcs.h"
#include "systems/xpcs/store/txc2_layout.h"
#include "tessera/xpcs/result.h"

#include <stdbool.h>

// What was found in the matrix of an angle.
typedef struct tess_xp_found {
    int64_t n_wanted;   // pairs that were not left out on purpose
    int64_t n_negative; // finite samples below 0
    double least;       // of the finite samples
    double largest;
    double near_mean; // of the shortest lag that is used; NaN: no finite sample there
    bool is_dropped;
} tess_xp_found;

// Records that are made when they are asked for.
typedef struct tess_xp_generator {
    int32_t stage;       // that makes them
    tess_device *device; // of the data's context, that has it
    // device: of the call that needs them, whose context need not be the data's.
    tess_status (*make)(struct tess_xp_generator *self, tess_device *device,
                        const tess_xp_tiles *tiles, int64_t first_leaf, int64_t n_leaf,
                        unsigned char *records);
    void (*destroy)(struct tess_xp_generator *self);
} tess_xp_generator;

struct tess_xpcs_data {
    tess_context *ctx;
    tess_xpcs_data_info info;
    tess_xp_tiles tiles;
    unsigned char *records;       // IN_MEMORY; while a scratch file is filled, its mapping
    uint64_t record_bytes;        // that were taken for them
    struct tess_xp_txc2 *file;    // IN_FILE
    int64_t n_lost;               // points that are in it, but masked: they cannot be read
    tess_xp_generator *generator; // GENERATED
    uint64_t number;              // no other data of the process have it
    _Atomic(double *)
        scaling;           // [2][n_made] contrasts and offsets by quantiles, once they are known
    tess_hash fingerprint; // of angles and samples wherever they lie; of a simulation's settings
    double *tables;        // [4][n_made] behind info: phi, q, mean, n_finite (as integers)
    tess_xp_found *found;  // [n_made]; NULL: filled otherwise than by matrices
    int64_t n_made;        // angles that there is room for
    char *notes;
    size_t notes_bytes;
    char *path;
    char origin[TESS_XP_TXC2_ORIGIN]; // provenance of the .txc2 file they were read from, or ""
};

struct tess_xpcs_result {
    tess_context *ctx;
    tess_xpcs_result_info info; // its pointers lead into what follows
    void *block;                // all numbers
    size_t block_bytes;
    const char *names[TESS_XPCS_MAX_PARAM];
    char *texts[8]; // message, warnings, recovery, device, path, fingerprint, hash, identity

    // The arrays of info, to be filled.
    double *theta;
    double *sd;
    double *contrast;
    double *contrast_sd;
    double *offset;
    double *offset_sd;
    double *covariance;
    double *correlation;
    double *start;
    double *lower;
    double *upper;
    double *phi;
    double *q;
    double *sigma;
    double *reduced_chi2_angle;
    double *bootstrap_sd;
    double *bootstrap;
    double *interval_lower;
    double *interval_upper;
    double *independent_covariance; // [n_param][n_param] 0: noise is independent
    int64_t *n_used_angle;
    int32_t *status;
    int32_t *contrast_status;
    int32_t *offset_status;
    int32_t *interval_kind;
    tess_xpcs_trace *trace;
    tess_xpcs_basin *basins;

    double signal; // of the covariance: squares of contrasts by their errors at fixed theta, summed
};

#endif
