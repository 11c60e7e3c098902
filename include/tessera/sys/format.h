/** The format table: how files of one kind are recognised, listed, read and written. */
#ifndef TESSERA_SYS_FORMAT_H
#define TESSERA_SYS_FORMAT_H

#include "tessera/io.h"
#include "tessera/sys/module.h"

TESS_BEGIN_DECLS

/** An open data set; the format's own state behind impl. */
typedef struct tess_format_reader {
    void *impl;
    int32_t dtype; /* as delivered: native byte order */
    int32_t rank;
    int64_t item_bytes;
    int64_t shape[TESS_MAX_RANK];
    char dataset[256];
    /** Not 0: the whole array lies in the file from this byte on, C order, native byte order. The
     *  runtime reads it by itself, with as many threads as it likes; read() works as well. */
    uint64_t direct_offset;
    /** Memory that reading may fill beyond dst, such as caches; plans count it. */
    uint64_t held_bytes;
} tess_format_reader;

/** How a data set is packed in a file of a format that can. Packed ones are one chunk. */
typedef enum tess_format_packing {
    TESS_PACKING_NONE = 0,   /* in one piece, so that it can be read where it lies */
    TESS_PACKING_LZF = 1,    /* as h5py's "lzf" */
    TESS_PACKING_DEFLATE = 2 /* level 4 */
} tess_format_packing;

/** Where a finished array comes from when a file is written: tiles in order. */
typedef struct tess_format_writer_input {
    const char *dataset;    /* member or path */
    const char *provenance; /* JSON or NULL */
    int32_t dtype;
    int32_t rank;
    int64_t item_bytes;
    int64_t shape[TESS_MAX_RANK];
    const void *data; /* the whole array, C order; NULL: read() brings it */
    uint64_t data_bytes;
    int32_t packing; /* tess_format_packing; formats without it write as they are */
    int32_t reserved;
    /** Bytes offset..offset+bytes-1 of an array too large for memory. Not for packed ones. */
    tess_status (*read)(void *self, uint64_t offset, uint64_t bytes, void *dst);
    void *self;
} tess_format_writer_input;

/** Text number index of a data set. Return non-zero to stop. */
typedef int (*tess_text_fn)(void *user, int64_t index, const char *text);

/** A data set of a file that is laid out at once and filled in place later. */
typedef struct tess_format_layout {
    const char *dataset;
    const char *dims;      /* names of the axes, "time|state_bins"; a data set named like its only
                              axis holds the coordinates of that axis. Those of a group have its
                              name: "posterior/chain|posterior/draw" of "posterior/D0" */
    const char *units;     /* attribute "units"; NULL: none */
    const char *long_name; /* attribute "long_name"; NULL: none */
    int32_t dtype;
    int32_t rank;
    int64_t item_bytes;
    int64_t shape[TESS_MAX_RANK];
    const void *data; /* written now; NULL: room is made for it */
    uint64_t offset;  /* out: where the data lie in the file, C order, native byte order */
} tess_format_layout;

typedef struct tess_format {
    uint32_t struct_size;
    uint32_t abi;           /* TESS_MODULE_ABI */
    const char *name;       /* "npy" */
    const char *extensions; /* ".h5|.hdf5|.hdf": for writing */

    /** 1 if the first bytes (up to 4096; fewer if the file is shorter) are of this format. */
    int (*probe)(const uint8_t *head, size_t head_bytes);
    /** dataset NULL: the only one, or an error that lists the names. */
    tess_status (*open)(const tess_host *host, const char *path, const char *dataset,
                        int allow_truncated, tess_format_reader *out);
    /** Dense C-order copy of items first..first+count-1. */
    tess_status (*read)(const tess_host *host, tess_format_reader *reader, int64_t first,
                        int64_t count, void *dst);
    void (*close)(const tess_host *host, tess_format_reader *reader);
    tess_status (*list)(const tess_host *host, const char *path, tess_dataset_fn visit, void *user);
    /** Provenance text from host->alloc, *bytes long including the zero; NULL if none. */
    tess_status (*provenance)(const tess_host *host, const char *path, char **text, size_t *bytes);
    /** Writes a complete file under a temporary name the caller renames. NULL: read only. */
    tess_status (*write)(const tess_host *host, const char *temporary_path,
                         const tess_format_writer_input *input);
    /** The same for several arrays in one file; the provenance is that of the first. NULL: the
     *  format holds one array. */
    tess_status (*write_many)(const tess_host *host, const char *temporary_path,
                              const tess_format_writer_input *inputs, int64_t n_input);
    /** An attribute of a group or data set: a number in *number, or text in text (cut to fit).
     *  *kind: 0 none of this name, 1 number, 2 text; 2 to 16 numbers are a text with spaces between
     *  them. NULL: the format has no attributes. */
    tess_status (*attribute)(const tess_host *host, const char *path, const char *object,
                             const char *name, int32_t *kind, double *number, char *text,
                             size_t text_capacity);
    /** A complete file of several data sets whose data lie in one piece each, so that they can be
     *  written into the file in place. Axes with the same name are one dimension for netCDF
     *  readers. NULL: the format has no such files. */
    tess_status (*lay_out)(const tess_host *host, const char *path, tess_format_layout *items,
                           int64_t n_item, const char *provenance);
    /** Calls visit for the texts of a data set of text, of fixed or variable length, in C order.
     *  NULL: the format has arrays of fixed length only. */
    tess_status (*texts)(const tess_host *host, const char *path, const char *dataset,
                         tess_text_fn visit, void *user);
    /** Adds an array to a file that write_many() made and that has not got its name yet, so that
     *  not all need be in memory at once. NULL: the format cannot. */
    tess_status (*add)(const tess_host *host, const char *temporary_path,
                       const tess_format_writer_input *input);
    /** TESS_E_UNSUPPORTED where what the format needs is not installed; path is the file it is for.
     *  Called before any of the above but probe. NULL: it needs nothing. */
    tess_status (*check)(const tess_host *host, const char *path);
    /** What a MAT file of version 7.3 holds under these names (joined by '|', of variables and, in
     *  structs, of fields; others are left out), as the variables of a little-endian MAT file of
     *  version 5 without its header, from host->alloc. Numbers that are more than one are not
     *  copied: an array of class 31 has their shape and, in place of them, the path of their data
     *  set, whose axes come in the other order. NULL: the format cannot. */
    tess_status (*matlab)(const tess_host *host, const char *path, const char *names,
                          uint8_t **image, size_t *bytes);
} tess_format;

TESS_END_DECLS

#endif
