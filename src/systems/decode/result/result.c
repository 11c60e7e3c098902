// Results in files: laid out first, filled in place, named when complete.
#include "systems/decode/result/result.h"

#include "base/file.h"
#include "base/npy_header.h"
#include "base/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POSITION_ROWS = 32768 };

int tess_de_result_is_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return name[0] == '\0' || strchr(name, '.') == NULL;
}

static uint64_t layout_bytes(const tess_format_layout *item)
{
    uint64_t bytes = (uint64_t)item->item_bytes;
    for (int32_t i = 0; i < item->rank; i++) {
        bytes *= (uint64_t)item->shape[i];
    }
    return bytes;
}

uint64_t tess_de_result_bytes(const tess_de_result *result)
{
    uint64_t bytes = UINT64_C(1) << 20; // headers, names, attributes
    for (int64_t i = 0; i < result->n_item; i++) {
        bytes += layout_bytes(&result->layout[i]);
    }
    return bytes;
}

void tess_de_folder_of(const char *path, char folder[TESS_DE_RESULT_PATH])
{
    snprintf(folder, TESS_DE_RESULT_PATH, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) {
        slash[slash == folder ? 1 : 0] = '\0';
    } else {
        strcpy(folder, ".");
    }
}

static tess_status sync_folder(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_synced = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
    if (fd >= 0) {
        close(fd);
    }
    if (!is_synced) {
        TESS_FAIL(TESS_E_IO, "%s: cannot make the folder durable: %s", path, strerror(errno));
    }
    return TESS_OK;
}

tess_status tess_de_result_open(const char *path, int is_new, unsigned mode, int *fd)
{
    struct stat info;
    const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    if (is_new) {
        unlink(path); // what bears the name of ours is ours, and another may have its bytes
    }
    do {
        *fd = open(path, is_new ? flags | O_CREAT | O_EXCL : flags, mode);
    } while (*fd < 0 && errno == EINTR);
    if (*fd < 0) {
        TESS_FAIL(is_new ? TESS_E_CREATE : TESS_E_NOT_FOUND, "%s: cannot %s: %s", path,
                  is_new ? "create" : "open",
                  errno == ELOOP ? "it is a link; remove it" : strerror(errno));
    }
    if (fstat(*fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink > 1) {
        close(*fd);
        *fd = -1;
        TESS_FAIL(TESS_E_CREATE, "%s: is not a plain file of one name; remove it", path);
    }
    return TESS_OK;
}

static tess_status path_of_item(tess_de_result *r, int64_t i, const char **path)
{
    char text[TESS_DE_RESULT_PATH + 128];
    snprintf(text, sizeof text, "%s/%s.npy", r->work_path, r->layout[i].dataset);
    *path = tess_blocks_copy(&r->memory, text, (int64_t)strlen(text) + 1, 1, "names");
    return *path ? TESS_OK : TESS_E_MEMORY;
}

// One .npy file: header, room, and data if they are known.
static tess_status create_npy(tess_de_result *r, int64_t i)
{
    tess_format_layout *layout = &r->layout[i];
    tess_de_result_item *item = &r->items[i];
    TESS_TRY(path_of_item(r, i, &item->path));
    char header[TESS_NPY_HEADER_MAX_BYTES];
    const size_t n = tess_npy_header_make(header, sizeof header, (tess_dtype)layout->dtype,
                                          layout->item_bytes, layout->rank, layout->shape);
    TESS_TRY(tess_de_result_open(item->path, 1, 0666, &item->fd));
    TESS_TRY(tess_file_write_at(item->fd, item->path, header, n, 0));
    layout->offset = n;
    if (layout->data) {
        return tess_file_write_at(item->fd, item->path, layout->data, (size_t)layout_bytes(layout),
                                  n);
    }
    return tess_file_resize(item->fd, item->path, n + layout_bytes(layout));
}

static tess_status create_folder(tess_de_result *r, const char *provenance)
{
    struct stat there;
    if (mkdir(r->work_path, 0777) != 0 &&
        (errno != EEXIST || lstat(r->work_path, &there) != 0 || !S_ISDIR(there.st_mode))) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot create the folder: %s", r->work_path, strerror(errno));
    }
    for (int64_t i = 0; i < r->n_item; i++) {
        TESS_TRY(create_npy(r, i));
    }
    char path[TESS_DE_RESULT_PATH + 32];
    snprintf(path, sizeof path, "%s/provenance.json", r->work_path);
    return tess_file_write_text(path, provenance, 1);
}

static tess_status create_file(tess_de_result *r, const char *provenance)
{
    unlink(r->work_path); // a killed run's: the file is to be a new one
    return r->format->lay_out(&r->ctx->host, r->work_path, r->layout, r->n_item, provenance);
}

