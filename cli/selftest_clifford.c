// The worked examples of clifford: products of sines in two and three dimensions, whose values and
// norms are known to ten digits.

#include "selftest.h"

#include <tessera/clifford.h>

#include <math.h>

enum { N_ROW = 2, N_FEATURE = 3, MAX_ITEM = 8 * N_ROW * N_FEATURE, MAX_WEIGHT = 20 * 3 * 3 };

typedef struct example {
    const char *metric;
    tess_clifford_kind kind;
    double first[8]; // z of the first row and feature
    double norms[4]; // of z, gx, gy, gw
} example;

static const example examples[] = {
    {"++",
     TESS_CLIFFORD_SGP,
     {0.7524289276, -0.8378661019, -0.3786577129, 1.0023333293},
     {4.2426144170, 5.1736963904, 4.7539605886, 5.0082728769}},
    {"+++",
     TESS_CLIFFORD_SGP,
     {0.3389264622, 0.0472028891, -0.3711764529, 0.8082131466, 0.2848660955, -0.5465644930,
      -0.1691496880, -0.3970531021},
     {4.8989766085, 2.1536315158, 2.9423405731, 3.1504495474}},
    {"++",
     TESS_CLIFFORD_FCGP,
     {1.4675397520, -1.1494225716, -0.7917322552, 0.8864544433},
     {4.2426375492, 5.5465761906, 4.8900493092, 3.6294863800}},
    {"+++",
     TESS_CLIFFORD_FCGP,
     {1.1688991767, -0.2026251777, -0.1984952225, 1.3905833081, -0.1858462914, -1.0533880804,
      0.5487385950, -1.0608611324},
     {4.8989790175, 2.1187276701, 2.4022235623, 2.1182547468}},
};

// The arrays of one example and views of them.
typedef struct trial {
    double x[MAX_ITEM], y[MAX_ITEM], gz[MAX_ITEM], w[MAX_WEIGHT];
    double z[MAX_ITEM], gx[MAX_ITEM], gy[MAX_ITEM], gw[MAX_WEIGHT];
    tess_array views[8]; // in this order
} trial;

static void fill_multivectors(double *items, int n_component, double by_component, double offset)
{
    for (int k = 0; k < n_component; k++) {
        for (int b = 0; b < N_ROW; b++) {
            for (int n = 0; n < N_FEATURE; n++) {
                *items++ = sin(by_component * k + 0.7 * b + 0.3 * n + offset);
            }
        }
    }
}

static void fill_weights(double *w, int n_path, int is_full)
{
    for (int outer = 0; outer < (is_full ? n_path : N_FEATURE); outer++) {
        for (int m = 0; m < (is_full ? N_FEATURE : 1); m++) {
            for (int inner = 0; inner < (is_full ? N_FEATURE : n_path); inner++) {
                const int p = is_full ? outer : inner;
                const int n = is_full ? inner : outer;
                *w++ = cos(0.5 * p + 0.9 * n + (is_full ? 0.4 * m : 0) + 0.1);
            }
        }
    }
}

static tess_status prepare(trial *t, const tess_clifford_algebra *algebra, int is_full)
{
    const int64_t activation[] = {algebra->n_component, N_ROW, N_FEATURE};
    const int64_t sparse[] = {N_FEATURE, algebra->n_path};
    const int64_t full[] = {algebra->n_path, N_FEATURE, N_FEATURE};
    double *const items[] = {t->x, t->y, t->gz, t->w, t->z, t->gx, t->gy, t->gw};
    tess_status status = TESS_OK;

    fill_multivectors(t->x, algebra->n_component, 1.1, 0.2);
    fill_multivectors(t->y, algebra->n_component, 1.7, 0.9);
    fill_multivectors(t->gz, algebra->n_component, 2.3, 0.4);
    fill_weights(t->w, algebra->n_path, is_full);
    for (int i = 0; i < 8 && status == TESS_OK; i++) {
        const int is_weight = i % 4 == 3;
        status = tess_array_init(&t->views[i], items[i], TESS_F64, is_weight && !is_full ? 2 : 3,
                                 is_weight ? is_full ? full : sparse : activation);
    }
    return status;
}

static tess_status run(tess_context *ctx, trial *t, const tess_clifford_op *op)
{
    const tess_clifford_arrays in = {
        .struct_size = sizeof in, .x = &t->views[0], .y = &t->views[1], .weight = &t->views[3]};
    const tess_clifford_arrays gradients = {.struct_size = sizeof gradients,
                                            .x = &t->views[5],
                                            .y = &t->views[6],
                                            .weight = &t->views[7]};
    const tess_status status = tess_clifford_forward(ctx, op, &in, &t->views[4], NULL, NULL, NULL);
    return status ? status
                  : tess_clifford_backward(ctx, op, &in, &t->views[2], NULL, &gradients, NULL);
}

static double norm_of(const tess_array *view)
{
    const double *items = view->data;
    double sum = 0;
    for (int64_t i = 0; i < tess_array_items(view); i++) {
        sum += items[i] * items[i];
    }
    return sqrt(sum);
}

static int agrees(const trial *t, const example *e, int n_component)
{
    static const int measured[] = {4, 5, 6, 7};
    const double tolerance = 1e-9; // ten digits are stored

    for (int k = 0; k < n_component; k++) {
        if (!(fabs(t->z[k * N_ROW * N_FEATURE] - e->first[k]) <= tolerance)) {
            return 0;
        }
    }
    for (int i = 0; i < 4; i++) {
        if (!(fabs(norm_of(&t->views[measured[i]]) - e->norms[i]) <= tolerance)) {
            return 0;
        }
    }
    return 1;
}

static int example_passes(tess_context *ctx, const example *e)
{
    trial t;
    tess_clifford_metric metric;
    tess_clifford_op op;
    tess_status status = tess_clifford_metric_parse(e->metric, &metric);

    if (status == TESS_OK) {
        status = tess_clifford_op_init(&op, sizeof op, e->kind, &metric, NULL, UINT64_MAX);
    }
    if (status == TESS_OK) {
        status = prepare(&t, &op.algebra, e->kind == TESS_CLIFFORD_FCGP);
    }
    if (status == TESS_OK) {
        status = run(ctx, &t, &op);
    }
    if (status != TESS_OK) {
        console_status(status);
        return 0;
    }
    return agrees(&t, e, op.algebra.n_component);
}

int selftest_clifford(tess_context *ctx)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        if (!example_passes(ctx, &examples[i])) {
            return 0;
        }
    }
    return 1;
}
