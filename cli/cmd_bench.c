// tessera bench: times the stages on data in memory, against the measured read bandwidth.

#include "cli.h"
#include "job.h"

#include <tessera/autoreject.h>
#include <tessera/device.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct bench_case {
    const char *name;
    const char *what;
    tess_dtype dtype;
    int64_t n_epoch;
    int64_t n_chan;
    int64_t n_time;
} bench_case;

// 256 MiB is far beyond any cache but quick to read; the cached case shows the fixed cost and the
// kernel's own speed.
static const bench_case cases[] = {
    {"ptp-f32-long", "peak-to-peak, long epochs", TESS_F32, 256, 64, 4096},
    {"ptp-f32-short", "peak-to-peak, short epochs", TESS_F32, 4096, 64, 256},
    {"ptp-f64-long", "peak-to-peak, long epochs", TESS_F64, 128, 64, 4096},
    {"ptp-f32-cached", "peak-to-peak, data in cache", TESS_F32, 4, 16, 1024},
};

enum { N_CASE = sizeof cases / sizeof cases[0], MAX_REPEAT = 101, MIN_REPEAT = 7 };

typedef struct bench_row {
    const bench_case *what;
    double median_s;
    double minimum_s;
    int n_repeat;
    double bytes;
    double share; // of the read bandwidth; 0: not bound by memory
} bench_row;

static int is_memory_bound(const bench_case *what)
{
    const int64_t bytes =
        what->n_epoch * what->n_chan * what->n_time * (int64_t)tess_dtype_bytes(what->dtype);
    return bytes > 64 << 20;
}

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

// Repeats until half a second has passed; calls shorter than a millisecond are timed in groups.
static int time_case(tess_context *ctx, const tess_array *x, tess_array *out, bench_row *row)
{
    double samples[MAX_REPEAT];
    double start = seconds_now();

    CLI_CALL(tess_autoreject_ptp(ctx, x, NULL, out));
    const double first = seconds_now() - start;
    const int n_call = first < 1e-3 ? (int)(1e-3 / (first + 1e-7)) + 1 : 1;
    const double end = seconds_now() + 0.5;
    row->n_repeat = 0;
    while (row->n_repeat < MIN_REPEAT || (seconds_now() < end && row->n_repeat < MAX_REPEAT)) {
        start = seconds_now();
        for (int i = 0; i < n_call; i++) {
            CLI_CALL(tess_autoreject_ptp(ctx, x, NULL, out));
        }
        samples[row->n_repeat++] = (seconds_now() - start) / n_call;
    }
    qsort(samples, (size_t)row->n_repeat, sizeof samples[0], compare_doubles);
    row->median_s = samples[row->n_repeat / 2];
    row->minimum_s = samples[0];
    return 0;
}

// Small integers: cheap to make, no denormals, different in every row.
static void fill_samples(void *data, tess_dtype dtype, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const uint32_t value = (uint32_t)((uint64_t)i * 2654435761U >> 8) & 0xffff;
        if (dtype == TESS_F32) {
            ((float *)data)[i] = (float)value;
        } else {
            ((double *)data)[i] = value;
        }
    }
}

static int run_case(cli *c, const bench_case *what, bench_row *row)
{
    const int64_t shape[] = {what->n_epoch, what->n_chan, what->n_time};
    const int64_t n_item = shape[0] * shape[1] * shape[2];
    const size_t bytes = (size_t)n_item * tess_dtype_bytes(what->dtype);
    void *data = malloc(bytes);
    void *result = malloc((size_t)(shape[0] * shape[1]) * tess_dtype_bytes(what->dtype));
    tess_array x;
    tess_array out;
    int code = data && result ? 0 : console_fail(71, "no memory for case %s", what->name);

    if (code == 0) {
        fill_samples(data, what->dtype, n_item);
        tess_status status = tess_array_init(&x, data, what->dtype, 3, shape);
        status = status ? status : tess_array_init(&out, result, what->dtype, 2, shape);
        code = status ? console_status(status) : time_case(c->ctx, &x, &out, row);
    }
    if (code == 0) {
        row->what = what;
        row->bytes = (double)bytes;
    }
    free(data);
    free(result);
    return code;
}

static void print_row(const bench_row *row)
{
    const bench_case *what = row->what;
    char share[16] = "-";

    if (row->share > 0) {
        snprintf(share, sizeof share, "%.0f %%", row->share * 100);
    }
    printf("%-16s %5lld x %2lld x %4lld %s %10.4f ms %8.2f GB/s %8s\n", what->name,
           (long long)what->n_epoch, (long long)what->n_chan, (long long)what->n_time,
           tess_dtype_name(what->dtype), row->median_s * 1e3, row->bytes / row->median_s * 1e-9,
           share);
}

// 0 means not measured.
static void write_positive(tess_json *json, const char *key, double value)
{
    if (value > 0) {
        tess_json_real(json, key, value);
    } else {
        tess_json_raw(json, key, NULL);
    }
}

