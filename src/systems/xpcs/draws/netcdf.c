// Draws as ArviZ keeps them: a netCDF-4 file with groups posterior, sample_stats, prior,
// observed_data and constant_data.
#include "base/file.h"
#include "base/status.h"
#include "runtime/source.h"
#include "systems/xpcs/draws/files.h"
#include "tessera/sys/format.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ITEM = 64, NAME_CHARS = 64, N_PRIOR = 1000 };

static const char WHAT[] = "draws";
static const char DRAWS[] = "%s/chain|%s/draw";
static const char ANGLES[] = "%s/chain|%s/draw|%s/angle";

typedef struct file {
    const tess_xp_draws *d;
    tess_blocks memory;
    tess_format_layout items[MAX_ITEM];
    int64_t n;
    bool no_memory;
} file;

static char *text_of(file *f, const char *format, const char *group)
{
    char *text = tess_blocks_alloc(&f->memory, 3 * NAME_CHARS, 1, WHAT);
    f->no_memory = f->no_memory || !text;
    if (text) {
        snprintf(text, 3 * NAME_CHARS, format, group, group, group);
    }
    return text;
}

// dims as a format in which the group stands before every axis.
static tess_format_layout *add(file *f, const char *group, const char *name, const char *dims,
                               tess_dtype dtype, const void *data)
{
    char *dataset = tess_blocks_alloc(&f->memory, 2 * NAME_CHARS, 1, WHAT);
    f->no_memory = f->no_memory || !dataset;
    if (!dataset || !data || f->n == MAX_ITEM) {
        return NULL;
    }
    snprintf(dataset, 2 * NAME_CHARS, "%s/%s", group, name);
    tess_format_layout *item = &f->items[f->n++];
    *item = (tess_format_layout){.dataset = dataset,
                                 .dims = text_of(f, dims, group),
                                 .dtype = (int32_t)dtype,
                                 .item_bytes = (int64_t)tess_dtype_bytes(dtype),
                                 .data = data};
    return item;
}

static void add_axis(file *f, const char *group, const char *name, int64_t n)
{
    int64_t *numbers = tess_blocks_alloc(&f->memory, n, sizeof *numbers, WHAT);
    char dims[NAME_CHARS];
    f->no_memory = f->no_memory || !numbers;
    for (int64_t i = 0; numbers && i < n; i++) {
        numbers[i] = i;
    }
    snprintf(dims, sizeof dims, "%%s/%s", name);
    tess_format_layout *item = add(f, group, name, dims, TESS_I64, numbers);
    if (item) {
        item->rank = 1;
        item->shape[0] = n;
    }
}

static tess_format_layout *add_sized(file *f, const char *group, const char *name, tess_dtype dtype,
                                     const int64_t shape[3], const void *data)
{
    tess_format_layout *item = add(f, group, name, shape[2] ? ANGLES : DRAWS, dtype, data);
    if (item) {
        item->rank = shape[2] ? 3 : 2;
        memcpy(item->shape, shape, 3 * sizeof *shape);
    }
    return item;
}

// A number of every draw, or of every draw and angle.
static tess_format_layout *add_drawn(file *f, const char *group, const char *name, tess_dtype dtype,
                                     int64_t n_angle, const void *data)
{
    const int64_t shape[3] = {f->d->draws->n_chain, f->d->draws->n_draw, n_angle};
    return add_sized(f, group, name, dtype, shape, data);
}

static void add_posterior(file *f)
{
    static const char group[] = "posterior";
    const tess_xpcs_posterior_info *i = f->d->draws;
    const int64_t n = i->n_chain * i->n_draw;
    int64_t n_known = 0;
    const tess_xpcs_param_info *known = tess_xpcs_params((tess_xpcs_mode)f->d->fit->mode, &n_known);
    add_axis(f, group, "chain", i->n_chain);
    add_axis(f, group, "draw", i->n_draw);
    add_axis(f, group, "angle", i->n_angle);
    for (int64_t k = 0; k < i->n_param; k++) {
        double *x = tess_blocks_alloc(&f->memory, n, sizeof *x, WHAT);
        f->no_memory = f->no_memory || !x;
        if (x) {
            tess_xp_draws_copy(i, k, x);
        }
        tess_format_layout *item = add_drawn(f, group, i->names[k], TESS_F64, 0, x);
        if (item && k < n_known && known[k].unit[0]) {
            item->units = known[k].unit;
        }
    }
    tess_format_layout *noise = add_drawn(f, group, "sigma", TESS_F64, 0, i->noise);
    if (noise) {
        noise->long_name = "standard deviation of a point";
    }
    add_drawn(f, group, "contrast", TESS_F64, i->n_angle, i->contrast);
    add_drawn(f, group, "offset", TESS_F64, i->n_angle, i->offset);
}

