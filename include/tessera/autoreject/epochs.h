/** autoreject: epochs and what is known of their sensors, from arrays and from files. */
#ifndef TESSERA_AUTOREJECT_EPOCHS_H
#define TESSERA_AUTOREJECT_EPOCHS_H

#include "tessera/array.h"
#include "tessera/context.h"
#include "tessera/param.h"

TESS_BEGIN_DECLS

/** Channel types. The first seven can be solved; each is a group of its own.
 *  X(enumerator, value, name) */
#define TESS_AUTOREJECT_TYPE_LIST(X)                                                               \
    X(TESS_AUTOREJECT_MAG, 0, "mag")                                                               \
    X(TESS_AUTOREJECT_GRAD, 1, "grad")                                                             \
    X(TESS_AUTOREJECT_EEG, 2, "eeg")                                                               \
    X(TESS_AUTOREJECT_HBO, 3, "hbo")                                                               \
    X(TESS_AUTOREJECT_HBR, 4, "hbr")                                                               \
    X(TESS_AUTOREJECT_ECOG, 5, "ecog")                                                             \
    X(TESS_AUTOREJECT_SEEG, 6, "seeg")                                                             \
    X(TESS_AUTOREJECT_EOG, 7, "eog")                                                               \
    X(TESS_AUTOREJECT_ECG, 8, "ecg")                                                               \
    X(TESS_AUTOREJECT_EMG, 9, "emg")                                                               \
    X(TESS_AUTOREJECT_STIM, 10, "stim")                                                            \
    X(TESS_AUTOREJECT_MISC, 11, "misc")                                                            \
    X(TESS_AUTOREJECT_REF_MEG, 12, "ref_meg")                                                      \
    X(TESS_AUTOREJECT_CSD, 13, "csd")                                                              \
    X(TESS_AUTOREJECT_OTHER, 14, "other")

typedef enum tess_autoreject_type {
#define TESS_AUTOREJECT_TYPE_ENUM(enumerator, value, name) enumerator = value,
    TESS_AUTOREJECT_TYPE_LIST(TESS_AUTOREJECT_TYPE_ENUM)
#undef TESS_AUTOREJECT_TYPE_ENUM
} tess_autoreject_type;

enum { TESS_AUTOREJECT_N_SOLVABLE = 7 };

/** "eeg"; "unknown" for a value not in the list. */
TESS_API const char *tess_autoreject_type_name(int32_t type);
/** The type of a name, -1 if there is none. */
TESS_API int32_t tess_autoreject_type_find(const char *name);

typedef struct tess_autoreject_channel {
    const char *name;
    int32_t type;      /* tess_autoreject_type */
    int32_t coil_type; /* FIFF number; 0: unknown */
    int32_t is_bad;    /* marked by the user: neither source nor target unless picked by name */
    int32_t reserved;
    double loc[12]; /* metres: position, then ex, ey, ez of a MEG coil in device coordinates; NaN:
                       no position */
} tess_autoreject_channel;

/** A digitised point, head coordinates, metres. */
typedef struct tess_autoreject_point {
    int32_t kind; /* FIFF: 1 fiducial, 2 HPI coil, 3 EEG, 4 extra (head shape) */
    int32_t ident;
    double position[3];
} tess_autoreject_point;

typedef struct tess_autoreject_projector {
    const char *name;
    int32_t is_active;
    int32_t reserved;
    int64_t n_vector;
    int64_t n_chan;
    const char *const *channel_names; /* [n_chan] */
    const double *vectors;            /* [n_vector][n_chan] */
} tess_autoreject_projector;

/** What is known of the sensors. Copied where it is given. */
typedef struct tess_autoreject_sensors {
    uint32_t struct_size;
    int32_t has_device_to_head;
    int64_t n_chan;
    const tess_autoreject_channel *channels;
    double device_to_head[16]; /* row-major 4 x 4; identity if not known */
    int64_t n_point;
    const tess_autoreject_point *points;
    int64_t n_projector;
    const tess_autoreject_projector *projectors;
} tess_autoreject_sensors;

TESS_API void tess_autoreject_sensors_init(tess_autoreject_sensors *sensors, size_t struct_size);

/** Epochs [n_epoch][n_chan][n_time]: an array, or a file that is read piece by piece. Not changed
 *  by anything but tess_autoreject_epochs_set_*(). One caller at a time. */
typedef struct tess_autoreject_epochs tess_autoreject_epochs;

/** What epochs are; pointers live with them. */
typedef struct tess_autoreject_epochs_info {
    uint32_t struct_size;
    int32_t has_baseline;
    int64_t n_epoch;
    int64_t n_time;
    double sampling_hz;
    double tmin;                            /* s, of the first sample relative to the event */
    const tess_autoreject_sensors *sensors; /* n_chan channels */
    const char *path;                       /* "" for arrays */
    const char *format;    /* "array", "fif", "edf", "bdf", "brainvision", "eeglab", "npy", "npz" */
    const char *notes;     /* what was assumed, a sentence per line; "" if nothing to say */
    double baseline[2];    /* s; -inf: from the start, inf: to the end */
    const int32_t *events; /* [n_epoch][3] sample, previous value, id */
    const int64_t *selection; /* [n_epoch] which of the original events */
    int64_t n_original;
    const char *const *drop_log; /* [n_original] reasons joined by '|', "" for kept */
    int64_t n_event_name;
    const char *const *event_names; /* [n_event_name] */
    const int32_t *event_codes;
    const char *metadata; /* JSON text of a table with a row per epoch; NULL: none */
    int32_t stored_dtype; /* tess_dtype of the samples where they lie */
    int32_t reserved;
} tess_autoreject_epochs_info;

