// A device with memory of its own, which happens to be the host's, and the CPU's stages: what stays
// there, goes up and comes down, without a GPU.
#ifndef TESS_TESTS_DECODE_DEVICE_H
#define TESS_TESTS_DECODE_DEVICE_H

#include "runtime/context.h"

typedef struct decode_device {
    tess_device device;
    _Atomic(uint64_t) live_bytes;
    _Atomic(uint64_t) peak_bytes;
    _Atomic(uint64_t) up_bytes; // copied from the host
    _Atomic(uint64_t) down_bytes;
} decode_device;

// The context's device from now on.
decode_device *decode_device_use(tess_context *ctx, uint64_t limit_bytes);

#endif