// The step of a chain stands beside each of its draws, as samplers have it.
static double *steps_of(file *f)
{
    const tess_xpcs_posterior_info *i = f->d->draws;
    double *steps = tess_blocks_alloc(&f->memory, i->n_chain * i->n_draw, sizeof *steps, WHAT);
    f->no_memory = f->no_memory || !steps;
    for (int64_t k = 0; steps && i->step && k < i->n_chain * i->n_draw; k++) {
        steps[k] = i->step[k / i->n_draw];
    }
    return i->step ? steps : NULL;
}

static void add_stats(file *f)
{
    static const char group[] = "sample_stats";
    const tess_xpcs_posterior_info *i = f->d->draws;
    add_axis(f, group, "chain", i->n_chain);
    add_axis(f, group, "draw", i->n_draw);
    add_drawn(f, group, "lp", TESS_F64, 0, i->log_density);
    add_drawn(f, group, "energy", TESS_F64, 0, i->energy);
    add_drawn(f, group, "acceptance_rate", TESS_F64, 0, i->accept);
    add_drawn(f, group, "n_steps", TESS_I64, 0, i->n_step);
    add_drawn(f, group, "tree_depth", TESS_I64, 0, i->depth);
    add_drawn(f, group, "diverging", TESS_BOOL, 0, i->diverged);
    add_drawn(f, group, "step_size", TESS_F64, 0, steps_of(f));
}

// Of the contrast or offset of an angle, first being the row of angle 0: one for all where the
// draws have one, and nothing to draw where they are known.
static void draw_scaling(file *f, int64_t first, int64_t angle, double *x)
{
    const tess_xpcs_posterior_info *i = f->d->draws;
    const bool is_one = i->scaling == TESS_XPCS_DRAW_SCALING_AVERAGED;
    const bool is_known = i->scaling == TESS_XPCS_DRAW_SCALING_CONSTANT ||
                          i->scaling == TESS_XPCS_DRAW_SCALING_CONSTANT_AVERAGED;
    const int64_t row = first + (is_one ? 0 : angle);
    tess_xp_prior_draw(i, f->d->config, row, N_PRIOR, i->n_angle, x);
    for (int64_t k = 0; is_known && k < N_PRIOR; k++) {
        x[k * i->n_angle] = tess_xp_draws_row(i, row).data[0];
    }
}

// Draws of what was believed before the data, one chain of them.
static void add_prior(file *f)
{
    static const char group[] = "prior";
    const tess_xpcs_posterior_info *i = f->d->draws;
    const struct {
        const char *name;
        const double *drawn;
    } pairs[] = {{"contrast", i->contrast}, {"offset", i->offset}};
    add_axis(f, group, "chain", 1);
    add_axis(f, group, "draw", N_PRIOR);
    add_axis(f, group, "angle", i->n_angle);
    for (int64_t k = 0; k < i->n_param + (i->noise ? 1 : 0); k++) {
        const int64_t shape[3] = {1, N_PRIOR, 0};
        double *x = tess_blocks_alloc(&f->memory, N_PRIOR, sizeof *x, WHAT);
        f->no_memory = f->no_memory || !x;
        if (x) {
            tess_xp_prior_draw(i, f->d->config, k, N_PRIOR, 1, x);
        }
        add_sized(f, group, k < i->n_param ? i->names[k] : "sigma", TESS_F64, shape, x);
    }
    for (int p = 0; p < 2; p++) {
        const int64_t shape[3] = {1, N_PRIOR, i->n_angle};
        const int64_t first = i->n_param + (i->noise ? 1 : 0) + (p && i->contrast ? i->n_angle : 0);
        double *x = pairs[p].drawn
                        ? tess_blocks_alloc(&f->memory, N_PRIOR * i->n_angle, sizeof *x, WHAT)
                        : NULL;
        f->no_memory = f->no_memory || (pairs[p].drawn && !x);
        for (int64_t a = 0; x && a < i->n_angle; a++) {
            draw_scaling(f, first, a, x + a);
        }
        add_sized(f, group, pairs[p].name, TESS_F64, shape, x);
    }
}

