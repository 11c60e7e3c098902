// What a result says, gathered in one pass over its rows: for the score and the report.
#ifndef TESS_SYSTEMS_DECODE_FACTS_H
#define TESS_SYSTEMS_DECODE_FACTS_H

#include "systems/decode/report/events.h"

enum { TESS_DE_FACTS_LEVELS = 20, TESS_DE_FACTS_PAIRS = 500, TESS_DE_FACTS_MEANS = 450 };

// A row whose true place the error of chance is made of.
typedef struct tess_de_chance_point {
    int64_t row;
    int64_t pair; // of which it is the first or the second
    bool is_second;
} tess_de_chance_point;

// How the rows agree with what is known of the truth. A row counts once: as scored, or as one of
// those that nothing can be said of.
typedef struct tess_de_agreement {
    const tess_de_view *view;
    double *errors; // [n_scored] ascending, cm
    double *away;   // [n_scored - n_local] ascending, cm: rows that states with places decide
    int64_t n_scored;
    int64_t n_local;                     // of them rows in which Local outweighs all places
    int64_t n_unplaced;                  // states without any place (No-Spike) hold half or more
    int64_t n_unknown;                   // the true position is not known
    int64_t n_not_finite;                // the posterior is not a number
    double levels[TESS_DE_FACTS_LEVELS]; // rows by the mass that has to be taken in before the
                                         // true bin is; a row is spread over its own bin's mass
    double n_in_50; // rows, in fractions: true bin in the smallest set with half of the mass
    double n_in_95;
    double spread; // mean share of the places that the posterior is spread over: 1 / (P sum p^2)
    double chance; // cm: median error of somebody who knows only where the animal tends to be
    double extent; // cm: median distance of two places
    // By place of the animal's environment, for maps of the plane.
    double *seen;                 // [n_place] rows scored with the true place there
    double *error_sum;            // [n_place] cm
    tess_de_chance_point *points; // [2 TESS_DE_FACTS_PAIRS] by row
    tess_de_spot *pairs;          // [TESS_DE_FACTS_PAIRS][2]
    int64_t next_point;
} tess_de_agreement;

// Rows on the time axis of the pictures, which has columns of one length.
typedef struct tess_de_time_axis {
    bool is_time; // else columns are rows: times go back, or gaps are too long to draw
    double first; // x of the start of column 0: s, or a row
    double step;
    int64_t n_column;
    bool has_gaps;
} tess_de_time_axis;

typedef struct tess_de_facts {
    tess_blocks memory;
    const tess_de_view *view;
    int64_t step;         // every step-th row was scored; all were looked at for everything else
    int64_t n_row;        // rows scored, or looked at for it
    double *occupancy;    // [n_state] mean probability, of finite rows
    double *path_share;   // [n_state] of the rows, on the most likely path
    int64_t path_changes; // of its state; -1: there is none in the result
    double largest_speed;
    int64_t n_mean;      // parts of equal numbers of rows, in order of time
    double *state_means; // [n_state][n_mean] mean probability, of finite rows
    double *n_mean_row;  // [n_mean] finite rows
    double *mean_times;  // [n_mean] s, mean of the rows
    tess_de_time_axis axis;
    tess_de_agreement agreement;
    tess_de_events events;
} tess_de_facts;

// config may be NULL: no events are looked for. view must outlive the facts.
TESS_MUST_CHECK tess_status tess_de_facts_gather(const tess_de_view *view,
                                                 const tess_decode_report_config *config,
                                                 tess_de_facts *out);
void tess_de_facts_free(tess_de_facts *facts);

// Column of a row of that time.
static inline int64_t tess_de_time_column(const tess_de_time_axis *axis, int64_t row, double time)
{
    return axis->is_time ? (int64_t)((time - axis->first) / axis->step + 0.5) : row;
}

// Where an event lies on the axis.
static inline void tess_de_event_span(const tess_de_time_axis *axis, const tess_de_event *event,
                                      double *low, double *high)
{
    const double row = axis->first + (double)event->first_row;
    *low = axis->is_time ? event->start : row;
    *high = axis->is_time ? event->start + event->duration : row + (double)event->n_row;
}

// --- agreement.c ---

// q-quantile of n ascending values; NaN if there are none.
double tess_de_quantile(const double *values, int64_t n, double q);

// Share of the rows whose true bin lies in the smallest set of that much mass: 50 or 95.
double tess_de_coverage(const tess_de_agreement *agreement, int percent);

// What becomes of a row.
enum {
    TESS_DE_NOT_FINITE,
    TESS_DE_UNKNOWN,  // where the animal is
    TESS_DE_UNPLACED, // by states without any place
    TESS_DE_SCORED_LOCAL,
    TESS_DE_SCORED_AWAY,
};

// How a row agrees; of rows that are not scored the kind alone.
typedef struct tess_de_judgement {
    int32_t kind;
    int32_t reserved;
    int64_t true_place;
    double error; // cm
    double levels[TESS_DE_FACTS_LEVELS];
    double in_50;
    double in_95;
    double spread;
} tess_de_judgement;

// Room for n_row rows.
TESS_MUST_CHECK tess_status tess_de_agreement_create(tess_blocks *memory, const tess_de_view *view,
                                                     int64_t n_row, tess_de_agreement *out);
// One row by itself, by any thread. row->place is worked on, and is as it was afterwards.
void tess_de_judge(const tess_de_view *view, const tess_de_row *row, tess_de_judgement *out);
// A row whose agreement counts: in order, so that sums do not depend on threads.
void tess_de_agree(tess_de_agreement *agreement, const tess_de_judgement *found);
// Every row, in order.
void tess_de_agreement_see(tess_de_agreement *agreement, const tess_de_row *row);
// After the last row.
void tess_de_agreement_finish(tess_de_agreement *agreement);

#endif
