// What a bug report needs to know of this build and machine.
#include "base/cpu.h"
#include "base/json.h"
#include "base/status.h"
#include "runtime/budget.h"
#include "runtime/comm.h"
#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/group.h"
#include "runtime/module.h"
#include "tess_features.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MAX_DEVICES = 16 };

void tess_text_free(char *text)
{
    free(text);
}

static void write_build(tess_json *json)
{
    tess_json_object_begin(json, "build");
    tess_json_text(json, "version", TESS_VERSION);
    tess_json_text(json, "commit", TESS_COMMIT);
    tess_json_text(json, "type", TESS_BUILD_TYPE);
    tess_json_text(json, "compiler", TESS_COMPILER);
    tess_json_text(json, "target", TESS_TARGET);
    tess_json_object_begin(json, "libraries");
    tess_json_text(json, "zlib", TESS_HAVE_ZLIB ? TESS_VERSION_OF_ZLIB : NULL);
    tess_json_text(json, "libdeflate", TESS_HAVE_LIBDEFLATE ? TESS_VERSION_OF_LIBDEFLATE : NULL);
    tess_json_text(json, "xxhash", TESS_HAVE_XXHASH ? TESS_VERSION_OF_XXHASH : NULL);
    tess_json_text(json, "libyaml", TESS_HAVE_YAML ? TESS_VERSION_OF_YAML : NULL);
    tess_json_text(json, "hdf5", TESS_HAVE_HDF5 ? TESS_VERSION_OF_HDF5 : NULL);
    tess_json_text(json, "mpi", TESS_HAVE_MPI ? TESS_VERSION_OF_MPI : NULL);
    tess_json_text(json, "cuda", TESS_HAVE_CUDA ? TESS_VERSION_OF_CUDA : NULL);
    tess_json_object_end(json);
    tess_json_object_end(json);
}

tess_status tess_cpu_get_info(const tess_context *ctx, tess_cpu_info *info, size_t struct_size)
{
    tess_error_clear();
    if (struct_size < sizeof info->struct_size || struct_size > sizeof *info) {
        TESS_FAIL(TESS_E_VERSION, "info: size %zu is unknown to this library", struct_size);
    }
    struct utsname name;
    memset(&name, 0, sizeof name);
    uname(&name);
    tess_topology topology;
    tess_topology_read(&topology);
    tess_cpu_info all = {.struct_size = (uint32_t)struct_size,
                         .n_core_physical = topology.n_core_physical,
                         .n_core_logical = ctx->machine.n_core_present,
                         .n_core_allowed = ctx->machine.n_core_allowed,
                         .n_numa_node = topology.n_numa_node};
    snprintf(all.name, sizeof all.name, "%s", ctx->machine.cpu_name);
    snprintf(all.architecture, sizeof all.architecture, "%.31s", name.machine);
    memcpy(info, &all, struct_size);
    return TESS_OK;
}

static void write_system(tess_json *json, const tess_context *ctx)
{
    struct utsname name;
    char text[320];
    tess_topology topology;
    tess_topology_read(&topology);
    memset(&name, 0, sizeof name);
    uname(&name);
    snprintf(text, sizeof text, "%.64s %.128s %.64s", name.sysname, name.release, name.machine);
    tess_json_object_begin(json, "system");
    tess_json_text(json, "kernel", text);
#ifdef __GLIBC__
    snprintf(text, sizeof text, "glibc %d.%d", __GLIBC__, __GLIBC_MINOR__);
    tess_json_text(json, "libc", text);
#endif
    tess_json_text(json, "cpu", ctx->machine.cpu_name);
    tess_json_text(json, "architecture", name.machine);
    tess_json_int(json, "cores_present", ctx->machine.n_core_present);
    tess_json_int(json, "cores_allowed", ctx->machine.n_core_allowed);
    tess_json_int(json, "cores_physical", topology.n_core_physical);
    tess_json_int(json, "numa_nodes", topology.n_numa_node);
    tess_json_array_begin(json, "cache_bytes");
    for (int level = 1; level <= 3; level++) {
        tess_json_int(json, NULL, ctx->machine.cache_bytes[level]);
    }
    tess_json_array_end(json);
    tess_json_uint(json, "memory_bytes", ctx->machine.memory_bytes);
    tess_json_uint(json, "memory_available_bytes", ctx->machine.memory_available_bytes);
    tess_json_uint(json, "cgroup_limit_bytes", ctx->machine.cgroup_limit_bytes);
    tess_json_object_end(json);
}

