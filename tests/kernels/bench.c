// Times every kernel on every usable set: `test_kernels --bench [KERNEL]`.
//
// Medians of repeated runs. A case named "stream" is larger than the caches; the others stay
// within.

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_BYTES = 16 << 10, STREAM_BYTES = 512 << 20, N_REPEAT = 7, FMA_ROUNDS = 1 << 14 };

typedef struct workload {
    void *in; // STREAM_BYTES, filled with f32 or f64 in [0.5, 1.5)
    void *out[2];
} workload;

typedef struct bench_case {
    const char *name;
    size_t n_item;
    size_t bytes; // read and written per run
    int is_f64;
    void (*run)(const tess_kernels *set, const workload *w, size_t n_item);
} bench_case;

#define MAP_RUN(name)                                                                              \
    static void run_##name(const tess_kernels *set, const workload *w, size_t n)                   \
    {                                                                                              \
        set->name(w->in, n, w->out[0]);                                                            \
    }
MAP_RUN(exp_f32)
MAP_RUN(exp_f64)
MAP_RUN(log_f32)
MAP_RUN(log_f64)
MAP_RUN(erf_f32)
MAP_RUN(erf_f64)

static void run_sincos_f32(const tess_kernels *set, const workload *w, size_t n)
{
    set->sincos_f32(w->in, n, w->out[0], w->out[1]);
}

static void run_sincos_f64(const tess_kernels *set, const workload *w, size_t n)
{
    set->sincos_f64(w->in, n, w->out[0], w->out[1]);
}

#define PTP_RUN(T, row)                                                                            \
    static void run_ptp_##T##_##row(const tess_kernels *set, const workload *w, size_t n)          \
    {                                                                                              \
        set->ptp_##T(w->in, n / (row), (ptrdiff_t)(row), (row), w->out[0]);                        \
    }
PTP_RUN(f32, 16)
PTP_RUN(f64, 16)
PTP_RUN(f32, 1024)
PTP_RUN(f64, 1024)

// A tile of 16 samples of 600 rows: medians of one split, and its curve. n counts samples.
enum { TILE_ROWS = 600, TILE_VALID = TILE_ROWS / 5, TILE_TRAIN = TILE_ROWS - TILE_VALID };

static void run_autoreject_median(const tess_kernels *set, const workload *w, size_t n)
{
    static float rounded[TILE_VALID * 16], gaps[16];
    static double median[16];
    int32_t index[TILE_VALID];
    for (int32_t i = 0; i < TILE_VALID; i++) {
        index[i] = 5 * i;
    }
    for (size_t first = 0; first < n; first += 16) {
        // Other rows every time: a guess is no more than that.
        const double *x = (const double *)w->in + first % 512 * TILE_ROWS;
        set->autoreject_median(x, index, TILE_VALID, rounded, gaps, median);
    }
}

static void run_autoreject_curve(const tess_kernels *set, const workload *w, size_t n)
{
    static double inverse[TILE_TRAIN];
    const double median[16] = {0};
    uint64_t validation[(TILE_ROWS + 63) / 64] = {0};
    for (size_t i = 0; i < TILE_ROWS; i++) {
        validation[i / 64] |= (uint64_t)(i % 5 == 0) << (i % 64);
    }
    for (size_t i = 0; i < TILE_TRAIN; i++) {
        inverse[i] = 1 / (double)(i + 1);
    }
    for (size_t first = 0; first < n; first += 16) {
        set->autoreject_curve(w->in, TILE_ROWS, validation, 1, inverse, median, w->out[0],
                              TILE_TRAIN);
    }
}

static void run_probe_read(const tess_kernels *set, const workload *w, size_t n)
{
    set->probe_read(w->in, n, w->out[0]);
}

static void run_probe_fma_f32(const tess_kernels *set, const workload *w, size_t n)
{
    set->probe_fma_f32(n, w->out[0], w->out[1]);
}

static void run_probe_fma_f64(const tess_kernels *set, const workload *w, size_t n)
{
    set->probe_fma_f64(n, w->out[0], w->out[1]);
}

