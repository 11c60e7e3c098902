// The hidden Markov model of decode on the CPU: scores of the most likely path.
//
// As the smoother's backward step, with logarithms: sums become maxima, products become sums.
#include "backend/cpu/decode/hmm.h"

#include <math.h>
#include <string.h>

static const double NEVER = -(double)INFINITY;

static double largest(const double *x, int64_t n)
{
    double best = NEVER;
    for (int64_t i = 0; i < n; i++) {
        best = x[i] > best ? x[i] : best;
    }
    return best;
}

// y = max(y, by + x)
static void raise_to(double by, const double *x, int64_t n, double *y)
{
    for (int64_t i = 0; i < n; i++) {
        const double value = by + x[i];
        y[i] = value > y[i] ? value : y[i];
    }
}

// The operator on room->in [n_in]; raises out [n_out].
static void run_operator(const tess_kernels *kernels, const tess_hmm_operator *op,
                         const hmm_room *room, double *out)
{
    double *cells = room->cells + op->scratch;
    const double *in = room->in;
    if (op->scatter) {
        for (int64_t i = 0; i < op->n_in; i++) {
            cells[op->scatter[i]] = op->before ? in[i] + op->before[i] : in[i];
        }
        in = cells;
    }
    for (int32_t p = 0; p < op->n_pass; p++) {
        const tess_hmm_pass *pass = &op->pass[p];
        double *to = op->gather ? cells + (p + 1) * op->n_cell : room->out;
        kernels->tile_maxima(pass->tiles, (size_t)pass->n_tile, pass->weighs ? in : op->table,
                             pass->weighs ? op->table : in, to);
        in = to;
    }
    for (int64_t i = 0; i < op->n_out; i++) {
        const double value = op->gather ? in[op->gather[i]] : in[i];
        const double whole = op->after ? value + op->after[i] : value;
        out[i] = whole > out[i] ? whole : out[i];
    }
}

// The best way on from the bins of one state, to bins worth x.
static void score_state(const tess_kernels *kernels, const tess_hmm_model *m, const hmm_room *room,
                        const double *transition, int32_t from, double *out)
{
    const int32_t *link = m->link + (ptrdiff_t)from * m->n_state;
    const double *weight = transition + (ptrdiff_t)from * m->n_state;
    const double *x = room->row;
    const int64_t n = m->first[from + 1] - m->first[from];
    double base = NEVER;
    for (int32_t to = 0; to < m->n_state; to++) {
        const double width = (double)(m->first[to + 1] - m->first[to]);
        if (link[to] == TESS_HMM_UNIFORM) {
            const double value = weight[to] - log(width) + room->sums[to];
            base = value > base ? value : base;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        out[i] = base;
    }
    for (int32_t to = 0; to < m->n_state; to++) {
        if (link[to] == TESS_HMM_IDENTITY) {
            raise_to(weight[to], x + m->first[to], n, out);
        }
    }
    for (int32_t k = 0; k < m->n_operator; k++) {
        const tess_hmm_operator *op = &m->backward[k];
        int n_used = 0;
        for (int32_t to = 0; to < m->n_state; to++) {
            if (link[to] != k) {
                continue;
            }
            for (int64_t i = 0; n_used == 0 && i < op->n_in; i++) {
                room->in[i] = NEVER;
            }
            raise_to(weight[to], x + m->first[to], op->n_in, room->in);
            n_used++;
        }
        if (n_used > 0) {
            run_operator(kernels, op, room, out);
        }
    }
}

// x = ll + scores of row t, and the largest x of every state.
static void worth_of_row(const tess_hmm_model *m, const hmm_room *room, const void *ll,
                         int32_t dtype, int64_t t, const double *scores)
{
    for (int32_t s = 0; s < m->n_state; s++) {
        const int64_t n = m->first[s + 1] - m->first[s];
        const int64_t at = t * m->n_ll + m->ll_first[s];
        const double *score = scores + m->first[s];
        double *x = room->row + m->first[s];
        if (dtype == TESS_F32) {
            for (int64_t i = 0; i < n; i++) {
                x[i] = (double)((const float *)ll)[at + i] + score[i];
            }
        } else {
            for (int64_t i = 0; i < n; i++) {
                x[i] = ((const double *)ll)[at + i] + score[i];
            }
        }
        room->sums[s] = largest(x, n);
    }
}

tess_status tess_cpu_decode_hmm_scores(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_hmm_scores *a = args;
    const tess_hmm_model *m = a->model;
    const hmm_room room = tess_cpu_hmm_room(m, a->scratch);
    const double *after = a->next;
    for (int64_t t = a->n_row - 1; t >= 0; t--) {
        worth_of_row(m, &room, a->ll, a->ll_dtype, t + 1, after);
        double *to = a->scores ? a->scores + t * m->n_bin : a->first;
        for (int32_t s = 0; s < m->n_state; s++) {
            score_state(device->kernels, m, &room, a->transition + t * a->transition_stride, s,
                        to + m->first[s]);
        }
        after = to;
    }
    if (a->scores && a->n_row > 0) {
        memcpy(a->first, a->scores, (size_t)m->n_bin * sizeof *a->first);
    }
    return TESS_OK;
}

// log A from one bin to the bins of a state, into out.
static void ways_from(const tess_kernels *kernels, const tess_hmm_model *m, const hmm_room *room,
                      const double *transition, int32_t from, int64_t bin, int32_t to, double *out)
{
    const int32_t link = m->link[from * m->n_state + to];
    const double weight = transition[from * m->n_state + to];
    const int64_t n = m->first[to + 1] - m->first[to];
    for (int64_t i = 0; i < n; i++) {
        out[i] = link == TESS_HMM_UNIFORM ? weight - log((double)n) : NEVER;
    }
    if (link == TESS_HMM_IDENTITY) {
        out[bin] = weight;
    }
    if (link >= 0) {
        const tess_hmm_operator *op = &m->forward[link];
        for (int64_t i = 0; i < op->n_in; i++) {
            room->in[i] = i == bin ? weight : NEVER;
        }
        run_operator(kernels, op, room, out);
    }
}

tess_status tess_cpu_decode_hmm_trace(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_hmm_trace *a = args;
    const tess_hmm_model *m = a->model;
    const hmm_room room = tess_cpu_hmm_room(m, a->scratch);
    int64_t at = a->from;
    for (int64_t t = 0; t < a->n_row; t++) {
        worth_of_row(m, &room, a->ll, a->ll_dtype, t, a->scores + t * m->n_bin);
        int32_t from = 0;
        while (m->first[from + 1] <= at) {
            from++;
        }
        const int64_t bin = at - m->first[from];
        double best = NEVER;
        at = 0;
        for (int32_t to = 0; to < m->n_state; to++) {
            double *way = room.other + m->first[to];
            ways_from(device->kernels, m, &room, a->transition + t * a->transition_stride, from,
                      bin, to, way);
            for (int64_t i = m->first[to]; i < m->first[to + 1]; i++) {
                const double value = room.other[i] + room.row[i];
                if (value > best) {
                    best = value;
                    at = i;
                }
            }
        }
        a->path[t] = at;
    }
    return TESS_OK;
}