static void write_choices(tess_json *json, const tess_context *ctx)
{
    tess_json_object_begin(json, "chosen");
    tess_json_int(json, "threads", ctx->n_thread);
    tess_json_text(json, "threads_origin", ctx->n_thread_origin);
    tess_json_uint(json, "memory_limit_bytes", ctx->memory_limit_bytes);
    tess_json_text(json, "memory_limit_origin", ctx->memory_limit_origin);
    tess_json_text(json, "isa", ctx->isa);
    tess_json_text(json, "device", tess_group_id(ctx, ctx->device));
    tess_json_text(json, "device_reason", ctx->device_reason);
    if (ctx->device->budget) {
        tess_json_uint(json, "device_memory_limit_bytes", ctx->device->budget->limit_bytes);
        tess_json_text(json, "device_memory_limit_origin", ctx->device->budget->origin);
    }
    tess_json_object_end(json);

    tess_json_array_begin(json, "isa");
    for (int32_t i = 0; i < ctx->n_isa; i++) {
        const tess_isa_info *isa = &ctx->isas[i];
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "name", isa->name);
        tess_json_bool(json, "built", isa->built);
        tess_json_bool(json, "usable", isa->usable);
        tess_json_bool(json, "chosen", isa->chosen);
        tess_json_int(json, "vector_bytes", isa->vector_bytes);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}

static tess_status write_devices(tess_json *json, tess_context *ctx)
{
    tess_device_info infos[MAX_DEVICES];
    int64_t n = 0;
    TESS_TRY(tess_device_list(ctx, infos, MAX_DEVICES, &n));
    tess_json_array_begin(json, "devices");
    for (int64_t i = 0; i < n && i < MAX_DEVICES; i++) {
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "id", infos[i].id);
        tess_json_text(json, "name", infos[i].name);
        tess_json_text(json, "detail", infos[i].detail);
        tess_json_uint(json, "memory_bytes", infos[i].memory_bytes);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
    const char *why = tess_device_why_not(ctx, "cuda");
    tess_json_text(json, "cuda", why[0] ? why : "available");
    return TESS_OK;
}

// Whether processes could work together, and whether they do.
static void write_ranks(tess_json *json, const tess_context *ctx)
{
    char path[TESS_MODULE_PATH_BYTES];
    char why[512] = "";
    const bool is_found =
        tess_module_find(TESS_COMM_MODULE, TESS_COMM_VARIABLE, path, why, sizeof why);
    tess_json_object_begin(json, "ranks");
    tess_json_text(json, "mpi", is_found ? "available" : why);
    tess_json_text(json, "connected_by", ctx->comm ? ctx->comm->place.library : NULL);
    tess_json_int(json, "rank", tess_comm_rank(ctx));
    tess_json_int(json, "n_rank", tess_comm_size(ctx));
    tess_json_object_end(json);
}

static void write_environment(tess_json *json, int with_paths)
{
    static const char *const variables[] = {"TESSERA_NUM_THREADS",
                                            "TESSERA_DEVICE",
                                            "TESSERA_ISA",
                                            "TESSERA_MEMORY_LIMIT",
                                            "TESSERA_DEVICE_MEMORY_LIMIT",
                                            "TESSERA_CONFIG",
                                            "TESSERA_PLUGIN_PATH",
                                            "TESSERA_CUDA_PLUGIN",
                                            "TESSERA_HDF5_PLUGIN",
                                            "TESSERA_MPI_PLUGIN",
                                            "TESSERA_COMM",
                                            "TESSERA_PROGRESS",
                                            "OMP_NUM_THREADS",
                                            "SLURM_CPUS_PER_TASK",
                                            "CUDA_VISIBLE_DEVICES",
                                            "SOURCE_DATE_EPOCH",
                                            "NO_COLOR",
                                            "LC_ALL"};
    tess_json_object_begin(json, "environment");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value) {
            const int is_path = strstr(variables[i], "PLUGIN") || strstr(variables[i], "CONFIG");
            tess_json_text(json, variables[i], is_path && !with_paths ? "(set)" : value);
        }
    }
    tess_json_object_end(json);
    if (with_paths) {
        char folder[1024];
        tess_json_text(json, "working_directory", getcwd(folder, sizeof folder));
    }
}

tess_status tess_sysinfo_json(tess_context *ctx, int with_paths, char **text)
{
    tess_error_clear();
    *text = NULL;
    tess_json *json = NULL;
    TESS_TRY(tess_json_create_on(&ctx->heap, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.sysinfo/1");
    write_build(json);
    write_system(json, ctx);
    write_choices(json, ctx);
    const tess_status status = write_devices(json, ctx);
    write_ranks(json, ctx);
    write_environment(json, with_paths);
    tess_json_object_end(json);
    if (status != TESS_OK) {
        tess_json_destroy(json);
        return status;
    }
    return tess_json_hand_out(json, text);
}