// n tiles of 16 columns, or the same of one epoch of 16 n columns, 128 channels from 128.
static void run_mix_tiles(const tess_kernels *set, const workload *w, size_t n)
{
    const double *x = w->in;
    for (size_t e = 0; e < n; e++) {
        set->mix_f64(x, 128, 128, x + (128 + 16 * e) * 128, 16, NULL, NULL, 128, 16,
                     (double *)w->out[0] + e * 128 * 16, 16, NULL);
    }
    *(double *)w->out[1] = 2.0 * 128 * 128 * 16 * (double)n;
}

static void run_mix_epoch(const tess_kernels *set, const workload *w, size_t n)
{
    const double *x = w->in;
    set->mix_f64(x, 128, 128, x + 128 * 128, 16 * n, NULL, NULL, 128, 16 * n, w->out[0], 16 * n,
                 NULL);
    *(double *)w->out[1] = 2.0 * 128 * 128 * 16 * (double)n;
}

// Fifty predictions of 12 channels from 32, and the medians of 50; an item is one sample of one
// channel.
enum { N_SUBSET = 50, N_SOURCE = 32, N_PREDICTED = TESS_RANSAC_ROWS * TESS_RANSAC_TILE };

static void run_ransac_predict(const tess_kernels *set, const workload *w, size_t n)
{
    static int32_t from[N_SUBSET * N_SOURCE];
    for (int32_t i = 0; i < N_SUBSET * N_SOURCE; i++) {
        from[i] = i * 7 % 128;
    }
    for (size_t i = 0; i < n; i += N_PREDICTED) {
        set->ransac_predict((const double *)w->in + N_PREDICTED * 128, TESS_RANSAC_ROWS, from,
                            N_SOURCE, N_SUBSET, w->in, 0, w->in, w->out[0]);
    }
}

static void run_ransac_median(const tess_kernels *set, const workload *w, size_t n)
{
    for (size_t i = 0; i < n; i += TESS_RANSAC_TILE) {
        set->ransac_median((double *)w->in + i * N_SUBSET, N_SUBSET, w->out[0]);
    }
}

// A solution for one channel from n others: items are channels.
static void run_spectrum(const tess_kernels *set, const workload *w, size_t n)
{
    double *a = w->out[0];
    double *b = a + n * n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            const double apart = (double)(i - j) / 20;
            a[i * n + j] = 1 / (1 + apart * apart) + (i == j ? 1e-3 : 0);
        }
        b[i] = ((const double *)w->in)[i];
    }
    size_t rank = 0;
    set->spectrum_solve(a, n, b, 1, 1e-4, w->out[1], &rank);
}

// A tile of 256 columns and 23 angles, all of its points ordinary; an item is one point. The
// kernels are those of one pass with its Hessian, or of a simulation.
enum { XP_ANGLES = 23, XP_POINTS = XP_ANGLES * TESS_XP_RUN };

static tess_xp_source xpcs_source(void)
{
    static double sums[8][1 + TESS_XP_RUN];
    tess_xp_source s = {.diffusion = sums[0],
                        .shear = sums[4],
                        .w2 = 0.01,
                        .power = 4,
                        .column = 1,
                        .n = TESS_XP_RUN};
    for (int k = 0; k < 8; k++) {
        for (int i = 0; i <= TESS_XP_RUN; i++) {
            sums[k][i] = (0.1 + 0.01 * k) * i;
        }
    }
    for (int k = 0; k < 3; k++) {
        s.diffusion_d[k] = sums[1 + k];
        s.shear_d[k] = sums[5 + k];
    }
    return s;
}

