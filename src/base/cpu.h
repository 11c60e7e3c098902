// What the machine offers this process: cores, memory, names. Reads /proc, /sys and cgroups; every
// figure has a sane value where those are missing.
#ifndef TESS_BASE_CPU_H
#define TESS_BASE_CPU_H

#include <stddef.h>
#include <stdint.h>

typedef struct tess_machine {
    int32_t n_core_present;
    int32_t n_core_allowed;    // affinity mask and cgroup cpu.max
    const char *n_core_origin; // "cpu affinity" or "cgroup cpu.max"
    uint64_t memory_bytes;     // physical
    uint64_t memory_available_bytes;
    uint64_t cgroup_limit_bytes; // 0: none
    char cpu_name[96];
    int64_t cache_bytes[4]; // [1..3] = L1d, L2, L3 of one core; 0 if unknown
} tess_machine;

void tess_machine_read(tess_machine *machine);

// What the kernel says of the processors. It reads a file for each of them, which contexts need
// not wait for.
typedef struct tess_topology {
    int32_t n_core_physical; // threads of a core counted once
    int32_t n_numa_node;
} tess_topology;

void tess_topology_read(tess_topology *topology);

#endif
