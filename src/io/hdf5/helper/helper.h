// The program tessera-hdf5: all of libhdf5 that Tessera uses, in a process of its own. One thread
// answers one question after another (../h5_wire.h); at most one file is open.
#ifndef TESS_IO_HDF5_HELPER_H
#define TESS_IO_HDF5_HELPER_H

#include "io/hdf5/h5_wire.h"

#include <hdf5.h>

#define TESS_H5_PROVENANCE_NAME "tessera_provenance"

enum { TESS_H5_MAX_DEPTH = 64, TESS_H5_TYPE_CHARS = 96, TESS_H5_FILTER_LZF = 32000 };

// ---- The process (sandbox.c)

// Signals, limits and descriptors; then, once everything is loaded, system calls: from there on no
// file can be opened, no program started and nobody spoken to but the library.
void tess_h5_settle(void);
void tess_h5_lock_up(void);
// 0: any.
void tess_h5_limit_memory(uint64_t n_byte);

// ---- Answers (answer.c)

// Records the message for a person and returns status.
TESS_MUST_CHECK tess_status tess_h5_refuse(tess_status status, const char *format, ...)
    TESS_PRINTF(2, 3);
// Empties m and gives it room. Exits if there is no memory.
void tess_h5_make_room(tess_h5_message *m, size_t n_byte);
// An empty message for an answer of up to n_byte, and sending it. Exits if nobody listens.
tess_h5_message *tess_h5_answer(size_t n_byte);
void tess_h5_send_answer(tess_h5_kind kind);
// The last answer: done, or what was refused.
void tess_h5_send_end(tess_status status);

// ---- The file (file.c, driver.c)

// The only one there is. Ids are negative where nothing is open.
typedef struct tess_h5_open_file {
    char path[1024]; // in messages
    hid_t file;
    hid_t dataset;
    hid_t memory_type;
    int fd;
    int32_t rank;
    int64_t n_row;
    int64_t row_bytes;
    uint8_t *shared;
    size_t shared_bytes;
} tess_h5_open_file;

extern tess_h5_open_file tess_h5_now;

// Filters, and no plugins from the environment.
bool tess_h5_prepare(void);
// Takes over fd, and opens it for reading.
TESS_MUST_CHECK tess_status tess_h5_take_file(const char *path, int fd, bool is_read);
// False, with the library's reason recorded, where something could not be written.
bool tess_h5_close_now(void);
// "path: what: the library's own reason", or TESS_E_TRUNCATED where the library says that the file
// is too short. Clears the library's error stack.
TESS_MUST_CHECK tess_status tess_h5_fail(tess_status status, const char *what);
// Closes an id of any kind and keeps the recorded errors; negative ids are ignored.
void tess_h5_close_id(hid_t id);
// An access list for data sets that follows no link out of the file.
hid_t tess_h5_dataset_access(void);

// A driver that reads and writes fd and opens nothing else.
bool tess_h5_driver_register(void);
herr_t tess_h5_driver_use(hid_t access, int fd);
// While *place is watched raw data are not moved: where they would have been is noted instead.
void tess_h5_driver_watch(tess_h5_place *place);

// ---- Types and filters (types.c)

// How a data set's items are delivered.
typedef struct tess_h5_type {
    int32_t dtype; // 0: not read
    int64_t item_bytes;
    hid_t memory_type;             // to be closed; negative if dtype is 0
    int32_t swap_bytes;            // 0: only the library can convert the file's bytes
    char text[TESS_H5_TYPE_CHARS]; // "float32 LE"
} tess_h5_type;

void tess_h5_type_of(hid_t dataset, tess_h5_type *out);
// A type to write with; negative if there is none.
hid_t tess_h5_type_for(int32_t dtype, int64_t item_bytes);
// Appends ", gzip 4, shuffle" to text. Returns the first filter this build lacks, or 0.
H5Z_filter_t tess_h5_describe_filters(hid_t creation, char *text, size_t capacity);
const char *tess_h5_filter_name(H5Z_filter_t id);

// ---- Questions: each takes the message apart and answers with items

typedef int (*tess_h5_path_fn)(void *user, const char *dataset);
// Calls visit for every data set with its path ("/entry/data") until it returns non-zero.
TESS_MUST_CHECK tess_status tess_h5_walk(tess_h5_path_fn visit, void *user);

tess_status tess_h5_answer_open(tess_h5_message *question);
tess_status tess_h5_answer_locate(tess_h5_message *question);
tess_status tess_h5_answer_read(tess_h5_message *question);
tess_status tess_h5_answer_list(tess_h5_message *question);
tess_status tess_h5_answer_provenance(tess_h5_message *question);
tess_status tess_h5_answer_attribute(tess_h5_message *question);
tess_status tess_h5_answer_texts(tess_h5_message *question);
tess_status tess_h5_answer_matlab(tess_h5_message *question);
tess_status tess_h5_answer_create(tess_h5_message *question);
tess_status tess_h5_answer_put(tess_h5_message *question);
tess_status tess_h5_answer_put_chunk(tess_h5_message *question);

#endif
