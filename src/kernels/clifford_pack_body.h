// Rows of other layouts for one dtype; included by clifford_pack.c only.
#include "kernels/simd/dtype.h"

// Whole features of d components next to each other, d a constant where this is called.
static inline void T_NAME(part)(const SCALAR *restrict from, size_t n, const ptrdiff_t d,
                                SCALAR *restrict to, ptrdiff_t to_component)
{
    for (size_t i = 0; i < n; i++) {
        for (ptrdiff_t k = 0; k < d; k++) {
            to[k * to_component + (ptrdiff_t)i] = from[(ptrdiff_t)i * d + k];
        }
    }
}

static inline void T_NAME(join)(const SCALAR *restrict from, ptrdiff_t from_component, size_t n,
                                const ptrdiff_t d, SCALAR *restrict to)
{
    for (size_t i = 0; i < n; i++) {
        for (ptrdiff_t k = 0; k < d; k++) {
            to[(ptrdiff_t)i * d + k] = from[k * from_component + (ptrdiff_t)i];
        }
    }
}

// The loops of few components unroll, and then become shuffles.
static void T_NAME(part_tile)(const SCALAR *from, size_t n, size_t d, SCALAR *to,
                              ptrdiff_t to_component)
{
    switch (d) {
    case 4:
        T_NAME(part)(from, n, 4, to, to_component);
        break;
    case 8:
        T_NAME(part)(from, n, 8, to, to_component);
        break;
    case 16:
        T_NAME(part)(from, n, 16, to, to_component);
        break;
    default:
        T_NAME(part)(from, n, (ptrdiff_t)d, to, to_component);
        break;
    }
}

static void T_NAME(join_tile)(const SCALAR *from, ptrdiff_t from_component, size_t n, size_t d,
                              SCALAR *to)
{
    switch (d) {
    case 4:
        T_NAME(join)(from, from_component, n, 4, to);
        break;
    case 8:
        T_NAME(join)(from, from_component, n, 8, to);
        break;
    case 16:
        T_NAME(join)(from, from_component, n, 16, to);
        break;
    default:
        T_NAME(join)(from, from_component, n, (ptrdiff_t)d, to);
        break;
    }
}

// Bytes of an item beside what is computed with.
static size_t T_NAME(item_bytes)(int dtype)
{
    return dtype == TESS_BF16 || dtype == TESS_F16 ? sizeof(uint16_t) : sizeof(SCALAR);
}

void TESS_KFN(T_NAME(clifford_take))(const tess_cl_items *restrict from, size_t n_component,
                                     size_t n, SCALAR *restrict to, ptrdiff_t to_component)
{
    const size_t bytes = T_NAME(item_bytes)(from->dtype);
    const unsigned char *data = from->data;
    if (from->component == 1 && from->feature == (ptrdiff_t)n_component) {
        SCALAR tile[TILE * TESS_CLIFFORD_MAX_COMPONENTS];
        for (size_t i = 0; i < n; i += TILE) {
            const size_t n_tile = n - i < TILE ? n - i : TILE;
            const SCALAR *items = (const SCALAR *)(const void *)data + i * n_component;
            if (bytes != sizeof(SCALAR)) {
                T_NAME(widen)
                (data + i * n_component * bytes, from->dtype, n_tile * n_component, tile);
                items = tile;
            }
            T_NAME(part_tile)(items, n_tile, n_component, to + i, to_component);
        }
        return;
    }
    for (size_t k = 0; k < n_component; k++) {
        const unsigned char *row = data + (ptrdiff_t)k * from->component * (ptrdiff_t)bytes;
        SCALAR *out = to + (ptrdiff_t)k * to_component;
        if (from->feature == 1) {
            T_NAME(widen)(row, from->dtype, n, out);
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            T_NAME(widen)
            (row + (ptrdiff_t)i * from->feature * (ptrdiff_t)bytes, from->dtype, 1, out + i);
        }
    }
}

void TESS_KFN(T_NAME(clifford_give))(const SCALAR *restrict from, ptrdiff_t from_component,
                                     size_t n_component, size_t n, const tess_cl_items *restrict to)
{
    const size_t bytes = T_NAME(item_bytes)(to->dtype);
    unsigned char *data = to->data;
    if (to->component == 1 && to->feature == (ptrdiff_t)n_component) {
        SCALAR tile[TILE * TESS_CLIFFORD_MAX_COMPONENTS];
        for (size_t i = 0; i < n; i += TILE) {
            const size_t n_tile = n - i < TILE ? n - i : TILE;
            SCALAR *items = (SCALAR *)(void *)data + i * n_component;
            const int is_same = bytes == sizeof(SCALAR);
            T_NAME(join_tile)
            (from + i, from_component, n_tile, n_component, is_same ? items : tile);
            if (!is_same) {
                T_NAME(narrow)
                (tile, n_tile * n_component, to->dtype, data + i * n_component * bytes);
            }
        }
        return;
    }
    for (size_t k = 0; k < n_component; k++) {
        unsigned char *row = data + (ptrdiff_t)k * to->component * (ptrdiff_t)bytes;
        const SCALAR *in = from + (ptrdiff_t)k * from_component;
        if (to->feature == 1) {
            T_NAME(narrow)(in, n, to->dtype, row);
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            T_NAME(narrow)
            (in + i, 1, to->dtype, row + (ptrdiff_t)i * to->feature * (ptrdiff_t)bytes);
        }
    }
}
