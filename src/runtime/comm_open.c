// How the ranks of a job meet, and part.
#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
#include "runtime/comm.h"
#include "runtime/module.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What a rank reports when it leaves.
typedef struct times {
    double total_s;
    double wait_s;
    double exchange_s;
    uint64_t bytes;
    int64_t n_call;
} times;

// "mpi:17": the Fortran handle of a communicator.
static tess_status read_start(const char *text, const void *communicator, tess_comm_start *start)
{
    *start = (tess_comm_start){.struct_size = sizeof *start, .communicator = communicator};
    if (strncmp(text, "mpi:", 4) == 0) {
        char *end = NULL;
        start->fortran = strtoll(text + 4, &end, 10);
        start->has_fortran = 1;
        if (end != text + 4 && *end == '\0') {
            return TESS_OK;
        }
    } else if (strcmp(text, "mpi") == 0) {
        return TESS_OK;
    }
    TESS_FAIL(
        TESS_E_ARGUMENT,
        "comm: '%.40s' is none of none, auto, mpi and mpi:HANDLE (of a communicator's Fortran "
        "handle)",
        text);
}

static const tess_comm_module *find_module(tess_context *ctx, char *why, size_t capacity)
{
    tess_comm_entry_fn entry = NULL;
    *(void **)&entry = tess_module_open(ctx, TESS_COMM_MODULE, TESS_COMM_VARIABLE, "comm",
                                        "tess_comm_entry", NULL, why, capacity);
    const tess_comm_module *module = entry ? entry() : NULL;
    if (module && module->struct_size < sizeof *module) {
        snprintf(why, capacity, "%s is of an older build: build it again", TESS_COMM_MODULE);
        return NULL;
    }
    return module;
}

// Processes that do not know of each other would write the same files.
static tess_status refuse_alone(const char *by, int32_t n_rank, const char *why)
{
    char number[32] = "several";
    if (n_rank > 0) {
        snprintf(number, sizeof number, "%d", (int)n_rank);
    }
    TESS_FAIL(TESS_E_UNSUPPORTED,
              "%s says that %s processes were started for one job, but they cannot work together: "
              "%s. Build Tessera where mpicc is found and name the module's folder in "
              "TESSERA_PLUGIN_PATH, start one process, or set TESSERA_COMM=none if each has files "
              "of its own",
              by, number, why);
}

static tess_status join(tess_context *ctx, const tess_comm_module *module,
                        const tess_comm_start *start)
{
    tess_comm *comm =
        tess_heap_alloc_zero(&ctx->heap, sizeof *comm, TESS_TAG_CONTEXT, "ranks of a job");
    if (!comm) {
        return TESS_E_MEMORY;
    }
    ctx->comm = comm; // closed with the context
    comm->module = module;
    comm->place.struct_size = sizeof comm->place;
    comm->place.n_rank = 1;
    TESS_TRY(module->join(&ctx->host, start, &comm->place, &comm->group));
    comm->begin_ns = tess_now_ns();
    return TESS_OK;
}

static tess_status find_wish(const char *comm, const char **wish, const char **by, int32_t *rank,
                             int32_t *n_rank)
{
    *by = NULL;
    *rank = 0;
    *n_rank = 0;
    *wish = comm ? comm : "none";
    if (strcmp(*wish, "auto") != 0) {
        return TESS_OK;
    }
    const char *variable = getenv("TESSERA_COMM");
    *by = tess_comm_launch(rank, n_rank);
    *wish = *by ? "mpi" : "none";
    if (!variable || !*variable || strcmp(variable, "auto") == 0) {
        return TESS_OK;
    }
    if (strcmp(variable, "mpi") != 0 && strcmp(variable, "none") != 0) {
        TESS_FAIL(TESS_E_ARGUMENT, "TESSERA_COMM: '%.40s' is none of auto, mpi and none", variable);
    }
    *wish = variable;
    return TESS_OK;
}

