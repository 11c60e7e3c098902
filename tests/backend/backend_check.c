#include "backend_check.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POISON = 0xa5 };

static tess_status host_fail(void *user, tess_status status, const char *format, ...)
{
    check *t = user;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t->message, sizeof(t->message), format, arguments);
    va_end(arguments);
    return status;
}

static void *host_alloc(void *user, size_t bytes)
{
    check *t = user;
    void *ptr = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (ptr != NULL) {
        t->n_host_block++;
    }
    return ptr;
}

static void host_release(void *user, void *ptr, size_t bytes)
{
    check *t = user;
    (void)bytes;
    if (ptr != NULL) {
        t->n_host_block--;
    }
    free(ptr);
}

static void host_log(void *user, tess_log_level level, const char *format, ...)
{
    (void)user;
    (void)level;
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static tess_status host_share(void *user, int64_t n_block, tess_job_fn job, void *arg)
{
    (void)user;
    tess_status status = TESS_OK;
    for (int64_t block = 0; block < n_block && status == TESS_OK; block++) {
        status = job(arg, block);
    }
    return status;
}

const char *check_open(check *t, const char *path)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL) {
        return dlerror();
    }
    // POSIX defines the conversion from dlsym's pointer; ISO C needs the detour over memcpy.
    tess_module_query_fn query;
    tess_backend_entry_fn entry;
    void *symbol = dlsym(module, "tess_module_query");
    memcpy(&query, &symbol, sizeof(symbol));
    symbol = dlsym(module, "tess_backend_entry");
    memcpy(&entry, &symbol, sizeof(symbol));
    if (query == NULL || entry == NULL) {
        return "tess_module_query or tess_backend_entry is not exported";
    }
    t->host = (tess_host){.struct_size = sizeof t->host,
                          .abi = TESS_MODULE_ABI,
                          .user = t,
                          .fail = host_fail,
                          .alloc = host_alloc,
                          .release = host_release,
                          .log = host_log,
                          .n_thread = 1,
                          .share = host_share};
    t->info = query();
    if (t->info == NULL || t->info->abi != TESS_MODULE_ABI) {
        return "the module was built for another TESS_MODULE_ABI";
    }
    t->backend = entry(&t->host);
    return t->backend == NULL ? "tess_backend_entry returned NULL" : NULL;
}

void check_case(check *t, const char *name, check_fn run)
{
    t->case_failed = 0;
    t->case_skipped = NULL;
    t->message[0] = '\0';
    const double start = check_seconds();
    run(t);
    check_release(t, 0);
    if (t->case_failed) {
        t->n_failed++;
        printf("FAIL  %s\n", name);
    } else if (t->case_skipped != NULL) {
        t->n_skipped++;
        printf("skip  %s: %s\n", name, t->case_skipped);
    } else {
        t->n_passed++;
        printf("ok    %s (%.2f s)\n", name, check_seconds() - start);
    }
    fflush(stdout);
}

void check_skip(check *t, const char *reason)
{
    t->case_skipped = reason;
}

int check_that(check *t, int condition, const char *format, ...)
{
    if (condition) {
        return 1;
    }
    t->case_failed = 1;
    va_list arguments;
    va_start(arguments, format);
    printf("      ");
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    return 0;
}

int check_ok(check *t, tess_status status, const char *what)
{
    return check_that(t, status == TESS_OK, "%s: status %d: %s", what, (int)status, t->message);
}

int check_fails(check *t, tess_status status, tess_status wanted, const char *fragment,
                const char *what)
{
    const int as_wanted = status == wanted && strstr(t->message, fragment) != NULL;
    check_that(t, as_wanted, "%s: wanted status %d and '%s' in the message, got %d: '%s'", what,
               (int)wanted, fragment, (int)status, t->message);
    t->message[0] = '\0';
    return as_wanted;
}

void *check_memory(check *t, tess_space space, size_t bytes)
{
    void *ptr = NULL;
    if (!check_that(t, t->n_block < CHECK_MAX_BLOCKS, "test error: too many blocks")) {
        return NULL;
    }
    if (space == TESS_SPACE_HOST) {
        ptr = malloc(bytes);
        check_that(t, ptr != NULL, "no host memory for %zu bytes", bytes);
    } else {
        check_ok(t, t->backend->memory_alloc(t->device, space, bytes, &ptr), "memory_alloc");
    }
    if (ptr == NULL) {
        return NULL;
    }
    if (space != TESS_SPACE_DEVICE) {
        memset(ptr, POISON, bytes);
    }
    t->blocks[t->n_block++] = (check_block){ptr, bytes, space};
    return ptr;
}

void check_release(check *t, int n_keep)
{
    while (t->n_block > n_keep) {
        const check_block b = t->blocks[--t->n_block];
        if (b.space == TESS_SPACE_HOST) {
            free(b.ptr);
        } else {
            t->backend->memory_free(t->device, b.space, b.ptr, b.bytes);
        }
    }
}

int check_copy(check *t, void *dst, tess_space dst_space, const void *src, tess_space src_space,
               size_t bytes)
{
    return check_ok(t, t->backend->copy(t->queue, dst, dst_space, src, src_space, bytes), "copy") &&
           check_ok(t, t->backend->finish(t->queue), "finish after copy");
}

int check_repeat(check *t, void *device_ptr, size_t unit_bytes, size_t bytes)
{
    char *base = device_ptr;
    for (size_t done = unit_bytes; done < bytes;) {
        const size_t step = done < bytes - done ? done : bytes - done;
        if (!check_ok(t,
                      t->backend->copy(t->queue, base + done, TESS_SPACE_DEVICE, base,
                                       TESS_SPACE_DEVICE, step),
                      "copy within the device")) {
            return 0;
        }
        done += step;
    }
    return check_ok(t, t->backend->finish(t->queue), "finish");
}

// SplitMix64: fixed seed, so a failure can be run again.
uint64_t check_random(check *t)
{
    uint64_t z = t->random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double check_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
