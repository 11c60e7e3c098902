// Compares the data sets of two files of arrays, a few MiB at a time.

#include "diff.h"

#include "text.h"

#include <tessera/autoreject.h>
#include <tessera/io.h>

#include <stdlib.h>
#include <string.h>

enum { TILE_BYTES = 4 << 20 };

typedef struct listed {
    char *name; // owned
    int32_t rank;
} listed;

typedef struct name_list {
    listed *items; // owned
    int64_t n;
    int no_memory;
} name_list;

static int take_name(void *user, const tess_dataset_info *info)
{
    name_list *list = user;
    listed *grown = realloc(list->items, (size_t)(list->n + 1) * sizeof *grown);

    if (grown) {
        list->items = grown;
        list->items[list->n] = (listed){strdup(info->name), info->rank};
    }
    list->no_memory |= !grown || !list->items[list->n].name;
    list->n += grown && list->items[list->n].name;
    return list->no_memory;
}

static void free_names(name_list *list)
{
    for (int64_t i = 0; i < list->n; i++) {
        free(list->items[i].name);
    }
    free(list->items);
}

static const listed *find_name(const name_list *list, const char *name)
{
    for (int64_t i = 0; i < list->n; i++) {
        if (strcmp(list->items[i].name, name) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

// How many numbers an item is made of; 0: none that are compared here.
static int parts_of(int32_t dtype)
{
    switch ((tess_dtype)dtype) {
    case TESS_F16:
    case TESS_BF16:
    case TESS_BYTES:
    case TESS_UCS4:
        return 0;
    case TESS_C64:
    case TESS_C128:
        return 2;
    default:
        return 1;
    }
}

static double number_at(int32_t dtype, const void *data, int64_t i)
{
    switch ((tess_dtype)dtype) {
    case TESS_I8:
        return ((const int8_t *)data)[i];
    case TESS_I16:
        return ((const int16_t *)data)[i];
    case TESS_I32:
        return ((const int32_t *)data)[i];
    case TESS_I64:
        return (double)((const int64_t *)data)[i];
    case TESS_BOOL:
    case TESS_U8:
        return ((const uint8_t *)data)[i];
    case TESS_U16:
        return ((const uint16_t *)data)[i];
    case TESS_U32:
        return ((const uint32_t *)data)[i];
    case TESS_U64:
        return (double)((const uint64_t *)data)[i];
    case TESS_F32:
    case TESS_C64:
        return (double)((const float *)data)[i];
    default:
        return ((const double *)data)[i];
    }
}

// "[3][0][17]" of item number `at` in C order.
static void index_text(int32_t rank, const int64_t *shape, int64_t at, char *text, size_t capacity)
{
    int64_t indices[TESS_MAX_RANK] = {0};
    size_t used = 0;

    for (int32_t k = rank - 1; k >= 0; k--) {
        indices[k] = shape[k] > 0 ? at % shape[k] : 0;
        at = shape[k] > 0 ? at / shape[k] : 0;
    }
    text[0] = '\0';
    for (int32_t k = 0; k < rank && used < capacity; k++) {
        used += (size_t)snprintf(text + used, capacity - used, "[%lld]", (long long)indices[k]);
    }
}

typedef struct tile {
    const void *a;
    const void *b;
    int64_t first; // number of its first item
    int64_t n;     // items
    int64_t item_bytes;
} tile;

static void compare_tile(const diff *d, diff_row *row, const tess_source_info *info, const tile *t)
{
    const int parts = parts_of(info->dtype);
    const int64_t n_before = row->n_different;
    char index[96];

    if (parts == 0) {
        const int is_same = memcmp(t->a, t->b, (size_t)(t->n * t->item_bytes)) == 0;
        row->status = is_same ? row->status : DIFF_DIFFERENT;
        snprintf(row->detail, sizeof row->detail, "%s", is_same ? row->detail : "other contents");
        return;
    }
    for (int64_t i = 0; i < t->n * parts; i++) {
        index[0] = '\0';
        const double a = number_at(info->dtype, t->a, i);
        const double b = number_at(info->dtype, t->b, i);
        if (n_before == 0 && row->n_different == 0 && !(a == b)) {
            index_text(info->rank, info->shape, t->first + i / parts, index, sizeof index);
        }
        diff_take(d, row, a, b, index);
    }
}

static int compare_values(const diff *d, diff_row *row, tess_source *a, tess_source *b)
{
    const tess_source_info *info = tess_source_get_info(a);
    int64_t row_items = 1;

    for (int32_t k = 1; k < info->rank; k++) {
        row_items *= info->shape[k];
    }
    const int64_t n_row = info->rank > 0 ? info->shape[0] : 1;
    const int64_t row_bytes = row_items * info->item_bytes;
    const int64_t rows = row_bytes > 0 && row_bytes < TILE_BYTES ? TILE_BYTES / row_bytes : 1;
    void *left = malloc((size_t)(rows * row_bytes) + 1);
    void *right = malloc((size_t)(rows * row_bytes) + 1);
    int code = left && right ? 0 : console_fail(71, "no memory to compare %s", row->name);

    for (int64_t first = 0; first < n_row && row_bytes > 0 && code == 0; first += rows) {
        const int64_t n = n_row - first < rows ? n_row - first : rows;
        const uint64_t bytes = (uint64_t)(n * row_bytes);
        tess_status status = tess_source_read(a, first, n, left, bytes);
        status = status == TESS_OK ? tess_source_read(b, first, n, right, bytes) : status;
        code = status == TESS_OK ? 0 : console_status(status);
        if (code == 0) {
            compare_tile(d, row, info,
                         &(tile){left, right, first * row_items, n * row_items, info->item_bytes});
        }
    }
    free(left);
    free(right);
    return code;
}

static void describe(const tess_source_info *info, char *text, size_t capacity)
{
    char shape[96];
    text_shape(shape, sizeof shape, info->rank, info->shape);
    snprintf(text, capacity, "%s %s", tess_dtype_name((tess_dtype)info->dtype), shape);
}

static int compare_opened(const diff *d, diff_row *row, tess_source *a, tess_source *b)
{
    const tess_source_info *left = tess_source_get_info(a);
    const tess_source_info *right = tess_source_get_info(b);
    char texts[2][104];

    describe(left, texts[0], sizeof texts[0]);
    describe(right, texts[1], sizeof texts[1]);
    if (strcmp(texts[0], texts[1]) != 0 || left->item_bytes != right->item_bytes) {
        row->status = DIFF_DIFFERENT;
        snprintf(row->detail, sizeof row->detail, "%s -> %s", texts[0], texts[1]);
        return 0;
    }
    return compare_values(d, row, a, b);
}

// The JSON object that a data set of a single text holds, or NULL; free() it.
static char *read_object(tess_source *source)
{
    const tess_source_info *info = tess_source_get_info(source);
    const int is_text = info->dtype == TESS_BYTES && info->rank == 1 && info->shape[0] == 1;
    char *text = is_text ? calloc(1, (size_t)info->item_bytes + 1) : NULL;

    if (text && (tess_source_read(source, 0, 1, text, (uint64_t)info->item_bytes) != TESS_OK ||
                 text[0] != '{')) {
        free(text);
        text = NULL;
    }
    return text;
}

// A record tells of the run as well, by which two of the same computation differ.
static int compare_records(diff *d, const char *name, tess_source *a, tess_source *b)
{
    char *left = read_object(a);
    char *right = left ? read_object(b) : NULL;
    const int is_done = left && right && diff_texts(d, name, left, right);

    free(left);
    free(right);
    return is_done;
}

static int compare_dataset(diff *d, const char *prefix, const char *a, const char *b,
                           const listed *const pair[2])
{
    const char *name = pair[0]->name;
    diff_row *row = diff_add_row(d, prefix, name);
    tess_source_config config;
    tess_source *sources[2] = {NULL, NULL};
    int code = row ? 0 : console_fail(71, "out of memory");

    tess_source_config_init(&config, sizeof config);
    config.dataset = name[0] ? name : NULL;
    config.single_value = 1;
    if (code == 0 && (pair[0]->rank == 0) != (pair[1]->rank == 0)) {
        row->status = DIFF_DIFFERENT; // which the sources do not tell from an array of one
        snprintf(row->detail, sizeof row->detail, "%d axes -> %d axes", (int)pair[0]->rank,
                 (int)pair[1]->rank);
    } else if (code == 0 && (tess_source_open(d->c->ctx, a, &config, &sources[0]) != TESS_OK ||
                             tess_source_open(d->c->ctx, b, &config, &sources[1]) != TESS_OK)) {
        row->status = DIFF_NOT_COMPARED;
        snprintf(row->detail, sizeof row->detail, "%.220s", tess_last_error());
    } else if (code == 0) {
        const int64_t own = d->n_row - 1; // rows move when others come
        if (!compare_records(d, row->name, sources[0], sources[1])) {
            code = compare_opened(d, &d->rows[own], sources[0], sources[1]);
        }
    }
    tess_source_close(sources[0]);
    tess_source_close(sources[1]);
    return code;
}

int diff_arrays(diff *d, const char *prefix, const char *a, const char *b)
{
    name_list lists[2] = {{0}};
    const char *format = NULL;
    tess_status status = tess_file_list(d->c->ctx, a, &format, take_name, &lists[0]);
    status =
        status == TESS_OK ? tess_file_list(d->c->ctx, b, &format, take_name, &lists[1]) : status;
    int code = status == TESS_OK ? 0 : console_status(status);

    if (lists[0].no_memory || lists[1].no_memory) {
        code = code ? code : console_fail(71, "out of memory");
    }
    for (int side = 0; side < 2 && code == 0; side++) {
        for (int64_t i = 0; i < lists[side].n && code == 0; i++) {
            const listed *own = &lists[side].items[i];
            const listed *other = find_name(&lists[1 - side], own->name);
            // Where a file comes from is no part of what it holds.
            if (strcmp(own->name, "tessera_provenance") == 0) {
                continue;
            }
            if (!other) {
                diff_row *row = diff_add_row(d, prefix, own->name);
                code = row ? 0 : console_fail(71, "out of memory");
                if (row) {
                    row->status = side == 0 ? DIFF_ONLY_A : DIFF_ONLY_B;
                }
            } else if (side == 0) {
                code = compare_dataset(d, prefix, a, b, (const listed *const[2]){own, other});
            }
        }
    }
    free_names(&lists[0]);
    free_names(&lists[1]);
    return code;
}
