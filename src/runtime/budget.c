#include "runtime/budget.h"

#include "base/status.h"
#include "tessera/param.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_THREADS = 1024, PROCESS_BYTES = 12 << 20 };

tess_status tess_budget_threads(const tess_machine *machine, int32_t wished, int32_t *n_thread,
                                const char **origin)
{
    static const char *const variables[] = {"TESSERA_NUM_THREADS", "OMP_NUM_THREADS",
                                            "JAX_NUM_THREADS", "SLURM_CPUS_PER_TASK"};
    if (wished < 0 || wished > MAX_THREADS) {
        TESS_FAIL(TESS_E_RANGE, "threads: %d is out of range; allowed is 1 to %d, or 0 for all",
                  wished, MAX_THREADS);
    }
    if (wished > 0) {
        *n_thread = wished;
        *origin = "option";
        return TESS_OK;
    }
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *text = getenv(variables[i]);
        if (!text || !*text) {
            continue;
        }
        char *end = NULL;
        const long value = strtol(text, &end, 10);
        const int valid = end != text && (*end == '\0' || *end == ',') && value >= 1;
        if (!valid && i == 0) {
            TESS_FAIL(TESS_E_CONFIG, "TESSERA_NUM_THREADS='%s' is not a number of threads", text);
        }
        if (valid) {
            *n_thread = value < MAX_THREADS ? (int32_t)value : MAX_THREADS;
            *origin = variables[i];
            return TESS_OK;
        }
    }
    *n_thread = machine->n_core_allowed < MAX_THREADS ? machine->n_core_allowed : MAX_THREADS;
    *origin = machine->n_core_origin;
    return TESS_OK;
}

tess_status tess_budget_memory(const tess_machine *machine, uint64_t wished, uint64_t *limit_bytes,
                               const char **origin, bool *is_set)
{
    *is_set = true;
    if (wished > 0) {
        *limit_bytes = wished;
        *origin = "option";
        return TESS_OK;
    }
    const char *text = getenv("TESSERA_MEMORY_LIMIT");
    if (text && *text) {
        const tess_status status = tess_parse_bytes(text, limit_bytes);
        if (status != TESS_OK || *limit_bytes == 0) {
            TESS_FAIL(TESS_E_CONFIG, "TESSERA_MEMORY_LIMIT='%s' is not a size; write 256M or 8G",
                      text);
        }
        *origin = "TESSERA_MEMORY_LIMIT";
        return TESS_OK;
    }
    *is_set = false;
    const uint64_t cgroup = machine->cgroup_limit_bytes;
    const bool by_cgroup = cgroup > 0 && cgroup < machine->memory_bytes;
    *limit_bytes = (by_cgroup ? cgroup : machine->memory_bytes) / 5 * 4;
    *origin = by_cgroup ? "80 % of the cgroup limit" : "80 % of RAM";
    return TESS_OK;
}

uint64_t tess_budget_room(uint64_t limit_bytes)
{
    const uint64_t part = limit_bytes / 4;
    return limit_bytes - (part < PROCESS_BYTES ? part : PROCESS_BYTES);
}

uint64_t tess_budget_for_room(uint64_t bytes)
{
    const uint64_t small = bytes > 0 ? 4 * (bytes - 1) / 3 + 1 : 0;
    return small / 4 < PROCESS_BYTES ? small : bytes + PROCESS_BYTES;
}

uint64_t tess_resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) {
        return 0;
    }
    unsigned long long total = 0;
    unsigned long long resident = 0;
    const int n = fscanf(file, "%llu %llu", &total, &resident);
    fclose(file);
    return n == 2 ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
