// FIF files from inside: tags, blocks, and what of the measurement info is used.
//
// A tag is four big-endian int32 (kind, type, bytes of data, next) and its data; tags 104 and 105
// open and close blocks. Everything about sizes is checked against the file while the tags are
// walked, before anything is allocated for them.
#ifndef TESS_AUTOREJECT_FIF_H
#define TESS_AUTOREJECT_FIF_H

#include "systems/autoreject/files/recording.h"

// Tags and blocks that are read or written. X(name, number, words)
#define TESS_AR_FIF_TAGS(X)                                                                        \
    X(FILE_ID, 100, "file id")                                                                     \
    X(DIR_POINTER, 101, "directory pointer")                                                       \
    X(BLOCK_ID, 103, "block id")                                                                   \
    X(BLOCK_START, 104, "block start")                                                             \
    X(BLOCK_END, 105, "block end")                                                                 \
    X(FREE_LIST, 106, "free list")                                                                 \
    X(NOP, 108, "end of file")                                                                     \
    X(PARENT_BLOCK_ID, 110, "parent block id")                                                     \
    X(REF_ROLE, 115, "role of a file")                                                             \
    X(REF_FILE_NUM, 117, "number of a file")                                                       \
    X(REF_FILE_NAME, 118, "name of a file")                                                        \
    X(N_CHAN, 200, "number of channels")                                                           \
    X(SFREQ, 201, "sampling rate")                                                                 \
    X(CH_INFO, 203, "channel info")                                                                \
    X(MEAS_DATE, 204, "measurement date")                                                          \
    X(COMMENT, 206, "comment")                                                                     \
    X(FIRST_SAMPLE, 208, "first sample")                                                           \
    X(LAST_SAMPLE, 209, "last sample")                                                             \
    X(DIG_POINT, 213, "digitised point")                                                           \
    X(LOWPASS, 219, "low-pass")                                                                    \
    X(COORD_TRANS, 222, "coordinate transform")                                                    \
    X(HIGHPASS, 223, "high-pass")                                                                  \
    X(NAME, 233, "name")                                                                           \
    X(CH_SCAN_NO, 250, "scan number")                                                              \
    X(CH_LOGICAL_NO, 251, "logical number")                                                        \
    X(CH_KIND, 252, "kind of a channel")                                                           \
    X(CH_RANGE, 253, "range of a channel")                                                         \
    X(CH_CAL, 254, "calibration of a channel")                                                     \
    X(CH_LOC, 255, "position of a channel")                                                        \
    X(CH_UNIT, 256, "unit of a channel")                                                           \
    X(CH_UNIT_MUL, 257, "multiplier of a unit")                                                    \
    X(CH_NAME, 258, "name of a channel")                                                           \
    X(DATA_BUFFER, 300, "data buffer")                                                             \
    X(DATA_SKIP, 301, "data skip")                                                                 \
    X(EPOCH, 302, "epoch data")                                                                    \
    X(OLD_BASELINE_MIN, 304, "start of the baseline")                                              \
    X(OLD_BASELINE_MAX, 305, "end of the baseline")                                                \
    X(CH_COIL_TYPE, 350, "coil type")                                                              \
    X(CH_COORD_FRAME, 351, "coordinate frame of a channel")                                        \
    X(PROJ_KIND, 3411, "kind of a projector")                                                      \
    X(PROJ_N_VECTOR, 3414, "number of vectors of a projector")                                     \
    X(PROJ_VECTORS, 3415, "vectors of a projector")                                                \
    X(PROJ_CHANNELS, 3417, "channels of a projector")                                              \
    X(CH_NAME_LIST, 3507, "list of channel names")                                                 \
    X(PROJ_ACTIVE, 3560, "active flag of a projector")                                             \
    X(EVENT_LIST, 3561, "event list")                                                              \
    X(BASELINE_MIN, 3568, "start of the baseline, or onsets")                                      \
    X(BASELINE_MAX, 3569, "end of the baseline, or ends")                                          \
    X(SELECTION, 3800, "selection")                                                                \
    X(DROP_LOG, 3801, "drop log")                                                                  \
    X(REJECT_FLAT, 3802, "reject parameters")                                                      \
    X(RAW_SFREQ, 3803, "original sampling rate")

enum {
#define TESS_AR_FIF_TAG(name, number, words) TESS_AR_FIF_##name = number,
    TESS_AR_FIF_TAGS(TESS_AR_FIF_TAG)
#undef TESS_AR_FIF_TAG
};

