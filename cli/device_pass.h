// How fast a device is at the work that matters: the passes of a fit.
#ifndef CLI_DEVICE_PASS_H
#define CLI_DEVICE_PASS_H

#include "cli.h"

#include <tessera/sys/json.h>

enum { DEVICE_MAX_PASS = 6 };

typedef struct device_pass {
    const char *model; // "laminar_flow"
    const char *what;  // "cost", "gradient", "hessian": each with those before
    int64_t n_point;
    double seconds; // median
    double bytes_per_s;
    double flop_per_s;
} device_pass;

// Times the passes on the device of the session; *n is 0 where it cannot run them.
int device_pass_measure(cli *c, device_pass *passes, int *n);

void device_pass_print(const device_pass *passes, int n);
void device_pass_write(tess_json *json, const device_pass *passes, int n);

#endif
