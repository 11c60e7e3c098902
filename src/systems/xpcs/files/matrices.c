#include "systems/xpcs/files/matrices.h"

#include "base/checked.h"
#include "base/status.h"
#include "runtime/source.h"
#include "systems/xpcs/files/symmetric.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MIN_FRAMES = 3, MAX_FRAMES = 200000, MAX_LIST = 1 << 24 };

static tess_status find_list(struct tess_xpcs_file *file, const char *dataset,
                             const tess_bundle_entry **entry)
{
    *entry = tess_bundle_find(&file->bundle, dataset);
    if (!*entry) {
        TESS_FAIL(TESS_E_FORMAT, "%s: the %s layout needs a data set '/%s', which is not there",
                  file->path, file->info.layout, dataset);
    }
    int64_t longest = 1;
    for (int32_t axis = 0; axis < (*entry)->rank; axis++) {
        longest = (*entry)->shape[axis] > longest ? (*entry)->shape[axis] : longest;
    }
    if ((*entry)->n_item != longest || longest > MAX_LIST) {
        TESS_FAIL(TESS_E_FORMAT, "%s: data set '/%s' of %" PRId64 " items is not a list",
                  file->path, dataset, (*entry)->n_item);
    }
    return TESS_OK;
}

tess_status tess_xp_file_reals(struct tess_xpcs_file *file, const char *dataset, int64_t *n,
                               const double **values)
{
    const tess_bundle_entry *entry;
    TESS_TRY(find_list(file, dataset, &entry));
    double *list = tess_blocks_alloc(&file->memory, entry->n_item, sizeof *list, dataset);
    *n = entry->n_item;
    *values = list;
    return list ? tess_bundle_read_f64(&file->bundle, entry, list) : TESS_E_MEMORY;
}

tess_status tess_xp_file_wholes(struct tess_xpcs_file *file, const char *dataset, int64_t *n,
                                const int64_t **values)
{
    const tess_bundle_entry *entry;
    TESS_TRY(find_list(file, dataset, &entry));
    int64_t *list = tess_blocks_alloc(&file->memory, entry->n_item, sizeof *list, dataset);
    *n = entry->n_item;
    *values = list;
    return list ? tess_bundle_read_i64(&file->bundle, entry, list) : TESS_E_MEMORY;
}

void tess_xp_file_number(struct tess_xpcs_file *file, const char *dataset, double *value)
{
    const tess_bundle_entry *entry = tess_bundle_find(&file->bundle, dataset);
    double found = 0;
    if (!entry || entry->n_item != 1) {
        return;
    }
    if (tess_bundle_read_f64(&file->bundle, entry, &found) == TESS_OK) {
        *value = found;
    }
    tess_error_clear();
}

tess_status tess_xp_file_check_matrix(const struct tess_xpcs_file *file, const char *name,
                                      int64_t n_row, int64_t n_column, int32_t dtype,
                                      const char *type_text)
{
    if (dtype != TESS_F32 && dtype != TESS_F64) {
        TESS_FAIL(TESS_E_DTYPE, "%s: matrix '%s' is %s; expected float32 or float64", file->path,
                  name, type_text);
    }
    if (n_row != n_column) {
        TESS_FAIL(TESS_E_SHAPE, "%s: matrix '%s' is %" PRId64 " x %" PRId64 "; expected a square",
                  file->path, name, n_row, n_column);
    }
    if (n_row < MIN_FRAMES || n_row > MAX_FRAMES) {
        TESS_FAIL(TESS_E_SHAPE, "%s: matrix '%s' has %" PRId64 " frames; expected %d to %d frames",
                  file->path, name, n_row, (int)MIN_FRAMES, (int)MAX_FRAMES);
    }
    return TESS_OK;
}

static tess_status check_entry(const struct tess_xpcs_file *file, const tess_bundle_entry *entry)
{
    if (entry->rank != 2) {
        TESS_FAIL(TESS_E_SHAPE, "%s: matrix '/%s' has %" PRId32 " axes; expected two", file->path,
                  entry->name, entry->rank);
    }
    char name[300];
    snprintf(name, sizeof name, "/%.280s", entry->name);
    return tess_xp_file_check_matrix(file, name, entry->shape[0], entry->shape[1], entry->dtype,
                                     entry->type_text);
}

// "lzf" of "float32 LE, shuffle, lzf": what unpacks it.
static const char *filter_of(const tess_bundle_entry *entry)
{
    static const struct {
        const char *told;
        const char *name;
    } filters[] = {{", lzf", "lzf"}, {", gzip", "deflate"}, {", ", "other"}, {"", "none"}};
    size_t i = 0;
    while (!strstr(entry->type_text, filters[i].told)) {
        i++;
    }
    return filters[i].name;
}

static bool is_inside(const char *name, const char *group)
{
    const size_t n = strlen(group);
    return strncmp(name, group, n) == 0 && name[n] != '\0';
}

