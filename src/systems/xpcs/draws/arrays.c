// samples.npz and fitted_data.npz.
#include "systems/xpcs/result/arrays.h"

#include "base/status.h"
#include "base/ucs4.h"
#include "systems/xpcs/draws/files.h"

#include <stdio.h>
#include <string.h>

enum { NAME_CHARS = 32 };

static const char WHAT[] = "draws";

// As the original orders them: contrasts, offsets, parameters, noise.
typedef struct column {
    int64_t row;
    char name[NAME_CHARS];
} column;

static int64_t list_columns(const tess_xp_draws *d, column *columns)
{
    const tess_xpcs_diagnosis_info *t = d->told;
    const int64_t n_before = t->n_param + (d->draws->noise ? 1 : 0);
    int64_t n = 0;
    for (int64_t row = n_before; row < t->n_row; row++) { // contrast[0] is contrast_0 there
        columns[n].row = row;
        snprintf(columns[n].name, NAME_CHARS, "%s", t->names[row]);
        char *bracket = strchr(columns[n].name, '[');
        if (bracket) {
            *bracket = '_';
            bracket[strcspn(bracket, "]")] = '\0';
        }
        n++;
    }
    for (int64_t row = 0; row < n_before; row++) {
        columns[n].row = row;
        snprintf(columns[n++].name, NAME_CHARS, "%s", row < t->n_param ? t->names[row] : "sigma");
    }
    return n;
}

static void *room(tess_xp_arrays *a, int64_t n, size_t bytes)
{
    void *items = tess_blocks_alloc(&a->memory, n, bytes, WHAT);
    a->no_memory = a->no_memory || !items;
    return items;
}

// Texts as NumPy's U type, so that nothing need be unpickled.
static void add_texts(tess_xp_arrays *a, const char *name, int32_t rank, int64_t n,
                      const char *const *texts)
{
    uint32_t *items = room(a, n * NAME_CHARS, sizeof *items);
    for (int64_t i = 0; items && i < n; i++) {
        tess_ucs4_from_utf8(texts[i], items + i * NAME_CHARS);
    }
    tess_xp_arrays_add(a, name, TESS_UCS4, rank, &n, items);
    if (items) {
        tess_format_writer_input *input = &a->inputs[a->n - 1];
        input->item_bytes = NAME_CHARS * (int64_t)sizeof *items;
        input->data_bytes = (uint64_t)(n * input->item_bytes);
    }
}

static void add_samples(tess_xp_arrays *a, const tess_xp_draws *d, const column *columns, int64_t n)
{
    const int64_t n_all = d->draws->n_chain * d->draws->n_draw;
    const int64_t shape[3] = {d->draws->n_chain, d->draws->n_draw, n};
    double *samples = room(a, n_all * n, sizeof *samples);
    const char **names = room(a, n, sizeof *names);
    double *told = room(a, 3 * n, sizeof *told);
    if (a->no_memory) {
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        const tess_xp_quantity q = tess_xp_draws_row(d->draws, columns[k].row);
        const tess_xpcs_summary *s = &d->told->rows[columns[k].row];
        names[k] = columns[k].name;
        told[k] = s->r_hat;
        told[n + k] = s->ess_bulk;
        told[2 * n + k] = s->ess_tail;
        for (int64_t i = 0; i < n_all; i++) {
            samples[i * n + k] = q.data[i * q.stride];
        }
    }
    tess_xp_arrays_add(a, "posterior_samples", TESS_F64, 3, shape, samples);
    add_texts(a, "param_names", 1, n, names);
    tess_xp_arrays_add(a, "r_hat", TESS_F64, 1, &n, told);
    tess_xp_arrays_add(a, "ess_bulk", TESS_F64, 1, &n, told + n);
    tess_xp_arrays_add(a, "ess_tail", TESS_F64, 1, &n, told + 2 * n);
}

