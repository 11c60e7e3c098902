// The CPU backend: stages split into fixed blocks for the pool, kernels inside.
#ifndef TESS_BACKEND_CPU_H
#define TESS_BACKEND_CPU_H

#include "kernels/kernels.h"
#include "runtime/context.h"

extern const tess_backend tess_backend_cpu;

struct tess_backend_device {
    tess_context *ctx;
    const tess_kernels *kernels;
};

// The stages of a system; <system>/stages.c has the table, <system>/*.c the functions.
typedef struct tess_cpu_stage {
    int32_t id;
    const char *name; // "autoreject.ptp"
    size_t args_bytes;
    tess_status (*run)(tess_backend_device *device, const void *args);
} tess_cpu_stage;

typedef struct tess_cpu_stage_table {
    const tess_cpu_stage *stages;
    size_t n_stage;
} tess_cpu_stage_table;

extern const tess_cpu_stage_table tess_cpu_autoreject;
extern const tess_cpu_stage_table tess_cpu_clifford;
extern const tess_cpu_stage_table tess_cpu_decode;
extern const tess_cpu_stage_table tess_cpu_xpcs;

// Measures what the cores and the memory can do (cpu_probe.c).
TESS_MUST_CHECK tess_status tess_cpu_benchmark(tess_backend_device *device,
                                               tess_device_ceilings *ceilings);

#endif
