// Small files of two-time matrices, right or spoiled on purpose.
#ifndef TESS_TESTS_XPCS_FILES_H
#define TESS_TESTS_XPCS_FILES_H

#include "runtime/bundle.h"
#include "tessera/xpcs.h"
#include "unit.h"
#include "unit_golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XF_GOLDEN TESS_GOLDEN "/xpcs/"

enum { XF_FRAMES = 6, XF_MATRICES = 3, XF_INPUTS = 24 };

// The data sets of a file to be; change them, then write.
typedef struct xf_file {
    tess_format_writer_input inputs[XF_INPUTS];
    int64_t n_input;
    float c2[XF_MATRICES][XF_FRAMES][XF_FRAMES];
    double q[2];
    double phi[XF_MATRICES];
    int64_t bins[XF_MATRICES];
    int64_t mapping[2 * XF_MATRICES];
    char names[2][8];
    double frame_time;
    int64_t stride;
    int64_t averaging;
    char keys[XF_MATRICES][64];
} xf_file;

static inline void xf_add(xf_file *f, const char *name, tess_dtype dtype, int32_t rank,
                          const int64_t *shape, const void *data)
{
    assert_true(f->n_input < XF_INPUTS);
    tess_bundle_input(&f->inputs[f->n_input++], name, dtype, rank, shape, data);
}

static inline tess_format_writer_input *xf_find(xf_file *f, const char *name)
{
    for (int64_t i = 0; i < f->n_input; i++) {
        if (strcmp(f->inputs[i].dataset, name) == 0) {
            return &f->inputs[i];
        }
    }
    fail_msg("no data set %s", name);
    return NULL;
}

static inline void xf_drop(xf_file *f, const char *name)
{
    *xf_find(f, name) = f->inputs[--f->n_input];
}

// Upper triangles with a spike, zeros below.
static inline void xf_fill(xf_file *f)
{
    for (int k = 0; k < XF_MATRICES; k++) {
        for (int i = 0; i < XF_FRAMES; i++) {
            for (int j = i; j < XF_FRAMES; j++) {
                f->c2[k][i][j] =
                    i == j ? 2 : 1 + 0.3F / (float)(1 + j - i) + 0.01F * (float)(k + i);
            }
        }
    }
}

static inline void xf_matrices(xf_file *f, const char *group)
{
    const int64_t shape[] = {XF_FRAMES, XF_FRAMES};
    for (int k = 0; k < XF_MATRICES; k++) {
        snprintf(f->keys[k], sizeof f->keys[k], "%s_%05d", group, k + 1);
        xf_add(f, f->keys[k], TESS_F32, 2, shape, f->c2[k]);
    }
}

// One ring of three angles, q 0.0054 and dt 0.1 of 0.01 s, stride 5 and averaging 2; the other ring
// is empty.
static inline void xf_aps_u(xf_file *f)
{
    const int64_t two = 2;
    const int64_t three = XF_MATRICES;
    const int64_t six = 2 * XF_MATRICES;
    *f = (xf_file){.q = {0.004, 0.0054},
                   .phi = {-30, 0, 90},
                   .bins = {4, 5, 6},
                   .mapping = {0, 1, 2, 3, 4, 5},
                   .names = {"q", "phi"},
                   .frame_time = 0.01,
                   .stride = 5,
                   .averaging = 2};
    xf_fill(f);
    xf_matrices(f, "xpcs/twotime/correlation_map/c2");
    xf_add(f, "xpcs/qmap/dynamic_v_list_dim0", TESS_F64, 1, &two, f->q);
    xf_add(f, "xpcs/qmap/dynamic_v_list_dim1", TESS_F64, 1, &three, f->phi);
    xf_add(f, "xpcs/qmap/dynamic_index_mapping", TESS_I64, 1, &six, f->mapping);
    xf_add(f, "xpcs/twotime/processed_bins", TESS_I64, 1, &three, f->bins);
    xf_add(f, "xpcs/qmap/map_names", TESS_BYTES, 1, &two, f->names);
    f->inputs[f->n_input - 1].item_bytes = sizeof f->names[0];
    f->inputs[f->n_input - 1].data_bytes = sizeof f->names;
    xf_add(f, "entry/instrument/detector_1/frame_time", TESS_F64, 0, NULL, &f->frame_time);
    xf_add(f, "xpcs/twotime/config/stride_frame", TESS_I64, 0, NULL, &f->stride);
    xf_add(f, "xpcs/twotime/config/avg_frame", TESS_I64, 0, NULL, &f->averaging);
}

static inline void xf_legacy(xf_file *f)
{
    const int64_t shape[] = {1, XF_MATRICES};
    *f = (xf_file){.phi = {-30, 0, 190}, .bins = {1, 2, 3}};
    xf_fill(f);
    static const double q[] = {0.00538, 0.0054, 0.00542};
    xf_matrices(f, "exchange/C2T_all/g2");
    xf_add(f, "xpcs/dqlist", TESS_F64, 2, shape, q);
    xf_add(f, "xpcs/dphilist", TESS_F64, 2, shape, f->phi);
    xf_add(f, "xpcs/qphi_bin_to_process", TESS_I64, 1, shape + 1, f->bins);
}

// Writes the file; its path lives until the end of the process.
static inline const char *xf_write(tess_context *ctx, const xf_file *f, const char *name)
{
    const char *path = unit_path(name);
    assert_ok(tess_bundle_write(ctx, path, f->inputs, f->n_input, 1));
    return path;
}

static inline tess_xpcs_data_config xf_config(void)
{
    tess_xpcs_data_config config;
    tess_xpcs_data_config_init(&config, sizeof config);
    return config;
}

// Values above the diagonal of data are those of packed [n_angle][n_frame (n_frame - 1) / 2].
static inline void xf_check_packed(tess_context *ctx, tess_xpcs_data *data, const double *packed)
{
    const tess_xpcs_data_info *info = tess_xpcs_data_get_info(data);
    const int64_t n = info->n_frame;
    double *rows = malloc((size_t)(n * n) * sizeof *rows);
    for (int64_t a = 0; a < info->n_angle; a++) {
        assert_ok(tess_xpcs_data_rows(ctx, data, a, 0, n, rows));
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = i + 1; j < n; j++, packed++) {
                if (rows[i * n + j] != *packed || rows[j * n + i] != *packed) {
                    fail_msg("angle %d, frames %d, %d: %.9g, not %.9g", (int)a, (int)i, (int)j,
                             rows[i * n + j], *packed);
                }
            }
        }
    }
    free(rows);
}

#endif
