// The table of events as columns: what every file and page shows.
#ifndef TESS_SYSTEMS_DECODE_EVENTS_COLUMNS_H
#define TESS_SYSTEMS_DECODE_EVENTS_COLUMNS_H

#include "systems/decode/events/events.h"

enum { TESS_DE_COLUMN_NAME = 96 };

typedef struct tess_de_column {
    char name[TESS_DE_COLUMN_NAME];
    bool is_whole;
    double *real;   // [n_event], unless whole
    int64_t *whole; // [n_event]; -1: nothing known where the column says so
    bool is_index;  // -1 is nothing
} tess_de_column;

typedef struct tess_de_columns_of_events {
    tess_de_column *columns;
    int64_t n;
    int64_t capacity;
    tess_blocks *blocks;
    const tess_decode_events *events;
} tess_de_columns_of_events;

TESS_MUST_CHECK tess_status tess_de_columns_make(tess_blocks *blocks,
                                                 const tess_decode_events *events,
                                                 tess_de_columns_of_events *out);

#endif
