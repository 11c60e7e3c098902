// Several devices of a host that one context works on: "cuda:0,cuda:1".
//
// The first of them is the context's device, where everything runs that is not divided. What is
// divided has numbers (leaves of a pass, rows of a likelihood, recordings of a study), of which
// every device takes a range, as ranks do: results have the bits of one device. Each has a queue
// and memory of its own, and a thread while it works. One may be named twice.
#ifndef TESS_RUNTIME_GROUP_H
#define TESS_RUNTIME_GROUP_H

#include "runtime/context.h"

enum { TESS_GROUP_ID_BYTES = TESS_MAX_GROUP * 12 };

typedef struct tess_group {
    int32_t n;
    tess_device *devices[TESS_MAX_GROUP]; // [0] is the context's
    tess_device more[TESS_MAX_GROUP - 1];
    tess_device_budget budgets[TESS_MAX_GROUP - 1]; // theirs
    char id[TESS_GROUP_ID_BYTES];
    // Points of a pass that are worth waking the others.
    int64_t least_points;
} tess_group;

// Whether a wish for a device names several: a list, or all.
bool tess_group_is_list(const char *id);
// Opens them all; what is left of the list for this rank may be one.
TESS_MUST_CHECK tess_status tess_group_open(tess_context *ctx, const char *list);
void tess_group_close(tess_context *ctx);

// Devices that share the work of this one: those of the context where it is the first of them, else
// itself alone.
int32_t tess_group_size(const tess_context *ctx, const tess_device *device);
tess_device *tess_group_member(const tess_context *ctx, tess_device *device, int32_t member);
// As results name it: "cuda:0,cuda:1".
const char *tess_group_id(const tess_context *ctx, const tess_device *device);

// The range of a member of n_member, of things [begin, end) that are numbered.
typedef struct tess_group_range {
    int64_t begin;
    int64_t end;
} tess_group_range;

tess_group_range tess_group_share(tess_group_range all, int32_t n_member, int32_t member);

// fn for members 0..n_member-1 of the context's devices, at once, 0 in this thread; waits for all.
// The failure of the first that failed is returned, with the device's name.
typedef tess_status (*tess_group_fn)(void *self, int32_t member);
TESS_MUST_CHECK tess_status tess_group_run(const tess_context *ctx, int32_t n_member,
                                           tess_group_fn fn, void *self);

// The error of what works on one device, where the context has several. what: "fit".
TESS_MUST_CHECK tess_status tess_group_refuse(const tess_context *ctx, const char *what);

#endif
