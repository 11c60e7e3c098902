/** Devices: which there are, why others are missing, and how fast they are. */
#ifndef TESSERA_DEVICE_H
#define TESSERA_DEVICE_H

#include "tessera/context.h"

TESS_BEGIN_DECLS

typedef struct tess_device_info {
    uint32_t struct_size;
    int32_t index;         /* within its backend */
    char backend[16];      /* "cpu", "cuda" */
    char id[24];           /* "cpu", "cuda:0": what --device takes */
    char name[96];         /* "Intel(R) Xeon(R) ...", "NVIDIA H200" */
    char detail[160];      /* "2 cores, avx512", "compute capability 9.0, 132 SMs, driver 13.0" */
    uint64_t memory_bytes; /* total */
    uint64_t memory_free_bytes;
    int32_t score; /* higher is preferred by "auto"; 0: not usable */
    int32_t reserved;
} tess_device_info;

/** Ceilings measured on a device; 0 where not measured. Bytes/s and flop/s. */
typedef struct tess_device_ceilings {
    uint32_t struct_size;
    int32_t n_thread;            /* CPU: threads used; GPU: 0 */
    double read_bytes_per_s;     /* streaming read from the device's main memory */
    double copy_bytes_per_s;     /* read + written bytes of a copy within it */
    double upload_bytes_per_s;   /* GPU: host to device, pinned */
    double download_bytes_per_s; /* GPU: device to host, pinned */
    double flop_f32_per_s;       /* fused multiply-add counted as two */
    double flop_f64_per_s;
} tess_device_ceilings;

/** Lists devices into infos[0..capacity); *n_device is the number there are. Loads modules. */
TESS_API TESS_MUST_CHECK tess_status tess_device_list(tess_context *ctx, tess_device_info *infos,
                                                      int64_t capacity, int64_t *n_device);

/** One sentence on a backend that has no usable device ("cuda"), or "" when it has one. The
 *  string belongs to the context. */
TESS_API const char *tess_device_why_not(tess_context *ctx, const char *backend);

/** Begins to open a device by name, which takes a GPU's driver some tenths of a second, while a
 *  context of the CPU works: reads its input, fits a model. tess_device_use() makes it the
 *  context's, or says why it cannot; without wait only if that is known already. It does nothing
 *  where none was begun. Both are calls of the context's one caller. */
TESS_API TESS_MUST_CHECK tess_status tess_device_begin(tess_context *ctx, const char *id);
TESS_API TESS_MUST_CHECK tess_status tess_device_use(tess_context *ctx, int wait);

/** Measures the ceilings of one device (id as in tess_device_info); about a second. */
TESS_API TESS_MUST_CHECK tess_status tess_device_benchmark(tess_context *ctx, const char *id,
                                                           tess_device_ceilings *ceilings,
                                                           size_t struct_size);

/** The processor this process runs on. */
typedef struct tess_cpu_info {
    uint32_t struct_size;
    int32_t n_core_physical; /* threads of a core counted once */
    int32_t n_core_logical;
    int32_t n_core_allowed; /* by affinity and control group */
    int32_t n_numa_node;
    int32_t reserved;
    char name[96];
    char architecture[32]; /* "x86_64", "aarch64" */
} tess_cpu_info;

TESS_API TESS_MUST_CHECK tess_status tess_cpu_get_info(const tess_context *ctx, tess_cpu_info *info,
                                                       size_t struct_size);

/** One line of the ISA table. */
typedef struct tess_isa_info {
    const char *name; /* "ref", "avx2", "avx512", "neon", "sve" */
    int32_t built;    /* compiled into this library */
    int32_t usable;   /* the CPU and system can run it */
    int32_t chosen;   /* by this context */
    int32_t vector_bytes;
} tess_isa_info;

/** Fills up to capacity lines, returns how many there are. */
TESS_API int64_t tess_isa_list(const tess_context *ctx, tess_isa_info *infos, int64_t capacity);

/**
 * Everything a bug report needs, as JSON text (see ecosystem: build, CPU, memory, threads, ISA
 * table, libraries, modules and why they are missing, relevant environment). Paths only when
 * with_paths is 1. The string is freed with tess_text_free().
 */
TESS_API TESS_MUST_CHECK tess_status tess_sysinfo_json(tess_context *ctx, int with_paths,
                                                       char **text);

/** Frees text returned through a char ** by this library. Accepts NULL. */
TESS_API void tess_text_free(char *text);

TESS_END_DECLS

#endif
