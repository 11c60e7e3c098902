// What the machine can do: bytes read and fused multiply-adds per second; built once per ISA.

#include "kernels/isa.h"
#include "kernels/simd/vec.h"

// Read as f64 vectors, because the vocabulary loads those; the bits are combined untouched.
void TESS_KFN(probe_read)(const void *restrict x, size_t bytes, uint64_t *restrict out)
{
    const double *item = x;
    const size_t n = bytes / sizeof(*item);
    const size_t step = v_len_f64();
    v_u64 a = v_set1_u64(0), b = a, c = a, d = a;
    size_t i = 0;

    for (; n - i >= 4 * step; i += 4 * step) {
        v_prefetch_ahead(item + i, 4 * step * sizeof(*item));
        a = v_xor_u64(a, v_bits_f64(v_load_f64(item + i)));
        b = v_xor_u64(b, v_bits_f64(v_load_f64(item + i + step)));
        c = v_xor_u64(c, v_bits_f64(v_load_f64(item + i + 2 * step)));
        d = v_xor_u64(d, v_bits_f64(v_load_f64(item + i + 3 * step)));
    }
    for (; i < n; i += step) {
        const v_f64 v = v_take_f64(item + i, n - i);
        a = v_xor_u64(a, v_bits_f64(v));
    }

    double lanes[V_MAX_BYTES / sizeof(double)];
    v_store_f64(lanes, v_from_bits_f64(v_xor_u64(v_xor_u64(a, b), v_xor_u64(c, d))));
    uint64_t all = 0;
    for (size_t k = 0; k < step; k++) {
        uint64_t lane;
        memcpy(&lane, &lanes[k], sizeof(lane));
        all ^= lane;
    }
    *out = all;
}

// As many chains as the registers hold beside the two constants: a core needs latency times ports,
// 8 on x86 and up to 16 on Arm.
#define CHAINS_OF_12(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#if V_REGISTERS == 32
#define N_CHAIN 24
#define CHAINS(DO)                                                                                 \
    CHAINS_OF_12(DO)                                                                               \
    DO(12) DO(13) DO(14) DO(15) DO(16) DO(17) DO(18) DO(19) DO(20) DO(21) DO(22) DO(23)
#else
#define N_CHAIN 12
#define CHAINS(DO) CHAINS_OF_12(DO)
#endif

#define T_BITS 32
#include "kernels/probe_body.h"

#define T_BITS 64
#include "kernels/probe_body.h"
