// What the library and its helper say to each other over a socket: messages of a kind, a length and
// a payload of plain structs and texts. Both are of one build, which the first message confirms.
// The library trusts nothing it is told: whatever the helper reads may have made it say anything.
#ifndef TESS_IO_HDF5_WIRE_H
#define TESS_IO_HDF5_WIRE_H

#include "tessera/array.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    TESS_H5_WIRE = 2,   // raised whenever anything of this header changes
    TESS_H5_SOCKET = 3, // the helper's end
    TESS_H5_MAX_BYTES = 64 << 20,
    TESS_H5_MAX_FILTERS = 3,
    TESS_H5_MAX_ITEM = 16,      // bytes of a number
    TESS_H5_MOST_PLACES = 4096, // chunks located at once
};

// Questions. Each is answered by some TESS_H5_ITEMs and then TESS_H5_DONE or TESS_H5_FAILED. (fd)
// comes with the descriptor of the file; what was open before is closed first.
typedef enum tess_h5_kind {
    TESS_H5_OPEN = 1,   // (fd) path, has_deflate, data set or none -> dataset, name; stays open
    TESS_H5_LOCATE,     // first, count of the open data set's chunks -> places
    TESS_H5_SHARE,      // (fd of memory) bytes: where TESS_H5_READ puts what it reads
    TESS_H5_READ,       // first, count of the open data set's rows
    TESS_H5_LIST,       // (fd) path -> listed, name, type; for every data set
    TESS_H5_PROVENANCE, // (fd) path -> text or none
    TESS_H5_ATTRIBUTE,  // (fd) path, object, name -> kind, number, text
    TESS_H5_TEXTS,      // (fd) path, data set -> text; for every text
    TESS_H5_MATLAB,     // (fd) path, names joined by '|' -> bytes; pieces of an image
    TESS_H5_CREATE,     // (fd) path, is_new, provenance or none; stays open
    TESS_H5_PUT,        // array, name, dims, units, long name -> offset; stays open
    TESS_H5_PUT_CHUNK,  // first row, place of the data set put last -> offset
    TESS_H5_CLOSE,
    TESS_H5_HELLO, // unasked: TESS_H5_WIRE
    TESS_H5_ITEM,
    TESS_H5_DONE,
    TESS_H5_FAILED, // status, text
} tess_h5_kind;

typedef struct tess_h5_head {
    uint32_t kind;
    uint32_t bytes;        // of the payload
    uint64_t memory_bytes; // that the helper may map for this question; 0: any
} tess_h5_head;

// How the items of a data set are had.
typedef enum tess_h5_storage {
    TESS_H5_BY_LIBRARY = 0, // only by HDF5
    TESS_H5_IN_ONE_PIECE = 1,
    TESS_H5_IN_CHUNKS = 2,
} tess_h5_storage;

typedef enum tess_h5_filter {
    TESS_H5_SHUFFLE = 1,
    TESS_H5_LZF = 2,
    TESS_H5_DEFLATE = 3,
} tess_h5_filter;

typedef struct tess_h5_dataset {
    int32_t dtype;
    int32_t rank;
    int64_t item_bytes;
    int64_t shape[TESS_MAX_RANK];
    int32_t storage;
    int32_t swap_bytes; // of numbers whose bytes are in the other order; 1: all are as they should
    uint64_t offset;    // in one piece
    int64_t chunk[TESS_MAX_RANK]; // in chunks
    int32_t n_filter;
    int32_t filters[TESS_H5_MAX_FILTERS]; // in the order in which they were applied
    uint8_t fill[TESS_H5_MAX_ITEM];       // of chunks that were never written, as in the file
    int64_t piece_rows;                   // by library: to be read together, or things happen twice
    uint64_t held_bytes;                  // by library: what it keeps
} tess_h5_dataset;

// Where a chunk lies in the file; bytes 0: it was never written.
typedef struct tess_h5_place {
    uint64_t offset;
    uint64_t bytes;
    uint64_t skipped; // bit i: filter i was not applied
} tess_h5_place;

typedef struct tess_h5_listed {
    int32_t dtype;
    int32_t rank;
    int64_t shape[TESS_MAX_RANK];
} tess_h5_listed;

typedef struct tess_h5_array {
    int32_t dtype;
    int32_t rank;
    int64_t item_bytes;
    int64_t shape[TESS_MAX_RANK];
    int64_t chunk_rows; // 0: in one piece
    int32_t filter;
    int32_t is_scale; // holds the coordinates of its only axis
} tess_h5_array;

// A message being made or taken apart.
typedef struct tess_h5_message {
    uint8_t *bytes;
    size_t capacity;
    size_t used;
    size_t at;
    bool is_broken; // did not fit, or more was taken out than is in it
} tess_h5_message;

void tess_h5_put(tess_h5_message *m, const void *src, size_t n_byte);
// text may be NULL, and is NULL again at the other end.
void tess_h5_put_text(tess_h5_message *m, const char *text);
// Zeros from a broken message.
void tess_h5_get(tess_h5_message *m, void *dst, size_t n_byte);
// With its zero; lives as long as the message. NULL where none was put, and from a broken message.
const char *tess_h5_get_text(tess_h5_message *m);

typedef enum tess_h5_result { TESS_H5_OK, TESS_H5_CLOSED, TESS_H5_LATE } tess_h5_result;

// fd may be -1. Late if the socket has a limit to sending (SO_SNDTIMEO) and reached it.
tess_h5_result tess_h5_send(int socket, const tess_h5_head *head, const void *payload, int fd);
// Exactly n_byte; late after limit_s seconds without a byte (0: never). fd may be NULL, else it
// receives a descriptor that comes along, or -1.
tess_h5_result tess_h5_receive(int socket, int limit_s, void *dst, size_t n_byte, int *fd);

#endif
