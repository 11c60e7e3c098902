// Sums round differently in every order; what must agree is their logarithm, to the precision of
// the coordinates' differences.

#include "check.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#define T_BITS 32
#include "test_decode_joint_body.h"

#define T_BITS 64
#include "test_decode_joint_body.h"

const check_test test_decode_joint_list[] = {
    {"decode_joint_f32 matches reference", joint_matches_reference_f32},
    {"decode_joint_f64 matches reference", joint_matches_reference_f64},
    {"decode_joint_f32 extremes", joint_extremes_f32},
    {"decode_joint_f64 extremes", joint_extremes_f64},
    {NULL, NULL},
};
