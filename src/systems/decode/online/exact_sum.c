#include "systems/decode/online/exact_sum.h"

#include <math.h>

enum { MANTISSA = 53, SCALE = 160, WORD = 64 };

static void add_words(exact_sum *sum, int first, const uint64_t part[2])
{
    uint64_t carry = 0;
    for (int k = first; k < 3; k++) {
        const uint64_t more = k - first < 2 ? part[k - first] : 0;
        const uint64_t with = sum->word[k] + more;
        const uint64_t total = with + carry;
        carry = (with < more) | (total < carry);
        sum->word[k] = total;
    }
}

static void take_words(exact_sum *sum, int first, const uint64_t part[2])
{
    uint64_t borrow = 0;
    for (int k = first; k < 3; k++) {
        const uint64_t less = k - first < 2 ? part[k - first] : 0;
        const uint64_t before = sum->word[k];
        sum->word[k] = before - less - borrow;
        borrow = before < less || (before == less && borrow);
    }
}

void tess_de_exact_add(exact_sum *sum, double value, int sign)
{
    int exponent = 0;
    const double fraction = frexp(value, &exponent); // value = fraction 2^exponent
    uint64_t mantissa = (uint64_t)ldexp(fraction, MANTISSA);
    int shift = exponent - MANTISSA + SCALE;
    if (shift < 0) {
        mantissa = shift > -MANTISSA ? mantissa >> -shift : 0;
        shift = 0;
    }
    const int by = shift % WORD;
    const uint64_t part[2] = {mantissa << by, by > 0 ? mantissa >> (WORD - by) : 0};
    if (sign > 0) {
        add_words(sum, shift / WORD, part);
    } else {
        take_words(sum, shift / WORD, part);
    }
}

double tess_de_exact_value(const exact_sum *sum)
{
    return (double)sum->word[2] * 0x1p-32 + (double)sum->word[1] * 0x1p-96 +
           (double)sum->word[0] * 0x1p-160;
}