tess_status tess_comm_open(tess_context *ctx, const char *comm, const void *communicator)
{
    const char *wish = NULL;
    const char *by = NULL;
    int32_t rank = 0;
    int32_t n_rank = 0;
    char why[512] = "";
    tess_comm_start start;
    TESS_TRY(find_wish(comm, &wish, &by, &rank, &n_rank));
    if (strcmp(wish, "none") == 0) {
        return TESS_OK;
    }
    TESS_TRY(read_start(wish, communicator, &start));
    const tess_comm_module *module = find_module(ctx, why, sizeof why);
    if (!module && by) {
        return refuse_alone(by, n_rank, why);
    }
    if (!module) {
        TESS_FAIL(TESS_E_UNSUPPORTED, "comm mpi: %s", why);
    }
    TESS_TRY(join(ctx, module, &start));
    const int32_t n_found = ctx->comm->place.n_rank;
    if (by && (n_rank > 0 ? n_found != n_rank : n_found <= rank)) {
        snprintf(why, sizeof why,
                 "%s knows of %d; start with the mpirun of that MPI, or srun --mpi=pmix",
                 ctx->comm->place.library, (int)n_found);
        return refuse_alone(by, n_rank, why);
    }
    return TESS_OK;
}

// ---- What must be alike -----------------------------------------------------------------------

typedef struct build {
    char version[32];
    char commit[48];
    char isa[16];
    char device[96]; // its kind: "cpu", "NVIDIA H200"
    char libm[33];   // digest of values
    uint64_t memory_limit_bytes;
} build;

// The C library chooses instructions of its own by the CPU, whatever ours are: without fused
// multiply-adds one value of exp() in a thousand has another last digit.
static void digest_libm(char text[33])
{
    tess_hash hash = {0};
    for (int i = 1; i <= 4096; i++) {
        const double x = 0.005 * i;
        const double values[] = {exp(-x), log(x),   pow(x, 1.37), sin(x),
                                 cos(x),  log1p(x), expm1(-x)};
        tess_hash_mix(&hash, values, sizeof values);
    }
    tess_hash_text(hash, text);
}

static tess_status compare_builds(const tess_context *ctx, const tess_comm_parts *parts)
{
    const build *first = (const build *)(const void *)parts->data;
    for (int32_t k = 1; k < tess_comm_size(ctx); k++) {
        const build *other = first + k;
        if (parts->offset[k + 1] != (uint64_t)(k + 1) * sizeof *first) {
            TESS_FAIL(TESS_E_VERSION, "rank %d runs another Tessera than this: install one version",
                      (int)k);
        }
        if (strcmp(first->version, other->version) != 0 ||
            strcmp(first->commit, other->commit) != 0) {
            TESS_FAIL(TESS_E_VERSION,
                      "rank %d runs Tessera %s (%s), rank 0 %s (%s): install one version", (int)k,
                      other->version, other->commit, first->version, first->commit);
        }
        if (strcmp(first->isa, other->isa) != 0) {
            TESS_FAIL(TESS_E_UNSUPPORTED,
                      "rank %d computes with instruction set %s, rank 0 with %s, and the result "
                      "would depend on the number of ranks: set TESSERA_ISA (--isa) to one that "
                      "all machines have",
                      (int)k, other->isa, first->isa);
        }
        if (strcmp(first->libm, other->libm) != 0) {
            TESS_FAIL(
                TESS_E_UNSUPPORTED,
                "exp() and its like have other last digits on rank %d than on rank 0, and the "
                "result would depend on the number of ranks: give all ranks CPUs of one kind "
                "and one C library, or all the same GLIBC_TUNABLES=glibc.cpu.hwcaps=...",
                (int)k);
        }
        if (strcmp(first->device, other->device) != 0) {
            TESS_FAIL(
                TESS_E_UNSUPPORTED,
                "device: rank %d computes on %s, rank 0 on %s, and the result would depend on "
                "the number of ranks: give all ranks devices of one kind, or --device cpu",
                (int)k, other->device, first->device);
        }
    }
    return TESS_OK;
}

static void take_least_memory(tess_context *ctx, const tess_comm_parts *parts)
{
    const build *all = (const build *)(const void *)parts->data;
    for (int32_t k = 0; k < tess_comm_size(ctx); k++) {
        if (all[k].memory_limit_bytes < ctx->memory_limit_bytes) {
            ctx->memory_limit_bytes = all[k].memory_limit_bytes;
            ctx->memory_limit_origin = "the least of all ranks";
        }
    }
}

