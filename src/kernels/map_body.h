// y[i] = MAP(x[i]) for one function and dtype; included by math_arrays.h only.

#define MAP_NAME_(name) T_NAME(name)
#define MAP_WORD_(name) V(name)

void TESS_KFN(MAP_NAME_(MAP))(const SCALAR *restrict x, size_t n, SCALAR *restrict y)
{
    const size_t step = V(len)();
    size_t i = 0;
    for (; n - i >= step; i += step) {
        V(store)(y + i, MAP_WORD_(MAP)(V(load)(x + i)));
    }
    if (i < n) {
        V(store_n)(y + i, n - i, MAP_WORD_(MAP)(V(load_n)(x + i, n - i, 1)));
    }
}

#undef MAP_NAME_
#undef MAP_WORD_
