// Non-local events of a result: runs of rows that represent another place than the animal's.
//
// A row belongs to an event if its non-local probability reaches the threshold:
//
//   a state is named Local    the probability of all other states that have places
//   none is, truth is known   the posterior mass farther than event_distance from the animal, other
//                             environments included
//   neither                   there is no telling; no row does
//
// An event is a maximal run of such rows without a gap in time (a step of more than 1.5 times the
// usual one), of at least event_min_duration. Rows that are not finite belong to none.
#ifndef TESS_SYSTEMS_DECODE_EVENTS_H
#define TESS_SYSTEMS_DECODE_EVENTS_H

#include "systems/decode/report/block.h"
#include "tessera/decode/report.h"

typedef enum tess_de_event_rule {
    TESS_DE_EVENTS_NONE = 0,
    TESS_DE_EVENTS_BY_STATE = 1,
    TESS_DE_EVENTS_BY_DISTANCE = 2
} tess_de_event_rule;

// Events kept, the first; further ones are counted. Of them the strongest are listed and marked.
enum { TESS_DE_MAX_EVENTS = 100000, TESS_DE_LISTED_EVENTS = 2000 };

typedef struct tess_de_event {
    int64_t first_row; // of the rows looked at
    int64_t n_row;
    double start; // s
    double duration;
    int32_t state; // with the largest mean probability of those that make events
    int32_t reserved;
    double state_probability; // its mean
    double mean;              // non-local probability
    double most;
    double distance; // cm, mean from the animal to the place decoded; NaN: not known
    double farthest; // cm
    double from[TESS_DECODE_MAX_DIM]; // first and last place decoded; NaN: none
    double to[TESS_DECODE_MAX_DIM];
    double velocity;  // cm/s, slope of place over time by least squares, on a track of the way from
                      // the first place; NaN: not one-dimensional
    double departure; // cm/s, the same of the distance from the animal: positive leads away
    double speed;     // cm/s, mean of the animal; NaN: not known
    int64_t n_spike;  // -1: not known
} tess_de_event;

typedef struct tess_de_events {
    const tess_de_view *view;
    tess_de_event_rule rule;
    double threshold;
    double distance;      // cm
    double min_duration;  // s
    tess_de_event *items; // [n_item] by start
    int64_t n_item;
    int64_t capacity;
    int64_t n_found;                 // kept or not
    double seconds;                  // that they last, all together
    struct tess_de_running *running; // the event that the last row belongs to, if any
    tess_blocks memory;
} tess_de_events;

TESS_MUST_CHECK tess_status tess_de_events_create(const tess_de_view *view,
                                                  const tess_decode_report_config *config,
                                                  tess_de_events *out);
void tess_de_events_destroy(tess_de_events *events);

// Non-local probability of a row; NaN where there is no telling.
double tess_de_events_probability(const tess_de_events *events, const tess_de_row *row);
// Rows in order; probability: of the above.
TESS_MUST_CHECK tess_status tess_de_events_push(tess_de_events *events, const tess_de_row *row,
                                                double probability);
// After the last row.
TESS_MUST_CHECK tess_status tess_de_events_finish(tess_de_events *events);
// All of them, those with the largest probability times duration first; from memory, NULL if there
// is none.
const tess_de_event **tess_de_events_strongest(const tess_de_events *events, tess_blocks *memory);
// Of each event whether it is one of the n strongest, [n_item]; NULL as above.
const uint8_t *tess_de_events_listed(const tess_de_events *events, tess_blocks *memory, int64_t n);
// Spikes within each event, as decoding counts them.
void tess_de_events_count_spikes(tess_de_events *events, const tess_decode_observation *from);

#endif
