// What 'tessera bench' times: cases of every system, and the clock they share.
#ifndef TESSERA_CLI_BENCH_H
#define TESSERA_CLI_BENCH_H

#include "cli.h"

// What a case would be held up by at best, and what its amount counts.
typedef enum bench_bound {
    BENCH_UNBOUND, // not counted
    BENCH_READ,    // bytes that must come from main memory
    BENCH_F32      // operations in f32
} bench_bound;

typedef struct bench_row {
    double median_s;
    double minimum_s; // 0: not known
    int n_repeat;
    double amount; // of one call, in the units of the case's bound
} bench_row;

typedef struct bench_case bench_case;
struct bench_case {
    const char *name;
    const char *what; // with its sizes
    int is_system;    // 0: a kernel or a stage
    bench_bound bound;
    int (*measure)(cli *c, const bench_case *self, bench_row *row); // exit code
    const void *sizes;
};

typedef struct bench_group {
    const char *system;
    const bench_case *cases;
    int n_case;
} bench_group;

extern const bench_group bench_autoreject;
extern const bench_group bench_clifford;
extern const bench_group bench_decode;
extern const bench_group bench_xpcs;

// Calls until half a second has passed; calls shorter than a millisecond are timed in groups. Exit
// code of the first that fails.
int bench_time(cli *c, tess_status (*call)(tess_context *ctx, void *self), void *self,
               bench_row *row);

#endif
