// APS legacy: files of the Advanced Photon Source from before its upgrade.
#include "base/status.h"
#include "systems/xpcs/files/matrices.h"

#include <inttypes.h>
#include <string.h>

#define MATRICES "exchange/C2T_all/"
#define PROCESSED "xpcs/qphi_bin_to_process"

// Bins of a ring have the averages of their pixels: q scatters within it.
static const double RING_WIDTH = 0.1;

static bool is_legacy(const tess_bundle *bundle)
{
    bool has_matrix = false;
    for (int64_t i = 0; i < bundle->n_entry; i++) {
        has_matrix =
            has_matrix || strncmp(bundle->entries[i].name, MATRICES, strlen(MATRICES)) == 0;
    }
    return has_matrix && tess_bundle_find(bundle, "xpcs/dqlist") &&
           tess_bundle_find(bundle, "xpcs/dphilist");
}

// The bins that the matrices belong to; *processed NULL: the first ones.
static tess_status read_processed(struct tess_xpcs_file *file, const int64_t **processed)
{
    int64_t n = 0;
    *processed = NULL;
    if (!tess_bundle_find(&file->bundle, PROCESSED)) {
        return TESS_OK;
    }
    TESS_TRY(tess_xp_file_wholes(file, PROCESSED, &n, processed));
    if (n != file->info.n_bin) {
        tess_text_printf(&file->notes,
                         "qphi_bin_to_process lists %" PRId64 " bins for %" PRId64
                         " matrices; it is not used\n",
                         n, file->info.n_bin);
        *processed = NULL;
    }
    return TESS_OK;
}

static tess_status describe(struct tess_xpcs_file *file)
{
    const double *q;
    const double *phi;
    const int64_t *processed;
    int64_t n_q;
    int64_t n_phi;
    TESS_TRY(tess_xp_file_matrices(file, MATRICES));
    TESS_TRY(tess_xp_file_reals(file, "xpcs/dqlist", &n_q, &q));
    TESS_TRY(tess_xp_file_reals(file, "xpcs/dphilist", &n_phi, &phi));
    TESS_TRY(read_processed(file, &processed));
    const int64_t n_list = n_q < n_phi ? n_q : n_phi;
    if (n_q != n_phi || (!processed && n_list != file->info.n_bin)) {
        tess_text_printf(&file->notes,
                         "the file has %" PRId64 " matrices, %" PRId64 " q and %" PRId64
                         " phi; the first of each are used\n",
                         file->info.n_bin, n_q, n_phi);
    }
    if (!processed) {
        tess_xp_file_keep(file, n_list);
    }
    int64_t n_valid = 0;
    for (int64_t k = 0; k < file->info.n_bin; k++) {
        tess_xpcs_bin *bin = &file->bins[k];
        bin->number = processed ? processed[k] : k + 1;
        bin->is_valid = bin->number >= 1 && bin->number <= n_list;
        if (bin->is_valid) {
            bin->q = q[bin->number - 1];
            bin->phi = phi[bin->number - 1];
            n_valid++;
        } else {
            tess_text_printf(&file->notes,
                             "qphi_bin_to_process has bin %" PRId64 ", but there are %" PRId64
                             " bins; it is skipped\n",
                             bin->number, n_list);
        }
    }
    if (n_valid == 0) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: none of its %" PRId64 " matrices belongs to one of its %" PRId64 " bins",
                  file->path, file->info.n_bin, n_list);
    }
    file->q_tolerance = RING_WIDTH;
    return TESS_OK;
}

const tess_xp_layout tess_xp_aps_legacy = {
    .name = "aps-legacy",
    .expect = "/xpcs/dqlist, /xpcs/dphilist and /exchange/C2T_all",
    .is_there = is_legacy,
    .describe = describe,
};
