// Every kernel test, once per instruction set of this machine.
//
//   test_kernels [--isa NAME] [--quick | --exhaustive] [--bench [KERNEL]]
//
// The seed is fixed: a failure repeats.

#include "check.h"

#include <stdio.h>
#include <string.h>

typedef struct tally {
    size_t n_pass;
    size_t n_fail;
    size_t n_skip;
} tally;

static void announce(const tess_kernels *isa)
{
    if (tess_kernels_usable(isa)) {
        printf("%s: vectors of %zu bytes\n", isa->isa, isa->vector_bytes());
    }
}

static void report(const check *t, const char *name, double seconds, tally *sum)
{
    const char *verdict = t->n_failure ? "FAIL" : t->skipped ? "skip" : "ok";
    printf("%-4s  %-7s %-28s %6.2f s  %s\n", verdict, t->isa->isa, name, seconds, t->note);
    if (t->n_failure) {
        printf("    %zu failures\n", t->n_failure);
        sum->n_fail++;
    } else if (t->skipped) {
        sum->n_skip++;
    } else {
        sum->n_pass++;
    }
    fflush(stdout);
}

static void run_list(const check_test *list, const check *options, tally *sum)
{
    for (const check_test *test = list; test->name; test++) {
        check t = *options;
        const double start_s = check_now_s();
        if (tess_kernels_usable(t.isa)) {
            test->run(&t);
        } else {
            check_skip(&t, "this CPU or operating system does not run it");
        }
        report(&t, test->name, check_now_s() - start_s, sum);
    }
}

int main(int argc, char **argv)
{
    const char *only_isa = NULL;
    check options = {.ref = tess_kernels_select("ref")};
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--bench") == 0) {
            return bench_all(k + 1 < argc ? argv[k + 1] : NULL);
        } else if (strcmp(argv[k], "--exhaustive") == 0) {
            options.exhaustive = 1;
        } else if (strcmp(argv[k], "--quick") == 0) {
            options.quick = 1;
        } else if (strcmp(argv[k], "--isa") == 0 && k + 1 < argc) {
            only_isa = argv[++k];
        } else {
            fprintf(stderr,
                    "test_kernels: unknown argument '%s'; "
                    "use [--isa NAME] [--quick | --exhaustive] [--bench [KERNEL]]\n",
                    argv[k]);
            return 2;
        }
    }

    tally sum = {0, 0, 0};
    size_t n_set;
    const tess_kernels *const *set = tess_kernels_built(&n_set);
    for (size_t k = 0; k < n_set; k++) {
        if (only_isa == NULL || strcmp(only_isa, set[k]->isa) == 0) {
            options.isa = set[k];
            announce(set[k]);
            run_list(test_ptp_list, &options, &sum);
            run_list(test_decode_events_list, &options, &sum);
            run_list(test_decode_hmm_list, &options, &sum);
            run_list(test_math_list, &options, &sum);
            run_list(test_probe_list, &options, &sum);
            run_list(test_decode_joint_list, &options, &sum);
            run_list(test_decode_kde_list, &options, &sum);
            run_list(test_autoreject_threshold_list, &options, &sum);
            run_list(test_autoreject_local_list, &options, &sum);
            run_list(test_autoreject_mix_list, &options, &sum);
            run_list(test_autoreject_field_list, &options, &sum);
            run_list(test_autoreject_ransac_list, &options, &sum);
            run_list(test_xpcs_pass_list, &options, &sum);
            run_list(test_xpcs_two_list, &options, &sum);
            run_list(test_clifford_rows_list, &options, &sum);
            run_list(test_clifford_gemm_list, &options, &sum);
            run_list(test_clifford_pair_list, &options, &sum);
            run_list(test_clifford_edges_list, &options, &sum);
        }
    }
    if (sum.n_pass + sum.n_fail + sum.n_skip == 0) {
        fprintf(stderr, "test_kernels: no set named '%s' is built\n", only_isa);
        return 2;
    }
    printf("%zu passed, %zu failed, %zu skipped\n", sum.n_pass, sum.n_fail, sum.n_skip);
    return sum.n_fail != 0;
}
