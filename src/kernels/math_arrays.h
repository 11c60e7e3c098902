// The array kernels of one dtype; included by math.c only.
#include "kernels/simd/dtype.h"

#define MAP exp
#include "kernels/map_body.h"
#undef MAP

#define MAP log
#include "kernels/map_body.h"
#undef MAP

#define MAP erf
#include "kernels/map_body.h"
#undef MAP

void TESS_KFN(T_NAME(sincos))(const SCALAR *restrict x, size_t n, SCALAR *restrict sine,
                              SCALAR *restrict cosine)
{
    const size_t step = V(len)();
    VF s;
    VF c;
    size_t i = 0;
    for (; n - i >= step; i += step) {
        V(sincos)(V(load)(x + i), &s, &c);
        V(store)(sine + i, s);
        V(store)(cosine + i, c);
    }
    if (i < n) {
        V(sincos)(V(load_n)(x + i, n - i, 0), &s, &c);
        V(store_n)(sine + i, n - i, s);
        V(store_n)(cosine + i, n - i, c);
    }
}
