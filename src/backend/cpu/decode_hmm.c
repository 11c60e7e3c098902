// The hidden Markov model of decode on the CPU: filter and smoother.
//
// Rows depend on each other, so one thread takes them in order; what a row needs stays in its
// caches. Only a movement over very many bins is worth the other threads' while.
#include "backend/cpu/decode_hmm.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

// Added to every denominator.
static const double TINY = 1e-15;

hmm_room tess_cpu_hmm_room(const tess_hmm_model *model, double *scratch)
{
    const int64_t n = model->n_bin;
    return (hmm_room){.row = scratch,
                      .other = scratch + n,
                      .ratio = scratch + 2 * n,
                      .in = scratch + 3 * n,
                      .out = scratch + 4 * n,
                      .likelihood = scratch + 5 * n,
                      .sums = scratch + 5 * n + model->n_ll,
                      .cells = scratch};
}

// Products of a pass from which on it is shared: a tenth of a millisecond of one thread.
static const int64_t SHARED_PRODUCTS = 1000000;
enum { SHARES = 32 };

typedef struct pass_job {
    const tess_kernels *kernels;
    const tess_hmm_pass *pass;
    const double *w;
    const double *x;
    double *out;
} pass_job;

// The first tile of a share; tiles that add to a result stay with the one that begins it.
static int64_t first_tile(const tess_hmm_pass *pass, int64_t share)
{
    int64_t tile = pass->n_tile * share / SHARES;
    while (tile > 0 && tile < pass->n_tile && pass->tiles[tile].add) {
        tile++;
    }
    return tile;
}

static tess_status run_share(void *arg, int64_t share, int32_t worker)
{
    (void)worker;
    const pass_job *job = arg;
    const int64_t first = first_tile(job->pass, share);
    const int64_t end = first_tile(job->pass, share + 1);
    job->kernels->tile_sums(job->pass->tiles + first, (size_t)(end - first), job->w, job->x,
                            job->out);
    return TESS_OK;
}

static void run_pass(tess_backend_device *device, int is_alone, pass_job *job)
{
    int64_t products = 0;
    for (int64_t i = 0; i < job->pass->n_tile; i++) {
        const tess_tile_sum *tile = &job->pass->tiles[i];
        products += (int64_t)tile->n_term * tile->n_row * tile->n;
    }
    if (is_alone || products < SHARED_PRODUCTS ||
        tess_parallel_for(device->ctx->pool, SHARES, run_share, job) != TESS_OK) {
        job->kernels->tile_sums(job->pass->tiles, (size_t)job->pass->n_tile, job->w, job->x,
                                job->out);
    }
}

// The operator on room->in [n_in]; adds to out [n_out].
static void run_operator(tess_backend_device *device, const tess_hmm_operator *op,
                         const hmm_room *room, double *out)
{
    double *cells = room->cells + op->scratch;
    const double *in = room->in;
    if (op->scatter) {
        for (int64_t i = 0; i < op->n_in; i++) {
            cells[op->scatter[i]] = op->before ? in[i] * op->before[i] : in[i];
        }
        in = cells;
    }
    for (int32_t p = 0; p < op->n_pass; p++) {
        const tess_hmm_pass *pass = &op->pass[p];
        double *to = op->gather ? cells + (p + 1) * op->n_cell : room->out;
        pass_job job = {.kernels = device->kernels,
                        .pass = pass,
                        .w = pass->weighs ? in : op->table,
                        .x = pass->weighs ? op->table : in,
                        .out = to};
        run_pass(device, room->is_alone, &job);
        in = to;
    }
    if (!op->gather) {
        device->kernels->hmm_add_scaled(1, in, (size_t)op->n_out, out);
        return;
    }
    for (int64_t i = 0; i < op->n_out; i++) {
        const double value = in[op->gather[i]];
        out[i] += op->after ? value * op->after[i] : value;
    }
}

