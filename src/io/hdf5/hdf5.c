// HDF5: the format's table and what it tells about a file. The structure of a file is read by
// libhdf5 in a process of its own (helper/), the data by us.

#include "base/status.h"
#include "io/formats.h"
#include "io/hdf5/h5_call.h"
#include "io/hdf5/h5_format.h"

#include <stdio.h>
#include <string.h>

// The signature stands at the start or, behind a user block, at 512, 1024, 2048 ...
static int probe(const uint8_t *head, size_t head_bytes)
{
    static const uint8_t signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    for (size_t at = 0; at + sizeof signature <= head_bytes; at = at == 0 ? 512 : 2 * at) {
        if (memcmp(head + at, signature, sizeof signature) == 0) {
            return 1;
        }
    }
    return 0;
}

static tess_status check(const tess_host *host, const char *path)
{
    tess_h5_call call;
    TESS_TRY(tess_h5_call_begin(host, path, 0, 0, &call));
    tess_h5_call_end(&call);
    return TESS_OK;
}

// Asks about a file by its name and up to two texts more.
static tess_status ask(const tess_host *host, const char *path, tess_h5_kind kind, const char *a,
                       const char *b, tess_infile *file, tess_h5_call *call)
{
    const size_t n_byte = strlen(path) + (a ? strlen(a) : 0) + (b ? strlen(b) : 0) + 64;
    TESS_TRY(tess_h5_file_open(path, file));
    tess_status status = tess_h5_call_begin(host, path, 0, n_byte, call);
    if (status == TESS_OK) {
        tess_h5_put_text(&call->message, path);
        tess_h5_put_text(&call->message, a);
        tess_h5_put_text(&call->message, b);
        status = tess_h5_call_ask(call, kind, file->fd);
        if (status != TESS_OK) {
            tess_h5_call_end(call);
        }
    }
    if (status != TESS_OK) {
        tess_h5_file_close(file);
    }
    return status;
}

// Takes the answers until one is wrong or visit wants no more; the rest are read over.
static tess_status answers(tess_h5_call *call,
                           tess_status (*visit)(void *user, tess_h5_call *call, bool *is_enough),
                           void *user)
{
    bool has_item = true;
    bool is_enough = false;
    for (;;) {
        TESS_TRY(tess_h5_call_next(call, &has_item));
        if (!has_item) {
            return TESS_OK;
        }
        if (!is_enough) {
            TESS_TRY(visit(user, call, &is_enough));
        }
    }
}

static tess_status ask_all(const tess_host *host, const char *path, tess_h5_kind kind,
                           const char *a, const char *b,
                           tess_status (*visit)(void *user, tess_h5_call *call, bool *is_enough),
                           void *user)
{
    tess_infile file;
    tess_h5_call call;
    TESS_TRY(ask(host, path, kind, a, b, &file, &call));
    const tess_status status = answers(&call, visit, user);
    tess_h5_call_end(&call);
    tess_h5_file_close(&file);
    return status;
}

typedef struct listing {
    tess_dataset_fn visit;
    void *user;
} listing;

static tess_status take_dataset(void *user, tess_h5_call *call, bool *is_enough)
{
    const listing *l = user;
    tess_h5_listed found;
    tess_h5_get(&call->message, &found, sizeof found);
    const char *name = tess_h5_get_text(&call->message);
    const char *type_text = tess_h5_get_text(&call->message);
    tess_dataset_info info = {
        .struct_size = sizeof info,
        .dtype = found.dtype,
        .rank = found.rank,
        .name = name,
        .type_text = type_text,
    };
    bool is_right = name != NULL && type_text != NULL && info.rank >= 0 &&
                    info.rank <= TESS_MAX_RANK &&
                    (info.dtype == 0 || tess_h5_item_bytes(info.dtype, 1) > 0);
    for (int32_t axis = 0; is_right && axis < info.rank; axis++) {
        info.shape[axis] = found.shape[axis];
        is_right = found.shape[axis] >= 0;
    }
    if (!is_right) {
        return tess_h5_call_nonsense(call);
    }
    *is_enough = l->visit(l->user, &info) != 0;
    return TESS_OK;
}

static tess_status list(const tess_host *host, const char *path, tess_dataset_fn visit, void *user)
{
    listing l = {visit, user};
    return ask_all(host, path, TESS_H5_LIST, NULL, NULL, take_dataset, &l);
}

typedef struct copied {
    char *text;
    size_t bytes;
} copied;

static tess_status take_provenance(void *user, tess_h5_call *call, bool *is_enough)
{
    copied *c = user;
    const char *text = tess_h5_get_text(&call->message);
    if (text == NULL) {
        return tess_h5_call_nonsense(call);
    }
    c->bytes = strlen(text) + 1;
    c->text = call->host->alloc(call->host->user, c->bytes);
    if (c->text == NULL) {
        return TESS_E_MEMORY;
    }
    memcpy(c->text, text, c->bytes);
    *is_enough = true;
    return TESS_OK;
}