static void run_xpcs_pass_f64(const tess_kernels *set, const workload *w, size_t n)
{
    static tess_xp_pairs_f64 pairs;
    static tess_xp_angle_sums_f64 angles;
    static double m[TESS_XP_RUN], t[TESS_XP_RUN], g[TESS_XP_RUN];
    const tess_xp_source source = xpcs_source();
    static double sums[8 * TESS_XP_N_SUM];
    double h[TESS_XP_N_OUTER];
    for (size_t first = 0; first < n; first += XP_POINTS) {
        memset(&angles, 0, sizeof angles);
        set->xpcs_pairs(&source, &pairs);
        for (int a = 0; a < XP_ANGLES; a++) {
            const tess_xp_terms_f64 terms = {.m = m, .t = t, .g = g, .weight = 0.1, .tau = 0.2};
            set->xpcs_points_f64(&pairs, TESS_XP_RUN, 0.5 + a, 4, m, t);
            set->xpcs_centre_f64((const double *)w->in + (first + (size_t)a * TESS_XP_RUN),
                                 TESS_XP_RUN, 1, g);
            set->xpcs_sums_f64(&pairs, &terms, TESS_XP_RUN, TESS_XP_HESSIAN, sums, &angles);
        }
        set->xpcs_outer(&pairs, &angles, TESS_XP_RUN, 7, h);
    }
    memcpy(w->out[0], sums, sizeof sums);
}

static void run_xpcs_pass_mixed(const tess_kernels *set, const workload *w, size_t n)
{
    static tess_xp_pairs_f64 pairs;
    static tess_xp_pairs_f32 narrow;
    static tess_xp_angle_sums_f64 wide;
    static tess_xp_angle_sums_f32 angles;
    static float m[TESS_XP_RUN], t[TESS_XP_RUN], g[TESS_XP_RUN];
    static double centred[TESS_XP_RUN];
    const tess_xp_source source = xpcs_source();
    static double sums[8 * TESS_XP_N_SUM];
    double h[TESS_XP_N_OUTER];
    for (size_t first = 0; first < n; first += XP_POINTS) {
        memset(&angles, 0, sizeof angles);
        set->xpcs_pairs(&source, &pairs);
        set->xpcs_narrow_pairs(&pairs, TESS_XP_RUN, &narrow);
        for (int a = 0; a < XP_ANGLES; a++) {
            const tess_xp_terms_f32 terms = {.m = m, .t = t, .g = g, .weight = 0.1, .tau = 0.2};
            set->xpcs_points_f32(&narrow, TESS_XP_RUN, 0.5 + a, 4, m, t);
            set->xpcs_centre_f32((const float *)w->in + (first + (size_t)a * TESS_XP_RUN),
                                 TESS_XP_RUN, 1, centred);
            set->xpcs_narrow(centred, TESS_XP_RUN, g);
            set->xpcs_sums_f32(&narrow, &terms, TESS_XP_RUN, TESS_XP_HESSIAN, sums, &angles);
        }
        set->xpcs_widen(&angles, TESS_XP_RUN, &wide);
        set->xpcs_outer(&pairs, &wide, TESS_XP_RUN, 7, h);
    }
    memcpy(w->out[0], sums, sizeof sums);
}

static void run_xpcs_static(const tess_kernels *set, const workload *w, size_t n)
{
    static tess_xp_pairs_f64 pairs;
    tess_xp_source source = xpcs_source();
    source.shear = NULL;
    double sums[TESS_XP_N_STATIC_SUM];
    for (size_t first = 0; first + XP_POINTS <= n; first += XP_POINTS) {
        set->xpcs_pairs(&source, &pairs);
        set->xpcs_static_pairs(&pairs, TESS_XP_RUN, sums);
        for (int a = 0; a < XP_ANGLES; a++) {
            set->xpcs_static_f64(&pairs, (const double *)w->in + first + (size_t)a * TESS_XP_RUN,
                                 TESS_XP_RUN, 1, sums);
        }
    }
    memcpy(w->out[0], sums, sizeof sums);
}

