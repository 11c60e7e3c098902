#include "base/cpu.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// First line of a small file into text; 0 if it cannot be read.
static int read_line(const char *path, char *text, size_t capacity)
{
    text[0] = '\0';
    FILE *file = fopen(path, "re");
    if (!file) {
        return 0;
    }
    const int ok = fgets(text, (int)capacity, file) != NULL;
    fclose(file);
    text[strcspn(text, "\n")] = '\0';
    return ok;
}

// Value of "Key:   123 kB" in /proc/meminfo, in bytes; 0 if missing.
static uint64_t meminfo_bytes(const char *key)
{
    FILE *file = fopen("/proc/meminfo", "re");
    if (!file) {
        return 0;
    }
    char line[160];
    uint64_t bytes = 0;
    const size_t n = strlen(key);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, key, n) == 0 && line[n] == ':') {
            bytes = strtoull(line + n + 1, NULL, 10) * 1024;
            break;
        }
    }
    fclose(file);
    return bytes;
}

// Path of this process's cgroup v2 directory: "/sys/fs/cgroup/user.slice/...".
static int own_cgroup(char *path, size_t capacity)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) {
        return 0;
    }
    char line[512];
    int found = 0;
    while (!found && fgets(line, sizeof line, file)) {
        if (strncmp(line, "0::", 3) == 0) {
            line[strcspn(line, "\n")] = '\0';
            found = snprintf(path, capacity, "/sys/fs/cgroup%s", line + 3) < (int)capacity;
        }
    }
    fclose(file);
    return found;
}

// Calls visit with the first line of that file of every cgroup from this process's up to the root.
static void visit_cgroups(const char *file_name, void (*visit)(const char *line, void *user),
                          void *user)
{
    char path[640];
    char text[64];
    if (!own_cgroup(path, sizeof path - 16)) {
        return;
    }
    for (;;) {
        const size_t n = strlen(path);
        snprintf(path + n, sizeof path - n, "/%s", file_name);
        if (read_line(path, text, sizeof text)) {
            visit(text, user);
        }
        path[n] = '\0';
        char *slash = strrchr(path, '/');
        if (!slash || strlen(path) <= strlen("/sys/fs/cgroup")) {
            return;
        }
        *slash = '\0';
    }
}

static void lower_memory_limit(const char *line, void *user)
{
    uint64_t *limit = user;
    if (strcmp(line, "max") != 0) {
        const uint64_t here = strtoull(line, NULL, 10);
        *limit = *limit == 0 || here < *limit ? here : *limit;
    }
}

// The smallest limit that applies; 0: none.
static uint64_t cgroup_memory_limit(void)
{
    uint64_t limit = 0;
    char text[64];
    visit_cgroups("memory.max", lower_memory_limit, &limit);
    if (limit == 0 && read_line("/sys/fs/cgroup/memory/memory.limit_in_bytes", text, sizeof text)) {
        const uint64_t v1 = strtoull(text, NULL, 10); // version 1 says "huge" for "none"
        limit = v1 < (UINT64_C(1) << 60) ? v1 : 0;
    }
    return limit;
}

static void lower_core_quota(const char *line, void *user)
{
    int32_t *cores = user;
    char *end = NULL;
    const double quota = strtod(line, &end); // "max 100000" has none
    const double period = end != line ? strtod(end, NULL) : 0;
    if (quota > 0 && period > 0) {
        const int32_t here = quota > period ? (int32_t)(quota / period + 0.999) : 1;
        *cores = *cores == 0 || here < *cores ? here : *cores;
    }
}

// Cores by the CPU bandwidth quota, rounded up; 0: no quota.
static int32_t cgroup_core_quota(void)
{
    int32_t cores = 0;
    visit_cgroups("cpu.max", lower_core_quota, &cores);
    return cores;
}

