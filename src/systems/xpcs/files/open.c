// Data from a file: what is selected goes into tiles, matrix by matrix.
#include "base/checked.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "runtime/comm.h"
#include "runtime/watch.h"
#include "systems/xpcs/files/cache.h"
#include "systems/xpcs/files/filter.h"
#include "systems/xpcs/files/flat.h"
#include "systems/xpcs/files/readers.h"
#include "systems/xpcs/files/sigma.h"
#include "systems/xpcs/store/txc2.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

typedef struct opening {
    tess_context *ctx;
    const tess_xpcs_data_config *config;
    struct tess_xpcs_file *file;
    tess_xp_selection wanted;
    tess_xp_sigma sigma;
    tess_xpcs_data *data;
    tess_xp_matrices matrices; // of the largest frames
    // Caches hold all angles of the ring, whichever are wanted.
    bool is_cached; // the config asks for one, and the file has a layout that is worth one
    tess_xp_selection ring;
    struct tess_xpcs_file *cache; // one that can be used; NULL: read the file
    tess_xp_cache_writer writer;
    tess_text notes;
} opening;

static tess_status check_sizes(const struct tess_xpcs_file *file)
{
    const tess_xpcs_bin *first = &file->bins[0];
    for (int64_t k = 1; k < file->info.n_bin; k++) {
        if (file->bins[k].n_frame != first->n_frame) {
            TESS_FAIL(TESS_E_SHAPE,
                      "%s: matrix '%s' is %" PRId64 " x %" PRId64 ", but '%s' is %" PRId64
                      " x %" PRId64 "; all must have the same frames",
                      file->path, file->bins[k].dataset, file->bins[k].n_frame,
                      file->bins[k].n_frame, first->dataset, first->n_frame, first->n_frame);
        }
    }
    return TESS_OK;
}

// The bins as lists, which live with the file.
static tess_status candidates_of(struct tess_xpcs_file *file, tess_xp_candidates *out)
{
    const int64_t n = file->info.n_bin;
    double *q = tess_blocks_alloc(&file->memory, n, sizeof *q, "a list of q");
    double *phi = tess_blocks_alloc(&file->memory, n, sizeof *phi, "a list of phi");
    uint8_t *is_valid = tess_blocks_alloc(&file->memory, n, 1, "a list of bins");
    if (!q || !phi || !is_valid) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < n; k++) {
        q[k] = file->bins[k].q;
        phi[k] = file->bins[k].phi;
        is_valid[k] = file->bins[k].is_valid != 0;
    }
    *out = (tess_xp_candidates){.name = file->path,
                                .n = n,
                                .q = q,
                                .phi = phi,
                                .is_valid = is_valid,
                                .n_frame = file->bins[0].n_frame,
                                .q_tolerance = file->q_tolerance};
    return TESS_OK;
}

static tess_status select(opening *o)
{
    tess_xp_candidates candidates;
    TESS_TRY(check_sizes(o->file));
    TESS_TRY(candidates_of(o->file, &candidates));
    TESS_TRY(tess_xp_select(o->ctx, o->config, &candidates, &o->wanted));
    o->is_cached = o->config->cache_folder && !o->config->no_cache &&
                   strncmp(o->file->info.layout, "aps-", 4) == 0;
    if (!o->is_cached) {
        return TESS_OK;
    }
    tess_xpcs_data_config all = *o->config;
    all.n_phi_range = 0;
    all.min_angles = 1;
    all.n_bad_frame = 0;
    return tess_xp_select(o->ctx, &all, &candidates, &o->ring);
}

static void note(opening *o, const char *what, const char *why)
{
    tess_text_add(&o->notes, what);
    tess_text_add(&o->notes, ": ");
    tess_text_add(&o->notes, why);
    tess_text_add(&o->notes, "\n");
}