static tess_status open_items(tess_de_result *r)
{
    for (int64_t i = 0; i < r->n_item; i++) {
        tess_de_result_item *item = &r->items[i];
        if (r->is_folder && item->fd < 0) {
            TESS_TRY(path_of_item(r, i, &item->path));
            TESS_TRY(tess_de_result_open(item->path, 0, 0, &item->fd));
        } else if (!r->is_folder) {
            item->path = r->work_path;
            item->fd = r->items[0].fd;
            if (i == 0) {
                TESS_TRY(tess_de_result_open(r->work_path, 0, 0, &item->fd));
            }
        }
        item->result = r;
        item->offset = r->layout[i].offset;
        item->row_bytes = (uint64_t)r->layout[i].item_bytes;
        if (r->layout[i].rank == 2) {
            item->row_bytes *= (uint64_t)r->layout[i].shape[1];
        }
    }
    return TESS_OK;
}

static tess_status write_rows(void *self, int64_t first, int64_t count, const void *src)
{
    const tess_de_result_item *item = self;
    return tess_file_write_at(item->fd, item->path, src,
                              (size_t)((uint64_t)count * item->row_bytes),
                              item->offset + (uint64_t)first * item->row_bytes);
}

// On their way to the disk while others are computed: the end has less to wait for.
static void settle_rows(void *self, int64_t first, int64_t count)
{
    const tess_de_result_item *item = self;
    tess_file_begin_sync(item->fd, item->offset + (uint64_t)first * item->row_bytes,
                         (uint64_t)count * item->row_bytes);
}

static tess_status read_rows(void *self, int64_t first, int64_t count, void *dst)
{
    const tess_de_result_item *item = self;
    return tess_file_read_at(item->fd, item->path, dst, (size_t)((uint64_t)count * item->row_bytes),
                             item->offset + (uint64_t)first * item->row_bytes);
}

// Room for what is known of a block of rows.
typedef struct true_rows {
    double raw[POSITION_ROWS * TESS_DECODE_MAX_DIM];   // [n][n_dim]
    double place[POSITION_ROWS * TESS_DECODE_MAX_DIM]; // [n][n_place_dim]
    double column[POSITION_ROWS];
    int64_t segment[POSITION_ROWS]; // corridors of a track
    int32_t edge[POSITION_ROWS];
} true_rows;

// Before the first and after the last sample the position would be a straight line into nowhere.
static void forget_invented(const tess_decode_observation *o, int64_t first, int64_t n, double *raw)
{
    const int64_t n_dim = o->position.n_dim;
    for (int64_t t = 0; t < n; t++) {
        for (int64_t k = 0; k < n_dim && !tess_de_is_tracked(&o->position, o->time[first + t]);
             k++) {
            raw[t * n_dim + k] = (double)NAN;
        }
    }
}

// Places of rows first.. along each axis, and their corridors.
static tess_status true_places(const tess_de_result *r, int64_t first, int64_t n, true_rows *rows)
{
    const tess_decode_environment *env = r->detector->environments[0];
    const tess_decode_position *position = &r->observation->position;
    const int64_t n_dim = tess_decode_environment_get_info(env)->n_dim;
    const double *raw = r->true_position ? r->true_position + first * n_dim : rows->raw;
    if (!r->true_position) {
        TESS_TRY(tess_decode_position_at(position->time, position->position, position->n_sample,
                                         n_dim, r->observation->time + first, n, rows->raw));
        forget_invented(r->observation, first, n, rows->raw);
    }
    if (!r->has_true_edge) {
        return tess_decode_place(env, raw, n, rows->place);
    }
    TESS_TRY(tess_decode_linearize(env, raw, n, rows->place, rows->segment, NULL));
    for (int64_t t = 0; t < n; t++) {
        rows->edge[t] = (int32_t)rows->segment[t];
    }
    return TESS_OK;
}

// The first of the true position's axes among the items.
static int64_t first_true_item(const tess_de_result *r)
{
    int64_t i = 0;
    while (strncmp(r->layout[i].dataset, "true_", 5) != 0) {
        i++;
    }
    return i;
}