static tess_status provenance(const tess_host *host, const char *path, char **text, size_t *bytes)
{
    copied c = {0};
    const tess_status status =
        ask_all(host, path, TESS_H5_PROVENANCE, NULL, NULL, take_provenance, &c);
    if (status != TESS_OK && c.text != NULL) {
        host->release(host->user, c.text, c.bytes);
        c = (copied){0};
    }
    *text = c.text;
    *bytes = c.bytes;
    return status;
}

typedef struct found_attribute {
    int32_t *kind;
    double *number;
    char *text;
    size_t text_capacity;
} found_attribute;

static tess_status take_attribute(void *user, tess_h5_call *call, bool *is_enough)
{
    const found_attribute *found = user;
    int32_t kind = 0;
    double number = 0;
    tess_h5_get(&call->message, &kind, sizeof kind);
    tess_h5_get(&call->message, &number, sizeof number);
    const char *text = tess_h5_get_text(&call->message);
    if ((kind != 1 && kind != 2) || (kind == 2 && text == NULL)) {
        return tess_h5_call_nonsense(call);
    }
    *found->kind = kind;
    if (kind == 1) {
        *found->number = number;
    } else {
        snprintf(found->text, found->text_capacity, "%s", text);
    }
    *is_enough = true;
    return TESS_OK;
}

static tess_status attribute(const tess_host *host, const char *path, const char *object,
                             const char *name, int32_t *kind, double *number, char *text,
                             size_t text_capacity)
{
    found_attribute found = {kind, number, text, text_capacity};
    *kind = 0;
    return ask_all(host, path, TESS_H5_ATTRIBUTE, object, name, take_attribute, &found);
}

typedef struct reading {
    tess_text_fn visit;
    void *user;
    int64_t n;
} reading;

static tess_status take_text(void *user, tess_h5_call *call, bool *is_enough)
{
    reading *r = user;
    const char *text = tess_h5_get_text(&call->message);
    if (text == NULL) {
        return tess_h5_call_nonsense(call);
    }
    *is_enough = r->visit(r->user, r->n++, text) != 0;
    return TESS_OK;
}

static tess_status texts(const tess_host *host, const char *path, const char *dataset,
                         tess_text_fn visit, void *user)
{
    reading r = {visit, user, 0};
    return ask_all(host, path, TESS_H5_TEXTS, dataset, NULL, take_text, &r);
}

// An image that comes in pieces.
typedef struct pieces {
    uint8_t *bytes;
    size_t used;
    size_t capacity;
} pieces;

static tess_status take_piece(void *user, tess_h5_call *call, bool *is_enough)
{
    pieces *p = user;
    const tess_host *host = call->host;
    const size_t n = call->message.used;
    (void)is_enough;
    if (n == 0) {
        return tess_h5_call_nonsense(call);
    }
    if (p->used + n > host->memory_limit_bytes / 2) {
        TESS_FAIL(TESS_E_LIMIT,
                  "%s: what describes the recording takes more than half of the memory limit; "
                  "raise the limit",
                  call->path);
    }
    if (p->used + n > p->capacity) {
        const size_t wanted = 2 * (p->used + n);
        uint8_t *grown = host->alloc(host->user, wanted);
        if (grown == NULL) {
            return TESS_E_MEMORY;
        }
        if (p->used > 0) {
            memcpy(grown, p->bytes, p->used);
            host->release(host->user, p->bytes, p->capacity);
        }
        p->bytes = grown;
        p->capacity = wanted;
    }
    tess_h5_get(&call->message, p->bytes + p->used, n);
    p->used += n;
    return TESS_OK;
}

static tess_status matlab(const tess_host *host, const char *path, const char *names,
                          uint8_t **image, size_t *bytes)
{
    pieces p = {0};
    *image = NULL;
    *bytes = 0;
    tess_status status = ask_all(host, path, TESS_H5_MATLAB, names, NULL, take_piece, &p);
    if (status == TESS_OK && p.used > 0) {
        *image = host->alloc(host->user, p.used);
        status = *image != NULL ? TESS_OK : TESS_E_MEMORY;
    }
    if (*image != NULL) {
        memcpy(*image, p.bytes, p.used);
        *bytes = p.used;
    }
    if (p.capacity > 0) {
        host->release(host->user, p.bytes, p.capacity);
    }
    return status;
}

const tess_format tess_format_hdf5 = {
    .struct_size = sizeof tess_format_hdf5,
    .abi = TESS_MODULE_ABI,
    .name = "hdf5",
    .extensions = ".h5|.hdf5|.hdf|.nwb|.nc",
    .probe = probe,
    .open = tess_h5_open,
    .read = tess_h5_read,
    .close = tess_h5_close,
    .list = list,
    .provenance = provenance,
    .write = tess_h5_write,
    .write_many = tess_h5_write_many,
    .attribute = attribute,
    .lay_out = tess_h5_lay_out,
    .texts = texts,
    .add = tess_h5_add,
    .check = check,
    .matlab = matlab,
};