tess_status tess_comm_settle(tess_context *ctx, tess_status status)
{
    if (tess_comm_size(ctx) == 1) {
        return status;
    }
    build own = {.memory_limit_bytes = ctx->memory_limit_bytes};
    tess_comm_parts parts;
    snprintf(own.version, sizeof own.version, "%s", tess_version());
    snprintf(own.commit, sizeof own.commit, "%s", tess_build_commit());
    snprintf(own.isa, sizeof own.isa, "%s", ctx->isa ? ctx->isa : "");
    digest_libm(own.libm);
    if (status == TESS_OK) { // CPUs are told apart by their instruction sets
        const tess_device_info *info = &ctx->device->info;
        const bool is_cpu = ctx->device == &ctx->cpu;
        snprintf(own.device, sizeof own.device, "%s", is_cpu ? info->id : info->name);
    }
    TESS_TRY(
        tess_comm_gather(ctx, (tess_comm_point){"context", 0}, status, &own, sizeof own, &parts));
    const tess_status alike = compare_builds(ctx, &parts);
    if (alike == TESS_OK) {
        take_least_memory(ctx, &parts);
    }
    ctx->host.memory_limit_bytes = ctx->memory_limit_bytes;
    tess_comm_parts_free(&parts);
    return alike;
}

// ---- Parting ----------------------------------------------------------------------------------

static void log_times(tess_context *ctx, const tess_comm_parts *parts)
{
    const times *all = (const times *)(const void *)parts->data;
    for (int32_t k = 0; k < tess_comm_size(ctx); k++) {
        tess_log_write(&ctx->log, TESS_LOG_INFO,
                       "rank %d: %.3f s, of which %.3f s waiting for others and %.3f s exchanging "
                       "%llu bytes in %lld calls",
                       (int)k, all[k].total_s, all[k].wait_s, all[k].exchange_s,
                       (unsigned long long)all[k].bytes, (long long)all[k].n_call);
    }
}

// MPI wants all ranks to give up a communicator together, and contexts may end at any time.
static void part(tess_comm *comm)
{
    if (comm->group && comm->has_left && !comm->is_lost) {
        comm->module->leave(comm->group);
        comm->group = NULL;
    }
}

tess_status tess_context_leave(tess_context *ctx, tess_status status)
{
    tess_comm *comm = ctx ? ctx->comm : NULL;
    if (!comm || comm->place.n_rank == 1 || comm->has_left) {
        return status;
    }
    const times own = {.total_s = (double)(tess_now_ns() - comm->begin_ns) * 1e-9,
                       .wait_s = comm->wait_s,
                       .exchange_s = comm->exchange_s,
                       .bytes = comm->bytes,
                       .n_call = comm->n_call};
    tess_comm_parts parts;
    comm->is_leaving = true;
    const tess_status agreed =
        tess_comm_gather(ctx, (tess_comm_point){"leave", 0}, status, &own, sizeof own, &parts);
    if (agreed == TESS_OK && tess_comm_is_first(ctx)) {
        log_times(ctx, &parts);
    }
    tess_comm_parts_free(&parts);
    part(comm);
    return agreed;
}

tess_status tess_context_leave_with(tess_context *ctx, tess_status status, const char *message)
{
    if (status != TESS_OK) {
        tess_error_set(status, "%s", message);
    }
    return tess_context_leave(ctx, status);
}

int tess_context_is_lost(const tess_context *ctx)
{
    return ctx && ctx->comm && ctx->comm->is_lost;
}

void tess_context_abort(tess_context *ctx, int code)
{
    if (ctx && ctx->comm && ctx->comm->group) {
        ctx->comm->module->abort(ctx->comm->group, code);
    }
}

void tess_comm_close(tess_context *ctx)
{
    tess_comm *comm = ctx->comm;
    if (!comm) {
        return;
    }
    if (comm->group && !comm->is_lost) {
        comm->module->leave(comm->group);
    }
    tess_heap_free(&ctx->heap, comm, sizeof *comm, TESS_TAG_CONTEXT);
    ctx->comm = NULL;
}