static void run_xpcs_simulate(const tess_kernels *set, const workload *w, size_t n)
{
    static tess_xp_pairs_f64 pairs;
    static double m[TESS_XP_RUN];
    const tess_xp_source source = xpcs_source();
    tess_xp_simulation s = {.contrast = 0.3, .offset = 1.1, .sigma = 0.02, .n = TESS_XP_RUN};
    for (size_t first = 0; first < n; first += XP_POINTS) {
        set->xpcs_pairs(&source, &pairs);
        for (int a = 0; a < XP_ANGLES; a++, s.key += 512) {
            set->xpcs_points_f64(&pairs, TESS_XP_RUN, 0.5 + a, 4, m, NULL);
            set->xpcs_simulate_f64(&s, m, w->out[0], w->out[1]);
        }
    }
}

// n rows of depth 256 times 512 columns; a flop count is left as by the probes.
#define GEMM_RUN(kernel, SCALAR)                                                                   \
    static void run_##kernel(const tess_kernels *set, const workload *w, size_t n)                 \
    {                                                                                              \
        const SCALAR *x = w->in;                                                                   \
        set->kernel(x, n, x + 256 * TESS_CL_GEMM_ROW, 256, 512, w->out[0], 512, 0);                \
        *(double *)w->out[1] = 2.0 * 256 * 512 * (double)n;                                        \
    }
GEMM_RUN(clifford_gemm_f32, float)
GEMM_RUN(clifford_gemm_t_f32, float)
GEMM_RUN(clifford_gemm_f64, double)
GEMM_RUN(clifford_gemm_t_f64, double)

#define SMALL(T, n_array, run) SMALL_BYTES / sizeof(T), (n_array)*SMALL_BYTES, sizeof(T) == 8, run
#define STREAM(T, run) STREAM_BYTES / sizeof(T), STREAM_BYTES, sizeof(T) == 8, run
static const bench_case cases[] = {
    {"ptp_f32 rows of 16", SMALL(float, 1, run_ptp_f32_16)},
    {"ptp_f32 rows of 1024", SMALL(float, 1, run_ptp_f32_1024)},
    {"ptp_f32 stream", STREAM(float, run_ptp_f32_1024)},
    {"ptp_f64 rows of 16", SMALL(double, 1, run_ptp_f64_16)},
    {"ptp_f64 rows of 1024", SMALL(double, 1, run_ptp_f64_1024)},
    {"ptp_f64 stream", STREAM(double, run_ptp_f64_1024)},
    {"exp_f32", SMALL(float, 2, run_exp_f32)},
    {"exp_f64", SMALL(double, 2, run_exp_f64)},
    {"log_f32", SMALL(float, 2, run_log_f32)},
    {"log_f64", SMALL(double, 2, run_log_f64)},
    {"sincos_f32", SMALL(float, 3, run_sincos_f32)},
    {"sincos_f64", SMALL(double, 3, run_sincos_f64)},
    {"erf_f32", SMALL(float, 2, run_erf_f32)},
    {"erf_f64", SMALL(double, 2, run_erf_f64)},
    {"ransac_predict", N_PREDICTED, N_PREDICTED *N_SUBSET * 8, 1, run_ransac_predict},
    {"ransac_median", N_PREDICTED, N_PREDICTED *N_SUBSET * 8, 1, run_ransac_median},
    {"autoreject_median", 1024, 1024 * TILE_VALID * sizeof(double), 1, run_autoreject_median},
    {"autoreject_curve", 1024, 1024 * TILE_TRAIN * sizeof(double), 1, run_autoreject_curve},
    {"probe_read stream", STREAM(char, run_probe_read)},
    {"probe_fma_f32", FMA_ROUNDS, 0, 0, run_probe_fma_f32},
    {"probe_fma_f64", FMA_ROUNDS, 0, 1, run_probe_fma_f64},
    {"spectrum_solve", 305, 305 * 305 * 8, 1, run_spectrum},
    {"xpcs_pass f64", XP_POINTS * 4, XP_POINTS * 4 * 8, 1, run_xpcs_pass_f64},
    {"xpcs_pass mixed", XP_POINTS * 4, XP_POINTS * 4 * 4, 0, run_xpcs_pass_mixed},
    {"xpcs_static stream", STREAM(double, run_xpcs_static)},
    {"xpcs_simulate", XP_POINTS, XP_POINTS * 8, 1, run_xpcs_simulate},
    {"mix_f64 tiles of 16", 62, 0, 1, run_mix_tiles},
    {"mix_f64 rows of 992", 62, 0, 1, run_mix_epoch},
    {"clifford_gemm_f32", 168, 0, 0, run_clifford_gemm_f32},
    {"clifford_gemm_t_f32", 168, 0, 0, run_clifford_gemm_t_f32},
    {"clifford_gemm_f64", 168, 0, 1, run_clifford_gemm_f64},
    {"clifford_gemm_t_f64", 168, 0, 1, run_clifford_gemm_t_f64},
};

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Median seconds of one run; a short run is repeated until the clock can see it.
static double median_s(const bench_case *c, const tess_kernels *set, const workload *w)
{
    double sample[N_REPEAT];
    size_t n_loop = 1;
    for (int k = -1; k < N_REPEAT;) { // round -1 warms up and finds n_loop
        const double start_s = check_now_s();
        for (size_t loop = 0; loop < n_loop; loop++) {
            c->run(set, w, c->n_item);
        }
        const double spent_s = check_now_s() - start_s;
        if (k < 0 && spent_s < 0.01) {
            n_loop *= 2;
            continue;
        }
        if (k >= 0) {
            sample[k] = spent_s / (double)n_loop;
        }
        k++;
    }
    qsort(sample, N_REPEAT, sizeof(sample[0]), by_value);
    return sample[N_REPEAT / 2];
}

