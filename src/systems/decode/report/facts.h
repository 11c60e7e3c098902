// What a result says, gathered in one pass over its rows: for the score and the report.
#ifndef TESS_SYSTEMS_DECODE_FACTS_H
#define TESS_SYSTEMS_DECODE_FACTS_H

#include "systems/decode/report/view.h"

enum { TESS_DE_FACTS_COLUMNS = 900, TESS_DE_FACTS_LEVELS = 20 };

// How the rows agree with what is known of the truth. A row counts once: as scored, or as one of
// those that nothing can be said of.
typedef struct tess_de_agreement {
    double *errors; // [n_scored] ascending, cm
    double *away;   // [n_scored - n_local] ascending, cm: rows that states with places decide
    int64_t n_scored;
    int64_t n_local;                     // of them rows in which Local outweighs all places
    int64_t n_unplaced;                  // states without any place (No-Spike) hold half or more
    int64_t n_unknown;                   // the true position is not known
    double levels[TESS_DE_FACTS_LEVELS]; // rows by the mass that has to be taken in before the
                                         // true bin is; a row is spread over its own bin's mass
    double n_in_50; // rows, in fractions: true bin in the smallest set with half of the mass
    double n_in_95;
    double spread; // mean share of the places that the posterior is spread over: 1 / (P sum p^2)
    double chance; // cm: median error of somebody who knows only where the animal tends to be
} tess_de_agreement;

typedef struct tess_de_facts {
    tess_blocks memory;
    const tess_de_view *view;
    int64_t step;     // every step-th row of the posterior was looked at; of the states all are
    int64_t n_row;    // rows looked at
    int64_t n_column; // groups of rows, in order of time: columns of the pictures
    int64_t n_line[TESS_DECODE_MAX_DIM];               // distinct coordinates along an axis
    const int64_t *line_of_place[TESS_DECODE_MAX_DIM]; // [n_place]
    const double *line_position[TESS_DECODE_MAX_DIM];  // [n_line], ascending
    double *map[TESS_DECODE_MAX_DIM]; // [n_column][n_line]: largest marginal posterior of a group
    double *state_mean;               // [n_state][n_column]
    double *state_most;               // [n_state][n_column]
    double *truth_mean[TESS_DECODE_MAX_DIM]; // [n_column]; NaN: not known
    double *occupancy;                       // [n_state]
    tess_de_agreement agreement;
} tess_de_facts;

// view must outlive the facts.
TESS_MUST_CHECK tess_status tess_de_facts_gather(const tess_de_view *view, tess_de_facts *out);
void tess_de_facts_free(tess_de_facts *facts);

// q-quantile of n ascending values; NaN if there are none.
double tess_de_quantile(const double *values, int64_t n, double q);

// Share of the rows whose true bin lies in the smallest set of that much mass: 50 or 95.
double tess_de_coverage(const tess_de_agreement *agreement, int percent);

// Posterior over places, states summed; states of one bin are left out.
void tess_de_place_posterior(const tess_de_view *view, const double *row, double *place);

// --- agreement.c ---

// Mass of a row that is not, or not only, at places.
typedef struct tess_de_rest {
    double local;  // of Local states without places
    double around; // of Local states with places: part of what lies there
    double none;   // of other states without places
} tess_de_rest;

// One row into the agreement. place: as above, changed here.
void tess_de_agree(tess_de_agreement *agreement, const tess_de_view *view, int64_t row,
                   double *place, const tess_de_rest *rest);
// After the last row.
void tess_de_agreement_finish(tess_de_agreement *agreement, const tess_de_view *view);

#endif