static tess_status write_true_position(tess_de_result *r)
{
    if (r->n_true_axis == 0) {
        return TESS_OK;
    }
    true_rows *rows =
        tess_heap_alloc(&r->ctx->heap, sizeof *rows, TESS_TAG_SCRATCH, "true positions");
    if (!rows) {
        return TESS_E_MEMORY;
    }
    const int64_t n_time = r->observation->n_time;
    const int64_t at = first_true_item(r);
    tess_status status = TESS_OK;
    for (int64_t first = 0; status == TESS_OK && first < n_time; first += POSITION_ROWS) {
        const int64_t n = n_time - first < POSITION_ROWS ? n_time - first : POSITION_ROWS;
        status = true_places(r, first, n, rows);
        for (int64_t axis = 0; status == TESS_OK && axis < r->n_true_axis; axis++) {
            for (int64_t t = 0; t < n; t++) {
                rows->column[t] = rows->place[t * r->n_true_axis + axis];
            }
            status = write_rows(&r->items[at + axis], first, n, rows->column);
        }
        if (status == TESS_OK && r->has_true_edge) {
            status = write_rows(&r->items[at + r->n_true_axis], first, n, rows->edge);
        }
    }
    tess_heap_free(&r->ctx->heap, rows, sizeof *rows, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_de_result_create(tess_de_result *result, const char *work_path,
                                  const char *provenance)
{
    snprintf(result->work_path, sizeof result->work_path, "%s", work_path);
    TESS_TRY(result->is_folder ? create_folder(result, provenance)
                               : create_file(result, provenance));
    TESS_TRY(open_items(result));
    TESS_TRY(write_true_position(result));
    // The names, too, must outlive a crash that a checkpoint outlives.
    char folder[TESS_DE_RESULT_PATH];
    tess_de_folder_of(work_path, folder);
    TESS_TRY(sync_folder(folder));
    return result->is_folder ? sync_folder(work_path) : TESS_OK;
}

tess_status tess_de_result_reopen(tess_de_result *result, const char *work_path,
                                  const uint64_t *offsets)
{
    snprintf(result->work_path, sizeof result->work_path, "%s", work_path);
    for (int64_t i = 0; i < result->n_item; i++) {
        result->layout[i].offset = offsets[i];
    }
    return open_items(result);
}

static int64_t find_item(const tess_de_result *r, const char *name)
{
    for (int64_t i = 0; i < r->n_item; i++) {
        if (strcmp(r->layout[i].dataset, name) == 0) {
            return i;
        }
    }
    return -1;
}

// Distinct columns to the bins of every state.
static tess_status write_likelihood(void *self, int64_t first, int64_t count, const void *src)
{
    const tess_de_result_item *item = self;
    const tess_de_result *r = item->result;
    const tess_decode_detector_info *info = &r->detector->info;
    const size_t bytes = (size_t)(item->row_bytes / (uint64_t)info->n_state_bin);
    for (int64_t at = 0; at < count; at += r->expand_rows) {
        const int64_t n = count - at < r->expand_rows ? count - at : r->expand_rows;
        for (int64_t t = 0; t < n; t++) {
            const char *row = (const char *)src + (size_t)((at + t) * info->n_ll) * bytes;
            char *out = (char *)r->expand_buffer + (size_t)(t * info->n_state_bin) * bytes;
            for (int32_t s = 0; s < info->n_state; s++) {
                memcpy(out + (size_t)info->state_first[s] * bytes,
                       row + (size_t)info->ll_first[s] * bytes,
                       (size_t)(info->state_first[s + 1] - info->state_first[s]) * bytes);
            }
        }
        TESS_TRY(write_rows(self, first + at, n, r->expand_buffer));
    }
    return TESS_OK;
}

void tess_de_result_rows(tess_de_result *result, const char *name, tess_de_rows *rows)
{
    memset(rows, 0, sizeof *rows);
    const int64_t i = find_item(result, name);
    if (i < 0) {
        return;
    }
    const bool is_likelihood = strcmp(name, "log_likelihood") == 0;
    *rows = (tess_de_rows){.dtype = result->layout[i].dtype,
                           .width = is_likelihood ? result->detector->info.n_ll
                                                  : result->layout[i].shape[1],
                           .self = &result->items[i],
                           .read = read_rows,
                           .write = is_likelihood ? write_likelihood : write_rows,
                           .settle = settle_rows};
}

// Bins, and by them states and places: the items that follow.
static tess_status write_path(void *self, int64_t first, int64_t count, const void *src)
{
    enum { BLOCK = 1024 };
    tess_de_result_item *item = self;
    const tess_de_result *r = item->result;
    const int64_t *bins = src;
    int32_t states[BLOCK];
    double places[BLOCK];
    TESS_TRY(write_rows(item, first, count, bins));
    for (int64_t at = 0; at < count; at += BLOCK) {
        const int64_t n = count - at < BLOCK ? count - at : BLOCK;
        for (int64_t t = 0; t < n; t++) {
            states[t] = r->detector->info.state_of_bin[bins[at + t]];
        }
        TESS_TRY(write_rows(item + 1, first + at, n, states));
        for (int k = 0; k < TESS_DECODE_MAX_DIM && r->centers[k]; k++) {
            for (int64_t t = 0; t < n; t++) {
                places[t] = r->centers[k][bins[at + t]];
            }
            TESS_TRY(write_rows(item + 2 + k, first + at, n, places));
        }
    }
    return TESS_OK;
}

void tess_de_result_path(tess_de_result *result, tess_de_rows *rows)
{
    const int64_t i = find_item(result, "most_likely_bin");
    memset(rows, 0, sizeof *rows);
    if (i >= 0) {
        *rows = (tess_de_rows){.dtype = TESS_I64,
                               .width = 1,
                               .self = &result->items[i],
                               .read = read_rows,
                               .write = write_path};
    }
}

tess_status tess_de_result_put(tess_de_result *result, const char *name, const void *data)
{
    const int64_t i = find_item(result, name);
    return tess_file_write_at(result->items[i].fd, result->items[i].path, data,
                              (size_t)layout_bytes(&result->layout[i]), result->items[i].offset);
}

tess_status tess_de_result_sync(tess_de_result *result)
{
    for (int64_t i = 0; i < (result->is_folder ? result->n_item : 1); i++) {
        TESS_TRY(tess_file_sync(result->items[i].fd, result->items[i].path));
    }
    return TESS_OK;
}

static void close_items(tess_de_result *r)
{
    for (int64_t i = 0; i < (r->is_folder ? r->n_item : 1); i++) {
        if (r->items[i].fd >= 0) {
            close(r->items[i].fd);
        }
    }
    for (int64_t i = 0; i < r->n_item; i++) {
        r->items[i].fd = -1;
    }
}

static bool is_ours(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcmp(dot, ".npy") == 0 || strcmp(dot, ".json") == 0);
}

// Removes a folder of ours: .npy and .json files, and itself if nothing else is in it.
static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (is_ours(entry->d_name)) {
            unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
    closedir(folder);
    rmdir(path);
}

tess_status tess_de_result_check_folder(const char *path)
{
    char stranger[256] = "";
    bool is_result = false;
    bool is_empty = true;
    DIR *folder = opendir(path);
    if (!folder) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot be replaced by a folder of results: %s", path,
                  strerror(errno));
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        is_empty = false;
        is_result = is_result || strcmp(entry->d_name, "provenance.json") == 0;
        if (!is_ours(entry->d_name)) {
            snprintf(stranger, sizeof stranger, "%s", entry->d_name);
        }
    }
    closedir(folder);
    if (!is_empty && (!is_result || stranger[0])) {
        TESS_FAIL(TESS_E_EXISTS,
                  "%s: is a folder with other things than a result (%s); choose "
                  "another name",
                  path, stranger[0] ? stranger : "no provenance.json");
    }
    return TESS_OK;
}

