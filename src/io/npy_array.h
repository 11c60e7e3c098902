// An array in .npy encoding inside some run of bytes: a file, or a member of an archive.
#ifndef TESS_IO_NPY_ARRAY_H
#define TESS_IO_NPY_ARRAY_H

#include "io/npy_parse.h"
#include "tessera/sys/format.h"

// Where the encoded bytes come from; offset 0 is the magic.
typedef struct tess_byte_source {
    tess_status (*read_at)(void *self, uint64_t offset, uint64_t bytes, void *dst);
    void *self;
    uint64_t bytes;       // how many there are
    bool is_forward_only; // reading backwards starts over: correct, but slow
} tess_byte_source;

typedef struct tess_npy_array {
    tess_npy_header header;
    tess_byte_source source;
    char *block; // scratch for Fortran order, else NULL
    size_t block_bytes;
} tess_npy_array;

// Reads and parses the header at the start of the source. Types we do not read are no error here.
TESS_MUST_CHECK tess_status tess_npy_header_load(const tess_host *host, const char *name,
                                                 const tess_byte_source *source,
                                                 tess_npy_header *out);

// Compares what the header promises with what the source has. With allow_truncated the first axis
// shrinks to the items that are whole.
TESS_MUST_CHECK tess_status tess_npy_header_fit(const char *name, uint64_t source_bytes,
                                                int allow_truncated, tess_npy_header *header);

// The header must have passed check and fit.
TESS_MUST_CHECK tess_status tess_npy_array_init(const tess_host *host,
                                                const tess_npy_header *header,
                                                const tess_byte_source *source,
                                                tess_npy_array *out);
void tess_npy_array_release(const tess_host *host, tess_npy_array *array);

// Items first..first+count-1 of the first axis, C order, native byte order.
TESS_MUST_CHECK tess_status tess_npy_array_read(const tess_npy_array *array, int64_t first,
                                                int64_t count, void *dst);

// 1 if the bytes can be delivered as they lie: C order, native byte order, aligned.
int tess_npy_header_is_direct(const tess_npy_header *header, uint64_t file_offset);

// The parts of a reader or a listing that the header decides.
void tess_npy_header_describe(const tess_npy_header *header, tess_format_reader *reader);
int tess_npy_header_visit(const tess_npy_header *header, const char *name, const char *type_text,
                          tess_dataset_fn visit, void *user);

#endif
