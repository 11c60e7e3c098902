// Instructions that the sources have as inline PTX: translate.py names the function of each text.
// Operands come in the order of the text's numbers; shared addresses are those of threads.h.
#ifndef EMULATED_PTX_H
#define EMULATED_PTX_H

#include "emulated/threads.h"

#include <cmath>

namespace emulated
{

// Instructions of sm_90 alone, where #if leaves them out.
[[noreturn]] inline void hopper()
{
    fault("an instruction of compute capability 9.0");
}

// ---- Copies that a thread does not wait for -----------------------------------------------------

inline void ptx_cp_async_part(uint32_t to, const void *from, int bytes, int there)
{
    void *place = shared_pointer(to, size_t(bytes));
    if (to % unsigned(bytes) != 0 || (there > 0 && uintptr_t(from) % unsigned(bytes) != 0)) {
        fault("cp.async of %d bytes from %p to 0x%x: not aligned", bytes, from, to);
    }
    copy_later(place, from, bytes, there);
}

inline void ptx_cp_async_16(uint32_t to, const void *from)
{
    ptx_cp_async_part(to, from, 16, 16);
}

inline void ptx_cp_async_16_part(uint32_t to, const void *from, int there)
{
    ptx_cp_async_part(to, from, 16, there);
}

inline void ptx_cp_async_commit()
{
    copies_commit();
}

inline void ptx_cp_async_wait(int newest)
{
    copies_wait(newest);
}

// ---- Arithmetic ---------------------------------------------------------------------------------

// The results of the approximating instructions to one or two units; .ftz makes zero of what is
// too small to be normal, before and after.
inline float ptx_flushed(float x)
{
    return std::fabs(x) < 1.17549435e-38f ? std::copysign(0.0f, x) : x;
}

inline void ptx_ex2_ftz(float &y, float x)
{
    y = ptx_flushed(std::exp2(ptx_flushed(x)));
}

inline void ptx_lg2_ftz(float &y, float x)
{
    y = std::log2(ptx_flushed(x));
}

// ---- Products of matrices by a warp -------------------------------------------------------------

// 8 by 4 times 4 by 8. Lane l has item (l / 4, l % 4) of the left one, (l % 4, l / 4) of the right
// one, and (l / 4, l % 4 * 2 + 0 and 1) of the sums.
struct ptx_m8n8k4 {
    double a;
    double b;
    double c[2];
};

inline void ptx_multiply_m8n8k4(void *const (&mine)[warp_lanes], unsigned)
{
    for (int i = 0; i < warp_lanes; i++) {
        ptx_m8n8k4 &one = *static_cast<ptx_m8n8k4 *>(mine[i]);
        for (int e = 0; e < 2; e++) {
            const int column = i % 4 * 2 + e;
            for (int k = 0; k < 4; k++) {
                one.c[e] = std::fma(static_cast<ptx_m8n8k4 *>(mine[i / 4 * 4 + k])->a,
                                    static_cast<ptx_m8n8k4 *>(mine[column * 4 + k])->b, one.c[e]);
            }
        }
    }
}

inline void ptx_mma_m8n8k4_f64(double &c0, double &c1, double a, double b)
{
    ptx_m8n8k4 mine = {a, b, {c0, c1}};
    meet_warp({"mma.m8n8k4", __FILE__, __LINE__}, 0xffffffffu, &mine, ptx_multiply_m8n8k4);
    c0 = mine.c[0];
    c1 = mine.c[1];
}

} // namespace emulated

#endif