// A cache that does not fit is passed over with a note; one that nobody can read is an error.
static tess_status find_cache(opening *o)
{
    char why[256];
    tess_xp_cache_writer *w = &o->writer;
    TESS_TRY(tess_xp_cache_path(o->config, w->path));
    TESS_TRY(tess_xp_origin_of(o->ctx, o->file->path, &w->origin));
    struct stat input, there;
    if (stat(w->path, &there) != 0) {
        return TESS_OK;
    }
    if (stat(o->file->path, &input) == 0 && input.st_dev == there.st_dev &&
        input.st_ino == there.st_ino) {
        o->is_cached = false; // what is read is never written
        return TESS_OK;
    }
    struct tess_xpcs_file *cache = NULL;
    const tess_status status = tess_xp_file_open(o->ctx, w->path, NULL, &cache);
    if (status == TESS_E_VERSION || status == TESS_E_MEMORY) {
        return status;
    }
    if (status != TESS_OK) {
        note(o, "the cache cannot be used and is made anew", tess_last_error());
        tess_error_clear();
        return TESS_OK;
    }
    if (tess_xp_cache_fits(cache, o->file, &o->ring, o->config->q, &w->origin, why)) {
        o->cache = cache;
        return TESS_OK;
    }
    note(o, "the cache is not used, the file is read again", why);
    tess_xpcs_file_close(cache);
    return TESS_OK;
}

static void give_up_cache(opening *o)
{
    note(o, "the cache was not written", tess_last_error());
    tess_error_clear();
    tess_xp_cache_end(&o->writer);
    o->is_cached = false;
}

// Matrix as it lies in memory, frame first_frame being that of the selection's first.
static tess_status put(opening *o, const void *c2, int64_t angle, int64_t bin, int64_t n_all,
                       int64_t first_frame)
{
    const tess_xp_selection *s = &o->wanted;
    const size_t item = tess_dtype_bytes((tess_dtype)o->data->info.dtype);
    const int64_t corner = (first_frame + s->first) * (n_all + 1);
    tess_xp_matrix matrix = {.c2 = (const char *)c2 + (size_t)corner * item,
                             .row_stride = n_all,
                             .column_stride = 1,
                             .is_bad = s->is_bad ? s->is_bad + s->first : NULL,
                             .exclude_lags = o->config->exclude_lags};
    if (o->sigma.source) {
        const int64_t n = o->sigma.n_frame;
        TESS_TRY(tess_xp_sigma_read(&o->sigma, bin));
        matrix.sigma = o->sigma.items + (s->start_frame - 1 + s->first) * (n + 1);
        matrix.sigma_row_stride = n;
        matrix.sigma_column_stride = 1;
    }
    return tess_xp_data_put(o->data, angle, &matrix);
}

// One matrix of what is gone through (the ring where a cache is read or written, else the wanted)
// to where it is wanted.
static tess_status take(opening *o, int64_t k, int64_t bin, void *matrix, int64_t *n_taken)
{
    const bool is_wanted = *n_taken < o->wanted.n && o->wanted.index[*n_taken] == bin;
    const int64_t first_frame = o->cache ? 0 : o->wanted.start_frame - 1;
    const struct tess_xpcs_file *from = o->cache ? o->cache : o->file;
    if (is_wanted) {
        TESS_TRY(put(o, matrix, (*n_taken)++, bin, from->bins[0].n_frame, first_frame));
    }
    if (o->is_cached && !o->cache && tess_xp_cache_put(&o->writer, k, matrix) != TESS_OK) {
        give_up_cache(o);
    }
    return TESS_OK;
}

// The next numbers from *k on of what is gone through that have to be read, as many as are at once;
// n_taken of the wanted, which are in the same order, are done.
static int64_t choose(const opening *o, const tess_xp_selection *all, int64_t n_taken, int64_t *k,
                      int64_t *numbers)
{
    int64_t n = 0;
    int64_t w = n_taken;
    for (; *k < all->n && n < o->matrices.n; (*k)++) {
        const bool is_wanted = w < o->wanted.n && o->wanted.index[w] == all->index[*k];
        w += is_wanted;
        if (is_wanted || (o->is_cached && !o->cache)) {
            numbers[n++] = *k;
        }
    }
    return n;
}