TESS_API const tess_autoreject_epochs_info *
tess_autoreject_epochs_get_info(const tess_autoreject_epochs *epochs);

/**
 * Epochs over an array, borrowed until close.
 *
 * x        in  f64, f32, i32 or i16 [n_epoch][n_chan][n_time], any strides, host or the context's
 *              device; SI units after multiplication with calibration.
 * sensors  in  n_chan channels. Copied.
 * calibration in [n_chan] or NULL: 1.
 */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_epochs_from_array(
    tess_context *ctx, const tess_array *x, const tess_autoreject_sensors *sensors,
    const double *calibration, double sampling_hz, double tmin, tess_autoreject_epochs **out);

/** How epochs are taken from a file; scalars are described by table "autoreject.epochs". */
typedef struct tess_autoreject_epochs_config {
    uint32_t struct_size;
    /* Baseline, not in the table: 0 the default (none for files that hold epochs, start to 0 for
       events cut from a continuous one), 1 none, 2 the interval. */
    int32_t baseline;
    double baseline_start;  /* s; -inf: from the start */
    double baseline_end;    /* s; inf: to the end */
    double tmin;            /* s; -0.2 */
    double tmax;            /* s; 0.5 */
    double window;          /* s; > 0: fixed-length windows instead of events */
    double overlap;         /* s, of the windows */
    double sampling_hz;     /* of .npy and .npz files without one; 0: not known */
    int32_t keep_annotated; /* 1: epochs that touch an annotation starting with "bad" are kept */
    int32_t proj;           /* 1: projectors are applied, as MNE does when it reads; 1 */
    /* Not in the table. */
    const char *events;  /* file of events (-eve.fif, .txt, BIDS .tsv, .npy); NULL: the recording's
                            own: epochs, trigger channel, markers or annotations */
    const char *event;   /* names or codes joined by ',' to keep; NULL: all */
    const char *stim;    /* name of the trigger channel; NULL: the usual names */
    const char *montage; /* file of positions, or "1005": by the geometric rule from the names;
                            NULL: the recording's own */
    const char *types;   /* "eog=HEOG,VEOG;misc=Aux1"; NULL: the recording's own */
    const char *bads;    /* names joined by ',', added to the recording's own; NULL */
    const char *dataset; /* of .npz and HDF5 files; NULL: "data" or the only one of rank 3. Of
                            several EEGLAB sets: number from 1, or name; NULL: the only one */
} tess_autoreject_epochs_config;

TESS_API void tess_autoreject_epochs_config_init(tess_autoreject_epochs_config *config,
                                                 size_t struct_size);
TESS_API const tess_param_table *tess_autoreject_epochs_params(void);

/** Opens FIF epochs or raw, EDF, EDF+, BDF, BrainVision, EEGLAB .set, .npy or .npz; the format is
 *  recognised by content. config may be NULL. */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_epochs_open(
    tess_context *ctx, const char *path, const tess_autoreject_epochs_config *config,
    tess_autoreject_epochs **out);
TESS_API void tess_autoreject_epochs_close(tess_autoreject_epochs *epochs);

/** Reads epochs first..first+count-1 of the channels channels[0..n_channel) (NULL: all) into dst
 *  [count][n_channel][n_time], f64, calibrated, baseline applied. */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_epochs_read(tess_context *ctx,
                                                                 tess_autoreject_epochs *epochs,
                                                                 int64_t first, int64_t count,
                                                                 const int64_t *channels,
                                                                 int64_t n_channel, double *dst);

/**
 * Resolves text to channel indices, ascending, without repetition: names and type names joined by
 * ',', "data", "all", or NULL for every solvable channel that is not marked bad. Names keep bad
 * channels, types drop them. picks has room for n_chan.
 */
TESS_API TESS_MUST_CHECK tess_status tess_autoreject_picks(const tess_autoreject_epochs *epochs,
                                                           const char *text, int64_t *picks,
                                                           int64_t *n_pick);

/** Writes epochs as FIF that MNE reads (.fif, .fif.gz), or .npy or .npz of all channels. */
typedef struct tess_autoreject_write_config {
    uint32_t struct_size;
    int32_t overwrite;        /* 1: replace; 2: replace what has the identity of provenance */
    int32_t double_precision; /* 1: f64 samples; otherwise FIF and f32 arrays stay f32 */
    int32_t reserved;
    const uint8_t *drop;     /* [n_epoch] 1: left out; NULL: none */
    const char *drop_reason; /* for the drop log; NULL: "AUTOREJECT" */
    /** Changes samples [count][n_chan][n_time] of epochs first.. before they are written; NULL:
     *  none. Not called for dropped epochs. */
    tess_status (*edit)(void *user, int64_t first, int64_t count, double *samples);
    void *user;
    const char *provenance; /* JSON; NULL */
} tess_autoreject_write_config;

TESS_API void tess_autoreject_write_config_init(tess_autoreject_write_config *config,
                                                size_t struct_size);
TESS_API TESS_MUST_CHECK tess_status
tess_autoreject_epochs_write(tess_context *ctx, tess_autoreject_epochs *epochs, const char *path,
                             const tess_autoreject_write_config *config);

TESS_END_DECLS

#endif