static void read_cpu_name(char *name, size_t capacity)
{
    snprintf(name, capacity, "unknown CPU");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) {
        return;
    }
    char line[256];
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "model name", 10) == 0 || strncmp(line, "CPU part", 8) == 0) {
            const char *colon = strchr(line, ':');
            if (colon) {
                line[strcspn(line, "\n")] = '\0';
                snprintf(name, capacity, line[0] == 'C' ? "Arm part %s" : "%s", colon + 2);
            }
            break;
        }
    }
    fclose(file);
}

static void read_caches(int64_t cache_bytes[4])
{
    for (int i = 0; i < 6; i++) {
        char path[96];
        char text[32];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        if (!read_line(path, text, sizeof text) || strcmp(text, "Instruction") == 0) {
            continue;
        }
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!read_line(path, text, sizeof text)) {
            continue;
        }
        const int level = (int)strtol(text, NULL, 10);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (level < 1 || level > 3 || !read_line(path, text, sizeof text)) {
            continue;
        }
        char *unit = NULL;
        const int64_t size = strtoll(text, &unit, 10);
        cache_bytes[level] = size * (*unit == 'K' ? 1024 : *unit == 'M' ? 1024 * 1024 : 1);
    }
}

void tess_machine_read(tess_machine *machine)
{
    memset(machine, 0, sizeof *machine);
    const long present = sysconf(_SC_NPROCESSORS_ONLN);
    machine->n_core_present = present > 0 ? (int32_t)present : 1;
    machine->n_core_allowed = machine->n_core_present;
    machine->n_core_origin = "cpu affinity";

    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) > 0) {
        machine->n_core_allowed = CPU_COUNT(&mask);
    }
    const int32_t quota = cgroup_core_quota();
    if (quota > 0 && quota < machine->n_core_allowed) {
        machine->n_core_allowed = quota;
        machine->n_core_origin = "cgroup cpu.max";
    }

    machine->memory_bytes = meminfo_bytes("MemTotal");
    if (machine->memory_bytes == 0) {
        const long pages = sysconf(_SC_PHYS_PAGES);
        machine->memory_bytes = (uint64_t)(pages > 0 ? pages : 0) * (uint64_t)sysconf(_SC_PAGESIZE);
    }
    machine->memory_available_bytes = meminfo_bytes("MemAvailable");
    if (machine->memory_available_bytes == 0) {
        machine->memory_available_bytes = machine->memory_bytes;
    }
    machine->cgroup_limit_bytes = cgroup_memory_limit();
    read_cpu_name(machine->cpu_name, sizeof machine->cpu_name);
    read_caches(machine->cache_bytes);
}

// Number of processors or nodes in a list of the kernel's: "0-3,8" has five.
static int32_t count_list(const char *list)
{
    int32_t n = 0;
    while (*list) {
        char *end = NULL;
        const long first = strtol(list, &end, 10);
        if (end == list) {
            break;
        }
        long last = first;
        if (*end == '-') {
            last = strtol(end + 1, &end, 10);
        }
        n += last >= first ? (int32_t)(last - first + 1) : 0;
        list = *end == ',' ? end + 1 : end;
    }
    return n;
}

void tess_topology_read(tess_topology *topology)
{
    char path[96];
    char text[256];
    const long n_processor = sysconf(_SC_NPROCESSORS_CONF);
    topology->n_core_physical = 0;
    for (long i = 0; i < n_processor; i++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/topology/thread_siblings_list",
                 i);
        // A core is counted at the first of its threads.
        if (read_line(path, text, sizeof text) && strtol(text, NULL, 10) == i) {
            topology->n_core_physical++;
        }
    }
    if (topology->n_core_physical == 0) {
        topology->n_core_physical = n_processor > 0 ? (int32_t)n_processor : 1;
    }
    topology->n_numa_node =
        read_line("/sys/devices/system/node/online", text, sizeof text) ? count_list(text) : 1;
    if (topology->n_numa_node < 1) {
        topology->n_numa_node = 1;
    }
}
