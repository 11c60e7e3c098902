// Whole vectors and tails alike, for one dtype; included by the bodies of clifford.

// Up to a vector of the n items at p; 0 behind them.
static inline VF V(take)(const SCALAR *p, size_t n)
{
    return n >= V(len)() ? V(load)(p) : V(load_n)(p, n, 0);
}

static inline void V(put)(SCALAR *p, size_t n, VF v)
{
    if (n >= V(len)()) {
        V(store)(p, v);
    } else {
        V(store_n)(p, n, v);
    }
}
