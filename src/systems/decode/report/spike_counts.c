#include "systems/decode/report/spike_counts.h"

#include "base/status.h"
#include "systems/decode/store/inputs.h"

#include <string.h>

static const char MEMORY[] = "spikes of the report";

static tess_status order(const tess_decode_spikes *spikes, tess_de_spike_counts *c)
{
    const tess_de_spike_rules rules = {TESS_DECODE_NAN_DROP, 0};
    tess_de_notes notes = {0};
    for (int64_t e = 0; e < c->n_electrode; e++) {
        tess_de_ordered ordered;
        TESS_TRY(tess_de_order_spikes(&c->memory, spikes, e, &rules, &notes, &ordered));
        c->time[e] = ordered.time;
        c->n_spike[e] = ordered.n;
    }
    return TESS_OK;
}

tess_status tess_de_spike_counts_create(tess_context *ctx,
                                        const tess_decode_observation *observation,
                                        tess_de_spike_counts *out)
{
    memset(out, 0, sizeof *out);
    tess_blocks_init(&out->memory, &ctx->heap);
    const int64_t n = observation ? observation->spikes.n_electrode : 0;
    out->time = tess_blocks_alloc(&out->memory, n, sizeof *out->time, MEMORY);
    out->n_spike = tess_blocks_alloc(&out->memory, n, sizeof *out->n_spike, MEMORY);
    out->next = tess_blocks_alloc(&out->memory, n, sizeof *out->next, MEMORY);
    out->enter = tess_blocks_alloc(&out->memory, n, sizeof *out->enter, MEMORY);
    out->leave = tess_blocks_alloc(&out->memory, n, sizeof *out->leave, MEMORY);
    const bool is_complete = out->time && out->n_spike && out->next && out->enter && out->leave;
    tess_status status = is_complete ? TESS_OK : TESS_E_MEMORY;
    out->n_electrode = n;
    if (status == TESS_OK && n > 0) {
        status = order(&observation->spikes, out);
    }
    if (status != TESS_OK) {
        tess_de_spike_counts_destroy(out);
    }
    return status;
}

void tess_de_spike_counts_destroy(tess_de_spike_counts *counts)
{
    tess_blocks_free(&counts->memory);
}

void tess_de_spike_counts_row(tess_de_spike_counts *c, double begin, double end,
                              double *per_electrode)
{
    for (int64_t e = 0; e < c->n_electrode; e++) {
        int64_t i = c->next[e];
        while (i < c->n_spike[e] && c->time[e][i] < begin) {
            i++;
        }
        const int64_t first = i;
        while (i < c->n_spike[e] && c->time[e][i] < end) {
            i++;
        }
        c->next[e] = i;
        per_electrode[e] = (double)(i - first);
    }
}

double tess_de_spike_counts_rate(tess_de_spike_counts *c, double time, double half_window)
{
    for (int64_t e = 0; e < c->n_electrode; e++) {
        while (c->enter[e] < c->n_spike[e] && c->time[e][c->enter[e]] < time + half_window) {
            c->enter[e]++;
            c->n_inside++;
        }
        while (c->leave[e] < c->enter[e] && c->time[e][c->leave[e]] < time - half_window) {
            c->leave[e]++;
            c->n_inside--;
        }
    }
    return (double)c->n_inside / (2 * half_window);
}
