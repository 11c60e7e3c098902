// The likelihood of rows, computed by one device sequence by sequence.
#include "base/status.h"
#include "systems/decode/states/engine_devices.h"

tess_status tess_de_engine_compute(tess_de_engine *e, tess_device *device, int64_t first,
                                   int64_t count, tess_decode_likelihood_report *report,
                                   void *scratch, void *ll)
{
    const tess_decode_detector *d = e->desc.detector;
    const size_t row_bytes = (size_t)d->info.n_ll * tess_dtype_bytes((tess_dtype)d->dtype);
    const int64_t end = first + count;
    for (int64_t at = first; at < end;) {
        const tess_de_piece piece = tess_de_piece_at(&e->sequences, at, first, end);
        tess_decode_observation rows;
        tess_de_sequence_rows(&e->sequences, piece.sequence, e->desc.observation, &rows);
        TESS_TRY(tess_de_likelihood_rows(e->ctx, device, d, &rows, e->has_nan, piece.offset,
                                         piece.n_row, (char *)ll + (size_t)(at - first) * row_bytes,
                                         scratch, report));
        at += piece.n_row;
    }
    return TESS_OK;
}

tess_status tess_de_engine_compute_there(tess_de_engine *e, tess_device *device, int64_t first,
                                         int64_t count, tess_decode_likelihood_report *report,
                                         void *ll)
{
    const tess_decode_detector *d = e->desc.detector;
    const size_t row_bytes = (size_t)d->info.n_ll * tess_dtype_bytes((tess_dtype)d->dtype);
    const int64_t end = first + count;
    for (int64_t at = first; at < end;) {
        const tess_de_piece piece = tess_de_piece_at(&e->sequences, at, first, end);
        tess_decode_observation rows;
        tess_de_sequence_rows(&e->sequences, piece.sequence, e->desc.observation, &rows);
        TESS_TRY(tess_de_likelihood_there(
            e->ctx, device, d, &rows, e->has_nan, piece.offset, piece.n_row,
            (char *)ll + (size_t)(at - first) * row_bytes, &e->there.room[device->member], report));
        at += piece.n_row;
    }
    return TESS_OK;
}
