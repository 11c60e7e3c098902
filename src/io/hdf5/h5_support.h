// What the parts of the HDF5 module share. The library is used under one lock: it is not
// re-entrant in every build, and where it is, it has a lock of its own.
#ifndef TESS_IO_HDF5_SUPPORT_H
#define TESS_IO_HDF5_SUPPORT_H

#include "tessera/sys/format.h"

#include <hdf5.h>
#include <stdbool.h>

#define TESS_H5_PROVENANCE "tessera_provenance"
#define TESS_H5_SCHEMA "schema"
#define TESS_H5_SCHEMA_TEXT "tessera.result/1"

enum { TESS_H5_MAX_DEPTH = 64, TESS_H5_TYPE_CHARS = 96, TESS_H5_FILTER_LZF = 32000 };

// Takes the lock and silences the library's printing on this thread.
void tess_h5_lock(void);
void tess_h5_unlock(void);

// Filters, and no plugins from the environment. Called once, under the lock.
bool tess_h5_prepare(void);

// Records "path: what: the library's own reason" and returns status, or TESS_E_TRUNCATED where
// the library says that the file is too short. Clears the library's error stack.
TESS_MUST_CHECK tess_status tess_h5_fail(const tess_host *host, tess_status status,
                                         const char *path, const char *what);

// Closes an id of any kind and keeps the recorded errors; negative ids are ignored.
void tess_h5_close_id(hid_t id);

// A file open for reading, or a negative id with the message recorded.
TESS_MUST_CHECK tess_status tess_h5_open_file(const tess_host *host, const char *path, hid_t *file);

// An access list for data sets that follows no link out of the file.
hid_t tess_h5_dataset_access(void);

// How a data set's items are delivered.
typedef struct tess_h5_type {
    int32_t dtype; // 0: not read
    int64_t item_bytes;
    hid_t memory_type;             // to be closed; negative if dtype is 0
    bool is_direct;                // the file's bytes are the delivered ones
    char text[TESS_H5_TYPE_CHARS]; // "float32 LE"
} tess_h5_type;

void tess_h5_type_of(hid_t dataset, tess_h5_type *out);
// A type to write with; negative if there is none.
hid_t tess_h5_type_for(int32_t dtype, int64_t item_bytes);

// Appends ", gzip 4, shuffle" to text. Returns the first filter this build lacks, or 0.
H5Z_filter_t tess_h5_describe_filters(hid_t creation, char *text, size_t capacity);
const char *tess_h5_filter_name(H5Z_filter_t id);

// Whole chunks of rows first..first+count-1. Returns 1, 0 where the library has to read (other
// filters, parts of chunks), -1 where a chunk is damaged.
int tess_h5_packed_read(hid_t dataset, hid_t memory_type, const tess_format_reader *reader,
                        int64_t first, int64_t count, void *dst);

// Calls visit for every data set with its path ("/entry/data") until it returns non-zero.
typedef int (*tess_h5_path_fn)(void *user, hid_t file, const char *dataset);
TESS_MUST_CHECK tess_status tess_h5_walk(const tess_host *host, const char *path, hid_t file,
                                         tess_h5_path_fn visit, void *user);

// The entries of the format table; each takes the lock.
tess_status tess_h5_open(const tess_host *host, const char *path, const char *dataset,
                         int allow_truncated, tess_format_reader *out);
tess_status tess_h5_read(const tess_host *host, tess_format_reader *reader, int64_t first,
                         int64_t count, void *dst);
void tess_h5_close(const tess_host *host, tess_format_reader *reader);
tess_status tess_h5_list(const tess_host *host, const char *path, tess_dataset_fn visit,
                         void *user);
tess_status tess_h5_provenance(const tess_host *host, const char *path, char **text, size_t *bytes);
tess_status tess_h5_write(const tess_host *host, const char *temporary_path,
                          const tess_format_writer_input *input);
tess_status tess_h5_write_many(const tess_host *host, const char *temporary_path,
                               const tess_format_writer_input *inputs, int64_t n_input);
tess_status tess_h5_attribute(const tess_host *host, const char *path, const char *object,
                              const char *name, int32_t *kind, double *number, char *text,
                              size_t text_capacity);
tess_status tess_h5_lay_out(const tess_host *host, const char *path, tess_format_layout *items,
                            int64_t n_item, const char *provenance);
tess_status tess_h5_texts(const tess_host *host, const char *path, const char *dataset,
                          tess_text_fn visit, void *user);
tess_status tess_h5_add(const tess_host *host, const char *temporary_path,
                        const tess_format_writer_input *input);

// A new file whose data sets can be mapped; negative if it cannot be created.
hid_t tess_h5_create_file(const char *path);
// The message and status of one that could not be.
TESS_MUST_CHECK tess_status tess_h5_fail_create(const tess_host *host, const char *path);
// A text attribute of variable length.
herr_t tess_h5_put_text(hid_t object, const char *name, const char *text);

#endif
