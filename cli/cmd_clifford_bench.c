// tessera clifford bench: times over batch sizes and features.

#include "clifford.h"
#include "job.h"
#include "text.h"

#include <tessera/sys/clifford_bench.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZES = 64 };

typedef struct bench_sweep {
    tess_clifford_op op;
    tess_dtype dtype;
    double seconds;
    double *batches;
    double *features;
    int64_t n_batch;
    int64_t n_feature;
    tess_clifford_timing *timings;
    clifford_peer peer;
} bench_sweep;

static int find_name(const char *const *names, int n, const char *wanted)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], wanted) == 0) {
            return i;
        }
    }
    return 0;
}

static tess_clifford_kind kind_of(const cli *c)
{
    static const char *const names[] = {"sgp",    "gate",  "norm",    "fcgp",
                                        "linear", "layer", "fc_layer"};
    static const tess_clifford_kind kinds[] = {
        TESS_CLIFFORD_SGP,    TESS_CLIFFORD_GATE,  TESS_CLIFFORD_NORM,    TESS_CLIFFORD_FCGP,
        TESS_CLIFFORD_LINEAR, TESS_CLIFFORD_LAYER, TESS_CLIFFORD_FC_LAYER};
    const char *wanted = c->values.clifford.operation;
    return kinds[wanted ? find_name(names, 7, wanted) : 0];
}

static tess_dtype dtype_of(const cli *c)
{
    static const char *const names[] = {"f32", "f64", "bf16", "f16"};
    static const tess_dtype dtypes[] = {TESS_F32, TESS_F64, TESS_BF16, TESS_F16};
    return dtypes[c->values.dtype ? find_name(names, 4, c->values.dtype) : 0];
}

static int read_sizes(const cli *c, const char *option, const char *text, const char *usual,
                      double **sizes, int64_t *n)
{
    CLI_TRY(cli_parse_reals(c, option, text ? text : usual, sizes, n));
    if (*n > MAX_SIZES) {
        return cli_usage_error(c, "--%s has %lld sizes, at most %d", option, (long long)*n,
                               MAX_SIZES);
    }
    for (int64_t i = 0; i < *n; i++) {
        if (!((*sizes)[i] >= 1 && (*sizes)[i] <= 1e9 && (*sizes)[i] == floor((*sizes)[i]))) {
            return cli_usage_error(c, "--%s: %g is no whole number from 1 to 1e9", option,
                                   (*sizes)[i]);
        }
    }
    return 0;
}

static int read_sweep(cli *c, bench_sweep *s)
{
    const cli_clifford_values *v = &c->values.clifford;
    double *seconds = NULL;
    int64_t n = 0;

    CLI_TRY(read_sizes(c, "batch", v->batch, "1024,2048,4096,8192", &s->batches, &s->n_batch));
    CLI_TRY(
        read_sizes(c, "features", v->features, "128,256,512,1024", &s->features, &s->n_feature));
    CLI_TRY(cli_parse_reals(c, "seconds", v->seconds ? v->seconds : "0.2", &seconds, &n));
    s->seconds = seconds[0];
    free(seconds);
    if (n != 1 || !(s->seconds > 0 && s->seconds <= 3600)) {
        return cli_usage_error(c, "--seconds: '%s' is no time from 0 to 3600 s", v->seconds);
    }
    s->dtype = dtype_of(c);
    s->timings = calloc((size_t)(s->n_batch * s->n_feature), sizeof *s->timings);
    return s->timings ? 0 : console_fail(71, "no memory for the timings");
}

static void print_head(const bench_sweep *s)
{
    printf("%8s %8s %11s %11s %12s %12s %9s %9s %10s", "batch", "features", "forward", "fwd+bwd",
           "fwd speed-up", "f+b speed-up", "GB/s", "Gflop/s", "memory");
    if (s->peer.rows) {
        printf(" %11s %11s %9s %9s", "peer fwd", "peer f+b", "fwd ratio", "f+b ratio");
    }
    printf("\n");
}

static void print_number(double value, int width, int decimals)
{
    if (value > 0 && isfinite(value)) {
        printf(" %*.*f", width, decimals, value);
    } else {
        printf(" %*s", width, "-");
    }
}

// Times of the peer, and how often ours go into them.
static void print_peer(const bench_sweep *s, const tess_clifford_timing *t)
{
    const clifford_peer_row *row = clifford_peer_find(&s->peer, t->n_row, t->n_feature);
    print_number(row ? row->forward_s * 1e3 : 0, 8, 4);
    printf(" ms");
    print_number(row ? row->forward_backward_s * 1e3 : 0, 8, 4);
    printf(" ms");
    print_number(row ? row->forward_s / t->forward_s : 0, 9, 2);
    print_number(row ? row->forward_backward_s / t->forward_backward_s : 0, 9, 2);
}

