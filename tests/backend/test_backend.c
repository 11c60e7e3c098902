// Conformance of a backend module: test_backend --backend FILE [--small] [--bench] [--fault]
//
//   --small  sizes fit for running under compute-sanitizer
//   --bench  measure instead of test
//   --fault  provoke a fault on the device and check how it is reported

#include "backend_check.h"
#include "stage/autoreject.h"

#include <stdio.h>
#include <string.h>

static void query_case(check *t)
{
    check_that(t, strcmp(t->info->kind, "backend") == 0, "kind is '%s'", t->info->kind);
    check_that(t, strcmp(t->info->version, TESS_VERSION) == 0, "version is '%s', wanted '%s'",
               t->info->version, TESS_VERSION);
    check_that(t, t->info->built_with[0] != '\0', "built_with is empty");
    printf("      %s, built with %s\n", t->info->name, t->info->built_with);
}

static void table_case(check *t)
{
    const tess_backend *b = t->backend;
    check_that(t, b->struct_size == sizeof(tess_backend), "struct_size is %u", b->struct_size);
    check_that(t, b->abi == TESS_MODULE_ABI, "abi is %u", b->abi);
    check_that(t, strcmp(b->name, t->info->name) == 0, "names differ: '%s' and '%s'", b->name,
               t->info->name);
    check_that(t,
               b->device_count && b->device_info && b->device_open && b->device_close &&
                   b->memory_alloc && b->memory_free && b->queue_create && b->queue_destroy &&
                   b->copy && b->supports && b->scratch_bytes && b->enqueue && b->finish,
               "a required entry is NULL");
}

// A short buffer must not be overrun, and no buffer at all is allowed.
static void device_count_case(check *t)
{
    char why[8] = "1234567";
    const int32_t n_device = t->backend->device_count(t->backend->user, why, 4);
    check_that(t, memchr(why, '\0', 4) != NULL, "why is not terminated within its capacity");
    check_that(t, why[4] == '5', "why is written past its capacity");
    check_that(t, t->backend->device_count(t->backend->user, NULL, 0) == n_device,
               "counts differ between calls");
}

static void device_info_case(check *t)
{
    const tess_device_info *info = &t->device_info;
    check_that(t, strcmp(info->backend, t->backend->name) == 0, "backend is '%s'", info->backend);
    check_that(t, info->name[0] != '\0' && info->detail[0] != '\0', "name or detail is empty");
    check_that(t, info->memory_bytes >= info->memory_free_bytes, "more memory free than there is");
    check_that(t, info->memory_free_bytes > 0, "no memory free");
    check_that(t, info->score > 0, "score is %d", info->score);
    printf("      %s: %s, %s, %.1f of %.1f GB free\n", info->id, info->name, info->detail,
           (double)info->memory_free_bytes * 1e-9, (double)info->memory_bytes * 1e-9);

    tess_device_info none;
    check_that(t, t->backend->device_info(t->backend->user, 4711, &none) != TESS_OK,
               "device 4711 has an info");
    tess_backend_device *device = NULL;
    check_fails(t, t->backend->device_open(t->backend->user, 4711, &t->host, &device),
                TESS_E_ARGUMENT, "4711", "opening device 4711");
    check_that(t, device == NULL, "device is set after a failure");
}

static void memory_case(check *t)
{
    static const size_t sizes[] = {1, 255, 256, 4097, 1 << 20};
    static const tess_space spaces[] = {TESS_SPACE_DEVICE, TESS_SPACE_PINNED};
    for (size_t s = 0; s < sizeof(spaces) / sizeof(spaces[0]); s++) {
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            const void *ptr = check_memory(t, spaces[s], sizes[k]);
            check_that(t, (uintptr_t)ptr % 256 == 0, "%zu bytes of space %d at %p", sizes[k],
                       (int)spaces[s], ptr);
        }
    }
    void *ptr = &ptr;
    check_fails(t, t->backend->memory_alloc(t->device, TESS_SPACE_DEVICE, (size_t)1 << 50, &ptr),
                TESS_E_MEMORY, "1125899906842624", "allocating 1 PiB");
    check_that(t, ptr == NULL, "pointer is set after a failure");
    check_fails(t, t->backend->memory_alloc(t->device, (tess_space)77, 16, &ptr), TESS_E_SPACE,
                "77", "allocating in an unknown space");
    // The failure above must not cling to what follows.
    check_memory(t, TESS_SPACE_DEVICE, 1 << 20);
    check_ok(t, t->backend->finish(t->queue), "finish after a failed allocation");
}

