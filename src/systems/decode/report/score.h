// What a score is made of.
#ifndef TESS_SYSTEMS_DECODE_SCORE_H
#define TESS_SYSTEMS_DECODE_SCORE_H

#include "systems/decode/report/facts.h"

// Limits of the grades: median error by that of chance, and how far the half-mass set is off half.
#define TESS_DE_GOOD_ERROR 0.2
#define TESS_DE_FAIR_ERROR 0.5
#define TESS_DE_GOOD_COVERAGE 0.1
#define TESS_DE_FAIR_COVERAGE 0.25

// The animal rests where at two unrelated times it is nearer than this share of the distance of any
// two places.
#define TESS_DE_REST 0.1

// Fewer scored rows are not judged.
enum { TESS_DE_LEAST_SCORED = 20 };

void tess_de_score_facts(const tess_de_facts *facts, tess_decode_score *score);

#endif
