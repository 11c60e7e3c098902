#include "systems/decode/states/hmm_there.h"

#include "base/status.h"
#include "runtime/upload.h"
#include "systems/decode/states/hmm_block.h"

#include <string.h>

// Tables first: the blocks name where they are.
static tess_status send_tables(tess_de_hmm_there *there, const tess_hmm_model *m,
                               const double **tables[2])
{
    tess_upload up = {.into = &there->tables};
    for (int round = 0; round < 2; round++) {
        for (int32_t k = 0; k < m->n_operator; k++) {
            const tess_hmm_operator *both[2] = {&m->forward[k], &m->backward[k]};
            for (int d = 0; d < 2; d++) {
                tables[d][k] =
                    tess_upload_add(&up, both[d]->table, both[d]->n_table, sizeof(double));
            }
        }
        if (round == 0) {
            TESS_TRY(tess_upload_begin(&up, there->device));
        }
    }
    return tess_upload_end(&up);
}

static tess_status send_blocks(tess_de_hmm_there *there, const tess_de_hmm_packed *packed)
{
    tess_upload up = {.into = &there->arrays};
    for (int round = 0; round < 2; round++) {
        for (int d = 0; d < 2; d++) {
            there->model.there[d] =
                tess_upload_add(&up, packed->bytes[d], (int64_t)packed->n_byte[d], 1);
            there->model.there_bytes[d] = (int64_t)packed->n_byte[d];
        }
        if (round == 0) {
            TESS_TRY(tess_upload_begin(&up, there->device));
        }
    }
    there->model.n_scratch = packed->n_scratch;
    return tess_upload_end(&up);
}

static tess_status send_all(tess_de_hmm_there *there, const tess_hmm_model *m)
{
    tess_blocks blocks;
    tess_blocks_init(&blocks, &there->ctx->heap);
    const double **tables[2];
    tess_status status = TESS_OK;
    for (int d = 0; d < 2; d++) {
        tables[d] = tess_blocks_alloc(&blocks, m->n_operator + 1, sizeof *tables[d], "tables");
        status = tables[d] ? status : TESS_E_MEMORY;
    }
    there->model = *m;
    tess_de_hmm_packed packed = {0};
    if (status == TESS_OK) {
        status = send_tables(there, m, tables);
    }
    if (status == TESS_OK) {
        const double *const *const fixed[2] = {tables[0], tables[1]};
        status = tess_de_hmm_pack(&there->ctx->heap, m, fixed, &packed);
    }
    if (status == TESS_OK) {
        status = send_blocks(there, &packed);
    }
    tess_de_hmm_packed_free(&there->ctx->heap, &packed);
    tess_blocks_free(&blocks);
    return status;
}

tess_status tess_de_hmm_there_make(tess_context *ctx, tess_device *device,
                                   const tess_hmm_model *model, tess_de_hmm_there **out)
{
    *out = NULL;
    tess_de_hmm_there *there =
        tess_heap_alloc_zero(&ctx->heap, sizeof *there, TESS_TAG_SCRATCH, "model on a device");
    if (!there) {
        return TESS_E_MEMORY;
    }
    there->ctx = ctx;
    there->device = device;
    const tess_status status = send_all(there, model);
    if (status != TESS_OK) {
        tess_de_hmm_there_free(there);
        return status;
    }
    *out = there;
    return TESS_OK;
}

void tess_de_hmm_there_free(tess_de_hmm_there *there)
{
    if (!there) {
        return;
    }
    tess_resident *rooms[] = {
        &there->arrays,     &there->tables,    &there->scratch,   &there->ll,        &there->rows,
        &there->transition, &there->predicted, &there->states[0], &there->states[1], &there->norm,
        &there->smoothed,   &there->initial,   &there->carry[0],  &there->carry[1],  &there->runs,
        &there->guess,      &there->wrong};
    for (size_t k = 0; k < sizeof rooms / sizeof *rooms; k++) {
        tess_resident_free(rooms[k]);
    }
    tess_heap_free(&there->ctx->heap, there, sizeof *there, TESS_TAG_SCRATCH);
}

tess_status tess_de_hmm_there_take(tess_context *ctx, tess_device *device, const tess_de_hmm *hmm,
                                   tess_de_hmm_there **out)
{
    tess_de_hmm_there *there = atomic_exchange(hmm->there, NULL);
    if (there && there->device == device) {
        *out = there;
        return TESS_OK;
    }
    tess_de_hmm_there_free(there);
    return tess_de_hmm_there_make(ctx, device, &hmm->plain, out);
}

void tess_de_hmm_there_put(const tess_de_hmm *hmm, tess_de_hmm_there *there)
{
    // A context lives as long as the models made in it, and no longer.
    const bool stays = &there->ctx->heap == hmm->blocks.heap;
    tess_de_hmm_there_free(stays ? atomic_exchange(hmm->there, there) : there);
}

tess_status tess_de_hmm_there_room(const tess_de_hmm_there *there, tess_resident *room,
                                   size_t bytes)
{
    return tess_resident_grow(there->device, bytes, room);
}

tess_status tess_de_hmm_there_scratch(tess_de_hmm_there *there, int32_t stage, const void *args)
{
    tess_device *device = there->device;
    const size_t bytes = device->backend->scratch_bytes(device->handle, stage, args);
    return bytes > 0 ? tess_de_hmm_there_room(there, &there->scratch, bytes) : TESS_OK;
}
