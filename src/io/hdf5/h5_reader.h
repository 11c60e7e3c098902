// An open data set.
#ifndef TESS_IO_HDF5_READER_H
#define TESS_IO_HDF5_READER_H

#include "io/hdf5/h5_call.h"
#include "io/hdf5/h5_format.h"

#include <pthread.h>
#include <sys/types.h>

// Memory that grows to what was needed most.
typedef struct tess_h5_buffer {
    uint8_t *bytes;
    size_t capacity;
} tess_h5_buffer;

enum { TESS_H5_MOST_SHARES = 16 };

// What unpacking one chunk after another needs, taken when it does.
typedef struct tess_h5_scratch {
    tess_h5_buffer stored;     // as in the file
    tess_h5_buffer between[2]; // filters
    tess_h5_buffer chunk;
} tess_h5_scratch;

typedef struct tess_h5_chunks {
    uint64_t chunk_bytes;
    int64_t n_across[TESS_MAX_RANK]; // chunks along each axis
    bool has_whole_rows;             // a chunk is as wide as the data set
    int64_t first_place;             // number of the chunk at places[0]
    int64_t n_place;
    tess_h5_buffer places; // tess_h5_place [n_place]
    int64_t n_share;       // of the work, which threads do at once
    tess_h5_scratch scratch[TESS_H5_MOST_SHARES];
    tess_h5_buffer slab; // rows of chunk number slab_at along the first axis
    uint64_t slab_bytes; // 0: none is kept
    int64_t slab_at;     // -1: none
} tess_h5_chunks;

// What HDF5 itself reads comes through memory that both processes map.
typedef struct tess_h5_shared {
    int fd;
    uint8_t *bytes; // NULL: none yet
    size_t n_byte;
    pid_t owner; // after fork() the other side has memory of its own
} tess_h5_shared;

enum { TESS_H5_NAME_CHARS = 1024 };

typedef struct tess_h5_reader {
    size_t own_bytes;     // of this allocation
    uint64_t session;     // see h5_session.c
    pthread_mutex_t lock; // reading changes what is below
    tess_infile file;
    tess_h5_dataset data;
    uint64_t row_bytes; // of one item of the first axis
    int64_t n_row;
    tess_h5_chunks chunks;
    tess_h5_shared shared;
    char name[TESS_H5_NAME_CHARS];
    char path[];
} tess_h5_reader;

// A number for a session that no other has.
uint64_t tess_h5_session_next(void);
// Asks the process to open the data set (NULL: the only one), and what it is.
TESS_MUST_CHECK tess_status tess_h5_session_open(tess_h5_call *call, const tess_h5_reader *r,
                                                 const char *dataset, tess_h5_dataset *found,
                                                 char name[TESS_H5_NAME_CHARS]);
// Asks for items or chunks of the data set, which is opened again if the process has it no more.
TESS_MUST_CHECK tess_status tess_h5_session_ask(const tess_host *host, tess_h5_reader *r,
                                                tess_h5_kind kind, int64_t first, int64_t count,
                                                tess_h5_call *call);
// The process that has the data set open, if it is idle, is to let go of the file.
void tess_h5_session_close(const tess_host *host, const tess_h5_reader *r);

// Buffers that grow to what was needed most (h5_unpack.c).
TESS_MUST_CHECK tess_status tess_h5_reserve(const tess_host *host, tess_h5_buffer *buffer,
                                            uint64_t n_byte);
void tess_h5_drop(const tess_host *host, tess_h5_buffer *buffer);
// A chunk into dst [chunk_bytes] (h5_unpack.c); of one that is not packed only rows low to high - 1
// of it.
TESS_MUST_CHECK tess_status tess_h5_unpack(const tess_host *host, const tess_h5_reader *r,
                                           tess_h5_scratch *scratch, const tess_h5_place *place,
                                           int64_t low, int64_t high, uint8_t *dst);

// False where the description of the chunks cannot be. Sets held_bytes.
bool tess_h5_chunks_begin(const tess_host *host, tess_h5_reader *r, uint64_t *held_bytes);
TESS_MUST_CHECK tess_status tess_h5_chunks_read(const tess_host *host, tess_h5_reader *r,
                                                int64_t first, int64_t count, uint8_t *dst);
void tess_h5_chunks_end(const tess_host *host, tess_h5_chunks *chunks);

#endif
