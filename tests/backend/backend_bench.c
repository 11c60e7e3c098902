// Speed of a backend's stages, as share of what the same device was measured to do.
//
// Launches are queued many at a time and timed by the host's clock around the wait, over several
// input sets that together exceed any cache; the median of the samples is reported.

#include "backend_check.h"
#include "stage/autoreject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_SAMPLE = 15, MAX_SET = 24, PATTERN_ITEMS = 1 << 22 };

static const size_t min_rotation_bytes = (size_t)1 << 30;
static const double sample_seconds = 0.03;

typedef struct bench_row {
    int32_t dtype;
    int64_t n_epoch;
    int64_t n_chan;
    int64_t n_time;
} bench_row;

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Seconds per launch when n_launch are queued at once.
static double time_launches(check *t, const tess_stage_autoreject_ptp *sets, int n_set,
                            int n_launch)
{
    const double start = check_seconds();
    for (int i = 0; i < n_launch; i++) {
        const tess_status status = t->backend->enqueue(t->queue, TESS_STAGE_AUTOREJECT_PTP,
                                                       &sets[i % n_set], sizeof(sets[0]));
        if (!check_ok(t, status, "enqueue")) {
            return 0;
        }
    }
    check_ok(t, t->backend->finish(t->queue), "finish");
    return (check_seconds() - start) / n_launch;
}

static int prepare_sets(check *t, const bench_row *row, size_t item_bytes,
                        tess_stage_autoreject_ptp *sets)
{
    const int64_t n_row = row->n_epoch * row->n_chan;
    const size_t x_bytes = (size_t)(n_row * row->n_time) * item_bytes;
    const size_t pattern_bytes = PATTERN_ITEMS * item_bytes;
    const size_t wanted = (min_rotation_bytes + x_bytes - 1) / x_bytes;
    const int n_set = wanted < MAX_SET ? (int)wanted : MAX_SET;
    void *pattern = check_memory(t, TESS_SPACE_HOST, pattern_bytes);
    if (pattern == NULL) {
        return 0;
    }
    ptp_random_items(t, row->dtype, pattern, PATTERN_ITEMS);
    for (int i = 0; i < n_set && !t->case_failed; i++) {
        char *d_x = check_memory(t, TESS_SPACE_DEVICE, x_bytes);
        char *d_out = check_memory(t, TESS_SPACE_DEVICE, (size_t)n_row * item_bytes);
        if (t->case_failed) {
            return 0;
        }
        const size_t unit = pattern_bytes < x_bytes ? pattern_bytes : x_bytes;
        check_copy(t, d_x, TESS_SPACE_DEVICE, pattern, TESS_SPACE_HOST, unit);
        check_repeat(t, d_x, unit, x_bytes);
        sets[i] = (tess_stage_autoreject_ptp){d_x,         d_out,       row->n_epoch,
                                              row->n_chan, row->n_time, row->n_chan * row->n_time,
                                              row->n_time, row->dtype,  0};
    }
    return t->case_failed ? 0 : n_set;
}

static void bench_ptp(check *t, const bench_row *row, const tess_device_ceilings *ceilings)
{
    const size_t item_bytes = row->dtype == TESS_F32 ? sizeof(float) : sizeof(double);
    tess_stage_autoreject_ptp sets[MAX_SET];
    const int n_set = prepare_sets(t, row, item_bytes, sets);
    if (n_set == 0) {
        check_release(t, 0);
        return;
    }
    time_launches(t, sets, n_set, 2 * n_set);
    const double one = time_launches(t, sets, n_set, n_set);
    const int n_launch =
        one > 0 && sample_seconds / one > n_set ? (int)(sample_seconds / one) : n_set;
    double samples[N_SAMPLE];
    double single[N_SAMPLE];
    for (int i = 0; i < N_SAMPLE && !t->case_failed; i++) {
        samples[i] = time_launches(t, sets, n_set, n_launch);
        single[i] = time_launches(t, sets + i % n_set, 1, 1);
    }
    check_release(t, 0);
    if (t->case_failed) {
        return;
    }
    qsort(samples, N_SAMPLE, sizeof(double), compare_doubles);
    qsort(single, N_SAMPLE, sizeof(double), compare_doubles);
    const double median = samples[N_SAMPLE / 2];
    const double bytes =
        (double)(row->n_epoch * row->n_chan) * (double)(row->n_time + 1) * (double)item_bytes;
    printf("ptp f%d %5lldx%3lldx%4lld %10.1f us %10.1f us %10.1f us %8.1f GB/s %6.1f %% %6.1f %%\n",
           row->dtype == TESS_F32 ? 32 : 64, (long long)row->n_epoch, (long long)row->n_chan,
           (long long)row->n_time, median * 1e6, samples[0] * 1e6, single[N_SAMPLE / 2] * 1e6,
           bytes / median * 1e-9, 100 * bytes / median / ceilings->read_bytes_per_s,
           100 * bytes / median / ceilings->copy_bytes_per_s);
    fflush(stdout);
}

void bench_all(check *t)
{
    static const bench_row rows[] = {
        {TESS_F32, 300, 64, 500},    {TESS_F64, 300, 64, 500},   {TESS_F32, 300, 128, 1000},
        {TESS_F64, 300, 128, 1000},  {TESS_F32, 300, 128, 1001}, {TESS_F32, 6000, 128, 1000},
        {TESS_F64, 6000, 128, 1000}, {TESS_F32, 600, 64, 20000},
    };
    tess_device_ceilings first;
    tess_device_ceilings c;
    if (!check_ok(t, t->backend->benchmark(t->device, &first), "benchmark") ||
        !check_ok(t, t->backend->benchmark(t->device, &c), "benchmark")) {
        t->n_failed++;
        return;
    }
    printf("%s: %s, %s\n", t->device_info.id, t->device_info.name, t->device_info.detail);
    printf("read %.1f GB/s (%.1f before), copy %.1f GB/s (%.1f), up %.1f GB/s, down %.1f GB/s, "
           "f32 %.2f Tflop/s, f64 %.2f Tflop/s\n",
           c.read_bytes_per_s * 1e-9, first.read_bytes_per_s * 1e-9, c.copy_bytes_per_s * 1e-9,
           first.copy_bytes_per_s * 1e-9, c.upload_bytes_per_s * 1e-9,
           c.download_bytes_per_s * 1e-9, c.flop_f32_per_s * 1e-12, c.flop_f64_per_s * 1e-12);
    printf("%-22s %13s %13s %13s %13s %8s %8s\n", "stage", "median", "fastest", "alone", "rate",
           "of read", "of copy");
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        t->case_failed = 0;
        bench_ptp(t, &rows[k], &c);
        t->n_failed += t->case_failed;
    }
}
