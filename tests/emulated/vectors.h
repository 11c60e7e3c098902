// CUDA's vectors: aligned as there, so that the sanitizer sees accesses that a GPU would refuse.
#ifndef EMULATED_VECTORS_H
#define EMULATED_VECTORS_H

#define EMULATED_VECTOR_2(name, T)                                                                 \
    struct alignas(2 * sizeof(T)) name##2                                                          \
    {                                                                                              \
        T x, y;                                                                                    \
    };                                                                                             \
    inline name##2 make_##name##2(T x, T y)                                                        \
    {                                                                                              \
        return {x, y};                                                                             \
    }

#define EMULATED_VECTOR_4(name, T)                                                                 \
    struct alignas(16) name##4                                                                     \
    {                                                                                              \
        T x, y, z, w;                                                                              \
    };                                                                                             \
    inline name##4 make_##name##4(T x, T y, T z, T w)                                              \
    {                                                                                              \
        return {x, y, z, w};                                                                       \
    }

EMULATED_VECTOR_2(int, int)
EMULATED_VECTOR_2(uint, unsigned)
EMULATED_VECTOR_2(float, float)
EMULATED_VECTOR_2(double, double)
EMULATED_VECTOR_4(int, int)
EMULATED_VECTOR_4(uint, unsigned)
EMULATED_VECTOR_4(float, float)

#undef EMULATED_VECTOR_2
#undef EMULATED_VECTOR_4

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned nx = 1, unsigned ny = 1, unsigned nz = 1) : x(nx), y(ny), z(nz)
    {
    }
};

#endif
