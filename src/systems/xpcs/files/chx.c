// CHX: what pyCHX exports at NSLS-II ("uid=..._Res.h5").
#include "base/status.h"
#include "systems/xpcs/files/matrices.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MATRICES "g12b"
#define VALUES "qval_dict"
#define TIMES "tausb"

enum { VALUE_CHARS = 512 };

static bool is_chx(const tess_bundle *bundle)
{
    return tess_bundle_find(bundle, MATRICES) && tess_bundle_find(bundle, VALUES);
}

// What the file says of region k: q, and where there is a second value phi.
static bool read_region(const tess_bundle *bundle, int64_t k, double *q, double *phi)
{
    char name[24];
    char text[VALUE_CHARS];
    snprintf(name, sizeof name, "%" PRId64, k);
    *phi = (double)NAN;
    if (tess_bundle_number_attribute(bundle, VALUES, name, q)) {
        return true;
    }
    if (!tess_bundle_text_attribute(bundle, VALUES, name, text, sizeof text)) {
        return false;
    }
    char *end = text;
    *q = strtod(text, &end);
    *phi = strtod(end, NULL);
    return end != text;
}

static tess_status take_regions(struct tess_xpcs_file *file)
{
    int64_t n_phi = 0;
    for (int64_t k = 0; k < file->info.n_bin; k++) {
        tess_xpcs_bin *bin = &file->bins[k];
        double phi;
        if (!read_region(&file->bundle, k, &bin->q, &phi)) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: '/" VALUES "' has no attribute '%" PRId64
                      "' with the q of matrix %" PRId64
                      "; import the matrices with c2_path, q and phi",
                      file->path, k, k + 1);
        }
        n_phi += !isnan(phi);
        bin->phi = isnan(phi) ? 0 : phi;
    }
    if (n_phi == 0) {
        tess_text_add(&file->notes, "the file says no angles; phi is taken as 0\n");
    } else {
        tess_text_add(&file->notes, "the second value of qval_dict is taken as phi in degrees; in "
                                    "grazing incidence it is qz: then import with c2_path\n");
    }
    return TESS_OK;
}

static tess_status take_times(struct tess_xpcs_file *file)
{
    int64_t n = 0;
    const double *tau = NULL;
    if (!tess_bundle_find(&file->bundle, TIMES)) {
        return TESS_OK; // the caller's dt
    }
    TESS_TRY(tess_xp_file_reals(file, TIMES, &n, &tau));
    if (n > 1 && tau[1] > tau[0]) {
        file->info.dt_s = tau[1] - tau[0];
        file->info.frame_time_s = file->info.dt_s;
    }
    return TESS_OK;
}

static tess_status describe(struct tess_xpcs_file *file)
{
    TESS_TRY(tess_xp_file_stack(file, MATRICES, 1));
    TESS_TRY(take_regions(file));
    return take_times(file);
}

const tess_xp_layout tess_xp_chx = {
    .name = "chx",
    .expect = "/" MATRICES " and /" VALUES,
    .is_there = is_chx,
    .describe = describe,
};
