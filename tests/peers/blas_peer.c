// Our dense algebra against OpenBLAS at the sizes the systems have: what keeps it ours
// (CONTRIBUTING.md, "Libraries"). Not a test: OpenBLAS is loaded if it is there
// (libopenblas0-pthread), and nothing of it is linked. Prints the least times of both and in
// how many numbers its results differ between 1 and 2 threads; ours do not know how many there are.
//
//   blas_peer [LIBRARY]

#include "kernels/kernels.h"
#include "kernels/spectrum.h"
#include "numerics/cholesky.h"
#include "numerics/symmetric.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIALS = 15, ROW_MAJOR = 101, NO_TRANSPOSE = 111, PANEL_ROWS = 64, SIDES = 5 };

static void (*set_threads)(int);
static void (*dpotrf)(const char *, const int *, double *, const int *, int *, size_t);
static void (*dsyevd)(const char *, const char *, const int *, double *, const int *, double *,
                      double *, const int *, int *, const int *, int *, size_t, size_t);
static void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                     float, float *, int);

// Inputs of a computation and room for what either side makes of them.
typedef struct work {
    const double *spd; // [n][n]
    const float *a;    // [batch][n], rows as far apart as the kernel wants them
    const float *b;    // [n][n], and in panels
    const float *panels;
    int n, batch;
    double *matrix, *values, *vectors, *room; // results and scratch
    float *c;
    int *integers;
} work;

typedef void (*computation)(work *w);

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *room_for(size_t n, size_t bytes)
{
    void *room = calloc(n, bytes);
    if (room == NULL) {
        fputs("blas_peer: out of memory\n", stderr);
        exit(1);
    }
    return room;
}

static void restore(work *w)
{
    memcpy(w->matrix, w->spd, (size_t)w->n * (size_t)w->n * sizeof *w->matrix);
}

static void our_cholesky(work *w)
{
    restore(w);
    if (!tess_cholesky(w->matrix, w->n)) {
        abort();
    }
}

static void their_cholesky(work *w)
{
    int failed = 0;
    restore(w);
    dpotrf("U", &w->n, w->matrix, &w->n, &failed, 1);
}

static void our_eigen(work *w)
{
    restore(w);
    if (w->n <= 16) {
        tess_symmetric_eigen(w->matrix, w->n, w->values, w->vectors);
    } else {
        tess_symmetric_eigen_ql(w->matrix, w->n, w->values, w->vectors, w->room);
    }
}

// What MEG repairs need of an eigenproblem, of which LAPACK can do the whole alone.
static void our_spectrum(work *w)
{
    size_t rank = 0;
    restore(w);
    for (int i = 0; i < SIDES * w->n; i++) {
        w->vectors[i] = i % 7;
    }
    tess_kernels_select(NULL)->spectrum_solve(w->matrix, (size_t)w->n, w->vectors, SIDES, 1e-4,
                                              w->room, &rank);
}

static void their_eigen(work *w)
{
    const int n_room = 1 + 6 * w->n + 2 * w->n * w->n;
    const int n_integer = 3 + 5 * w->n;
    int failed = 0;
    restore(w);
    dsyevd("V", "U", &w->n, w->matrix, &w->n, w->values, w->room, &n_room, w->integers, &n_integer,
           &failed, 1, 1);
}

static void our_gemm(work *w)
{
    const tess_kernels *kernels = tess_kernels_select(NULL);
    const size_t n = (size_t)w->n;
    for (size_t row = 0; row < (size_t)w->batch; row += PANEL_ROWS) {
        kernels->clifford_gemm_f32(w->a + row * TESS_CL_GEMM_ROW, PANEL_ROWS, w->panels, n, n,
                                   w->c + row * n, n, 1);
    }
}

static void their_gemm(work *w)
{
    sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, w->batch, w->n, w->n, 1, w->a, TESS_CL_GEMM_ROW,
          w->b, w->n, 0, w->c, w->n);
}

// Microseconds of one computation at best, in trials of about 5 ms in turn: whoever else uses the
// machine makes it slower only.
static void time_all(work *w, const computation *of, int n_of, double *us)
{
    for (int t = 0; t < TRIALS; t++) {
        for (int k = 0; k < n_of; k++) {
            set_threads(k == 2 ? 2 : 1);
            const double begin = seconds();
            of[k](w);
            const double once = seconds() - begin;
            const int repeats = once > 5e-3 ? 1 : 1 + (int)(5e-3 / (once + 1e-8));
            const double start = seconds();
            for (int i = 0; i < repeats; i++) {
                of[k](w);
            }
            const double each = 1e6 * (seconds() - start) / repeats;
            us[k] = t == 0 || each < us[k] ? each : us[k];
        }
    }
}

// Numbers in which theirs differ between one thread and two, the result being n items at what.
static int64_t differing(work *w, computation theirs, const void *what, size_t n, size_t bytes)
{
    char *one = room_for(n, bytes);
    int64_t different = 0;
    set_threads(1);
    theirs(w);
    memcpy(one, what, n * bytes);
    set_threads(2);
    theirs(w);
    for (size_t i = 0; i < n; i++) {
        different += memcmp(one + i * bytes, (const char *)what + i * bytes, bytes) != 0;
    }
    free(one);
    return different;
}