// Where the two cannot change places in one step, the old folder steps aside first. Its name is not
// that of a temporary: after a crash in between it is all there is.
static tess_status step_aside(const tess_de_result *r)
{
    char aside[TESS_DE_RESULT_PATH + 64];
    snprintf(aside, sizeof aside, "%s.old.%ld", r->path, (long)getpid());
    if (rename(r->path, aside) != 0) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot move the old folder aside: %s", r->path,
                  strerror(errno));
    }
    const tess_status status = tess_file_rename(r->work_path, r->path, 1);
    if (status == TESS_OK) {
        remove_folder(aside);
    } else {
        (void)rename(aside, r->path);
    }
    return status;
}

static tess_status name_folder(const tess_de_result *r, int overwrite)
{
    TESS_TRY(sync_folder(r->work_path));
    if (access(r->path, F_OK) != 0) {
        return tess_file_rename(r->work_path, r->path, 1);
    }
    if (!overwrite) {
        TESS_FAIL(TESS_E_EXISTS,
                  "%s: exists already; pass --overwrite (overwrite=True) to replace it", r->path);
    }
    TESS_TRY(tess_de_result_check_folder(r->path));
    if (renameat2(AT_FDCWD, r->work_path, AT_FDCWD, r->path, RENAME_EXCHANGE) != 0) {
        return step_aside(r);
    }
    char folder[TESS_DE_RESULT_PATH];
    tess_de_folder_of(r->path, folder);
    const tess_status status = sync_folder(folder);
    remove_folder(r->work_path); // the old one
    return status;
}

tess_status tess_de_result_commit(tess_de_result *result, int overwrite)
{
    TESS_TRY(tess_de_result_sync(result));
    TESS_TRY(result->is_folder ? name_folder(result, overwrite)
                               : tess_file_rename(result->work_path, result->path, overwrite));
    result->work_path[0] = '\0';
    return TESS_OK;
}

void tess_de_result_discard(tess_de_result *result)
{
    if (result->work_path[0] && result->is_folder) {
        remove_folder(result->work_path);
    } else if (result->work_path[0]) {
        unlink(result->work_path);
    }
    result->work_path[0] = '\0';
}

void tess_de_result_close(tess_de_result *result)
{
    if (result->ctx) {
        close_items(result);
        tess_blocks_free(&result->memory);
    }
}