static void write_row(tess_json *json, const bench_row *row, const tess_context_info *info)
{
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "case", row->what->name);
    tess_json_text(json, "dtype", tess_dtype_name(row->what->dtype));
    tess_json_int(json, "n_epoch", row->what->n_epoch);
    tess_json_int(json, "n_chan", row->what->n_chan);
    tess_json_int(json, "n_time", row->what->n_time);
    tess_json_real(json, "ours_s", row->median_s);
    tess_json_real(json, "minimum_s", row->minimum_s);
    tess_json_int(json, "n_repeat", row->n_repeat);
    tess_json_real(json, "bytes_per_s", row->bytes / row->median_s);
    write_positive(json, "share_of_roofline", row->share);
    tess_json_int(json, "threads", info->n_thread);
    tess_json_text(json, "isa", info->isa);
    tess_json_text(json, "device", info->device);
    tess_json_object_end(json);
}

static int print_json(cli *c, const bench_row *rows, int n_row, const tess_context_info *info,
                      double read_bytes_per_s)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.bench/1");
    write_positive(json, "read_bytes_per_s", read_bytes_per_s);
    tess_json_array_begin(json, "rows");
    for (int i = 0; i < n_row; i++) {
        write_row(json, &rows[i], info);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int is_wanted(const cli *c, const char *name)
{
    for (int i = 0; i < c->n_operand; i++) {
        if (strcmp(c->operands[i], name) == 0) {
            return 1;
        }
    }
    return c->n_operand == 0;
}

static int any_memory_bound(const cli *c)
{
    int found = 0;
    for (int i = 0; i < N_CASE; i++) {
        found |= is_wanted(c, cases[i].name) && is_memory_bound(&cases[i]);
    }
    return found;
}

static int check_names(const cli *c)
{
    const char *names[N_CASE];

    for (int i = 0; i < N_CASE; i++) {
        names[i] = cases[i].name;
    }
    for (int i = 0; i < c->n_operand; i++) {
        const char *nearest = suggest_nearest(c->operands[i], names, N_CASE);
        if (!nearest || strcmp(nearest, c->operands[i]) != 0) {
            return cli_usage_error(c, "unknown case '%s'%s%s%s", c->operands[i],
                                   nearest ? "; did you mean '" : "", nearest ? nearest : "",
                                   nearest ? "'?" : "");
        }
    }
    return 0;
}

// The ceiling is measured before and after, and the better one counts: a share must not look good
// because something else slowed the measurement down.
static int measure_ceiling(cli *c, const char *device, double *read_bytes_per_s)
{
    tess_device_ceilings ceilings;

    CLI_CALL(tess_device_benchmark(c->ctx, device, &ceilings, sizeof ceilings));
    if (ceilings.read_bytes_per_s > *read_bytes_per_s) {
        *read_bytes_per_s = ceilings.read_bytes_per_s;
    }
    return 0;
}

static void fill_shares(bench_row *rows, int n_row, double read_bytes_per_s)
{
    for (int i = 0; i < n_row; i++) {
        if (is_memory_bound(rows[i].what) && read_bytes_per_s > 0) {
            rows[i].share = rows[i].bytes / rows[i].median_s / read_bytes_per_s;
        }
    }
}

static void print_text(const bench_row *rows, int n_row, const tess_context_info *info,
                       double read_bytes_per_s)
{
    printf("%d threads, %s, %s", info->n_thread, info->isa, info->device);
    if (read_bytes_per_s > 0) {
        printf("; measured read bandwidth %.2f GB/s", read_bytes_per_s * 1e-9);
    }
    putchar('\n');
    printf("%-16s %-20s %13s %13s %9s\n", "case", "size", "median", "rate", "of read");
    for (int i = 0; i < n_row; i++) {
        print_row(&rows[i]);
    }
}

int cmd_bench(cli *c)
{
    bench_row rows[N_CASE];
    int n_row = 0;
    tess_context_info info;
    double read_bytes_per_s = 0;

    memset(rows, 0, sizeof rows);
    CLI_TRY(check_names(c));
    CLI_TRY(session_open(c, NULL));
    CLI_CALL(tess_context_get_info(c->ctx, &info, sizeof info));
    const int with_ceiling = any_memory_bound(c);
    if (with_ceiling) {
        CLI_TRY(measure_ceiling(c, info.device, &read_bytes_per_s));
    }
    for (int i = 0; i < N_CASE; i++) {
        if (is_wanted(c, cases[i].name)) {
            CLI_TRY(run_case(c, &cases[i], &rows[n_row]));
            n_row++;
        }
    }
    if (with_ceiling) {
        CLI_TRY(measure_ceiling(c, info.device, &read_bytes_per_s));
    }
    fill_shares(rows, n_row, read_bytes_per_s);
    if (c->values.json) {
        return print_json(c, rows, n_row, &info, read_bytes_per_s);
    }
    print_text(rows, n_row, &info, read_bytes_per_s);
    return 0;
}