static void report(const char *name, work *w, computation ours, computation theirs,
                   const void *result, size_t n_result, size_t bytes)
{
    const computation of[3] = {ours, theirs, theirs};
    double us[3];
    time_all(w, of, 3, us);
    printf("%-9s %4d  %10.2f %10.2f %10.2f  %6.2f  %lld of %zu\n", name, w->n, us[0], us[1], us[2],
           us[1] / us[0], (long long)differing(w, theirs, result, n_result, bytes), n_result);
}

static double uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-53 - 0.5;
}

// A symmetric matrix with n on the diagonal: positive definite.
static double *new_matrix(int n, uint64_t *state)
{
    double *a = room_for((size_t)n * (size_t)n, sizeof *a);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            a[i * n + j] = a[j * n + i] = uniform(state) + (i == j ? n : 0);
        }
    }
    return a;
}

static void compare_solvers(const char *name, computation ours, computation theirs, int n,
                            uint64_t *state)
{
    const size_t items = (size_t)n * (size_t)n + SIDES * (size_t)n;
    const size_t n_room = 1 + 6 * (size_t)n + 2 * items + tess_spectrum_items((size_t)n);
    double *spd = new_matrix(n, state);
    work w = {.spd = spd,
              .n = n,
              .matrix = room_for(items, sizeof(double)),
              .values = room_for((size_t)n, sizeof(double)),
              .vectors = room_for(items, sizeof(double)),
              .room = room_for(n_room, sizeof(double)),
              .integers = room_for(3 + 5 * (size_t)n, sizeof(int))};
    report(name, &w, ours, theirs, w.matrix, (size_t)n * (size_t)n, sizeof(double));
    free(spd);
    free(w.matrix);
    free(w.values);
    free(w.vectors);
    free(w.room);
    free(w.integers);
}

static void compare_products(int n, int batch, uint64_t *state)
{
    const tess_kernels *kernels = tess_kernels_select(NULL);
    tess_cl_gemm_shape shape;
    kernels->clifford_gemm_shape(&shape);
    const size_t side = (size_t)n, width = shape.width_f32;
    float *a = room_for((size_t)batch * TESS_CL_GEMM_ROW, sizeof *a);
    float *b = room_for(side * side, sizeof *b);
    float *panels = room_for(side * (side + width), sizeof *panels);
    for (size_t i = 0; i < (size_t)batch * TESS_CL_GEMM_ROW; i++) {
        a[i] = (float)uniform(state);
    }
    for (size_t i = 0; i < side * side; i++) {
        b[i] = (float)uniform(state);
    }
    for (size_t i = 0; i < side; i++) {
        kernels->clifford_gemm_pack_f32(b + i * side, side, side, panels + i * width);
    }
    work w = {.a = a,
              .b = b,
              .panels = panels,
              .n = n,
              .batch = batch,
              .c = room_for((size_t)batch * side, sizeof(float))};
    report("gemm", &w, our_gemm, their_gemm, w.c, (size_t)batch * side, sizeof(float));
    free(a);
    free(b);
    free(panels);
    free(w.c);
}

static void *find(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        fprintf(stderr, "blas_peer: no %s in the library\n", name);
        exit(1);
    }
    return symbol;
}

int main(int argc, char **argv)
{
    void *library = dlopen(argc > 1 ? argv[1] : "libopenblas.so.0", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "blas_peer: %s; install libopenblas0-pthread\n", dlerror());
        return 1;
    }
    *(void **)&set_threads = find(library, "openblas_set_num_threads");
    *(void **)&dpotrf = find(library, "dpotrf_");
    *(void **)&dsyevd = find(library, "dsyevd_");
    *(void **)&sgemm = find(library, "cblas_sgemm");

    // Parameters of fits and features of spikes, splines of EEG; parameters with scalings; MEG.
    static const int solved[] = {3, 9, 32, 64, 128, 256};
    static const int inverted[] = {3, 9, 32, 64};
    static const int mapped[] = {102, 204, 306};
    uint64_t state = 1;
    puts("                  ours us   theirs us    2 threads   ratio  theirs differ by threads in");
    for (size_t i = 0; i < sizeof solved / sizeof *solved; i++) {
        compare_solvers("cholesky", our_cholesky, their_cholesky, solved[i], &state);
    }
    for (size_t i = 0; i < sizeof inverted / sizeof *inverted; i++) {
        compare_solvers("eigen", our_eigen, their_eigen, inverted[i], &state);
    }
    for (size_t i = 0; i < sizeof mapped / sizeof *mapped; i++) {
        compare_solvers("spectrum", our_spectrum, their_eigen, mapped[i], &state);
    }
    compare_products(32, 1024, &state);
    compare_products(128, 1024, &state);
    compare_products(256, 4096, &state);
    return 0;
}
