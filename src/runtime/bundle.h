// Several arrays in one file (.npz or HDF5): written at once, read one by one by name.
#ifndef TESS_RUNTIME_BUNDLE_H
#define TESS_RUNTIME_BUNDLE_H

#include "base/file.h"
#include "base/infile.h"
#include "runtime/context.h"
#include "runtime/origin.h"
#include "tessera/io.h"
#include "tessera/sys/format.h"

#include <stdbool.h>

// Writes the arrays under a temporary name and gives the file its name when it is complete. The
// provenance is that of the first. Refuses an existing file without overwrite.
TESS_MUST_CHECK tess_status tess_bundle_write(tess_context *ctx, const char *path,
                                              const tess_format_writer_input *inputs,
                                              int64_t n_input, int overwrite);

// The same, with where the file comes from as the provenance of the first. overwrite may be 2
// (runtime/provenance.h).
TESS_MUST_CHECK tess_status tess_bundle_write_from(tess_context *ctx, const tess_origin *origin,
                                                   const char *path,
                                                   tess_format_writer_input *inputs,
                                                   int64_t n_input, int overwrite);

// The same array by array, for those that are not all in memory at once. Ends with commit, or with
// discard, which is safe after a failed begin or commit.
typedef struct tess_bundle_writer {
    tess_context *ctx;
    const tess_format *format;
    int overwrite;
    tess_temp_file file;
} tess_bundle_writer;

TESS_MUST_CHECK tess_status tess_bundle_begin(tess_context *ctx, const char *path,
                                              const tess_format_writer_input *inputs,
                                              int64_t n_input, int overwrite,
                                              tess_bundle_writer *out);
// TESS_E_ARGUMENT for formats that are written at once (.npz).
TESS_MUST_CHECK tess_status tess_bundle_add(tess_bundle_writer *writer,
                                            const tess_format_writer_input *input);
TESS_MUST_CHECK tess_status tess_bundle_commit(tess_bundle_writer *writer);
void tess_bundle_discard(tess_bundle_writer *writer);

// Fills an input for a dense array in memory; rank and shape as given, item size by dtype.
void tess_bundle_input(tess_format_writer_input *input, const char *name, tess_dtype dtype,
                       int32_t rank, const int64_t *shape, const void *data);

// A data set of an open bundle. Names of HDF5 files come without the leading slash.
typedef struct tess_bundle_entry {
    char *name;
    int32_t dtype; // 0: of a type that is not read
    int32_t rank;
    int64_t shape[TESS_MAX_RANK];
    int64_t n_item;
    char type_text[64];
} tess_bundle_entry;

// The data sets of a file. Everything comes from the file as it was opened: somebody who writes to
// it, or puts another in its place, makes every call fail with TESS_E_CHANGED.
typedef struct tess_bundle {
    tess_context *ctx;
    char *path;
    tess_infile file;
    const char *format; // "npz", "hdf5"
    tess_bundle_entry *entries;
    int64_t n_entry;
    int64_t capacity;
} tess_bundle;

TESS_MUST_CHECK tess_status tess_bundle_open(tess_context *ctx, const char *path, tess_bundle *out);
// Accepts one that was never opened, zeroed.
void tess_bundle_close(tess_bundle *bundle);

// TESS_E_CHANGED if the file is not any more what it was when it was opened: for the end of
// reading, since attributes cannot fail.
TESS_MUST_CHECK tess_status tess_bundle_check(const tess_bundle *bundle);

// NULL if there is none of this name.
const tess_bundle_entry *tess_bundle_find(const tess_bundle *bundle, const char *name);

// Reads all n_item items, converted from any real or integer type (and bool) to f64, i64 or u8
// (bool: not zero). dst has room for them. Integers must fit exactly into i64. The message names
// file and data set.
TESS_MUST_CHECK tess_status tess_bundle_read_f64(const tess_bundle *bundle,
                                                 const tess_bundle_entry *entry, double *dst);
TESS_MUST_CHECK tess_status tess_bundle_read_i64(const tess_bundle *bundle,
                                                 const tess_bundle_entry *entry, int64_t *dst);
TESS_MUST_CHECK tess_status tess_bundle_read_bool(const tess_bundle *bundle,
                                                  const tess_bundle_entry *entry, uint8_t *dst);
// The items as they are.
TESS_MUST_CHECK tess_status tess_bundle_read(const tess_bundle *bundle,
                                             const tess_bundle_entry *entry, void *dst,
                                             uint64_t dst_bytes);

// The texts of a data set as UTF-8, of fixed or variable length.
TESS_MUST_CHECK tess_status tess_bundle_read_texts(const tess_bundle *bundle,
                                                   const tess_bundle_entry *entry,
                                                   tess_text_fn visit, void *user);

// An attribute of a group or data set, by its name in the file. Returns false if there is none of
// this name and kind, or the format has none.
bool tess_bundle_number_attribute(const tess_bundle *bundle, const char *object, const char *name,
                                  double *number);
bool tess_bundle_text_attribute(const tess_bundle *bundle, const char *object, const char *name,
                                char *text, size_t capacity);

#endif