static tess_status take_all(opening *o)
{
    const tess_xp_selection *all = o->is_cached ? &o->ring : &o->wanted;
    struct tess_xpcs_file *from = o->cache ? o->cache : o->file;
    const uint64_t bytes = o->matrices.matrix_bytes;
    int64_t numbers[TESS_XP_MOST_READERS];
    int64_t bins[TESS_XP_MOST_READERS];
    int64_t n_taken = 0;
    tess_watch watch;
    tess_watch_begin(&watch, o->ctx, "xpcs.read", "matrices", 0, bytes * (uint64_t)all->n,
                     TESS_STRATEGY_STANDARD);
    for (int64_t k = 0; k < all->n;) {
        const int64_t n = choose(o, all, n_taken, &k, numbers);
        for (int64_t i = 0; i < n; i++) {
            bins[i] = o->cache ? numbers[i] : all->index[numbers[i]];
        }
        tess_span span = tess_span_begin(&o->ctx->tracer, "xpcs.read");
        const tess_status status = tess_xp_matrices_read(&o->matrices, from, bins, n);
        tess_span_end(&span, (double)bytes * (double)n, 0);
        TESS_TRY(status);
        for (int64_t i = 0; i < n; i++) {
            TESS_TRY(take(o, numbers[i], all->index[numbers[i]],
                          tess_xp_matrices_at(&o->matrices, i), &n_taken));
            TESS_TRY(tess_watch_poll(&watch, numbers[i] + 1, all->n));
        }
    }
    return tess_watch_poll(&watch, all->n, all->n);
}

static void begin_cache(opening *o)
{
    tess_xp_cache_writer *w = &o->writer;
    w->ctx = o->ctx;
    w->ring = &o->ring;
    w->file = o->file;
    w->config_q = o->config->q;
    w->dt_s = o->config->dt_s > 0 ? o->config->dt_s : o->file->info.dt_s;
    if (tess_xp_cache_begin(w) != TESS_OK) {
        give_up_cache(o);
    }
}

static void note_lines(tess_xpcs_data *data, const char *notes)
{
    while (*notes) {
        const size_t n = strcspn(notes, "\n");
        tess_xp_data_note(data, "%.*s", (int)n, notes);
        notes += n + (notes[n] == '\n');
    }
}

// Stride and averaging are where configured times go wrong.
static void note_times(opening *o)
{
    const tess_xpcs_file_info *info = &o->file->info;
    const double configured = o->config->dt_s;
    o->data->info.dt_s = configured > 0 ? configured : info->dt_s;
    o->data->info.gap_angstrom = o->config->gap_angstrom;
    if (!(configured > 0 && info->dt_s > 0)) {
        return;
    }
    const double ratio =
        configured > info->dt_s ? configured / info->dt_s : info->dt_s / configured;
    if (ratio - 1 > 0.01) {
        tess_text_printf(
            &o->notes,
            "dt is configured as %g s, but the file says %g s (frame time %g s, stride "
            "%" PRId64 ", averaging %" PRId64 ")%s; the configured one is used\n",
            configured, info->dt_s, info->frame_time_s, info->stride, info->averaging,
            fabs(ratio - 10) < 0.5 ? ", a factor of 10: check the units, and whether "
                                     "stride and averaging are in it"
                                   : "");
    }
}

static tess_status describe(opening *o)
{
    tess_xpcs_data *data = o->data;
    const char *notes = NULL;
    note_times(o);
    data->info.start_frame = o->wanted.start_frame;
    data->info.end_frame = o->wanted.end_frame;
    data->info.keep_t0 = o->config->keep_t0 == 1;
    data->info.layout = o->cache ? o->cache->info.layout : o->file->info.layout;
    note_lines(data, o->file->info.notes);
    note_lines(data, o->wanted.notes);
    TESS_TRY(tess_text_finish(&o->notes, &notes));
    note_lines(data, notes);
    return tess_xp_data_set_path(data, o->file->path);
}

