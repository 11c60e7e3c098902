// The clock of 'tessera bench'.

#include "bench.h"
#include "job.h"

#include <stdlib.h>
#include <time.h>

enum { MAX_REPEAT = 101, MIN_REPEAT = 3 };

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

int bench_time(cli *c, tess_status (*call)(tess_context *ctx, void *self), void *self,
               bench_row *row)
{
    double samples[MAX_REPEAT];
    double start = seconds_now();

    CLI_TRY(job_status(c, call(c->ctx, self)));
    const double first = seconds_now() - start;
    const int n_call = first < 1e-3 ? (int)(1e-3 / (first + 1e-7)) + 1 : 1;
    const double end = seconds_now() + 0.5;
    row->n_repeat = 0;
    while (row->n_repeat < MIN_REPEAT || (seconds_now() < end && row->n_repeat < MAX_REPEAT)) {
        start = seconds_now();
        for (int i = 0; i < n_call; i++) {
            CLI_TRY(job_status(c, call(c->ctx, self)));
        }
        samples[row->n_repeat++] = (seconds_now() - start) / n_call;
    }
    qsort(samples, (size_t)row->n_repeat, sizeof samples[0], compare_doubles);
    row->median_s = samples[row->n_repeat / 2];
    row->minimum_s = samples[0];
    return 0;
}
