// Samples for the regression: by cell of the spline, many near ones merged into one.
#include "base/status.h"
#include "numerics/order.h"
#include "systems/decode/sorted/poisson.h"

#include <math.h>
#include <string.h>

typedef struct merged {
    int64_t n;
    double *place;
    double *weight;
} merged;

// Samples of the same small square become one at their mean, with their weight.
static tess_status merge(tess_blocks *scratch, const double *places, const double *weights,
                         int64_t n, int64_t n_dim, double width, merged *out)
{
    double *key = tess_blocks_alloc(scratch, n, sizeof *key, "samples");
    int64_t *order = tess_blocks_alloc(scratch, n, sizeof *order, "samples");
    int64_t *room = tess_blocks_alloc(scratch, n, sizeof *room, "samples");
    if (!key || !order || !room) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        key[i] = 0;
        for (int64_t k = 0; k < n_dim; k++) { // exact: squares are far fewer than 2^26 an axis
            key[i] = key[i] * 0x1p26 + floor(places[i * n_dim + k] / width);
        }
    }
    tess_order_stable(key, n, order, room);
    out->n = 0;
    for (int64_t i = 0; i < n;) {
        double total = 0;
        double mean[2] = {0, 0};
        int64_t end = i;
        for (; end < n && key[order[end]] == key[order[i]]; end++) {
            const double w = weights ? weights[order[end]] : 1;
            total += w;
            for (int64_t k = 0; k < n_dim; k++) {
                mean[k] += w * places[order[end] * n_dim + k];
            }
        }
        if (total > 0) {
            for (int64_t k = 0; k < n_dim; k++) {
                out->place[out->n * n_dim + k] = mean[k] / total;
            }
            out->weight[out->n++] = total;
        }
        i = end;
    }
    return TESS_OK;
}

static tess_status by_cell(tess_blocks *blocks, tess_blocks *scratch, const tess_de_spline *s,
                           const merged *m, tess_de_poisson_data *out)
{
    int64_t *first = tess_blocks_alloc(blocks, s->n_cell + 1, sizeof *first, "cells");
    double *weight = tess_blocks_alloc(blocks, m->n, sizeof *weight, "sample weights");
    double *factor =
        tess_blocks_alloc(blocks, m->n, (size_t)s->n_local * sizeof *factor, "spline factors");
    int64_t *cell = tess_blocks_alloc(scratch, m->n, sizeof *cell, "cells");
    if (!first || !weight || !factor || !cell) {
        return TESS_E_MEMORY;
    }
    double factors[TESS_SPLINE_TERMS];
    for (int64_t i = 0; i < m->n; i++) {
        cell[i] = tess_de_spline_at(s, m->place + i * s->n_dim, factors);
        first[cell[i] + 1]++;
    }
    for (int64_t c = 0; c < s->n_cell; c++) {
        first[c + 1] += first[c];
    }
    for (int64_t i = 0; i < m->n; i++) {
        const int64_t at = first[cell[i]]++;
        (void)tess_de_spline_at(s, m->place + i * s->n_dim, factor + at * s->n_local);
        weight[at] = m->weight[i];
    }
    memmove(first + 1, first, (size_t)s->n_cell * sizeof *first); // begins became ends
    first[0] = 0;
    out->n = m->n;
    out->first = first;
    out->weight = weight;
    out->factor = factor;
    return TESS_OK;
}

tess_status tess_de_poisson_prepare(tess_blocks *blocks, tess_blocks *scratch,
                                    const tess_de_spline *spline, const double *places,
                                    const double *weights, int64_t n_sample, double merge_width,
                                    int64_t merge_above, tess_de_poisson_data *out)
{
    const int64_t d = spline->n_dim;
    merged m = {.n = n_sample};
    m.place = tess_blocks_alloc(scratch, n_sample, (size_t)d * sizeof *m.place, "samples");
    m.weight = tess_blocks_alloc(scratch, n_sample, sizeof *m.weight, "samples");
    if (!m.place || !m.weight) {
        return TESS_E_MEMORY;
    }
    out->spline = spline;
    out->n_sample = (double)n_sample;
    out->total_weight = 0;
    memcpy(m.place, places, (size_t)(n_sample * d) * sizeof *m.place);
    for (int64_t i = 0; i < n_sample; i++) {
        m.weight[i] = weights ? weights[i] : 1;
        out->total_weight += m.weight[i];
    }
    if (n_sample > merge_above) {
        TESS_TRY(merge(scratch, places, weights, n_sample, d, merge_width, &m));
    }
    return by_cell(blocks, scratch, spline, &m, out);
}
