// What the files that write the report of events share.
#ifndef TESS_SYSTEMS_DECODE_EVENTS_PAGE_H
#define TESS_SYSTEMS_DECODE_EVENTS_PAGE_H

#include "page/figure.h"
#include "stage/decode_events.h"
#include "systems/decode/events/events.h"

enum { TESS_DE_EVENTS_LEADS = 2 };

typedef struct tess_de_events_page {
    tess_html html;
    tess_blocks memory;
    const tess_decode_events *events;
    const tess_decode_events_info *info;
    const tess_decode_spikes *spikes;        // NULL: no rasters
    const tess_decode_environment_info *env; // NULL: nothing was decoded
    const tess_events_route *routes;         // [info->n_route]
    int32_t leads[TESS_DE_EVENTS_LEADS];     // scores that the page leads with
    int32_t kind;                            // its shuffle, an index of info->kinds; -1: none
    int64_t *best;                           // [n_best] scored events, the most significant first
    int64_t n_best;
    int64_t n_drawn; // of them have pictures
} tess_de_events_page;

// --- page_words.c ---

// A paragraph of at most 700 characters.
void tess_de_events_say(tess_de_events_page *page, const char *format, ...) TESS_PRINTF(2, 3);
// "line fit": a score in words.
const char *tess_de_event_score_words(int32_t score);
// Where p, q and what the shuffles looked like are found; k: index of info->kinds.
static inline int64_t tess_de_event_at(const tess_decode_events_info *info, int32_t k,
                                       int64_t event, int32_t score)
{
    return (k * info->n_event + event) * TESS_DECODE_EVENT_N_SCORE + score;
}

// --- page_tables.c: events one by one, and those that were dropped ---

void tess_de_events_page_table(tess_de_events_page *page);
void tess_de_events_page_dropped(tess_de_events_page *page);
// Every score of an event with its p and q by kind.
void tess_de_events_page_scores(tess_de_events_page *page, int64_t event);

// --- page_chance.c: what chance does ---

TESS_MUST_CHECK tess_status tess_de_events_page_chance(tess_de_events_page *page);

// --- page_event.c: posteriors with their line, states, spikes ---

TESS_MUST_CHECK tess_status tess_de_events_page_pictures(tess_de_events_page *page);

#endif
