// tessera selftest: small cases on every device and instruction set against stored numbers.

#include "cli.h"
#include "job.h"
#include "selftest.h"

#include <tessera/autoreject.h>
#include <tessera/device.h>
#include <tessera/io.h>
#include <tessera/run.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_EPOCH = 7,
    N_CHAN = 5,
    N_TIME = 131,
    N_ROW = N_EPOCH * N_CHAN,
    MAX_ISA = 16,
    MAX_DEVICE = 16
};

// The data are multiples of 2^-24 (f32) or 2^-32 (f64) between -1/2 and 1/2, so that every
// difference is exact; the sums below, in these units, were computed with NumPy.
typedef struct stored {
    tess_dtype dtype;
    double unit;
    int64_t sum;          // of all rows
    int64_t weighted_sum; // row r counted r + 1 times: notices rows in the wrong place
} stored;

static const stored stored_f32 = {TESS_F32, 0x1p-24, 577524978, 10417279885};
static const stored stored_f64 = {TESS_F64, 0x1p-32, 147846394346, 2666823640697};

static uint32_t scramble(uint32_t i)
{
    uint32_t x = i * 2654435761U + 12345U;
    x = (x ^ x >> 16) * 0x45d9f3bU;
    x = (x ^ x >> 16) * 0x45d9f3bU;
    return x ^ x >> 16;
}

typedef struct trial {
    double x[N_ROW * N_TIME]; // room for either type
    double out[N_ROW];
    tess_array x_view;
    tess_array out_view;
} trial;

static void set_sample(trial *t, tess_dtype dtype, int64_t i, double value)
{
    if (dtype == TESS_F32) {
        ((float *)(void *)t->x)[i] = (float)value;
    } else {
        t->x[i] = value;
    }
}

static double get_row(const trial *t, tess_dtype dtype, int64_t row)
{
    return dtype == TESS_F32 ? (double)((const float *)(const void *)t->out)[row] : t->out[row];
}

static tess_status prepare(trial *t, const stored *want)
{
    static const int64_t shape[] = {N_EPOCH, N_CHAN, N_TIME};

    for (int64_t i = 0; i < N_ROW * N_TIME; i++) {
        const uint32_t bits = scramble((uint32_t)i) >> (want->dtype == TESS_F32 ? 8 : 0);
        set_sample(t, want->dtype, i, bits * want->unit - 0.5);
    }
    const tess_status status = tess_array_init(&t->x_view, t->x, want->dtype, 3, shape);
    return status ? status : tess_array_init(&t->out_view, t->out, want->dtype, 2, shape);
}

// nan_row: this row must be NaN and is left out, -1: none.
static int agrees(const trial *t, const stored *want, int64_t nan_row, double nan_row_value)
{
    int64_t sum = 0;
    int64_t weighted_sum = 0;

    for (int64_t r = 0; r < N_ROW; r++) {
        double value = get_row(t, want->dtype, r);
        if (isnan(value) != (r == nan_row)) {
            return 0;
        }
        value = r == nan_row ? nan_row_value : value;
        const int64_t units = (int64_t)(value / want->unit);
        sum += units;
        weighted_sum += (r + 1) * units;
    }
    return sum == want->sum && weighted_sum == want->weighted_sum;
}

// The whole way of a long run: source, plan, tiles of two epochs, sink.
static tess_status run_tiles(tess_context *ctx, trial *t)
{
    tess_autoreject_ptp_config config;
    tess_source *source = NULL;
    tess_sink *sink = NULL;
    tess_plan *plan = NULL;
    tess_run *run = NULL;

    tess_autoreject_ptp_config_init(&config, sizeof config);
    config.tile_epochs = 2;
    tess_status status = tess_source_from_array(ctx, &t->x_view, &source);
    status = status ? status : tess_sink_from_array(ctx, &t->out_view, &sink);
    status = status ? status : tess_autoreject_ptp_plan_create(ctx, source, &config, &plan);
    status = status ? status : tess_run_create(ctx, plan, source, sink, NULL, &run);
    status = status ? status : tess_run_execute(run);
    if (status != TESS_OK) {
        console_status(status);
    }
    tess_run_destroy(run);
    tess_plan_destroy(plan);
    tess_sink_close(sink);
    tess_source_close(source);
    return status;
}

static int check_tiles(tess_context *ctx, trial *t, const stored *want)
{
    return prepare(t, want) == TESS_OK && run_tiles(ctx, t) == TESS_OK && agrees(t, want, -1, 0);
}

static int check_tiles_f32(tess_context *ctx, trial *t)
{
    return check_tiles(ctx, t, &stored_f32);
}

static int check_tiles_f64(tess_context *ctx, trial *t)
{
    return check_tiles(ctx, t, &stored_f64);
}