// Matrices belong to bins by their order: one that is missing would move those behind it.
static tess_status check_no_group(const struct tess_xpcs_file *file, const char *name,
                                  const char *group)
{
    const char *slash = strchr(name + strlen(group), '/');
    if (slash) {
        TESS_FAIL(TESS_E_FORMAT, "%s: '/%.*s' is a group; expected a matrix of real numbers",
                  file->path, (int)(slash - name), name);
    }
    return TESS_OK;
}

void tess_xp_widen(double *wide, const unsigned char *items, uint64_t n_item)
{
    for (uint64_t i = 0; i < n_item; i++) {
        float narrow;
        memcpy(&narrow, items + i * sizeof narrow, sizeof narrow);
        const double value = (double)narrow;
        memcpy(wide + i, &value, sizeof value);
    }
}

static tess_status read_entry(struct tess_xpcs_file *file, tess_source *source, int64_t bin,
                              void *matrix)
{
    const tess_source_info *info = tess_source_get_info(source);
    const tess_xpcs_bin *b = &file->bins[bin];
    const int64_t n = b->n_frame;
    const bool is_wider = file->info.dtype == TESS_F64 && info->dtype == TESS_F32;
    if (info->rank != 2 || info->shape[0] != n || info->shape[1] != n ||
        (info->dtype != file->info.dtype && !is_wider)) {
        TESS_FAIL(TESS_E_FORMAT, "%s: matrix '%s' changed while the file was read", file->path,
                  b->dataset);
    }
    // Narrow items are read into the back half and widened from the front.
    const uint64_t n_item = (uint64_t)n * (uint64_t)n; // checked by the source
    unsigned char *items = (unsigned char *)matrix + (is_wider ? n_item * sizeof(float) : 0);
    TESS_TRY(tess_source_read(source, 0, n, items, n_item * (uint64_t)info->item_bytes));
    if (is_wider) {
        tess_xp_widen(matrix, items, n_item);
    }
    return TESS_OK;
}

tess_status tess_xp_file_complete(const struct tess_xpcs_file *file, int64_t bin, void *matrix)
{
    const tess_xpcs_bin *b = &file->bins[bin];
    return tess_xp_complete(matrix, (tess_dtype)file->info.dtype, b->n_frame, file->path,
                            b->dataset, b->phi);
}

static tess_status read_bin(struct tess_xpcs_file *file, int64_t bin, void *matrix)
{
    tess_source_config config;
    tess_source *source = NULL;
    tess_source_config_init(&config, sizeof config);
    config.dataset = file->bins[bin].dataset;
    TESS_TRY(tess_source_open(file->ctx, file->path, &config, &source));
    const tess_status status = read_entry(file, source, bin, matrix);
    tess_source_close(source);
    TESS_TRY(status);
    return tess_xp_file_complete(file, bin, matrix);
}

// What the library holds while it unpacks a matrix; that of the first stands for all.
static tess_status measure(struct tess_xpcs_file *file)
{
    tess_source_config config;
    tess_source *source = NULL;
    tess_source_config_init(&config, sizeof config);
    config.dataset = file->bins[0].dataset;
    TESS_TRY(tess_source_open(file->ctx, file->path, &config, &source));
    file->held_bytes = tess_source_held_bytes(source);
    tess_source_close(source);
    return TESS_OK;
}

tess_status tess_xp_file_matrices(struct tess_xpcs_file *file, const char *group)
{
    const tess_bundle *bundle = &file->bundle;
    int64_t n = 0;
    for (int64_t i = 0; i < bundle->n_entry; i++) {
        n += is_inside(bundle->entries[i].name, group);
    }
    file->bins = tess_blocks_alloc(&file->memory, n, sizeof *file->bins, "a list of bins");
    if (!file->bins) {
        return TESS_E_MEMORY;
    }
    file->info.dtype = TESS_F32;
    file->info.n_bin = 0;
    for (int64_t i = 0; i < bundle->n_entry; i++) {
        const tess_bundle_entry *entry = &bundle->entries[i];
        if (!is_inside(entry->name, group)) {
            continue;
        }
        TESS_TRY(check_no_group(file, entry->name, group));
        const size_t bytes = strlen(entry->name) + 2;
        char *name = tess_blocks_alloc(&file->memory, (int64_t)bytes, 1, "a name");
        if (!name) {
            return TESS_E_MEMORY;
        }
        snprintf(name, bytes, "/%s", entry->name);
        TESS_TRY(check_entry(file, entry));
        if (file->info.n_bin == 0) {
            file->info.filter = filter_of(entry);
        }
        file->info.dtype = entry->dtype == TESS_F64 ? TESS_F64 : file->info.dtype;
        file->bins[file->info.n_bin++] = (tess_xpcs_bin){.struct_size = sizeof *file->bins,
                                                         .is_valid = 1,
                                                         .n_frame = entry->shape[0],
                                                         .dataset = name};
    }
    if (n == 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: there is no matrix in '/%s'", file->path, group);
    }
    file->info.bins = file->bins;
    file->read = read_bin;
    file->has_own_sources = true;
    return measure(file);
}

void tess_xp_file_keep(struct tess_xpcs_file *file, int64_t n)
{
    file->info.n_bin = n < file->info.n_bin ? n : file->info.n_bin;
}
