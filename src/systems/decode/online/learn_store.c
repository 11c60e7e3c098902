// Kept spikes in the arrays of the likelihood's stage: contiguous, those of a cell side by side. A
// spike that takes another's place moves one spike of every cell between theirs.
#include "systems/decode/online/learn.h"

#include <math.h>

static const double SQRT_LOG2_E = 1.2011224087864498;
// Place kernels below this are 0: they would only make denormal products.
static const double LEAST_KERNEL = 1e-30;

static int64_t n_cell_of(const online_learner *learner)
{
    return learner->plan.has_cells ? learner->plan.n_cell[0] : 1;
}

static void move(const online_learner *learner, learn_store *e, int64_t from, int64_t to)
{
    for (int64_t f = 0; f < e->n_feature; f++) {
        float *marks = e->marks_f32 + f * learner->capacity;
        marks[to] = marks[from];
    }
    if (e->t) {
        e->t[to] = e->t[from];
        e->base[to] = e->base[from];
    }
    e->slot[to] = e->slot[from];
    e->at[e->slot[to]] = (int32_t)to;
}

static int64_t cell_at(const learn_store *e, int64_t index)
{
    int64_t c = 0;
    while (e->start[c + 1] <= index) {
        c++;
    }
    return c;
}

// Takes a hole from the end of one cell to the end of another, through every cell between.
static int64_t carry_hole(const online_learner *learner, learn_store *e, int64_t hole, int64_t from,
                          int64_t to)
{
    for (int64_t k = from; k < to; k++) {
        const int64_t last = e->start[k + 2] - 1;
        e->start[k + 1]--;
        if (last > hole) {
            move(learner, e, last, hole);
        }
        hole = last;
    }
    for (int64_t k = from; k > to; k--) {
        const int64_t first = e->start[k];
        if (first < hole) {
            move(learner, e, first, hole);
        }
        hole = first;
        e->start[k]++;
    }
    return hole;
}

// Room for a slot's spike at the end of a cell: what the slot had before goes.
static int64_t make_room(const online_learner *learner, learn_store *e, int64_t slot, int64_t cell)
{
    int64_t from = n_cell_of(learner) - 1;
    if (e->at[slot] < 0) {
        e->n_stored++;
        return carry_hole(learner, e, e->start[from + 1]++, from, cell);
    }
    from = cell_at(e, e->at[slot]);
    const int64_t last = e->start[from + 1] - 1;
    if (last != e->at[slot]) {
        move(learner, e, last, e->at[slot]);
    }
    return carry_hole(learner, e, last, from, cell);
}

// What an electrode without cells has of every spike: the place kernel.
static void write_kernel(const online_learner *learner, learn_store *e, int64_t i,
                         const double *scaled)
{
    for (int64_t p = 0; p < learner->n_bin; p++) {
        double q = 0;
        for (int64_t d = 0; d < learner->n_dim; d++) {
            const double u = learner->bin_place[d * learner->n_bin + p] - scaled[d];
            q += u * u;
        }
        const double value = exp(-q);
        e->kernel[i * learner->n_bin + p] = value < LEAST_KERNEL ? 0 : (float)value;
    }
}

// The f64 arrays are in the order of slots, which every pair's sum does not mind.
void tess_de_learn_store(const online_learner *learner, learn_model *model, int64_t electrode,
                         int64_t slot, const double *place, const float *mark)
{
    learn_store *e = &model->stores[electrode];
    double scaled[TESS_DECODE_MAX_DIM] = {0};
    for (int64_t d = 0; d < learner->n_dim; d++) {
        scaled[d] = place[d] * learner->place_scale[d];
        e->place[d * learner->capacity + slot] = scaled[d];
    }
    const int64_t cell = e->t ? tess_de_kde_cell(&learner->plan, 1, scaled) : 0;
    const int64_t i = e->t ? make_room(learner, e, slot, cell < 0 ? 0 : cell) : slot;
    e->n_stored = !e->t && slot == e->n_stored ? slot + 1 : e->n_stored;
    if (e->t) {
        float basis[TESS_KDE_MAX_ORDER];
        tess_de_kde_basis(&learner->plan, 1, scaled, 1, basis);
        e->t[i] = (float)tess_de_kde_within(&learner->plan, scaled[0]);
        e->base[i] = basis[0];
        e->slot[i] = (int32_t)slot;
        e->at[slot] = (int32_t)i;
    } else if (e->kernel) {
        write_kernel(learner, e, i, scaled);
    }
    for (int64_t f = 0; f < e->n_feature; f++) {
        if (e->n_stored == 1) {
            e->centre[f] = (double)mark[f]; // differences of f32 are then of small numbers
        }
        const double value = ((double)mark[f] - e->centre[f]) * e->scale[f];
        e->marks[f * learner->capacity + slot] = value;
        e->marks_f32[f * learner->capacity + i] = (float)(value * SQRT_LOG2_E);
    }
}

// The electrode as the stage reads it.
void tess_de_learn_show_cells(const online_learner *learner, learn_model *model, int64_t electrode)
{
    learn_store *e = &model->stores[electrode];
    tess_kde_electrode *to = &model->electrodes[electrode];
    int32_t n_used = 0;
    for (int64_t c = 0; c < n_cell_of(learner) && e->t; c++) {
        if (e->start[c + 1] > e->start[c]) {
            e->cell[n_used] = (int32_t)c;
            e->cell_first[n_used++] = e->start[c];
        }
    }
    if (e->t) {
        e->cell_first[n_used] = (int32_t)e->n_stored;
    }
    to->n_cell = n_used;
    to->n_cell_spike = e->t ? e->n_stored : 0;
    to->n_spike = e->n_stored;
    to->total_weight = (double)e->n_stored;
}