static int check_nan(tess_context *ctx, trial *t)
{
    const int64_t row = 17;

    if (!check_tiles_f32(ctx, t)) {
        return 0;
    }
    const double lost = get_row(t, TESS_F32, row);
    set_sample(t, TESS_F32, row * N_TIME + 100, (double)NAN);
    return run_tiles(ctx, t) == TESS_OK && agrees(t, &stored_f32, row, lost);
}

static int check_decode(tess_context *ctx, trial *t)
{
    (void)t;
    return selftest_decode(ctx);
}

static int check_fit(tess_context *ctx, trial *t)
{
    (void)t;
    return selftest_autoreject(ctx);
}

static int check_xpcs(tess_context *ctx, trial *t)
{
    (void)t;
    return selftest_xpcs(ctx);
}

static int check_clifford(tess_context *ctx, trial *t)
{
    (void)t;
    return selftest_clifford(ctx);
}

typedef struct check {
    const char *name;
    int (*passes)(tess_context *ctx, trial *t);
    int cpu_only; // no such stages on other devices
} check;

static const check checks[] = {
    {"autoreject ptp f32", check_tiles_f32, 0}, {"autoreject ptp f64", check_tiles_f64, 0},
    {"autoreject ptp NaN", check_nan, 0},       {"autoreject fit", check_fit, 1},
    {"decode exact", check_decode, 1},          {"xpcs fit", check_xpcs, 1},
    {"clifford products", check_clifford, 0},
};

typedef struct tally {
    tess_json *json; // NULL: print lines
    trial *t;
    int n_passed;
    int n_failed;
} tally;

static void report(tally *all, const char *device, const char *isa, const char *name, int passed)
{
    all->n_passed += passed;
    all->n_failed += !passed;
    if (!all->json) {
        printf("%-8s %-8s %-20s %s\n", device, isa, name, passed ? "ok" : "FAILED");
        return;
    }
    tess_json_object_begin(all->json, NULL);
    tess_json_text(all->json, "device", device);
    tess_json_text(all->json, "isa", isa);
    tess_json_text(all->json, "check", name);
    tess_json_bool(all->json, "passed", passed);
    tess_json_object_end(all->json);
}

static int run_checks(cli *c, tally *all, const char *device, const char *isa)
{
    tess_context *ctx = NULL;

    CLI_TRY(session_context(c, isa, device, &ctx));
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        if (checks[i].cpu_only && strcmp(device, "cpu") != 0) {
            continue;
        }
        report(all, device, isa ? isa : "-", checks[i].name, checks[i].passes(ctx, all->t));
    }
    tess_context_destroy(ctx);
    return 0;
}

static int run_everywhere(cli *c, tally *all)
{
    static tess_device_info devices[MAX_DEVICE];
    tess_isa_info isas[MAX_ISA];
    int64_t n_device = 0;
    const int64_t n_isa = tess_isa_list(c->ctx, isas, MAX_ISA);

    for (int64_t i = 0; i < n_isa && i < MAX_ISA; i++) {
        if (isas[i].built && isas[i].usable) {
            CLI_TRY(run_checks(c, all, "cpu", isas[i].name));
        }
    }
    for (int i = 0; i < MAX_DEVICE; i++) {
        devices[i].struct_size = sizeof devices[i];
    }
    CLI_CALL(tess_device_list(c->ctx, devices, MAX_DEVICE, &n_device));
    for (int64_t i = 0; i < n_device && i < MAX_DEVICE; i++) {
        if (strcmp(devices[i].backend, "cpu") != 0 && devices[i].score > 0) {
            CLI_TRY(run_checks(c, all, devices[i].id, NULL));
        }
    }
    const char *why = tess_device_why_not(c->ctx, "cuda");
    if (why[0] && !all->json) {
        printf("cuda     skipped: %s\n", why);
    }
    return 0;
}

static int run_selftest(cli *c, tally *all)
{
    if (c->values.json) {
        CLI_CALL(tess_json_create(c->ctx, 2, &all->json));
        tess_json_object_begin(all->json, NULL);
        tess_json_text(all->json, "schema", "tessera.selftest/1");
        tess_json_array_begin(all->json, "checks");
    }
    CLI_TRY(run_everywhere(c, all));
    if (!all->json) {
        printf("%d passed, %d failed\n", all->n_passed, all->n_failed);
        return all->n_failed > 0;
    }
    tess_json_array_end(all->json);
    tess_json_int(all->json, "n_passed", all->n_passed);
    tess_json_int(all->json, "n_failed", all->n_failed);
    tess_json_object_end(all->json);
    CLI_TRY(job_print_json(all->json));
    return all->n_failed > 0;
}

int cmd_selftest(cli *c)
{
    tally all = {.t = malloc(sizeof(trial))};

    if (!all.t) {
        return console_fail(71, "out of memory");
    }
    int code = session_open(c, NULL);
    code = code ? code : run_selftest(c, &all);
    tess_json_destroy(all.json);
    free(all.t);
    return code;
}
