/** Data in and out: sources yield tiles of an array, sinks take them. */
#ifndef TESSERA_IO_H
#define TESSERA_IO_H

#include "tessera/array.h"
#include "tessera/context.h"

TESS_BEGIN_DECLS

/** An input array: a file's data set or memory. Tiles are ranges of the first axis. */
typedef struct tess_source tess_source;

/** An output array being filled. Nothing appears under its final name before commit. */
typedef struct tess_sink tess_sink;

typedef struct tess_source_info {
    uint32_t struct_size;
    int32_t dtype; /* tess_dtype of the items as delivered (native byte order) */
    int32_t rank;
    int32_t in_memory; /* 1: an array of the caller, tiles are views of it, no copy is made */
    int64_t item_bytes;
    int64_t shape[TESS_MAX_RANK];
    const char *path;    /* "" for memory */
    const char *dataset; /* member or path inside the file; "" where there is only one */
    const char *format;  /* "npy", "npz", "hdf5", "memory" */
    uint64_t file_bytes;
    int64_t file_mtime_ns;
} tess_source_info;

typedef struct tess_source_config {
    uint32_t struct_size;
    int32_t allow_truncated; /* 1: keep the whole leading items of a truncated file */
    const char *dataset;     /* NULL: the only one, else an error that lists them */
    int32_t single_value;    /* 1: a single value is read as an array of one item; 0: an error */
    int32_t reserved;
} tess_source_config;

TESS_API void tess_source_config_init(tess_source_config *config, size_t struct_size);

/**
 * Opens a data set of a file; the format is recognised by content, not by name.
 * config may be NULL. Everything about sizes is checked against the file before any allocation.
 */
TESS_API TESS_MUST_CHECK tess_status tess_source_open(tess_context *ctx, const char *path,
                                                      const tess_source_config *config,
                                                      tess_source **out);

/** A source over memory, borrowed until close. Any strides. */
TESS_API TESS_MUST_CHECK tess_status tess_source_from_array(tess_context *ctx,
                                                            const tess_array *array,
                                                            tess_source **out);

/** Lives with the source. */
TESS_API const tess_source_info *tess_source_get_info(const tess_source *source);

/**
 * Copies items first..first+count-1 of the first axis into dst, C order, native byte order,
 * densely. dst_bytes must be exactly what that takes. Any thread, one call at a time.
 */
TESS_API TESS_MUST_CHECK tess_status tess_source_read(tess_source *source, int64_t first,
                                                      int64_t count, void *dst, uint64_t dst_bytes);
TESS_API void tess_source_close(tess_source *source);

/** One data set of a file, for tess_file_list(). */
typedef struct tess_dataset_info {
    uint32_t struct_size;
    int32_t dtype; /* tess_dtype, or 0 if Tessera does not read this type */
    int32_t rank;
    int32_t reserved;
    int64_t shape[TESS_MAX_RANK];
    const char *name;
    const char *type_text; /* the file's own description: "<f4", "float64 LE, gzip 4" */
} tess_dataset_info;

/** Return non-zero to stop the listing. */
typedef int (*tess_dataset_fn)(void *user, const tess_dataset_info *info);

/** Calls visit for every data set of the file; *format names the file's format (static text). */
TESS_API TESS_MUST_CHECK tess_status tess_file_list(tess_context *ctx, const char *path,
                                                    const char **format, tess_dataset_fn visit,
                                                    void *user);

/** Provenance stored with a file of any format that Tessera writes, as JSON text for
 *  tess_text_free(); *text NULL if none. */
TESS_API TESS_MUST_CHECK tess_status tess_file_provenance(tess_context *ctx, const char *path,
                                                          char **text);

/** Text into a file that appears whole or not at all. stage non-NULL: its first line is the comment
 *  "# tessera_provenance {...}", which says what made it; for formats with such comments. */
TESS_API TESS_MUST_CHECK tess_status tess_text_save(tess_context *ctx, const char *path,
                                                    const char *stage, const char *text,
                                                    int overwrite);

typedef struct tess_sink_config {
    uint32_t struct_size;
    int32_t overwrite;   /* 1: replace an existing file at commit */
    const char *dataset; /* NPZ member or HDF5 path; NULL: "data" */
} tess_sink_config;

TESS_API void tess_sink_config_init(tess_sink_config *config, size_t struct_size);

/**
 * An output file; format by extension: .npy, .npz, .h5/.hdf5/.hdf. Refuses an existing file
 * unless overwrite is set. Data are spooled to a temporary file in the same directory and
 * renamed at commit. config may be NULL.
 */
TESS_API TESS_MUST_CHECK tess_status tess_sink_create(tess_context *ctx, const char *path,
                                                      const tess_sink_config *config,
                                                      tess_dtype dtype, int32_t rank,
                                                      const int64_t *shape, tess_sink **out);

/** A sink over memory, borrowed until close. C-contiguous. */
TESS_API TESS_MUST_CHECK tess_status tess_sink_from_array(tess_context *ctx,
                                                          const tess_array *array, tess_sink **out);

/** Writes items first..first+count-1 of the first axis. Ranges come in order, from 0 without gaps;
 *  one may be written again. Any thread, one call at a time. */
TESS_API TESS_MUST_CHECK tess_status tess_sink_write(tess_sink *sink, int64_t first, int64_t count,
                                                     const void *src, uint64_t src_bytes);

/** JSON object stored with the file at commit (sidecar for .npy). Copied. */
TESS_API TESS_MUST_CHECK tess_status tess_sink_set_provenance(tess_sink *sink, const char *json);

/** Flushes, syncs and gives the file its name. Every item must have been written. */
TESS_API TESS_MUST_CHECK tess_status tess_sink_commit(tess_sink *sink);

/** Frees the sink; removes what was not committed (unless a checkpoint keeps it for resume). */
TESS_API void tess_sink_close(tess_sink *sink);

TESS_END_DECLS

#endif
