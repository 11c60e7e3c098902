// What a result says, gathered in one pass over its rows: for the score and the report.
#ifndef TESS_SYSTEMS_DECODE_FACTS_H
#define TESS_SYSTEMS_DECODE_FACTS_H

#include "systems/decode/report/view.h"

enum { TESS_DE_FACTS_COLUMNS = 900, TESS_DE_FACTS_LEVELS = 20 };

typedef struct tess_de_facts {
    tess_blocks memory;
    const tess_de_view *view;
    int64_t step;     // every step-th row was looked at
    int64_t n_row;    // rows looked at
    int64_t n_column; // groups of rows, in order of time: columns of the pictures
    int64_t n_line[TESS_DECODE_MAX_DIM];               // distinct coordinates along an axis
    const int64_t *line_of_place[TESS_DECODE_MAX_DIM]; // [n_place]
    const double *line_position[TESS_DECODE_MAX_DIM];  // [n_line], ascending
    double *map[TESS_DECODE_MAX_DIM]; // [n_column][n_line]: largest marginal posterior of a group
    double *state_mean;               // [n_column][n_state]
    double *truth_mean[TESS_DECODE_MAX_DIM]; // [n_column]; NaN: not known
    double *occupancy;                       // [n_state]
    double *errors;                          // [n_scored] ascending, cm
    int64_t n_scored;
    int64_t levels[TESS_DE_FACTS_LEVELS]; // rows by the mass of the bins above the true one
    int64_t n_below_50; // rows whose true bin is in the smallest set with half the mass
    int64_t n_below_95;
} tess_de_facts;

// view must outlive the facts.
TESS_MUST_CHECK tess_status tess_de_facts_gather(const tess_de_view *view, tess_de_facts *out);
void tess_de_facts_free(tess_de_facts *facts);

// q-quantile of the errors; NaN if there are none.
double tess_de_facts_error(const tess_de_facts *facts, double q);

// Posterior over places, states summed; states of one bin are left out.
void tess_de_place_posterior(const tess_de_view *view, const double *row, double *place);

#endif
