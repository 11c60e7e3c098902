// Stages of a pipeline come round and round; parity tells the rounds apart.
#ifndef TESS_CLIFFORD_ROUNDS_CUH
#define TESS_CLIFFORD_ROUNDS_CUH

#include <cstdint>

namespace clifford_mma
{

template <int n>
struct round_count {
    int stage = 0;
    uint32_t parity = 0;

    __device__ __forceinline__ void next()
    {
        if (++stage == n) {
            stage = 0;
            parity ^= 1;
        }
    }
    __device__ __forceinline__ void skip(int count)
    {
        stage += count;
        parity ^= uint32_t(stage / n) & 1;
        stage %= n;
    }
};

} // namespace clifford_mma

#endif
