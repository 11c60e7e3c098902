#include "kernels/cpu_isa.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)

#include <cpuid.h>

// Bits of cpuid leaf 1 ecx, leaf 7 ebx, and of the register XCR0.
#define LEAF1_FMA (1u << 12)
#define LEAF1_OSXSAVE (1u << 27)
#define LEAF1_AVX (1u << 28)
#define LEAF7_AVX2 (1u << 5)
#define LEAF7_AVX512 ((1u << 16) | (1u << 17) | (1u << 30) | (1u << 31)) // F, DQ, BW, VL
#define XCR0_AVX 0x06u                                                   // XMM, YMM
#define XCR0_AVX512 0xe6u                                                // and opmask, ZMM

// What the operating system saves on a context switch: a CPU may have AVX that must not be used.
static uint32_t saved_state(void)
{
    uint32_t low;
    uint32_t high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static int has_all(uint32_t word, uint32_t bits)
{
    return (word & bits) == bits;
}

int tess_cpu_runs(const char *isa)
{
    uint32_t eax;
    uint32_t ebx;
    uint32_t ecx;
    uint32_t edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) ||
        !has_all(ecx, LEAF1_FMA | LEAF1_AVX | LEAF1_OSXSAVE)) {
        return 0;
    }
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        return 0;
    }
    if (strcmp(isa, "avx2") == 0) {
        return has_all(ebx, LEAF7_AVX2) && has_all(saved_state(), XCR0_AVX);
    }
    if (strcmp(isa, "avx512") == 0) {
        return has_all(ebx, LEAF7_AVX2 | LEAF7_AVX512) && has_all(saved_state(), XCR0_AVX512);
    }
    return 0;
}

#elif defined(__aarch64__)

#include <sys/auxv.h>

#define HWCAP_BIT_SVE (1ul << 22)

int tess_cpu_runs(const char *isa)
{
    if (strcmp(isa, "neon") == 0) {
        return 1; // part of the architecture
    }
    return strcmp(isa, "sve") == 0 && (getauxval(AT_HWCAP) & HWCAP_BIT_SVE) != 0;
}

#else

int tess_cpu_runs(const char *isa)
{
    (void)isa;
    return 0;
}

#endif
