// What callers give to encoding models, put in order: spikes.c brings an electrode's spikes into
// time order, selection.c finds those of the training samples, rows.c those of a range of time
// bins.
#ifndef TESS_SYSTEMS_DECODE_INPUTS_H
#define TESS_SYSTEMS_DECODE_INPUTS_H

#include "base/blocks.h"
#include "runtime/pool.h"
#include "systems/decode/decode.h"

#include <stdbool.h>

// --- spikes.c ---

// What was put right silently, for one warning per call.
typedef struct tess_de_notes {
    int64_t n_unsorted; // electrodes
    int64_t unsorted_electrode;
    int64_t unsorted_spike;
    int64_t n_bad_time; // spikes dropped
    int64_t n_bad_mark;
} tess_de_notes;

typedef struct tess_de_spike_rules {
    int32_t nan_policy;
    int32_t strict;
} tess_de_spike_rules;

// One electrode's spikes with finite times, in time order.
typedef struct tess_de_ordered {
    int64_t n;
    const double *time;   // [n]
    const int64_t *index; // [n] into the caller's arrays; NULL: as they lie
} tess_de_ordered;

TESS_MUST_CHECK tess_status tess_de_order_spikes(tess_blocks *blocks,
                                                 const tess_decode_spikes *spikes,
                                                 int64_t electrode,
                                                 const tess_de_spike_rules *rules,
                                                 tess_de_notes *notes, tess_de_ordered *out);

// Times and f64 marks of ordered spikes first..first+n-1; those with a non-finite mark are an error
// or left out. Borrows the caller's arrays where it can.
typedef struct tess_de_taken {
    int64_t n;
    const double *time;
    const double *marks; // NULL for sorted spikes
} tess_de_taken;

TESS_MUST_CHECK tess_status tess_de_take_spikes(tess_blocks *blocks,
                                                const tess_decode_spikes *spikes, int64_t electrode,
                                                const tess_de_ordered *ordered, int64_t first,
                                                int64_t n, bool with_marks,
                                                const tess_de_spike_rules *rules,
                                                tess_de_notes *notes, tess_de_taken *out);

// What was noted of a later electrode, added.
void tess_de_notes_add(const tess_de_notes *more, tess_de_notes *notes);

// Warnings for what the notes counted. where: "training" or "decoding".
void tess_de_notes_log(tess_context *ctx, const tess_de_notes *notes, const char *where);

// First index i with time[i] >= value, and with time[i] > value.
int64_t tess_de_first_from(const double *time, int64_t n, double value);
int64_t tess_de_first_after(const double *time, int64_t n, double value);
// The latter where it is known to be from or more: in few steps where it is near.
int64_t tess_de_first_after_near(const double *time, int64_t n, double value, int64_t from);

// Median step of rising times; 0 for fewer than two.
TESS_MUST_CHECK tess_status tess_de_median_step(tess_heap *heap, const double *time, int64_t n,
                                                double *step);

// --- window.c ---

enum { TESS_DE_N_UNIT = 12 };

// Where an observation's or training's spikes lie relative to a closed interval of time.
typedef struct tess_de_window {
    double begin_s;
    double end_s;
    double whole_begin_s; // of the recording, of which the interval may be a part
    double whole_end_s;
    int64_t n_in_unit[TESS_DE_N_UNIT]; // spikes in the recording if their times had this unit
    int64_t n_in;
    int64_t n_before;
    int64_t n_after;
    double earliest_s; // of all spikes
    double latest_s;
    int64_t n_electrode; // with spikes
    int64_t n_silent;    // of them far from the interval
    int64_t silent_electrode;
    int64_t silent_spikes;
    double silent_earliest_s;
    double silent_latest_s;
} tess_de_window;

tess_de_window tess_de_window_open(double begin_s, double end_s);
// Counts an electrode; [*first, *first + *n) are its spikes inside.
void tess_de_window_add(tess_de_window *window, int64_t electrode, const tess_de_ordered *ordered,
                        int64_t *first, int64_t *n);
// What was counted of later electrodes in a window of the same interval, added.
void tess_de_window_join(const tess_de_window *more, tess_de_window *window);
// Warns of electrodes whose spikes all lie to one side; fails when those of all electrodes do,
// which is what clocks that disagree look like, and when they are in another unit than seconds.
// name: "the training period". rate_hz: spikes of all electrodes per second that a fitted model
// knows of; 0: it does not; -1: there is no model yet.
TESS_MUST_CHECK tess_status tess_de_window_judge(tess_context *ctx, const tess_de_window *window,
                                                 const char *name, double rate_hz);

// --- units.c ---

// Counts an electrode's spikes in the recording, by unit.
void tess_de_units_add(tess_de_window *window, const tess_de_ordered *ordered);
// Fails when spikes, or the recording's own times, cannot be in seconds.
TESS_MUST_CHECK tess_status tess_de_units_judge(const tess_de_window *window, double rate_hz);
// What to add to a message about spikes of which none lies in the recording: a unit in which they
// would, or the question about the clocks.
void tess_de_units_hint(const tess_de_window *window, char *text, size_t bytes);
// Fails when bins are as many times wider or narrower than samples as one unit than another.
TESS_MUST_CHECK tess_status tess_de_units_of_bins(double bin_s, double sample_s);

// --- selection.c ---

// Training samples and spikes by the rule of config->membership, allocated in blocks; n_before and
// n_after [n_electrode] of the caller.
TESS_MUST_CHECK tess_status tess_de_select(tess_context *ctx, tess_blocks *blocks,
                                           const tess_decode_environment *env,
                                           const tess_decode_training *training,
                                           const tess_decode_encoding_config *config,
                                           int64_t *n_before, int64_t *n_after,
                                           tess_de_selection *out);

// --- rows.c ---

typedef struct tess_de_row_request {
    tess_pool *pool;
    const tess_decode_observation *observation;
    int64_t first;
    int64_t n_row;
    bool with_marks;
    tess_de_spike_rules rules;
    const int64_t *n_encoding_spike; // [n_electrode]: electrodes with 0 are left out; NULL: none is
} tess_de_row_request;

// Spikes of a range of rows, without those of missing rows; counts of the window into report.
TESS_MUST_CHECK tess_status tess_de_collect_rows(tess_blocks *blocks,
                                                 const tess_de_row_request *request,
                                                 tess_de_row_spikes *out,
                                                 tess_decode_likelihood_report *report);

#endif
