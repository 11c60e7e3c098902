// The likelihood of rows, computed by this process sequence by sequence.
#include "base/status.h"
#include "systems/decode/states/engine.h"

tess_status tess_de_engine_compute(tess_de_engine *e, int64_t first, int64_t count,
                                   tess_decode_likelihood_report *report, void *scratch, void *ll)
{
    const tess_decode_detector *d = e->desc.detector;
    const size_t row_bytes = (size_t)d->info.n_ll * tess_dtype_bytes((tess_dtype)d->dtype);
    const int64_t end = first + count;
    for (int64_t at = first; at < end;) {
        const tess_de_piece piece = tess_de_piece_at(&e->sequences, at, first, end);
        tess_decode_observation rows;
        tess_de_sequence_rows(&e->sequences, piece.sequence, e->desc.observation, &rows);
        TESS_TRY(tess_de_likelihood_rows(e->ctx, e->desc.device, d, &rows, e->has_nan, piece.offset,
                                         piece.n_row, (char *)ll + (size_t)(at - first) * row_bytes,
                                         scratch, report));
        at += piece.n_row;
    }
    return TESS_OK;
}