// Host and pinned memory to the device, within it, and back, with odd sizes and offsets.
static void copy_case(check *t)
{
    static const size_t sizes[] = {1, 3, 4096, 65537, (4 << 20) + 5};
    static const tess_space hosts[] = {TESS_SPACE_HOST, TESS_SPACE_PINNED};
    enum { OFFSET = 13, CAPACITY = (4 << 20) + 64 };
    char *d_first = check_memory(t, TESS_SPACE_DEVICE, CAPACITY);
    char *d_second = check_memory(t, TESS_SPACE_DEVICE, CAPACITY);
    for (size_t h = 0; h < sizeof(hosts) / sizeof(hosts[0]); h++) {
        char *sent = check_memory(t, hosts[h], CAPACITY);
        char *back = check_memory(t, hosts[h], CAPACITY);
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]) && !t->case_failed; k++) {
            const size_t n = sizes[k];
            for (size_t i = 0; i < n; i++) {
                sent[i] = (char)check_random(t);
            }
            memset(back, 0x5a, n + 1);
            check_copy(t, d_first + OFFSET, TESS_SPACE_DEVICE, sent, hosts[h], n);
            check_copy(t, d_second + 1, TESS_SPACE_DEVICE, d_first + OFFSET, TESS_SPACE_DEVICE, n);
            check_copy(t, back, hosts[h], d_second + 1, TESS_SPACE_DEVICE, n);
            check_that(t, memcmp(sent, back, n) == 0, "%zu bytes came back changed, space %d", n,
                       (int)hosts[h]);
            check_that(t, back[n] == 0x5a, "more than %zu bytes were copied", n);
        }
    }
    check_ok(t, t->backend->copy(t->queue, NULL, TESS_SPACE_DEVICE, NULL, TESS_SPACE_HOST, 0),
             "copy of 0 bytes");
}

// Each step needs the one before; nothing waits until the end.
static void queue_order_case(check *t)
{
    enum { N_STEP = 200, BYTES = 1 << 18 };
    const tess_backend *b = t->backend;
    char *sent = check_memory(t, TESS_SPACE_PINNED, N_STEP);
    char *back = check_memory(t, TESS_SPACE_PINNED, BYTES);
    char *d_ping = check_memory(t, TESS_SPACE_DEVICE, BYTES);
    char *d_pong = check_memory(t, TESS_SPACE_DEVICE, BYTES);
    memset(back, 0, BYTES);
    check_copy(t, d_ping, TESS_SPACE_DEVICE, back, TESS_SPACE_PINNED, BYTES);
    for (int i = 0; i < N_STEP && !t->case_failed; i++) {
        sent[i] = (char)(i + 1);
        check_ok(t,
                 b->copy(t->queue, d_ping + i, TESS_SPACE_DEVICE, sent + i, TESS_SPACE_PINNED, 1),
                 "copy in");
        check_ok(t, b->copy(t->queue, d_pong, TESS_SPACE_DEVICE, d_ping, TESS_SPACE_DEVICE, BYTES),
                 "copy across");
        char *swap = d_ping;
        d_ping = d_pong;
        d_pong = swap;
    }
    check_copy(t, back, TESS_SPACE_PINNED, d_ping, TESS_SPACE_DEVICE, BYTES);
    for (int i = 0; i < N_STEP; i++) {
        check_that(t, back[i] == (char)(i + 1), "step %d left %d", i, back[i]);
    }
    check_that(t, back[N_STEP] == 0, "steps wrote past their bytes");
}

static void several_queues_case(check *t)
{
    enum { N_QUEUE = 4, BYTES = 1 << 20 };
    tess_backend_queue *queues[N_QUEUE] = {NULL};
    char *back[N_QUEUE] = {NULL};
    for (int i = 0; i < N_QUEUE; i++) {
        char *sent = check_memory(t, TESS_SPACE_PINNED, BYTES);
        back[i] = check_memory(t, TESS_SPACE_PINNED, BYTES);
        char *d_x = check_memory(t, TESS_SPACE_DEVICE, BYTES);
        if (t->case_failed ||
            !check_ok(t, t->backend->queue_create(t->device, &queues[i]), "queue_create")) {
            break;
        }
        memset(sent, i + 1, BYTES);
        check_ok(
            t, t->backend->copy(queues[i], d_x, TESS_SPACE_DEVICE, sent, TESS_SPACE_PINNED, BYTES),
            "copy in");
        check_ok(
            t,
            t->backend->copy(queues[i], back[i], TESS_SPACE_PINNED, d_x, TESS_SPACE_DEVICE, BYTES),
            "copy back");
    }
    for (int i = 0; i < N_QUEUE && queues[i] != NULL; i++) {
        check_ok(t, t->backend->finish(queues[i]), "finish");
        check_that(t, back[i][0] == i + 1 && back[i][BYTES - 1] == i + 1, "queue %d", i);
        t->backend->queue_destroy(queues[i]);
    }
    t->backend->queue_destroy(NULL);
}

