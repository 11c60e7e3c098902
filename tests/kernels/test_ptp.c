// Min and max never round, so every ISA must match the reference to the bit.

#include "check.h"

#include <math.h>
#include <string.h>

#define T_BITS 32
#include "test_ptp_body.h"

#define T_BITS 64
#include "test_ptp_body.h"

const check_test test_ptp_list[] = {
    {"ptp_f32 known answers", ptp_known_answers_f32},
    {"ptp_f64 known answers", ptp_known_answers_f64},
    {"ptp_f32 matches reference", ptp_matches_reference_f32},
    {"ptp_f64 matches reference", ptp_matches_reference_f64},
    {"ptp_f32 strided rows", ptp_strided_rows_f32},
    {"ptp_f64 strided rows", ptp_strided_rows_f64},
    {NULL, NULL},
};