enum {
    TESS_AR_FIF_B_MEAS = 100,
    TESS_AR_FIF_B_MEAS_INFO = 101,
    TESS_AR_FIF_B_RAW = 102,
    TESS_AR_FIF_B_PROCESSED = 103,
    TESS_AR_FIF_B_ISOTRAK = 107,
    TESS_AR_FIF_B_HPI_RESULT = 109,
    TESS_AR_FIF_B_CONTINUOUS = 112,
    TESS_AR_FIF_B_CH_INFO = 113,
    TESS_AR_FIF_B_REF = 118,
    TESS_AR_FIF_B_SHIELDED = 119,
    TESS_AR_FIF_B_OLD_EPOCHS = 122, // in files before 2015
    TESS_AR_FIF_B_PROJ = 313,
    TESS_AR_FIF_B_PROJ_ITEM = 314,
    TESS_AR_FIF_B_BADS = 359,
    TESS_AR_FIF_B_EVENTS = 361,
    TESS_AR_FIF_B_EPOCHS = 373,
    TESS_AR_FIF_B_HISTORY = 900,
    TESS_AR_FIF_B_ANNOTATIONS = 3810,
    TESS_AR_FIF_B_METADATA = 3811,
};

enum {
    TESS_AR_FIF_VOID = 0,
    TESS_AR_FIF_I16 = 2,
    TESS_AR_FIF_I32 = 3,
    TESS_AR_FIF_F32 = 4,
    TESS_AR_FIF_F64 = 5,
    TESS_AR_FIF_STRING = 10,
    TESS_AR_FIF_PACKED_I16 = 16,
    TESS_AR_FIF_CH_STRUCT = 30,
    TESS_AR_FIF_ID_STRUCT = 31,
    TESS_AR_FIF_DIG_STRUCT = 33,
    TESS_AR_FIF_TRANS_STRUCT = 35,
    TESS_AR_FIF_MATRIX = 1 << 30, // added to the type of the items
    TESS_AR_FIF_HEADER_BYTES = 16,
    TESS_AR_FIF_CH_BYTES = 96,
};

typedef struct tess_ar_fif_tag {
    int32_t kind;
    int32_t type;
    int32_t bytes; // of its data, which lie in the file
    int32_t block; // the innermost it stands in
    uint64_t at;   // of its data
} tess_ar_fif_tag;

typedef struct tess_ar_fif_block {
    int32_t kind;
    int32_t parent; // -1: this is the file
    uint64_t at;    // of the tag that opens it
    int64_t first;  // its tags and those of blocks in it: first..end-1
    int64_t end;
} tess_ar_fif_block;

typedef struct tess_ar_fif_file {
    tess_context *ctx;
    tess_infile in; // .fif.gz: the unpacked one
    char *path;     // for messages and neighbours
    tess_ar_fif_tag *tags;
    int64_t n_tag;
    int64_t tag_capacity;
    tess_ar_fif_block *blocks; // [0] is the file
    int64_t n_block;
    int64_t block_capacity;
} tess_ar_fif_file;

// Opens and walks. .fif.gz is unpacked into a file without a name first.
TESS_MUST_CHECK tess_status tess_ar_fif_file_open(tess_context *ctx, const char *path,
                                                  tess_ar_fif_file *out);
// Accepts one that was never opened (zeroed, or after a failure).
void tess_ar_fif_file_close(tess_ar_fif_file *file);

// "tag 302 (epoch data)" in a buffer of the caller.
const char *tess_ar_fif_words(int32_t kind, char text[64]);

// The next block of this kind anywhere inside another, behind block number after (-1: the first);
// -1: none.
int64_t tess_ar_fif_block_in(const tess_ar_fif_file *file, int64_t within, int32_t kind,
                             int64_t after);
// The next tag of this kind directly in a block, behind after (NULL: the first); NULL: none.
const tess_ar_fif_tag *tess_ar_fif_tag_in(const tess_ar_fif_file *file, int64_t block, int32_t kind,
                                          const tess_ar_fif_tag *after);
// The same, TESS_E_FORMAT if there is none.
TESS_MUST_CHECK tess_status tess_ar_fif_need(const tess_ar_fif_file *file, int64_t block,
                                             int32_t kind, const tess_ar_fif_tag **tag);

// Data of a tag, which must be of the type (and as many bytes at least).
TESS_MUST_CHECK tess_status tess_ar_fif_check(const tess_ar_fif_file *file,
                                              const tess_ar_fif_tag *tag, int32_t type,
                                              int32_t min_bytes);
TESS_MUST_CHECK tess_status tess_ar_fif_read_i32(const tess_ar_fif_file *file,
                                                 const tess_ar_fif_tag *tag, int32_t *out);
// f32 or f64, the first one.
TESS_MUST_CHECK tess_status tess_ar_fif_read_real(const tess_ar_fif_file *file,
                                                  const tess_ar_fif_tag *tag, double *out);