static tess_status read_all(opening *o)
{
    const tess_xp_selection *s = &o->wanted;
    TESS_TRY(select(o));
    TESS_TRY(tess_xp_matrices_take(o->file, &o->matrices));
    if (o->config->filter) {
        TESS_TRY(tess_xp_filter(o->file, o->config->filter, o->config->min_angles,
                                o->matrices.first, &o->wanted, &o->notes));
    }
    if (o->config->sigma_dataset) {
        TESS_TRY(tess_xp_sigma_open(o->file, o->config->sigma_dataset, &o->sigma));
    }
    if (o->is_cached) {
        // All ranks have looked before rank 0 writes one.
        const tess_status found = find_cache(o);
        const tess_comm_point at = {"a cache", o->cache != NULL};
        TESS_TRY(tess_comm_agree(o->ctx, at, found));
        o->is_cached = o->is_cached && (o->cache || tess_comm_is_first(o->ctx));
    }
    // What is held already counts by itself; the library's own memory does not.
    TESS_TRY(tess_xp_data_create_fitting(o->ctx, o->config->cache_folder, o->file->held_bytes, s->n,
                                         s->n_frame - s->first, (tess_dtype)o->file->info.dtype,
                                         o->sigma.source != NULL, s->phi, s->q, &o->data));
    if (o->is_cached && !o->cache) {
        begin_cache(o);
    }
    tess_xp_matrices_widen(&o->matrices, o->cache ? o->cache : o->file);
    TESS_TRY(take_all(o));
    TESS_TRY(tess_xp_file_check(o->file));
    TESS_TRY(o->cache ? tess_xp_file_check(o->cache) : TESS_OK);
    if (o->is_cached && !o->cache && tess_xp_cache_commit(&o->writer) != TESS_OK) {
        give_up_cache(o);
    }
    TESS_TRY(describe(o));
    return tess_xp_data_finish(o->data);
}

static void clean_up(opening *o)
{
    tess_xp_cache_end(&o->writer);
    tess_xp_sigma_close(&o->sigma);
    tess_xp_selection_destroy(&o->wanted);
    tess_xp_selection_destroy(&o->ring);
    tess_xp_matrices_release(o->ctx, &o->matrices);
    tess_text_destroy(&o->notes);
    tess_xpcs_file_close(o->cache);
    tess_xpcs_file_close(o->file);
}

// Only a plain data set has to be told its angles; what a file says of its own is not overruled.
static tess_status check_angles(const char *path, const char *layout,
                                const tess_xpcs_data_config *config)
{
    if ((config->n_phi > 0 || config->angles_last) && strcmp(layout, "dataset") != 0) {
        TESS_FAIL(TESS_E_CONFIG,
                  "%s: a file of layout %s says its angles itself; leave out phi and angles_last "
                  "(--phi, --angles-last, experimental_data.phi_angles; --phi-ranges selects), or "
                  "name a data set (--c2-path)",
                  path, layout);
    }
    return TESS_OK;
}

tess_status tess_xpcs_data_open(tess_context *ctx, const char *path,
                                const tess_xpcs_data_config *given, tess_xpcs_data **out)
{
    tess_error_clear();
    *out = NULL;
    tess_xpcs_data_config config;
    tess_xpcs_data_config_init(&config, sizeof config);
    if (given) {
        TESS_TRY(tess_struct_read(given, &config, sizeof config, "config"));
    }
    TESS_TRY(tess_xp_check_config(&config));
    bool is_flat;
    TESS_TRY(tess_xp_txc2_probe(path, &is_flat));
    if (is_flat) {
        TESS_TRY(check_angles(path, "txc2", &config));
        return tess_xp_flat_open(ctx, path, &config, out);
    }
    opening o = {.ctx = ctx, .config = &config, .writer.spool.fd = -1};
    tess_text_init(&o.notes, &ctx->heap);
    tess_status status = tess_xp_file_open(ctx, path, &config, &o.file);
    if (status == TESS_OK && strcmp(o.file->info.layout, "txc2") == 0) {
        status = TESS_E_CHANGED;
        tess_error_set(status, "%s: was replaced while it was being opened; run again", path);
    }
    if (status == TESS_OK) {
        status = check_angles(path, o.file->info.layout, &config);
    }
    if (status == TESS_OK) {
        status = read_all(&o);
    }
    clean_up(&o);
    if (status != TESS_OK) {
        tess_xpcs_data_destroy(o.data);
        return tess_xp_file_refused(status);
    }
    *out = o.data;
    return TESS_OK;
}
