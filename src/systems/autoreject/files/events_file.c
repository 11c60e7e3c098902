// Files of events.
#include "base/status.h"
#include "systems/autoreject/files/fif.h"
#include "tessera/io.h"

#include <string.h>

// Samples in files count from the start of the acquisition, ours from that of the recording.
static tess_status add_triples(const int32_t *triples, int64_t n, const tess_ar_continuous *c,
                               tess_ar_event_list *list)
{
    for (int64_t i = 0; i < n; i++) {
        TESS_TRY(tess_ar_events_add(list, triples[3 * i] - c->first_sample, triples[3 * i + 1],
                                    triples[3 * i + 2]));
    }
    return TESS_OK;
}

static tess_status read_fif(tess_context *ctx, const char *path, const tess_ar_continuous *c,
                            tess_autoreject_epochs *epochs, tess_ar_event_list *list)
{
    tess_ar_fif_file file;
    tess_ar_fif_events events;
    TESS_TRY(tess_ar_fif_file_open(ctx, path, &file));
    tess_status status = tess_ar_fif_read_events(&file, epochs, &events);
    tess_ar_fif_file_close(&file);
    TESS_TRY(status);
    if (events.n_event < 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: has no block 361 (events) with tag 3561 (event list)", path);
    }
    list->names = events.names;
    list->codes = events.codes;
    list->n_name = events.n_name;
    return add_triples(events.triples, events.n_event, c, list);
}

tess_status tess_ar_events_of_file(tess_context *ctx, const char *path,
                                   const tess_ar_continuous *continuous,
                                   tess_autoreject_epochs *epochs, tess_ar_event_list *list)
{
    TESS_TRY(read_fif(ctx, path, continuous, epochs, list));
    return tess_ar_events_name_codes(epochs, list);
}
