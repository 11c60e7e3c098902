// Cases of clifford: products and layers of the algebra of space, forward and with gradients.

#include "bench.h"
#include "job.h"

#include <tessera/sys/clifford_bench.h>

static const double SECONDS = 0.05; // for each of the medians

typedef struct clifford_sizes {
    tess_clifford_kind kind;
    int64_t n_row;
    int64_t n_feature;
    int with_gradients;
} clifford_sizes;

static int measure(cli *c, const bench_case *self, bench_row *row)
{
    const clifford_sizes *sizes = self->sizes;
    tess_clifford_metric metric;
    tess_clifford_config config;
    tess_clifford_op op;
    tess_clifford_timing timing;

    tess_clifford_config_init(&config, sizeof config);
    CLI_CALL(tess_clifford_metric_parse("+++", &metric));
    CLI_CALL(tess_clifford_op_init(&op, sizeof op, sizes->kind, &metric, &config, UINT64_MAX));
    CLI_TRY(
        job_status(c, tess_clifford_measure(c->ctx, &op, TESS_F32, sizes->n_row, sizes->n_feature,
                                            SECONDS, &timing, sizeof timing)));
    const double bytes =
        sizes->with_gradients ? timing.forward_backward_bytes : timing.forward_bytes;
    const double flops =
        sizes->with_gradients ? timing.forward_backward_flops : timing.forward_flops;
    row->median_s = sizes->with_gradients ? timing.forward_backward_s : timing.forward_s;
    row->n_repeat = timing.n_sample;
    row->amount = self->bound == BENCH_READ ? bytes : flops;
    return 0;
}

static const clifford_sizes sgp = {TESS_CLIFFORD_SGP, 4096, 512, 0};
static const clifford_sizes sgp_gradients = {TESS_CLIFFORD_SGP, 4096, 512, 1};
static const clifford_sizes fcgp = {TESS_CLIFFORD_FCGP, 1024, 128, 0};
static const clifford_sizes fcgp_gradients = {TESS_CLIFFORD_FCGP, 1024, 128, 1};
static const clifford_sizes layer = {TESS_CLIFFORD_LAYER, 1024, 128, 0};
static const clifford_sizes layer_gradients = {TESS_CLIFFORD_LAYER, 1024, 128, 1};

static const bench_case cases[] = {
    {"sgp3-fwd", "weighted product, 4096 x 512", 0, BENCH_READ, measure, &sgp},
    {"sgp3-fwdbwd", "and its gradients, 4096 x 512", 0, BENCH_READ, measure, &sgp_gradients},
    {"fcgp3-fwd", "fully connected product, 1024 x 128", 0, BENCH_F32, measure, &fcgp},
    {"fcgp3-fwdbwd", "and its gradients, 1024 x 128", 0, BENCH_F32, measure, &fcgp_gradients},
    {"layer3-fwd", "layer, 1024 x 128", 1, BENCH_F32, measure, &layer},
    {"layer3-fwdbwd", "and its gradients, 1024 x 128", 1, BENCH_F32, measure, &layer_gradients},
};

const bench_group bench_clifford = {"clifford", cases, sizeof cases / sizeof cases[0]};