// The bins of one state that follow (forward) or lead to (backward) those of x.
static void spread_to(tess_backend_device *device, const tess_hmm_model *m, const hmm_room *room,
                      int is_forward, const double *weight, const double *x, const double *sums,
                      int32_t to, double *out)
{
    const tess_kernels *kernels = device->kernels;
    const int32_t n_state = m->n_state;
    const ptrdiff_t step = is_forward ? n_state : 1;
    const ptrdiff_t begin = is_forward ? to : (ptrdiff_t)to * n_state;
    const int32_t *link = m->link + begin;
    weight += begin;
    const size_t n = (size_t)(m->first[to + 1] - m->first[to]);
    double base = 0;
    for (int32_t from = 0; from < n_state; from++) {
        const int32_t end = is_forward ? to : from; // the uniform value is that of the destination
        if (link[from * step] == TESS_HMM_UNIFORM) {
            base += weight[from * step] * sums[from] / (double)(m->first[end + 1] - m->first[end]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = base;
    }
    for (int32_t from = 0; from < n_state; from++) {
        if (link[from * step] == TESS_HMM_IDENTITY) {
            kernels->hmm_add_scaled(weight[from * step], x + m->first[from], n, out);
        }
    }
    // States that move alike are added up first.
    for (int32_t k = 0; k < m->n_operator; k++) {
        const tess_hmm_operator *op = is_forward ? &m->forward[k] : &m->backward[k];
        int n_used = 0;
        for (int32_t from = 0; from < n_state; from++) {
            if (link[from * step] != k || weight[from * step] == 0) {
                continue;
            }
            if (n_used++ == 0) {
                memset(room->in, 0, (size_t)op->n_in * sizeof *room->in);
            }
            kernels->hmm_add_scaled(weight[from * step], x + m->first[from], (size_t)op->n_in,
                                    room->in);
        }
        if (n_used > 0) {
            run_operator(device, op, room, out);
        }
    }
}

// y = x A (forward) or A x (backward), A of the discrete transitions given.
static void spread(tess_backend_device *device, const tess_hmm_model *m, const hmm_room *room,
                   int is_forward, const double *transition, const double *x, const double *sums,
                   double *y)
{
    for (int32_t to = 0; to < m->n_state; to++) {
        spread_to(device, m, room, is_forward, transition, x, sums, to, y + m->first[to]);
    }
}

// exp(ll - max) of a row into room->likelihood; returns max, 0 if it is not finite.
static double weigh(const tess_kernels *kernels, const tess_hmm_model *m, const hmm_room *room,
                    const void *ll, int32_t dtype, int64_t row)
{
    const size_t n = (size_t)m->n_ll;
    double most = 0;
    if (dtype == TESS_F32) {
        const float *x = (const float *)ll + row * m->n_ll;
        kernels->hmm_max_f32(x, n, &most);
        most = isfinite(most) ? most : 0;
        kernels->hmm_exp_f32(x, n, most, room->likelihood);
    } else {
        const double *x = (const double *)ll + row * m->n_ll;
        kernels->hmm_max_f64(x, n, &most);
        most = isfinite(most) ? most : 0;
        kernels->hmm_exp_f64(x, n, most, room->likelihood);
    }
    return most;
}

// Scales x, rounds it to the dtype of rows, and writes row t of them; sums [S] of what is kept.
static void keep(const tess_kernels *kernels, const tess_hmm_model *m, double *x, double by,
                 void *rows, int32_t dtype, int64_t t, double *sums)
{
    for (int32_t s = 0; s < m->n_state; s++) {
        const int64_t first = m->first[s];
        const size_t n = (size_t)(m->first[s + 1] - first);
        const int64_t at = t * m->n_bin + first;
        if (dtype == TESS_F32) {
            kernels->hmm_keep_f32(x + first, n, by, (float *)rows + at, &sums[s]);
        } else {
            kernels->hmm_keep_f64(x + first, n, by, (double *)rows + at, &sums[s]);
        }
    }
}

static void take(const tess_kernels *kernels, const tess_hmm_model *m, const void *rows,
                 int32_t dtype, int64_t t, double *x, double *sums)
{
    for (int32_t s = 0; s < m->n_state; s++) {
        const int64_t first = m->first[s];
        const size_t n = (size_t)(m->first[s + 1] - first);
        const int64_t at = t * m->n_bin + first;
        if (dtype == TESS_F32) {
            kernels->hmm_take_f32((const float *)rows + at, n, x + first, &sums[s]);
        } else {
            kernels->hmm_take_f64((const double *)rows + at, n, x + first, &sums[s]);
        }
    }
}

// What row t's prediction leaves behind for the caller.
static void note_predicted(const tess_kernels *kernels, const tess_stage_decode_hmm_filter *a,
                           const hmm_room *room, int64_t t)
{
    const tess_hmm_model *m = a->model;
    if (!a->predicted_rows && !a->predictive_states) {
        return;
    }
    take(kernels, m, a->predicted, TESS_F64, 0, room->other, room->sums);
    if (a->predictive_states) {
        memcpy(a->predictive_states + t * m->n_state, room->sums,
               (size_t)m->n_state * sizeof *room->sums);
    }
    if (a->predicted_rows) {
        keep(kernels, m, room->other, 1, a->predicted_rows, a->dtype, t, room->sums);
    }
}

tess_status tess_cpu_decode_hmm_filter(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_hmm_filter *a = args;
    const tess_hmm_model *m = a->model;
    const tess_kernels *kernels = device->kernels;
    hmm_room room = tess_cpu_hmm_room(m, a->scratch);
    room.is_alone = a->is_alone;
    for (int64_t t = 0; t < a->n_row; t++) {
        note_predicted(kernels, a, &room, t);
        const double most = weigh(kernels, m, &room, a->ll, a->ll_dtype, t);
        double norm = 0;
        for (int32_t s = 0; s < m->n_state; s++) {
            const int64_t first = m->first[s];
            double part = 0;
            kernels->hmm_multiply(a->predicted + first, room.likelihood + m->ll_first[s],
                                  (size_t)(m->first[s + 1] - first), room.row + first, &part);
            norm += part;
        }
        a->log_norm[t] = norm > 0 ? log(norm) + most : -(double)INFINITY;
        keep(kernels, m, room.row, 1 / (norm + TINY), a->filtered, a->dtype, t, room.sums);
        if (a->causal_states) {
            memcpy(a->causal_states + t * m->n_state, room.sums,
                   (size_t)m->n_state * sizeof *room.sums);
        }
        spread(device, m, &room, 1, a->transition + t * a->transition_stride, room.row, room.sums,
               a->predicted);
    }
    return TESS_OK;
}

// a / b into y, sums [S] of it.
static void divide(const tess_kernels *kernels, const tess_hmm_model *m, const double *a,
                   const double *b, double *y, double *sums)
{
    for (int32_t s = 0; s < m->n_state; s++) {
        const int64_t first = m->first[s];
        kernels->hmm_divide(a + first, b + first, (size_t)(m->first[s + 1] - first), y + first,
                            &sums[s]);
    }
}

tess_status tess_cpu_decode_hmm_smooth(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_hmm_smooth *a = args;
    const tess_hmm_model *m = a->model;
    const tess_kernels *kernels = device->kernels;
    const hmm_room room = tess_cpu_hmm_room(m, a->scratch);
    for (int64_t t = a->n_row - 1; t >= 0; t--) {
        take(kernels, m, a->filtered, a->dtype, t, room.row, room.sums);
        if (a->is_last && t == a->n_row - 1) {
            memcpy(a->next, room.row, (size_t)m->n_bin * sizeof *a->next);
        } else {
            const double *transition = a->transition + t * a->transition_stride;
            spread(device, m, &room, 1, transition, room.row, room.sums, room.other);
            divide(kernels, m, a->next, room.other, room.ratio, room.sums);
            spread(device, m, &room, 0, transition, room.ratio, room.sums, room.other);
            double norm = 0;
            kernels->hmm_multiply(room.row, room.other, (size_t)m->n_bin, a->next, &norm);
            keep(kernels, m, a->next, 1 / (norm + TINY), a->filtered, a->dtype, t, room.sums);
        }
        if (a->acausal_states) {
            memcpy(a->acausal_states + t * m->n_state, room.sums,
                   (size_t)m->n_state * sizeof *room.sums);
        }
    }
    return TESS_OK;
}
