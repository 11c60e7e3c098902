// APS-U: what boost_corr writes since the upgrade of the Advanced Photon Source.
#include "base/status.h"
#include "systems/xpcs/files/matrices.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QMAP "xpcs/qmap/"
#define TWOTIME "xpcs/twotime/"
#define MATRICES TWOTIME "correlation_map/"

enum { NAMES_CHARS = 128 };

static bool is_aps_u(const tess_bundle *bundle)
{
    bool has_matrix = false;
    for (int64_t i = 0; i < bundle->n_entry; i++) {
        has_matrix =
            has_matrix || strncmp(bundle->entries[i].name, MATRICES, strlen(MATRICES)) == 0;
    }
    return has_matrix && tess_bundle_find(bundle, QMAP "dynamic_v_list_dim0");
}

static int add_name(void *user, int64_t index, const char *text)
{
    char *names = user;
    const size_t used = strlen(names);
    snprintf(names + used, NAMES_CHARS - used, "%s%.40s", index > 0 ? ", " : "", text);
    return index >= 3;
}

// The maps might as well be of x and y: then there are no rings.
static tess_status check_names(struct tess_xpcs_file *file)
{
    const tess_bundle_entry *entry = tess_bundle_find(&file->bundle, QMAP "map_names");
    char names[NAMES_CHARS] = "";
    if (!entry) {
        tess_text_add(&file->notes, "the file does not name its maps; they are taken as q and "
                                    "phi\n");
        return TESS_OK;
    }
    TESS_TRY(tess_bundle_read_texts(&file->bundle, entry, add_name, names));
    if (strcmp(names, "q, phi") != 0) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: '/" QMAP "map_names' is [%s]; expected [q, phi]; import the matrices with "
                  "c2_path, q and phi",
                  file->path, names);
    }
    return TESS_OK;
}

// The grid of q and phi, and how bins number its points.
typedef struct grid {
    int64_t n_q, n_phi, n_mapping, n_processed;
    const double *q, *phi;
    const int64_t *mapping;   // NULL: bin b is point b - 1
    const int64_t *processed; // NULL: bins 1, 2, ...
} grid;

static tess_status read_grid(struct tess_xpcs_file *file, grid *g)
{
    const tess_bundle *bundle = &file->bundle;
    TESS_TRY(tess_xp_file_reals(file, QMAP "dynamic_v_list_dim0", &g->n_q, &g->q));
    TESS_TRY(tess_xp_file_reals(file, QMAP "dynamic_v_list_dim1", &g->n_phi, &g->phi));
    if (tess_bundle_find(bundle, QMAP "dynamic_index_mapping")) {
        TESS_TRY(
            tess_xp_file_wholes(file, QMAP "dynamic_index_mapping", &g->n_mapping, &g->mapping));
    }
    if (tess_bundle_find(bundle, TWOTIME "processed_bins")) {
        TESS_TRY(
            tess_xp_file_wholes(file, TWOTIME "processed_bins", &g->n_processed, &g->processed));
    } else {
        tess_text_add(&file->notes, "the file has no processed_bins; its matrices are taken as "
                                    "bins 1, 2, ...\n");
        g->n_processed = file->info.n_bin;
    }
    if (tess_bundle_find(bundle, QMAP "dynamic_num_pts")) {
        int64_t n;
        const int64_t *points;
        TESS_TRY(tess_xp_file_wholes(file, QMAP "dynamic_num_pts", &n, &points));
        if (n != 2 || points[0] != g->n_q || points[1] != g->n_phi) {
            tess_text_printf(&file->notes,
                             "dynamic_num_pts disagrees with the lists of %" PRId64
                             " q and %" PRId64 " phi, which are used\n",
                             g->n_q, g->n_phi);
        }
    }
    return TESS_OK;
}

