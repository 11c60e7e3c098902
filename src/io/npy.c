// .npy files. C order in native byte order is read where it lies; everything else is converted
// tile by tile.

#include "base/infile.h"
#include "base/npy_header.h"
#include "base/status.h"
#include "io/format_file.h"
#include "io/formats.h"
#include "io/npy_array.h"
#include "tessera/warning.h"

#include <stdio.h>
#include <string.h>

typedef struct npy_reader {
    size_t own_bytes; // of this allocation
    tess_infile file; // path points to the copy below
    tess_npy_array array;
    char path[];
} npy_reader;

static tess_status read_file_at(void *self, uint64_t offset, uint64_t bytes, void *dst)
{
    return tess_infile_read(self, dst, (size_t)bytes, offset);
}

static tess_byte_source source_of(tess_infile *file)
{
    return (tess_byte_source){.read_at = read_file_at, .self = file, .bytes = file->bytes};
}

static void npy_close(const tess_host *host, tess_format_reader *reader)
{
    npy_reader *npy = reader->impl;
    if (npy == NULL) {
        return;
    }
    tess_npy_array_release(host, &npy->array);
    tess_infile_close(&npy->file);
    host->release(host->user, npy, npy->own_bytes);
    *reader = (tess_format_reader){0};
}

static tess_status open_array(const tess_host *host, npy_reader *npy, int allow_truncated,
                              tess_format_reader *out)
{
    TESS_TRY(tess_infile_open(npy->path, &npy->file));
    const tess_byte_source source = source_of(&npy->file);
    tess_npy_header header;
    TESS_TRY(tess_npy_header_load(host, npy->path, &source, &header));
    TESS_TRY(tess_npy_header_check(npy->path, &header));
    const int64_t promised = header.shape[0];
    TESS_TRY(tess_npy_header_fit(npy->path, npy->file.bytes, allow_truncated, &header));
    if (header.shape[0] != promised) {
        int64_t n_warning = 0;
        host->log(host->user, TESS_LOG_WARNING,
                  "%s: truncated: only the first %lld of %lld items are there and used [%s]",
                  npy->path, (long long)header.shape[0], (long long)promised,
                  tess_warnings(&n_warning)[TESS_W_INPUT_TRUNCATED].id);
    }
    TESS_TRY(tess_npy_array_init(host, &header, &source, &npy->array));
    tess_npy_header_describe(&header, out);
    if (tess_npy_header_is_direct(&header, header.data_offset)) {
        out->direct_offset = header.data_offset;
    }
    return TESS_OK;
}

static tess_status npy_open(const tess_host *host, const char *path, const char *dataset,
                            int allow_truncated, tess_format_reader *out)
{
    *out = (tess_format_reader){0};
    if (dataset != NULL && dataset[0] != '\0') {
        TESS_FAIL(TESS_E_NOT_FOUND,
                  "%s: a .npy file holds one array without a name; leave out the data set '%s'",
                  path, dataset);
    }
    const size_t path_bytes = strlen(path) + 1;
    npy_reader *npy = host->alloc(host->user, sizeof *npy + path_bytes);
    if (npy == NULL) {
        return TESS_E_MEMORY;
    }
    *npy = (npy_reader){.own_bytes = sizeof *npy + path_bytes, .file = {.fd = -1}};
    memcpy(npy->path, path, path_bytes);
    out->impl = npy;
    const tess_status status = open_array(host, npy, allow_truncated, out);
    if (status != TESS_OK) {
        npy_close(host, out);
    }
    return status;
}

static tess_status npy_read(const tess_host *host, tess_format_reader *reader, int64_t first,
                            int64_t count, void *dst)
{
    (void)host;
    const npy_reader *npy = reader->impl;
    return tess_npy_array_read(&npy->array, first, count, dst);
}

static tess_status npy_list(const tess_host *host, const char *path, tess_dataset_fn visit,
                            void *user)
{
    tess_infile file;
    TESS_TRY(tess_infile_open(path, &file));
    const tess_byte_source source = source_of(&file);
    tess_npy_header header;
    tess_status status = tess_npy_header_load(host, path, &source, &header);
    if (status == TESS_OK) {
        status = tess_npy_header_fit(path, file.bytes, 0, &header);
    }
    tess_infile_close(&file);
    if (status == TESS_OK) {
        tess_npy_header_visit(&header, "", header.type_text, visit, user);
    }
    return status;
}

static tess_status npy_write(const tess_host *host, const char *temporary_path,
                             const tess_format_writer_input *input)
{
    (void)host;
    char header[TESS_NPY_HEADER_MAX_BYTES];
    const size_t header_bytes =
        tess_npy_header_make(header, sizeof header, (tess_dtype)input->dtype, input->item_bytes,
                             input->rank, input->shape);
    if (header_bytes == 0) {
        TESS_FAIL(TESS_E_DTYPE, "%s: NumPy has no type for items of type %d; write f32 instead",
                  temporary_path, input->dtype);
    }
    tess_outfile file;
    TESS_TRY(tess_outfile_create(temporary_path, &file));
    tess_status status = tess_outfile_write(&file, header, header_bytes);
    if (status == TESS_OK) {
        status = tess_outfile_write(&file, input->data, input->data_bytes);
    }
    return tess_outfile_finish(&file, status);
}

const tess_format tess_format_npy = {
    .struct_size = sizeof tess_format_npy,
    .abi = TESS_MODULE_ABI,
    .name = "npy",
    .extensions = ".npy",
    .probe = tess_npy_probe,
    .open = npy_open,
    .read = npy_read,
    .close = npy_close,
    .list = npy_list,
    .provenance = NULL, // no room for it: the sink writes a file beside
    .write = npy_write,
};
