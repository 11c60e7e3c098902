// CUDA's functions of numbers that C++ has not, or by another name.
#ifndef EMULATED_ARITHMETIC_H
#define EMULATED_ARITHMETIC_H

#include <cmath>
#include <cstring>
#include <type_traits>

using std::isfinite;
using std::isinf;
using std::isnan;

// As CUDA's: of a number and a NaN, the number.
template <typename A, typename B>
std::common_type_t<A, B> min(A a, B b)
{
    using T = std::common_type_t<A, B>;
    return T(b) < T(a) || T(a) != T(a) ? T(b) : T(a);
}

template <typename A, typename B>
std::common_type_t<A, B> max(A a, B b)
{
    using T = std::common_type_t<A, B>;
    return T(a) < T(b) || T(a) != T(a) ? T(b) : T(a);
}

template <typename To, typename From>
To emulated_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "bits of one size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

inline float __int_as_float(int bits)
{
    return emulated_bits<float>(bits);
}

inline int __float_as_int(float x)
{
    return emulated_bits<int>(x);
}

inline float __uint_as_float(unsigned bits)
{
    return emulated_bits<float>(bits);
}

inline unsigned __float_as_uint(float x)
{
    return emulated_bits<unsigned>(x);
}

inline double __longlong_as_double(long long bits)
{
    return emulated_bits<double>(bits);
}

inline long long __double_as_longlong(double x)
{
    return emulated_bits<long long>(x);
}

inline double __fma_rn(double a, double b, double c)
{
    return fma(a, b, c);
}

inline double cospi(double x)
{
    const double turned = fabs(remainder(x, 2.0)); // exact
    constexpr double pi = 3.14159265358979323846;
    return turned <= 0.25  ? cos(pi * turned)
           : turned < 0.75 ? sin(pi * (0.5 - turned))
                           : -cos(pi * (1 - turned));
}

inline int __popc(unsigned bits)
{
    return __builtin_popcount(bits);
}

inline int __popcll(unsigned long long bits)
{
    return __builtin_popcountll(bits);
}

inline int __ffs(int bits)
{
    return __builtin_ffs(bits);
}

inline int __ffsll(long long bits)
{
    return __builtin_ffsll(bits);
}

inline int __clz(int bits)
{
    return bits == 0 ? 32 : __builtin_clz(unsigned(bits));
}

#endif