static void supports_case(check *t)
{
    const tess_backend *b = t->backend;
    tess_stage_autoreject_ptp args = {NULL, NULL, 2, 3, 4, 12, 4, TESS_F32, 0};
    const int32_t ptp = TESS_STAGE_AUTOREJECT_PTP;
    check_ok(t, b->supports(t->device, ptp, &args), "f32");
    check_that(t, b->scratch_bytes(t->device, ptp, &args) == 0, "ptp wants scratch");
    check_fails(t, b->supports(t->device, 0x7fff, &args), TESS_E_UNSUPPORTED, "0x7fff",
                "unknown stage");
    check_fails(t, b->enqueue(t->queue, 0x7fff, &args, sizeof(args)), TESS_E_UNSUPPORTED, "0x7fff",
                "enqueue of an unknown stage");
    check_fails(t, b->enqueue(t->queue, ptp, &args, sizeof(args) - 8), TESS_E_VERSION,
                "autoreject.ptp", "short arguments");
    args.dtype = TESS_I32;
    check_fails(t, b->supports(t->device, ptp, &args), TESS_E_UNSUPPORTED, "autoreject.ptp",
                "dtype i32");
    args.dtype = TESS_F64;
    check_ok(t, b->supports(t->device, ptp, &args), "f64");
    args.x = (const void *)(uintptr_t)4;
    check_fails(t, b->supports(t->device, ptp, &args), TESS_E_UNSUPPORTED, "aligned",
                "x not aligned to its items");
    args.x = NULL;
    args.n_time = 0;
    check_fails(t, b->supports(t->device, ptp, &args), TESS_E_UNSUPPORTED, "[2][3][0]",
                "rows without samples");
    args.n_time = 4;
    args.n_epoch = args.n_chan = INT64_MAX / 2;
    check_fails(t, b->supports(t->device, ptp, &args), TESS_E_UNSUPPORTED, "autoreject.ptp",
                "more rows than can be counted");
    check_ok(t, b->finish(t->queue), "finish after refused stages");
}

static void benchmark_case(check *t)
{
    tess_device_ceilings c;
    if (t->small) {
        check_skip(t, "not at small sizes");
        return;
    }
    if (!check_ok(t, t->backend->benchmark(t->device, &c), "benchmark")) {
        return;
    }
    check_that(t, c.struct_size == sizeof(c), "struct_size is %u", c.struct_size);
    check_that(t, c.read_bytes_per_s > 1e9 && c.copy_bytes_per_s > 1e9, "memory: %g and %g B/s",
               c.read_bytes_per_s, c.copy_bytes_per_s);
    check_that(t, c.upload_bytes_per_s > 1e8 && c.download_bytes_per_s > 1e8,
               "transfers: %g and %g B/s", c.upload_bytes_per_s, c.download_bytes_per_s);
    check_that(t, c.flop_f32_per_s >= c.flop_f64_per_s && c.flop_f64_per_s > 1e9,
               "multiply-adds: %g and %g flop/s", c.flop_f32_per_s, c.flop_f64_per_s);
}

static void all_cases(check *t)
{
    check_case(t, "device_info", device_info_case);
    check_case(t, "memory", memory_case);
    check_case(t, "copy", copy_case);
    check_case(t, "queue_order", queue_order_case);
    check_case(t, "several_queues", several_queues_case);
    check_case(t, "supports", supports_case);
    ptp_cases(t);
    votes_cases(t);
    check_case(t, "benchmark", benchmark_case);
}

// 1 if device 0 is open; otherwise says why, and counts the skip or failure.
static int open_device(check *t)
{
    char why[256] = "";
    const tess_backend *b = t->backend;
    if (b->device_count(b->user, why, sizeof(why)) == 0) {
        printf("skip  everything else, no usable device: %s\n", why);
        if (why[0] == '\0') {
            printf("FAIL  device_count gave no reason\n");
            t->n_failed++;
        }
        t->n_skipped++;
        return 0;
    }
    if (b->device_info(b->user, 0, &t->device_info) != TESS_OK ||
        b->device_open(b->user, 0, &t->host, &t->device) != TESS_OK ||
        b->queue_create(t->device, &t->queue) != TESS_OK) {
        printf("FAIL  opening device 0: %s\n", t->message);
        t->n_failed++;
        return 0;
    }
    return 1;
}

static void close_device(check *t)
{
    t->backend->queue_destroy(t->queue);
    t->backend->device_close(t->device);
    if (t->n_host_block != 0) {
        printf("FAIL  %lld blocks of the host were not returned\n", (long long)t->n_host_block);
        t->n_failed++;
    }
}

static int usage(void)
{
    fprintf(stderr, "usage: test_backend --backend FILE [--small] [--bench | --fault]\n");
    return 2;
}

int main(int argc, char **argv)
{
    static check t = {.random_state = 20240611};
    const char *path = NULL;
    void (*run)(check *) = all_cases;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--backend") == 0 && i + 1 < argc) {
            path = argv[++i];
        } else if (strcmp(argv[i], "--small") == 0) {
            t.small = 1;
        } else if (strcmp(argv[i], "--bench") == 0) {
            run = bench_all;
        } else if (strcmp(argv[i], "--fault") == 0) {
            run = ptp_fault_case;
        } else {
            return usage();
        }
    }
    if (path == NULL) {
        return usage();
    }
    const char *problem = check_open(&t, path);
    if (problem != NULL) {
        fprintf(stderr, "test_backend: %s: %s\n", path, problem);
        return 1;
    }
    check_case(&t, "query", query_case);
    check_case(&t, "table", table_case);
    check_case(&t, "device_count", device_count_case);
    if (open_device(&t)) {
        run(&t);
        close_device(&t);
    }
    printf("%d passed, %d failed, %d skipped\n", t.n_passed, t.n_failed, t.n_skipped);
    return t.n_failed == 0 ? 0 : 1;
}