static void fill(const bench_case *c, const workload *w)
{
    for (size_t i = 0; c->is_f64 && i < STREAM_BYTES / sizeof(double); i++) {
        ((double *)w->in)[i] = 0.5 + (double)(i * 2654435761u % 65536) / 65536;
    }
    for (size_t i = 0; !c->is_f64 && i < STREAM_BYTES / sizeof(float); i++) {
        ((float *)w->in)[i] = 0.5f + (float)(i * 2654435761u % 65536) / 65536;
    }
}

static void bench_one(const bench_case *c, const workload *w)
{
    size_t n_set;
    const tess_kernels *const *set = tess_kernels_built(&n_set);
    double ref_s = 0;
    for (size_t k = 0; k < n_set; k++) {
        if (!tess_kernels_usable(set[k])) {
            continue;
        }
        const double s = median_s(c, set[k], w);
        ref_s = k == 0 ? s : ref_s;
        if (c->bytes == 0) { // a flop probe leaves its count in the second output
            const double gflops = *(const double *)w->out[1] / s * 1e-9;
            printf("%-22s %-7s %31.1f GFLOP/s\n", c->name, set[k]->isa, gflops);
        } else {
            printf("%-22s %-7s %9.3f ns/item %9.2f GB/s  %6.2f x ref\n", c->name, set[k]->isa,
                   s / (double)c->n_item * 1e9, (double)c->bytes / s * 1e-9, ref_s / s);
        }
        fflush(stdout);
    }
}

int bench_all(const char *filter)
{
    workload w = {.in = aligned_alloc(64, STREAM_BYTES)};
    w.out[0] = aligned_alloc(64, STREAM_BYTES / 16);
    w.out[1] = aligned_alloc(64, STREAM_BYTES / 16);
    int filled = -1;
    int n_run = 0;
    for (size_t k = 0; w.in && w.out[0] && w.out[1] && k < ARRAY_LEN(cases); k++) {
        if (filter && strstr(cases[k].name, filter) == NULL) {
            continue;
        }
        if (filled != cases[k].is_f64) {
            fill(&cases[k], &w);
            filled = cases[k].is_f64;
        }
        bench_one(&cases[k], &w);
        n_run++;
    }
    free(w.in);
    free(w.out[0]);
    free(w.out[1]);
    if (n_run == 0) {
        fprintf(stderr, "test_kernels: no kernel matches '%s', or no memory for the data\n",
                filter ? filter : "");
    }
    return n_run == 0;
}