static void print_timing(const bench_sweep *s, const tess_clifford_timing *t)
{
    char memory[32];
    text_bytes(memory, sizeof memory, t->memory_bytes);
    printf("%8lld %8lld %8.4f ms %8.4f ms", (long long)t->n_row, (long long)t->n_feature,
           t->forward_s * 1e3, t->forward_backward_s * 1e3);
    print_number(t->separate_forward_s / t->forward_s, 12, 2);
    print_number(t->separate_forward_backward_s / t->forward_backward_s, 12, 2);
    print_number(t->forward_bytes / t->forward_s * 1e-9, 9, 1);
    print_number(t->forward_flops / t->forward_s * 1e-9, 9, 1);
    printf(" %10s", memory);
    if (s->peer.rows) {
        print_peer(s, t);
    }
    printf("\n");
    fflush(stdout);
}

static int run_sweep(cli *c, bench_sweep *s)
{
    if (!c->values.json) {
        print_head(s);
    }
    for (int64_t i = 0; i < s->n_batch; i++) {
        for (int64_t j = 0; j < s->n_feature; j++) {
            tess_clifford_timing *t = &s->timings[i * s->n_feature + j];
            CLI_TRY(job_status(
                c, tess_clifford_measure(c->ctx, &s->op, s->dtype, (int64_t)s->batches[i],
                                         (int64_t)s->features[j], s->seconds, t, sizeof *t)));
            if (!c->values.json) {
                print_timing(s, t);
            }
        }
    }
    return 0;
}

static void write_timing(tess_json *json, const bench_sweep *s, const tess_clifford_timing *t)
{
    const clifford_peer_row *row = clifford_peer_find(&s->peer, t->n_row, t->n_feature);
    tess_json_object_begin(json, NULL);
    tess_json_int(json, "batch", t->n_row);
    tess_json_int(json, "features", t->n_feature);
    tess_json_real(json, "forward_s", t->forward_s);
    tess_json_real(json, "forward_backward_s", t->forward_backward_s);
    tess_json_real(json, "separate_forward_s", t->separate_forward_s);
    tess_json_real(json, "separate_forward_backward_s", t->separate_forward_backward_s);
    tess_json_int(json, "memory_bytes", (int64_t)t->memory_bytes);
    tess_json_int(json, "separate_memory_bytes", (int64_t)t->separate_memory_bytes);
    tess_json_real(json, "forward_bytes", t->forward_bytes);
    tess_json_real(json, "forward_backward_bytes", t->forward_backward_bytes);
    tess_json_real(json, "forward_flops", t->forward_flops);
    tess_json_real(json, "forward_backward_flops", t->forward_backward_flops);
    tess_json_int(json, "n_sample", t->n_sample);
    if (row) {
        tess_json_real(json, "peer_forward_s", row->forward_s);
        tess_json_real(json, "peer_forward_backward_s", row->forward_backward_s);
    }
    tess_json_object_end(json);
}

static const char *operation_of(const cli *c)
{
    return c->values.clifford.operation ? c->values.clifford.operation : "sgp";
}

static int print_json(cli *c, const bench_sweep *s)
{
    char signs[TESS_CLIFFORD_MAX_SYMBOLS + 1];
    tess_context_info info;
    tess_json *json = NULL;

    tess_clifford_metric_text(&s->op.algebra.metric, signs, sizeof signs);
    CLI_CALL(tess_context_get_info(c->ctx, &info, sizeof info));
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.clifford.bench/1");
    tess_json_text(json, "op", operation_of(c));
    tess_json_text(json, "metric", signs);
    tess_json_text(json, "dtype", tess_dtype_name(s->dtype));
    tess_json_text(json, "device", info.device);
    tess_json_text(json, "isa", info.isa);
    tess_json_int(json, "threads", info.n_thread);
    tess_json_array_begin(json, "rows");
    for (int64_t i = 0; i < s->n_batch * s->n_feature; i++) {
        write_timing(json, s, &s->timings[i]);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int bench(cli *c, bench_sweep *s)
{
    tess_clifford_algebra algebra;
    tess_clifford_config config;

    tess_clifford_config_init(&config, sizeof config);
    CLI_TRY(clifford_read_algebra(c, 0, "+++", &algebra));
    CLI_TRY(read_sweep(c, s));
    CLI_TRY(session_open(c, (void *const[]){&config}));
    CLI_CALL(tess_clifford_op_init(&s->op, sizeof s->op, kind_of(c), &algebra.metric, &config,
                                   UINT64_MAX));
    if (c->values.clifford.peer) {
        char signs[TESS_CLIFFORD_MAX_SYMBOLS + 1];
        tess_clifford_metric_text(&algebra.metric, signs, sizeof signs);
        CLI_TRY(clifford_peer_read(c, c->values.clifford.peer, operation_of(c), signs,
                                   tess_dtype_name(s->dtype), &s->peer));
    }
    CLI_TRY(run_sweep(c, s));
    if (c->values.report) {
        CLI_CALL(tess_clifford_bench_report(c->ctx, &s->op, s->dtype, s->timings, s->n_batch,
                                            s->n_feature, c->values.report, c->values.overwrite));
    }
    return c->values.json ? print_json(c, s) : 0;
}

int cmd_clifford_bench(cli *c)
{
    bench_sweep s = {0};
    const int code = bench(c, &s);
    free(s.batches);
    free(s.features);
    free(s.timings);
    free(s.peer.rows);
    return code;
}
