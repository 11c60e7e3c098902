// MAT files of version 5, as far as EEGLAB's need them: of either byte order, variables compressed
// or not. Those of version 7.3 are HDF5: their helper says what is in them as version 5 does
// (include/tessera/sys/format.h, matlab), an image in memory.
//
// Nothing is believed: every size is checked against what encloses it, and nesting is followed only
// as deep as the caller asks.
#ifndef TESS_AUTOREJECT_EEGLAB_MAT_H
#define TESS_AUTOREJECT_EEGLAB_MAT_H

#include "base/infile.h"
#include "runtime/context.h"

#include <stdbool.h>

enum {
    TESS_MAT_CELL = 1,
    TESS_MAT_STRUCT = 2,
    TESS_MAT_CHAR = 4,
    TESS_MAT_SPARSE = 5,
    TESS_MAT_DOUBLE = 6,
    TESS_MAT_LAST_NUMBER = 15,
    TESS_MAT_ELSEWHERE = 31, // of images: numbers that stay in the file, by the path of a data set
    TESS_MAT_MAX_RANK = 8,
    TESS_MAT_NAME_BYTES = 64,
};

// Where arrays lie: the file itself, or an unpacked variable in memory.
typedef struct tess_mat_place {
    const uint8_t *memory; // NULL: the file
    uint64_t begin, end;   // of an element, tag included; in memory from 0
} tess_mat_place;

typedef struct tess_mat_block tess_mat_block;

typedef struct tess_mat {
    tess_context *ctx;
    const tess_infile *file;
    const char *path;
    bool is_swapped; // big-endian
    uint8_t *image;  // of version 7.3, from the host; NULL: the file itself
    size_t image_bytes;
    tess_mat_block *blocks; // unpacked variables
    uint64_t unpacked_bytes;
    uint64_t cached_at; // a window of the file, for the many small reads
    size_t cached_bytes;
    uint8_t cache[1 << 16];
} tess_mat;

// An array's header, and where what follows it lies.
typedef struct tess_mat_array {
    tess_mat_place place; // what is left of the element behind the header
    int32_t array_class;  // 0: an empty element
    int32_t rank;
    int64_t shape[TESS_MAT_MAX_RANK];
    int64_t n_item;
    char name[TESS_MAT_NAME_BYTES];
} tess_mat_array;

// Checks signature and version. The file is borrowed.
TESS_MUST_CHECK tess_status tess_mat_open(tess_context *ctx, const tess_infile *file,
                                          tess_mat *out);
void tess_mat_close(tess_mat *mat);

// The variables of the file in turn: *offset starts at 0 and is -1 behind the last.
TESS_MUST_CHECK tess_status tess_mat_next_variable(tess_mat *mat, int64_t *offset,
                                                   tess_mat_array *out);

// Structs: fields and items. A struct array is opened once; its items are then at hand.
typedef struct tess_mat_struct {
    tess_mat *mat;
    const uint8_t *memory;
    int64_t n_item;
    int64_t n_field;
    char (*names)[TESS_MAT_NAME_BYTES]; // [n_field]
    uint64_t *offsets;                  // [n_item][n_field] begin of each element, and one end
} tess_mat_struct;

// Accepts empty arrays (no items). TESS_E_FORMAT if it is no struct.
TESS_MUST_CHECK tess_status tess_mat_struct_open(tess_mat *mat, const tess_mat_array *array,
                                                 tess_mat_struct *out);
void tess_mat_struct_close(tess_mat_struct *s);
// array_class 0 if there is no such field.
TESS_MUST_CHECK tess_status tess_mat_field(const tess_mat_struct *s, int64_t item, const char *name,
                                           tess_mat_array *out);

// The numbers of an array: type of storage (tess_dtype) and where they lie, in the file's byte
// order.
TESS_MUST_CHECK tess_status tess_mat_numbers(tess_mat *mat, const tess_mat_array *array,
                                             int32_t *dtype, tess_mat_place *data);
// The first number; *is_there false for empty arrays and those that are no numbers.
TESS_MUST_CHECK tess_status tess_mat_scalar(tess_mat *mat, const tess_mat_array *array,
                                            double *value, bool *is_there);
// Text as UTF-8, cut to capacity; a single number as it is written; "" for anything else. Words
// have the blanks around them, text has none.
TESS_MUST_CHECK tess_status tess_mat_words(tess_mat *mat, const tess_mat_array *array, char *text,
                                           size_t capacity);
TESS_MUST_CHECK tess_status tess_mat_text(tess_mat *mat, const tess_mat_array *array, char *text,
                                          size_t capacity);
// The path of the data set that holds the numbers; "" for anything else.
TESS_MUST_CHECK tess_status tess_mat_elsewhere(tess_mat *mat, const tess_mat_array *array,
                                               char *path, size_t capacity);
// The k-th array of a cell array.
TESS_MUST_CHECK tess_status tess_mat_cell(tess_mat *mat, const tess_mat_array *array, int64_t k,
                                          tess_mat_array *out);

#endif