tess_status tess_xp_draws_samples(const tess_xp_draws *d, const char *path, int overwrite)
{
    static const int64_t version[2] = {1, 0};
    static const int64_t two = 2;
    const tess_xpcs_posterior_info *i = d->draws;
    const int64_t shape[2] = {i->n_chain, i->n_draw};
    const char *mode = tess_xpcs_mode_name((tess_xpcs_mode)d->fit->mode);
    tess_xp_arrays a;
    char *provenance = NULL;
    size_t bytes = 0;
    tess_xp_arrays_init(&a, d->ctx);
    column *columns = room(&a, d->told->n_row, sizeof *columns);
    if (columns) {
        const int64_t n = list_columns(d, columns);
        tess_xp_arrays_add(&a, "schema_version", TESS_I64, 1, &two, version);
        add_samples(&a, d, columns, n);
        tess_xp_arrays_add(&a, "divergences", TESS_I64, 0, NULL, &d->told->n_diverged_all);
        add_texts(&a, "analysis_mode", 0, 1, &mode);
        tess_xp_arrays_add(&a, "n_phi", TESS_I64, 0, NULL, &i->n_angle);
        tess_xp_arrays_add(&a, "n_chains", TESS_I64, 0, NULL, &i->n_chain);
        tess_xp_arrays_add(&a, "n_samples", TESS_I64, 0, NULL, &i->n_draw);
        tess_xp_arrays_add(&a, "energy", TESS_F64, 2, shape, i->energy);
        tess_xp_arrays_add(&a, "log_prob", TESS_F64, 2, shape, i->log_density);
        tess_xp_arrays_add(&a, "tree_depth", TESS_I64, 2, shape, i->depth);
        tess_xp_arrays_add(&a, "accept_prob", TESS_F64, 2, shape, i->accept);
        tess_xp_arrays_add(&a, "diverging", TESS_BOOL, 2, shape, i->diverged);
    }
    tess_status status = a.no_memory
                             ? TESS_E_MEMORY
                             : tess_xp_draws_text(d, tess_xp_draws_provenance, &provenance, &bytes);
    if (status == TESS_OK) {
        status = tess_xp_arrays_write(&a, path, provenance, overwrite);
        tess_heap_free(&d->ctx->heap, provenance, bytes, TESS_TAG_RESULT);
    }
    tess_xp_arrays_free(&a);
    return status;
}

// The fit with the means of the draws in the place of its minimum.
tess_status tess_xp_draws_fitted(const tess_xp_draws *d, tess_xpcs_data *data,
                                 const tess_xpcs_model *model, const char *path, int overwrite)
{
    const tess_xpcs_diagnosis_info *t = d->told;
    const tess_xpcs_summary *scaling = t->rows + t->n_param + (d->draws->noise ? 1 : 0);
    const int64_t n = d->fit->n_angle;
    tess_blocks blocks;
    tess_xp_surfaces surfaces = {0};
    tess_xp_record record;
    tess_blocks_init(&blocks, &d->ctx->heap);
    double *theta = tess_blocks_alloc(&blocks, t->n_param + 2 * n, sizeof *theta, WHAT);
    if (!theta) {
        return TESS_E_MEMORY;
    }
    double *contrast = theta + t->n_param;
    for (int64_t k = 0; k < t->n_param; k++) {
        theta[k] = t->rows[k].mean;
    }
    const bool has_scaling = d->draws->contrast && d->draws->offset;
    for (int64_t a = 0; a < n; a++) {
        contrast[a] = has_scaling ? scaling[a].mean : d->fit->contrast[a];
        contrast[n + a] = has_scaling ? scaling[n + a].mean : d->fit->offset[a];
    }
    tess_xpcs_result_info means = *d->fit;
    means.theta = theta;
    means.contrast = contrast;
    means.offset = contrast + n;
    means.identity = d->identity;
    tess_xp_record_init(&record, d->ctx, &means, d->command_line);
    tess_status status = tess_xp_surfaces_make(d->ctx, &means, data, model, path, &surfaces);
    if (status == TESS_OK) {
        status = tess_xp_write_fitted_data(d->ctx, &record, data, &surfaces, path, overwrite);
    }
    tess_xp_surfaces_free(&surfaces);
    tess_blocks_free(&blocks);
    return status;
}