// Bin b of the file; false with a note where the grid has no such point.
static bool place(struct tess_xpcs_file *file, const grid *g, int64_t b, tess_xpcs_bin *bin)
{
    const int64_t n_point = g->n_q * g->n_phi; // both are lists in memory
    const int64_t n_bin = g->mapping ? g->n_mapping : n_point;
    const bool is_known = b >= 1 && b <= n_bin;
    const int64_t point = !is_known ? -1 : g->mapping ? g->mapping[b - 1] : b - 1;
    bin->number = b;
    if (point < 0 || point >= n_point) {
        tess_text_printf(&file->notes,
                         "processed_bins has bin %" PRId64 ", which the grid of %" PRId64
                         " x %" PRId64 " points and %" PRId64
                         " bins does not have; it is skipped\n",
                         b, g->n_q, g->n_phi, n_bin);
        return false;
    }
    bin->q = g->q[point / g->n_phi];
    bin->phi = g->phi[point % g->n_phi];
    return true;
}

static void read_times(struct tess_xpcs_file *file)
{
    double frame_time = 0;
    double stride = 1;
    double averaging = 1;
    tess_xp_file_number(file, "entry/instrument/detector_1/frame_time", &frame_time);
    tess_xp_file_number(file, TWOTIME "config/stride_frame", &stride);
    tess_xp_file_number(file, TWOTIME "config/avg_frame", &averaging);
    const bool is_sane = frame_time > 0 && isfinite(frame_time) && stride >= 1 && stride < 1e9 &&
                         averaging >= 1 && averaging < 1e9;
    if (!is_sane) {
        tess_text_printf(&file->notes,
                         "the file does not say the time between frames (frame time %g s, stride "
                         "%g, averaging %g); set dt\n",
                         frame_time, stride, averaging);
        return;
    }
    file->info.frame_time_s = frame_time;
    file->info.stride = (int64_t)stride;
    file->info.averaging = (int64_t)averaging;
    file->info.dt_s = frame_time * stride * averaging;
}

// Of "c2_00012" 12; 0 where a name ends without a number.
static int64_t key_number(const char *dataset)
{
    size_t n = strlen(dataset);
    while (n > 0 && dataset[n - 1] >= '0' && dataset[n - 1] <= '9') {
        n--;
    }
    return strlen(dataset + n) < 10 ? strtoll(dataset + n, NULL, 10) : 0;
}

// Names that count through 1 ... n_processed say which bin is whose even where some are missing
// (left out, or a link that leads nowhere); other names are taken in their order.
static bool are_numbered(const struct tess_xpcs_file *file, const grid *g)
{
    for (int64_t k = 0; k < file->info.n_bin; k++) {
        const int64_t number = key_number(file->bins[k].dataset);
        if (number < 1 || number > g->n_processed) {
            return false;
        }
    }
    return g->processed && file->info.n_bin < g->n_processed;
}

static tess_status describe(struct tess_xpcs_file *file)
{
    grid g = {0};
    TESS_TRY(check_names(file));
    TESS_TRY(tess_xp_file_matrices(file, MATRICES));
    TESS_TRY(read_grid(file, &g));
    const bool by_number = are_numbered(file, &g);
    if (g.n_processed != file->info.n_bin) {
        tess_text_printf(&file->notes,
                         "the file has %" PRId64 " matrices and %" PRId64 " processed bins; %s\n",
                         file->info.n_bin, g.n_processed,
                         by_number ? "they are matched by the numbers in their names"
                                   : "the first of both are used");
        tess_xp_file_keep(file, g.n_processed);
    }
    int64_t n_valid = 0;
    for (int64_t k = 0; k < file->info.n_bin; k++) {
        const int64_t at = by_number ? key_number(file->bins[k].dataset) - 1 : k;
        const int64_t b = g.processed ? g.processed[at] : k + 1;
        file->bins[k].is_valid = place(file, &g, b, &file->bins[k]);
        n_valid += file->bins[k].is_valid;
    }
    if (n_valid == 0) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: none of its %" PRId64 " processed bins is among the %" PRId64 " x %" PRId64
                  " points of its grid",
                  file->path, g.n_processed, g.n_q, g.n_phi);
    }
    read_times(file);
    return TESS_OK;
}

const tess_xp_layout tess_xp_aps_u = {
    .name = "aps-u",
    .expect = "/" QMAP "dynamic_v_list_dim0 and /" TWOTIME "correlation_map",
    .is_there = is_aps_u,
    .describe = describe,
};
