// The hidden Markov model of decode on the CPU: filter and smoother.
//
// Rows depend on each other, so one thread takes them in order, block by block. Meanwhile the
// others prepare the next block: the filter's likelihoods, the smoother's predictions. A movement
// over very many bins is shared by all threads instead, row by row.
#include "backend/cpu/decode/hmm.h"

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
                      .sums = scratch + 5 * n + model->n_ll + 1,
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

static int is_shared(const tess_hmm_pass *pass)
{
    int64_t products = 0;
    for (int64_t i = 0; i < pass->n_tile; i++) {
        const tess_tile_sum *tile = &pass->tiles[i];
        products += (int64_t)tile->n_term * tile->n_row * tile->n;
    }
    return products >= SHARED_PRODUCTS;
}

static int has_shared(const tess_hmm_model *m)
{
    for (int32_t k = 0; k < m->n_operator; k++) {
        for (int32_t p = 0; p < m->forward[k].n_pass; p++) {
            if (is_shared(&m->forward[k].pass[p])) {
                return 1;
            }
        }
    }
    return 0;
}

static void run_pass(tess_backend_device *device, int is_alone, pass_job *job)
{
    if (is_alone || !is_shared(job->pass) ||
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

// exp(ll - max) of a row [n_ll], and behind it max, 0 if it is not finite.
static void weigh(const tess_kernels *kernels, const tess_hmm_model *m, const void *ll,
                  int32_t dtype, int64_t row, double *likelihood)
{
    const size_t n = (size_t)m->n_ll;
    double most = 0;
    if (dtype == TESS_F32) {
        const float *x = (const float *)ll + row * m->n_ll;
        kernels->hmm_max_f32(x, n, &most);
        most = isfinite(most) ? most : 0;
        kernels->hmm_exp_f32(x, n, most, likelihood);
    } else {
        const double *x = (const double *)ll + row * m->n_ll;
        kernels->hmm_max_f64(x, n, &most);
        most = isfinite(most) ? most : 0;
        kernels->hmm_exp_f64(x, n, most, likelihood);
    }
    likelihood[n] = most;
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

// A stage over blocks of rows. In round k, from -1 on, task 0 works on block k and the lanes on
// block k + 1, of those that exist.
typedef struct hmm_rounds {
    tess_backend_device *device;
    const void *args;
    const tess_hmm_model *model;
    hmm_room room;
    double *ahead;
    int64_t n_row;
    int64_t n_block;
    int64_t block_rows;
    int64_t width;
    int64_t round;
} hmm_rounds;

static hmm_rounds rounds_of(tess_backend_device *device, const void *args, const tess_hmm_model *m,
                            double *scratch, double *ahead, int64_t n_row)
{
    const int64_t rows = tess_hmm_block_rows(m);
    hmm_rounds rounds = {.device = device,
                         .args = args,
                         .model = m,
                         .room = tess_cpu_hmm_room(m, scratch),
                         .ahead = ahead,
                         .n_row = n_row,
                         .n_block = (n_row + rows - 1) / rows,
                         .block_rows = rows,
                         .width = tess_hmm_block_width(m)};
    rounds.room.is_alone = !ahead || !has_shared(m);
    return rounds;
}

// Where row i of a block is prepared.
static double *ahead_row(const hmm_rounds *rounds, int64_t block, int64_t i)
{
    return rounds->ahead + ((block & 1) * rounds->block_rows + i) * rounds->width;
}

static int64_t rows_of_block(const hmm_rounds *rounds, int64_t block)
{
    if (block < 0 || block >= rounds->n_block) {
        return 0;
    }
    const int64_t left = rounds->n_row - block * rounds->block_rows;
    return left < rounds->block_rows ? left : rounds->block_rows;
}

static tess_status run_rounds(hmm_rounds *rounds, tess_block_fn task)
{
    const int64_t n_task = 1 + TESS_HMM_LANES;
    for (rounds->round = -1; rounds->round < rounds->n_block; rounds->round++) {
        if (rounds->room.is_alone) {
            TESS_TRY(tess_parallel_for(rounds->device->ctx->pool, n_task, task, rounds));
            continue;
        }
        for (int64_t i = 0; i < n_task; i++) { // each of them shares its passes
            TESS_TRY(task(rounds, i, 0));
        }
    }
    return TESS_OK;
}

static void filter_row(const hmm_rounds *rounds, int64_t t, const double *likelihood)
{
    const tess_stage_decode_hmm_filter *a = rounds->args;
    const tess_hmm_model *m = a->model;
    const hmm_room *room = &rounds->room;
    const tess_kernels *kernels = rounds->device->kernels;
    note_predicted(kernels, a, room, t);
    double norm = 0;
    for (int32_t s = 0; s < m->n_state; s++) {
        const int64_t first = m->first[s];
        double part = 0;
        kernels->hmm_multiply(a->predicted + first, likelihood + m->ll_first[s],
                              (size_t)(m->first[s + 1] - first), room->row + first, &part);
        norm += part;
    }
    a->log_norm[t] = norm > 0 ? log(norm) + likelihood[m->n_ll] : -(double)INFINITY;
    keep(kernels, m, room->row, 1 / (norm + TINY), a->filtered, a->dtype, t, room->sums);
    if (a->causal_states) {
        memcpy(a->causal_states + t * m->n_state, room->sums,
               (size_t)m->n_state * sizeof *room->sums);
    }
    spread(rounds->device, m, room, 1, a->transition + t * a->transition_stride, room->row,
           room->sums, a->predicted);
}

static tess_status filter_task(void *arg, int64_t task, int32_t worker)
{
    (void)worker;
    const hmm_rounds *rounds = arg;
    const tess_stage_decode_hmm_filter *a = rounds->args;
    const int64_t block = rounds->round + (task > 0);
    const int64_t n = rows_of_block(rounds, block);
    const int64_t first = block * rounds->block_rows;
    if (task == 0) {
        for (int64_t i = 0; i < n; i++) {
            filter_row(rounds, first + i, ahead_row(rounds, block, i));
        }
        return TESS_OK;
    }
    for (int64_t i = task - 1; i < n; i += TESS_HMM_LANES) {
        weigh(rounds->device->kernels, a->model, a->ll, a->ll_dtype, first + i,
              ahead_row(rounds, block, i));
    }
    return TESS_OK;
}

tess_status tess_cpu_decode_hmm_filter(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_hmm_filter *a = args;
    hmm_rounds rounds = rounds_of(device, a, a->model, a->scratch, a->ahead, a->n_row);
    if (a->ahead) {
        return run_rounds(&rounds, filter_task);
    }
    for (int64_t t = 0; t < a->n_row; t++) {
        weigh(device->kernels, a->model, a->ll, a->ll_dtype, t, rounds.room.likelihood);
        filter_row(&rounds, t, rounds.room.likelihood);
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

static void smooth_row(const hmm_rounds *rounds, int64_t t, const double *predicted)
{
    const tess_stage_decode_hmm_smooth *a = rounds->args;
    const tess_hmm_model *m = a->model;
    const hmm_room *room = &rounds->room;
    const tess_kernels *kernels = rounds->device->kernels;
    take(kernels, m, a->filtered, a->dtype, t, room->row, room->sums);
    if (a->is_last && t == a->n_row - 1) {
        memcpy(a->next, room->row, (size_t)m->n_bin * sizeof *a->next);
    } else {
        divide(kernels, m, a->next, predicted, room->ratio, room->sums);
        spread(rounds->device, m, room, 0, a->transition + t * a->transition_stride, room->ratio,
               room->sums, room->other);
        double norm = 0;
        kernels->hmm_multiply(room->row, room->other, (size_t)m->n_bin, a->next, &norm);
        keep(kernels, m, a->next, 1 / (norm + TINY), a->filtered, a->dtype, t, room->sums);
    }
    if (a->acausal_states) {
        memcpy(a->acausal_states + t * m->n_state, room->sums,
               (size_t)m->n_state * sizeof *room->sums);
    }
}

// Blocks and their rows count from the last row.
static tess_status smooth_task(void *arg, int64_t task, int32_t worker)
{
    (void)worker;
    const hmm_rounds *rounds = arg;
    const tess_stage_decode_hmm_smooth *a = rounds->args;
    const tess_hmm_model *m = a->model;
    const int64_t block = rounds->round + (task > 0);
    const int64_t n = rows_of_block(rounds, block);
    const int64_t last = a->n_row - 1 - block * rounds->block_rows;
    if (task == 0) {
        for (int64_t i = 0; i < n; i++) {
            smooth_row(rounds, last - i, ahead_row(rounds, block, i));
        }
        return TESS_OK;
    }
    hmm_room room = tess_cpu_hmm_room(m, a->lanes + (task - 1) * m->n_scratch);
    room.is_alone = rounds->room.is_alone;
    for (int64_t i = task - 1; i < n; i += TESS_HMM_LANES) {
        const double *transition = a->transition + (last - i) * a->transition_stride;
        take(rounds->device->kernels, m, a->filtered, a->dtype, last - i, room.row, room.sums);
        spread(rounds->device, m, &room, 1, transition, room.row, room.sums,
               ahead_row(rounds, block, i));
    }
    return TESS_OK;
}

tess_status tess_cpu_decode_hmm_smooth(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_hmm_smooth *a = args;
    hmm_rounds rounds = rounds_of(device, a, a->model, a->scratch, a->ahead, a->n_row);
    // One way forth and one back: two threads share that best.
    rounds.room.is_alone |= tess_pool_threads(device->ctx->pool) <= 2;
    return run_rounds(&rounds, smooth_task);
}
