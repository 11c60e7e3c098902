// The inside of a table of events.
//
//   find.c, of_intervals.c, of_result.c   make the table (rate.c: multi-unit rate and speed)
//   score.c                               decodes and scores (model.c, batch.c: a stage's arrays)
//   shuffle.c                             tests (chance.c: p, q and shares of numbers)
//   save.c, page*.c                       files, the report
#ifndef TESS_SYSTEMS_DECODE_EVENTS_H
#define TESS_SYSTEMS_DECODE_EVENTS_H

#include "base/blocks.h"
#include "runtime/context.h"
#include "systems/decode/store/inputs.h"
#include "tessera/decode/events.h"

// How the scores of all shuffles of all events spread: counts in equal parts of 0 to most, the last
// part open.
enum { TESS_DE_SPREAD_PARTS = 40 };

typedef struct tess_de_spread {
    double most; // 0: not looked at
    int64_t counts[TESS_DE_SPREAD_PARTS];
} tess_de_spread;

struct tess_decode_events {
    tess_heap *heap;
    tess_decode_events_info info;
    tess_decode_events_config config; // as it was last used
    tess_decode_event *events;        // of info
    tess_blocks table;
    tess_blocks scored;
    tess_blocks tested;
    tess_de_spread *spreads;      // [n_kind][N_SCORE] of tested
    tess_decode_environment *env; // borrowed, of the model that scored; NULL: nobody has
    char problem[256];
    char identity[33]; // of the test; "": none was made
    char hashes[224];  // of what was scored, an object of JSON; "": nothing was
};

// Reasons that forbid a score.
enum { TESS_DE_EVENT_DROPS = 0xff };

// The caller's arguments, taken over and checked.
typedef struct tess_de_events_input {
    tess_decode_events_config config;
    tess_decode_spikes spikes;
    tess_decode_position position;
} tess_de_events_input;

TESS_MUST_CHECK tess_status tess_de_events_read(const tess_decode_spikes *spikes,
                                                const tess_decode_position *position,
                                                const tess_decode_events_config *config,
                                                tess_de_events_input *out);
// Every electrode's spikes in time order.
TESS_MUST_CHECK tess_status tess_de_events_order(tess_context *ctx, tess_blocks *blocks,
                                                 const tess_decode_spikes *spikes,
                                                 const tess_de_spike_rules *rules,
                                                 tess_de_ordered **out);

// An empty table.
TESS_MUST_CHECK tess_status tess_de_event_table_create(tess_context *ctx, const char *source,
                                                       const tess_decode_events_config *config,
                                                       tess_decode_events **out);
// Room for n events, each with nothing known of it.
TESS_MUST_CHECK tess_status tess_de_event_table_resize(tess_decode_events *events, int64_t n);

// Time bins of an event, and which of them a spike is in: below 0 or from T on, none.
int64_t tess_de_event_bins(double start, double end, double width);
int64_t tess_de_event_bin(double start, double width, double spike);
// As configured, or the decoder's own.
double tess_de_event_width(const tess_decode_events_config *config, double model_bin);

// --- chance.c ---

// A score turned so that larger is more like replay.
double tess_de_event_statistic(int32_t score, double value);
void tess_de_spread_add(tess_de_spread *spread, double value);

// --- rate.c ---

// The multi-unit rate of a recording and whether the animal is still.
typedef struct tess_de_rate {
    double begin;
    double end;
    double bin;
    int64_t n;
    double *z;      // [n]; all NaN where nothing is still or nothing varies
    uint8_t *still; // [n]
    double mean;
    double sd;
    int64_t n_still;
    // Speed at the samples that are known.
    int64_t n_sample;
    double *sample_time;
    double *sample_speed;
} tess_de_rate;

TESS_MUST_CHECK tess_status tess_de_rate_make(tess_context *ctx, tess_blocks *blocks,
                                              const tess_de_events_input *in,
                                              const tess_de_ordered *ordered, tess_de_rate *out);
// The largest speed at the centres of bins first..end-1; NaN: not known.
double tess_de_rate_max_speed(const tess_de_rate *rate, int64_t first, int64_t end);

// --- find.c ---

// Spikes, electrodes, largest z and speed, counted bins, and every reason that follows from them.
// bins first..end-1 of the rate are the event's.
void tess_de_event_test(const tess_de_events_input *in, const tess_de_ordered *ordered,
                        const tess_de_rate *rate, int64_t first, int64_t end,
                        tess_decode_event *event);
// What find and of_intervals note of a recording.
void tess_de_events_note_rate(tess_decode_events *events, const tess_de_rate *rate);

// --- of_intervals.c ---

TESS_MUST_CHECK tess_status tess_de_events_take_intervals(tess_context *ctx,
                                                          const tess_de_events_input *in,
                                                          const tess_decode_intervals *intervals,
                                                          const char *source,
                                                          tess_decode_events **out);

#endif