// All values, in memory of the epochs: i32 (a matrix is taken as a list), f32 or f64 as f64, text
// as UTF-8.
TESS_MUST_CHECK tess_status tess_ar_fif_read_i32s(const tess_ar_fif_file *file,
                                                  const tess_ar_fif_tag *tag,
                                                  tess_autoreject_epochs *epochs, int32_t **out,
                                                  int64_t *n);
TESS_MUST_CHECK tess_status tess_ar_fif_read_reals(const tess_ar_fif_file *file,
                                                   const tess_ar_fif_tag *tag,
                                                   tess_autoreject_epochs *epochs, double **out,
                                                   int64_t *n);
TESS_MUST_CHECK tess_status tess_ar_fif_read_text(const tess_ar_fif_file *file,
                                                  const tess_ar_fif_tag *tag,
                                                  tess_autoreject_epochs *epochs, char **out);
// Names joined by ':', taken apart in memory of the epochs.
TESS_MUST_CHECK tess_status tess_ar_fif_read_names(const tess_ar_fif_file *file,
                                                   const tess_ar_fif_tag *tag,
                                                   tess_autoreject_epochs *epochs, char ***names,
                                                   int64_t *n);

// Name of the file that goes on after this one, as a path from the heap (strlen + 1, TESS_TAG_IO);
// NULL: this is the last.
TESS_MUST_CHECK tess_status tess_ar_fif_next_path(const tess_ar_fif_file *file, char **path);

// What the measurement info says.
typedef struct tess_ar_fif_info {
    int64_t block; // of the measurement info
    double sampling_hz;
    double date_s;       // NaN: not known
    const double *cal;   // [n_chan], in memory of the epochs, as are
    const double *range; // [n_chan]
    tess_autoreject_sensors sensors;
} tess_ar_fif_info;

// The type of a channel from its kind, unit and coil; and kind, unit and coil of a type.
int32_t tess_ar_fif_type(int32_t kind, int32_t unit, int32_t coil);
void tess_ar_fif_of_type(int32_t type, int32_t *kind, int32_t *unit, int32_t *coil);

TESS_MUST_CHECK tess_status tess_ar_fif_read_info(const tess_ar_fif_file *file,
                                                  tess_autoreject_epochs *epochs,
                                                  tess_ar_fif_info *out);
// Annotations of a file; onsets as stored plus (origin - date) where both are known.
TESS_MUST_CHECK tess_status tess_ar_fif_read_annotations(const tess_ar_fif_file *file,
                                                         tess_autoreject_epochs *epochs,
                                                         double date_s,
                                                         tess_ar_annotation **annotations,
                                                         int64_t *n_annotation);
// Event list and names of ids of the first block of events. *n_event -1: there is none.
typedef struct tess_ar_fif_events {
    int32_t *triples;
    int64_t n_event;
    char **names;
    int32_t *codes;
    int64_t n_name;
} tess_ar_fif_events;
TESS_MUST_CHECK tess_status tess_ar_fif_read_events(const tess_ar_fif_file *file,
                                                    tess_autoreject_epochs *epochs,
                                                    tess_ar_fif_events *out);

// fif_epochs.c and fif_raw.c: the two kinds of files, opened.
TESS_MUST_CHECK tess_status tess_ar_fif_open_epochs(tess_context *ctx, tess_ar_fif_file *file,
                                                    tess_autoreject_epochs *epochs);
TESS_MUST_CHECK tess_status tess_ar_fif_open_raw(tess_context *ctx, tess_ar_fif_file *file,
                                                 tess_autoreject_epochs *epochs,
                                                 tess_ar_continuous *continuous);

// What the writer takes over from a FIF source; lives with its reader.
typedef struct tess_ar_fif_source {
    const tess_ar_fif_file *file;
    int64_t info_block;
    const double *cal;
    tess_autoreject_sensors sensors; // as the file describes them
    const char *reject_json;         // NULL: none
    double raw_hz;                   // of the recording the epochs were cut from; 0: not known
    bool is_raw;
} tess_ar_fif_source;

// Big-endian items.
static inline uint32_t tess_ar_be32(const void *bytes)
{
    uint32_t word;
    __builtin_memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap32(word);
#endif
    return word;
}

static inline uint64_t tess_ar_be64(const void *bytes)
{
    uint64_t word;
    __builtin_memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline float tess_ar_be_f32(const void *bytes)
{
    const uint32_t word = tess_ar_be32(bytes);
    float value;
    __builtin_memcpy(&value, &word, sizeof value);
    return value;
}

static inline double tess_ar_be_f64(const void *bytes)
{
    const uint64_t word = tess_ar_be64(bytes);
    double value;
    __builtin_memcpy(&value, &word, sizeof value);
    return value;
}

#endif
