// Sums of numbers between 0 and 1 to which any can be added and from which any can be taken away
// again, with nothing left: what is kept depends on what is in the sum, not on how it got there.
//
// Numbers are whole multiples of 2^-160 (smaller parts are cut off), in three words.
#ifndef TESS_SYSTEMS_DECODE_EXACT_SUM_H
#define TESS_SYSTEMS_DECODE_EXACT_SUM_H

#include <stdint.h>

typedef struct exact_sum {
    uint64_t word[3]; // lowest first
} exact_sum;

// sign 1 adds, -1 takes away. value is 0 to 1; at most 2^31 of them at a time.
void tess_de_exact_add(exact_sum *sum, double value, int sign);
double tess_de_exact_value(const exact_sum *sum);

#endif
