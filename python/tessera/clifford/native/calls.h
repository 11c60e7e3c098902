// What the node of torch (node.cpp, compiled on the user's machine) asks of tessera._core: passes
// over arrays by plain pointers. Both sides include this file, so that neither needs the headers of
// the other.
#ifndef TESSERA_CLIFFORD_NATIVE_CALLS_H
#define TESSERA_CLIFFORD_NATIVE_CALLS_H

#include <stdint.h>

enum { CLIFFORD_CALLS_VERSION = 2, CLIFFORD_N_MEMBER = 5 };

// Types of items, as the library numbers them.
enum { CLIFFORD_F16 = 10, CLIFFORD_BF16 = 11, CLIFFORD_F32 = 12, CLIFFORD_F64 = 13 };

// x, y, weight, linear_weight, bias; or their gradients. rank < 0: there is none.
typedef struct clifford_native_array {
    void *data;
    const int64_t *shape;
    const int64_t *stride; // in items
    int32_t rank;
    int32_t dtype;
} clifford_native_array;

typedef struct clifford_native_pass {
    const void *op;  // as Op.address of tessera._core says
    int32_t pass;    // 1 forward, 2 backward
    int32_t device;  // -1: the CPU
    int32_t threads; // of a context for the CPU
    void *stream;
    clifford_native_array in[CLIFFORD_N_MEMBER];
    clifford_native_array z; // written forward, may be given backward
    clifford_native_array statistics;
    clifford_native_array linear_out;                    // forward alone; backward it is in[1]
    clifford_native_array gz;                            // backward alone
    clifford_native_array gradients[CLIFFORD_N_MEMBER];  // backward alone
    void *(*take_workspace)(void *user, uint64_t bytes); // device memory, until the work is done
    void *user;
} clifford_native_pass;

// A linear map of rows, f32 (tessera/clifford/maps.h): x (n_row, feature) and z by their first
// items and widths.
typedef struct clifford_native_maps {
    int64_t x[3]; // channels, scalars, groups
    int64_t z[3];
    int64_t n_row;
    int32_t pairs;
    int32_t has_bias;
    int32_t adds;   // gradients of items, to what is there
    int32_t device; // -1: the CPU
    int32_t threads;
    void *stream;
    void *x_data;
    void *items;
    void *z_data; // written forward, given backward
    void *x_grad; // NULL: not wanted
    void *items_grad;
    int32_t is_forward;
    void *(*take_workspace)(void *user, uint64_t bytes);
    void *user;
} clifford_native_maps;

typedef struct clifford_native_calls {
    int32_t version;
    // Runs a pass, with or without the GIL; 0, or a status for raise() in the same thread.
    int32_t (*run)(const clifford_native_pass *pass);
    // Sets the Python exception of a status; with the GIL.
    void (*raise)(int32_t status);
    // The same of a linear map of rows.
    int32_t (*map)(const clifford_native_maps *maps);
} clifford_native_calls;

#endif