// What was measured, as a matrix of every angle.
static tess_status add_observed(file *f, tess_xpcs_data *data)
{
    static const char group[] = "observed_data";
    const int64_t n_angle = f->d->draws->n_angle;
    const int64_t n = f->d->draws->n_frame;
    const tess_xpcs_data_info *info = tess_xpcs_data_get_info(data);
    if (info->n_angle != n_angle || info->n_frame != n) {
        return TESS_OK; // of other data than the draws
    }
    double *c2 = tess_blocks_alloc(&f->memory, n_angle * n * n, sizeof *c2, WHAT);
    if (!c2) {
        return TESS_E_MEMORY;
    }
    for (int64_t a = 0; a < n_angle; a++) {
        TESS_TRY(tess_xpcs_data_rows(f->d->ctx, data, a, 0, n, c2 + a * n * n));
    }
    add_axis(f, group, "angle", n_angle);
    add_axis(f, group, "t1", n);
    add_axis(f, group, "t2", n);
    tess_format_layout *item = add(f, group, "c2", "%s/angle|%s/t1|%s/t2", TESS_F64, c2);
    if (item) {
        item->rank = 3;
        item->shape[0] = n_angle;
        item->shape[1] = n;
        item->shape[2] = n;
    }
    return TESS_OK;
}

static void add_constants(file *f)
{
    static const char group[] = "constant_data";
    const tess_xpcs_result_info *fit = f->d->fit;
    const struct {
        const char *name;
        const char *unit;
        const double *data;
    } rows[] = {{"phi", "degree", fit->phi}, {"q", "1/angstrom", fit->q}};
    if (fit->n_angle != f->d->draws->n_angle) {
        return;
    }
    add_axis(f, group, "angle", fit->n_angle);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        tess_format_layout *item = add(f, group, rows[k].name, "%s/angle", TESS_F64, rows[k].data);
        if (item) {
            item->rank = 1;
            item->shape[0] = fit->n_angle;
            item->units = rows[k].unit;
        }
    }
}

static tess_status write_file(file *f, const char *path, int overwrite)
{
    const tess_format *format = NULL;
    tess_context *ctx = f->d->ctx;
    char temporary[1100];
    char *provenance = NULL;
    size_t bytes = 0;
    TESS_TRY(tess_format_for_writing(ctx, "inference_data.h5", &format));
    if (!format->lay_out) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "%s: files for netCDF need HDF5, which is not there", path);
    }
    TESS_TRY(tess_temp_name(path, temporary, sizeof temporary));
    TESS_TRY(tess_xp_draws_text(f->d, tess_xp_draws_provenance, &provenance, &bytes));
    tess_temp_file_sweep(path);
    tess_status status = format->lay_out(&ctx->host, temporary, f->items, f->n, provenance);
    tess_heap_free(&ctx->heap, provenance, bytes, TESS_TAG_RESULT);
    if (status == TESS_OK) {
        status = tess_file_rename(temporary, path, overwrite);
    }
    if (status != TESS_OK) {
        unlink(temporary);
    }
    return status;
}

tess_status tess_xp_draws_netcdf(const tess_xp_draws *d, tess_xpcs_data *data, const char *path,
                                 int overwrite)
{
    file f = {.d = d};
    tess_blocks_init(&f.memory, &d->ctx->heap);
    add_posterior(&f);
    add_stats(&f);
    add_prior(&f);
    add_constants(&f);
    tess_status status = data ? add_observed(&f, data) : TESS_OK;
    if (status == TESS_OK) {
        status = f.no_memory ? TESS_E_MEMORY : write_file(&f, path, overwrite);
    }
    tess_blocks_free(&f.memory);
    return status;
}
