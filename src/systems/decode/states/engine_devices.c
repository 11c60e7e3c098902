// The likelihood of rows that several devices of the host divide.
//
// Every device has the model and takes a range of the rows of a chunk, in a thread and a queue of
// its own. Rows go where they are wanted: to the host's memory, or to the device that filters, by
// the way the driver has between the two. A row's values are its own, whoever computes it.
#include "systems/decode/states/engine_devices.h"
#include "base/status.h"
#include "runtime/group.h"

// Fewer are computed before the others have begun.
enum { LEAST_ROWS = 64 };

typedef struct job {
    tess_de_engine *engine;
    tess_group_range rows;
    int32_t n_member;
    bool is_there; // ll is memory of the first device
    char *scratch; // [rows][n_ll]; not used there
    char *ll;      // [rows][n_ll]
    tess_decode_likelihood_report reports[TESS_MAX_GROUP];
} job;

// Rows of another device to the one that filters.
static tess_status send(tess_device *device, const tess_resident *from, void *to, size_t bytes)
{
    TESS_TRY(device->backend->copy(device->queue, to, TESS_SPACE_DEVICE, from->data,
                                   TESS_SPACE_DEVICE, bytes));
    return tess_stage_finish(device);
}

static tess_status run_member(void *self, int32_t member)
{
    job *j = self;
    tess_de_engine *e = j->engine;
    const tess_decode_detector *d = e->desc.detector;
    const size_t row_bytes = (size_t)d->info.n_ll * tess_dtype_bytes((tess_dtype)d->dtype);
    const tess_group_range own = tess_group_share(j->rows, j->n_member, member);
    const int64_t n = own.end - own.begin;
    const size_t before = (size_t)(own.begin - j->rows.begin) * row_bytes;
    tess_device *first = j->is_there ? e->states : e->desc.device;
    tess_device *device = tess_group_member(e->ctx, first, member);
    tess_decode_likelihood_report *report = &j->reports[member];
    if (!j->is_there) {
        return tess_de_engine_compute(e, device, own.begin, n, report, j->scratch + before,
                                      j->ll + before);
    }
    if (member == 0) {
        return tess_de_engine_compute_there(e, device, own.begin, n, report, j->ll + before);
    }
    tess_resident *lent = &e->there.lent[member];
    TESS_TRY(tess_resident_grow(device, (size_t)n * row_bytes, lent));
    TESS_TRY(tess_de_engine_compute_there(e, device, own.begin, n, report, lent->data));
    return send(device, lent, j->ll + before, (size_t)n * row_bytes);
}

static tess_status run(job *j, const tess_device *device, tess_decode_likelihood_report *report)
{
    const tess_context *ctx = j->engine->ctx;
    const int64_t most = (j->rows.end - j->rows.begin) / LEAST_ROWS;
    j->n_member = tess_group_size(ctx, device);
    j->n_member = j->n_member < most ? j->n_member : most > 1 ? (int32_t)most : 1;
    j->reports[0] = *report;
    for (int32_t k = 1; k < j->n_member; k++) {
        j->reports[k] = (tess_decode_likelihood_report){.struct_size = sizeof *report};
    }
    TESS_TRY(tess_group_run(ctx, j->n_member, run_member, j));
    *report = j->reports[0];
    for (int32_t k = 1; k < j->n_member; k++) {
        tess_de_add_report(&j->reports[k], report);
    }
    return TESS_OK;
}

tess_status tess_de_devices_compute(tess_de_engine *engine, int64_t first, int64_t count,
                                    tess_decode_likelihood_report *report, void *scratch, void *ll)
{
    job j = {.engine = engine, .rows = {first, first + count}, .scratch = scratch, .ll = ll};
    return run(&j, engine->desc.device, report);
}

tess_status tess_de_devices_compute_there(tess_de_engine *engine, int64_t first, int64_t count,
                                          tess_decode_likelihood_report *report, void *ll)
{
    job j = {.engine = engine, .rows = {first, first + count}, .is_there = true, .ll = ll};
    return run(&j, engine->states, report);
}
