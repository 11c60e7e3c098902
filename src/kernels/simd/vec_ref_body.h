// The one-lane vocabulary for one dtype; included by vec_ref.h only. A tail of n < 1 lanes cannot
// occur, so the forms with n are the plain ones.
#include "kernels/simd/dtype.h"

static inline size_t V(len)(void)
{
    return 1;
}

static inline VF V(load)(const SCALAR *p)
{
    return *p;
}

static inline VF V(load_n)(const SCALAR *p, size_t n, SCALAR fill)
{
    return n > 0 ? *p : fill;
}

static inline void V(store)(SCALAR *p, VF v)
{
    *p = v;
}

static inline void V(store_n)(SCALAR *p, size_t n, VF v)
{
    if (n > 0) {
        *p = v;
    }
}

static inline VF V(set1)(SCALAR value)
{
    return value;
}

static inline VF V(add)(VF a, VF b)
{
    return a + b;
}

static inline VF V(sub)(VF a, VF b)
{
    return a - b;
}

static inline VF V(mul)(VF a, VF b)
{
    return a * b;
}

static inline VF V(div)(VF a, VF b)
{
    return a / b;
}

static inline VF V(sqrt)(VF a)
{
    return SQRT(a);
}

static inline VF V(fma)(VF a, VF b, VF c)
{
    return FMA(a, b, c);
}

static inline VF V(fnma)(VF a, VF b, VF c)
{
    return FMA(-a, b, c);
}

static inline VF V(min)(VF a, VF b)
{
    return a < b ? a : b;
}

static inline VF V(max)(VF a, VF b)
{
    return a > b ? a : b;
}

static inline VM V(lt)(VF a, VF b)
{
    return a < b;
}

static inline VM V(eq)(VF a, VF b)
{
    return a == b;
}

static inline VM V(unordered)(VF a, VF b)
{
    return isunordered(a, b);
}

static inline VM V(isnan)(VF a)
{
    return isnan(a);
}

static inline VM V(mask_or)(VM a, VM b)
{
    return a | b;
}

static inline int V(any)(VM mask)
{
    return mask;
}

static inline VF V(select)(VM mask, VF where_set, VF where_clear)
{
    return mask ? where_set : where_clear;
}

static inline VF V(add_where)(VM mask, VF a, VF b)
{
    return mask ? a + b : a;
}

static inline VF V(hsum)(VF a)
{
    return a;
}

static inline VF V(hmin)(VF a)
{
    return a;
}

static inline VF V(hmax)(VF a)
{
    return a;
}

static inline VU V(bits)(VF a)
{
    VU bits;
    memcpy(&bits, &a, sizeof(bits));
    return bits;
}

static inline VF V(from_bits)(VU bits)
{
    VF a;
    memcpy(&a, &bits, sizeof(a));
    return a;
}

static inline VF V(abs)(VF a)
{
    return V(from_bits)(V(bits)(a) & ((UINT)-1 >> 1));
}

static inline VM V(test)(VU a, VU bits)
{
    return (a & bits) != 0;
}

static inline VU U(set1)(UINT value)
{
    return value;
}

static inline VU U(add)(VU a, VU b)
{
    return a + b;
}

static inline VU U (and)(VU a, VU b)
{
    return a & b;
}

static inline VU U(or)(VU a, VU b)
{
    return a | b;
}

static inline VU U (xor)(VU a, VU b)
{
    return a ^ b;
}

static inline VU U(shl)(VU a, int count)
{
    return a << count;
}

static inline VU U(shr)(VU a, int count)
{
    return a >> count;
}
