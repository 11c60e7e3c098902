// The hidden Markov model of decode on the CPU: filter and smoother.
//
// Rows depend on each other, so one thread takes them in order, block by block. Where it pays, the
// others meanwhile prepare the next block: the filter's likelihoods, the smoother's predictions. A
// movement over very many bins is shared by all threads instead, row by row.
//
// What a row costs, with B bins in all and M of them in states with a movement of their own (a
// state that is entered and left evenly is one number before and after it, and its bins are only
// scaled):
//   filter    n_ll exponentials; M products with them and their sum; B scaled, rounded and summed;
//             the movement once forward
//   smoother  B rows widened and summed; the movement forward again, for the divisors; M divisions;
//             the movement backward; M products; B scaled, rounded and summed
// Where there is memory for them, the filter keeps what its rows predict, and of the smoother's
// part the first two are left out: M doubles a row are written and read instead.
// A row is read and written once by each in its own type. For two states of 724 bins of a W-maze,
// one of which moves, that is 724 exponentials (600 cycles of an AVX-512 core), 724 divisions
// (1500), 13 passes over 724 bins (100 each) and three movements, of which forecasts save one; what
// a movement costs stands in systems/decode/states/transition_tiles.c. One thread of an x86-64 core
// takes 12.5 us for both with forecasts: 4.6 are products, and the 43 KB that go in and out of
// memory are 3.8 by themselves; what the next row wants is fetched beside the products, which took
// 0.5 off. Without forecasts one Neoverse N1 takes 35.4: three movements of 49,700 products 20.5,
// which are 12,400 cycles each if nothing else were done; exponentials 3.9, runs of cells 3.4, and
// 8 for what remains. Two take 22.5: of the filter the likelihoods, of the smoother the predictions
// are made by the other. A block that is prepared in less than SHARED_WORK is done before others
// are awake.
#include "backend/cpu/decode/hmm.h"

#include "base/status.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

// exp(ll - max) of a row [n_ll]; behind it max, 0 if it is not finite, and the sums of the states
// that are entered evenly.
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
    for (int32_t s = 0; s < m->n_state; s++) {
        if (m->enters_evenly[s]) {
            kernels->hmm_sum(likelihood + m->ll_first[s], (size_t)(m->first[s + 1] - m->first[s]),
                             &likelihood[m->n_ll + 1 + s]);
        }
    }
}

// Rows [][N_s] of a dtype, and the bins of one state in one of them.
typedef struct hmm_part {
    const tess_kernels *kernels;
    void *rows;
    int64_t at;
    size_t n;
    int32_t dtype;
} hmm_part;

static hmm_part part_of(const tess_kernels *kernels, const tess_hmm_model *m, void *rows,
                        int32_t dtype, int64_t t, int32_t s)
{
    return (hmm_part){.kernels = kernels,
                      .rows = rows,
                      .at = t * m->n_bin + m->first[s],
                      .n = (size_t)(m->first[s + 1] - m->first[s]),
                      .dtype = dtype};
}

// The part becomes x * by, rounded; y too, if it is not NULL.
static void keep(const hmm_part *part, const double *x, double by, double *y, double *sum)
{
    if (part->dtype == TESS_F32) {
        part->kernels->hmm_keep_f32(x, part->n, by, (float *)part->rows + part->at, y, sum);
    } else {
        part->kernels->hmm_keep_f64(x, part->n, by, (double *)part->rows + part->at, y, sum);
    }
}

static void scale(const hmm_part *part, double by, double *sum)
{
    if (part->dtype == TESS_F32) {
        part->kernels->hmm_scale_f32((float *)part->rows + part->at, part->n, by, sum);
    } else {
        part->kernels->hmm_scale_f64((double *)part->rows + part->at, part->n, by, sum);
    }
}

static void take(const hmm_part *part, double *x, double *sum)
{
    if (part->dtype == TESS_F32) {
        part->kernels->hmm_take_f32((const float *)part->rows + part->at, part->n, x, sum);
    } else {
        part->kernels->hmm_take_f64((const double *)part->rows + part->at, part->n, x, sum);
    }
}

static void multiply(const hmm_part *part, const double *by, double *y, double *sum)
{
    if (part->dtype == TESS_F32) {
        part->kernels->hmm_multiply_f32((const float *)part->rows + part->at, by, part->n, y, sum);
    } else {
        part->kernels->hmm_multiply_f64((const double *)part->rows + part->at, by, part->n, y, sum);
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
    bool is_divided; // lanes go to other threads
} hmm_rounds;

// Vector operations of a block from which on its preparation is left to others: some 0.1 ms.
static const int64_t SHARED_WORK = 400000;

// work: operations that preparing a row takes, one by one.
static hmm_rounds rounds_of(tess_backend_device *device, const void *args, const tess_hmm_model *m,
                            double *scratch, double *ahead, int64_t n_row, int64_t work)
{
    const int64_t rows = tess_hmm_block_rows(m);
    const int64_t at_once = (int64_t)(device->kernels->vector_bytes() / sizeof(double));
    hmm_rounds rounds = {.device = device,
                         .args = args,
                         .model = m,
                         .room = tess_cpu_hmm_room(m, scratch),
                         .ahead = ahead,
                         .n_row = n_row,
                         .n_block = (n_row + rows - 1) / rows,
                         .block_rows = rows,
                         .width = tess_hmm_block_width(m),
                         .is_divided = rows * work >= SHARED_WORK * (at_once > 0 ? at_once : 1)};
    rounds.room.is_alone = !ahead || !tess_cpu_hmm_is_shared(m);
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
        if (rounds->room.is_alone && rounds->is_divided) {
            TESS_TRY(tess_parallel_for(rounds->device->ctx->pool, n_task, task, rounds));
            continue;
        }
        for (int64_t i = 0; i < n_task; i++) { // each of them may share its passes
            TESS_TRY(task(rounds, i, 0));
        }
    }
    return TESS_OK;
}

// Whether all bins of a state are as likely before row t, level[s] each. After a step into a state
// that is entered evenly they are; of a chunk's first row one has to see.
static int is_level(const tess_stage_decode_hmm_filter *a, int64_t t, int32_t s)
{
    const tess_hmm_model *m = a->model;
    if (!m->enters_evenly[s]) {
        return 0;
    }
    const double *predicted = a->predicted + m->first[s];
    for (int64_t i = 1; t == 0 && i < m->first[s + 1] - m->first[s]; i++) {
        if (predicted[i] != predicted[0]) {
            return 0;
        }
    }
    return 1;
}

// What row t's prediction leaves behind for the caller.
static void note_predicted(const tess_kernels *kernels, const tess_stage_decode_hmm_filter *a,
                           const hmm_room *room, int64_t t)
{
    const tess_hmm_model *m = a->model;
    if (!a->predicted_rows && !a->predictive_states) {
        return;
    }
    for (int32_t s = 0; s < m->n_state; s++) {
        const hmm_part part = part_of(kernels, m, a->predicted_rows, a->dtype, t, s);
        double *predicted = a->predicted + m->first[s];
        double sum = 0;
        if (is_level(a, t, s)) {
            kernels->hmm_fill(room->level[s], part.n, predicted);
        }
        kernels->hmm_sum(predicted, part.n, &sum);
        if (a->predictive_states) {
            a->predictive_states[t * m->n_state + s] = sum;
        }
        if (a->predicted_rows) {
            keep(&part, predicted, 1, NULL, &sum);
        }
    }
}

// The vectors of a forecast, as it is kept.
static void note_forecast(const hmm_room *room, const tess_stage_decode_hmm_filter *a, int64_t t)
{
    const tess_hmm_model *m = a->model;
    const size_t states = (size_t)m->n_state * sizeof(double);
    double *to = a->forecasts + t * tess_hmm_forecast_width(m);
    for (int32_t s = 0; s < m->n_state; s++) {
        const int64_t n = m->enters_evenly[s] ? 0 : m->first[s + 1] - m->first[s];
        memcpy(to, a->predicted + m->first[s], (size_t)n * sizeof *to);
        to += n;
    }
    memcpy(to, room->level, states);
    memcpy(to + m->n_state, room->sums, states);
}

// Items from..from+n-1.
static hmm_wanted wanted_of(const void *rows, int32_t dtype, int64_t from, int64_t n)
{
    const size_t bytes = tess_dtype_bytes((tess_dtype)dtype);
    const char *next = (const char *)rows + (size_t)from * bytes;
    return (hmm_wanted){next, next + (size_t)n * bytes};
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
        if (is_level(a, t, s)) {
            part = room->level[s] * likelihood[m->n_ll + 1 + s];
        } else {
            kernels->hmm_multiply_f64(a->predicted + first, likelihood + m->ll_first[s],
                                      (size_t)(m->first[s + 1] - first), room->row + first, &part);
        }
        norm += part;
    }
    a->log_norm[t] = norm >= DBL_MIN ? log(norm) + likelihood[m->n_ll] : -(double)INFINITY;
    const double by = TESS_HMM_SHARE(norm);
    for (int32_t s = 0; s < m->n_state; s++) {
        const hmm_part part = part_of(kernels, m, a->filtered, a->dtype, t, s);
        double *row = room->row + m->first[s];
        const int level = is_level(a, t, s);
        keep(&part, level ? likelihood + m->ll_first[s] : row, level ? room->level[s] * by : by,
             m->leaves_evenly[s] ? NULL : row, &room->sums[s]);
    }
    if (a->causal_states) {
        memcpy(a->causal_states + t * m->n_state, room->sums,
               (size_t)m->n_state * sizeof *room->sums);
    }
    hmm_room step = *room;
    if (t + 1 < a->n_row) {
        step.wanted[0] = wanted_of(a->filtered, a->dtype, (t + 1) * m->n_bin, m->n_bin);
    }
    if (a->forecasts) {
        const int64_t width = tess_hmm_forecast_width(m);
        step.wanted[1] = wanted_of(a->forecasts, TESS_F64, t * width, width);
    }
    tess_cpu_hmm_spread(rounds->device, m, &step, 1, a->transition + t * a->transition_stride,
                        room->row, room->sums, a->predicted, room->level);
    if (a->forecasts) {
        note_forecast(room, a, t);
    }
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

// What the last row predicts, in full.
static void finish_filter(const hmm_rounds *rounds)
{
    const tess_stage_decode_hmm_filter *a = rounds->args;
    const tess_hmm_model *m = a->model;
    for (int32_t s = 0; s < m->n_state && a->n_row > 0; s++) {
        if (m->enters_evenly[s]) {
            rounds->device->kernels->hmm_fill(rounds->room.level[s],
                                              (size_t)(m->first[s + 1] - m->first[s]),
                                              a->predicted + m->first[s]);
        }
    }
}

tess_status tess_cpu_decode_hmm_filter(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_hmm_filter *a = args;
    enum { OF_EXP = 52 }; // on a core of two units
    hmm_rounds rounds =
        rounds_of(device, a, a->model, a->scratch, a->ahead, a->n_row, OF_EXP * a->model->n_ll);
    for (int32_t s = 0; s < a->model->n_state; s++) {
        rounds.room.level[s] = a->predicted[a->model->first[s]];
    }
    if (a->ahead) {
        TESS_TRY(run_rounds(&rounds, filter_task));
    }
    for (int64_t t = 0; t < a->n_row && !a->ahead; t++) {
        weigh(device->kernels, a->model, a->ll, a->ll_dtype, t, rounds.room.likelihood);
        filter_row(&rounds, t, rounds.room.likelihood);
    }
    finish_filter(&rounds);
    return TESS_OK;
}

// What the lanes prepare for a row of the smoother, or the filter kept: what it predicts for the
// next, the sums of what the filter kept [S], and the levels of the prediction [S].
typedef struct hmm_ahead {
    const double *predicted; // [N_s]; of a forecast without bins of states that are entered evenly
    const double *sums;
    const double *level;
    bool is_forecast;
} hmm_ahead;

static hmm_ahead ahead_of(const tess_hmm_model *m, const double *row)
{
    return (hmm_ahead){row, row + m->n_bin, row + m->n_bin + m->n_state, false};
}

static hmm_ahead forecast_of(const tess_hmm_model *m, const double *row)
{
    const double *level = row + tess_hmm_forecast_bins(m);
    return (hmm_ahead){row, level + m->n_state, level, true};
}

// The smoothed row after t over what t predicts, and from there back to row t: other [N_s] and
// level [S]. kept_sums are those of the row after t.
static void step_back(const hmm_rounds *rounds, int64_t t, const hmm_ahead *ahead)
{
    const tess_stage_decode_hmm_smooth *a = rounds->args;
    const tess_hmm_model *m = a->model;
    const hmm_room *room = &rounds->room;
    const double *predicted = ahead->predicted;
    for (int32_t s = 0; s < m->n_state; s++) {
        const int64_t first = m->first[s];
        const int64_t n = m->first[s + 1] - first;
        if (m->enters_evenly[s]) {
            room->sums[s] = ahead->level[s] == 0 ? 0 : room->kept_sums[s] / ahead->level[s];
        } else {
            rounds->device->kernels->hmm_divide(a->next + first, predicted, (size_t)n,
                                                room->ratio + first, &room->sums[s]);
        }
        predicted += ahead->is_forecast && m->enters_evenly[s] ? 0 : n;
    }
    hmm_room step = *room;
    step.wanted[0] = wanted_of(a->filtered, a->dtype, t * m->n_bin, m->n_bin);
    if (a->forecasts && t > 0) {
        const int64_t width = tess_hmm_forecast_width(m);
        step.wanted[1] = wanted_of(a->forecasts, TESS_F64, (t - 1) * width, width);
    }
    tess_cpu_hmm_spread(rounds->device, m, &step, 0, a->transition + t * a->transition_stride,
                        room->ratio, room->sums, room->other, room->level);
}

static void smooth_row(const hmm_rounds *rounds, int64_t t, const hmm_ahead *ahead)
{
    const tess_stage_decode_hmm_smooth *a = rounds->args;
    const tess_hmm_model *m = a->model;
    const hmm_room *room = &rounds->room;
    const tess_kernels *kernels = rounds->device->kernels;
    const int is_last = a->is_last && t == a->n_row - 1;
    double norm = 0;
    if (!is_last) {
        step_back(rounds, t, ahead);
    }
    for (int32_t s = 0; s < m->n_state; s++) {
        const hmm_part part = part_of(kernels, m, a->filtered, a->dtype, t, s);
        double sum = room->level[s] * ahead->sums[s];
        if (is_last) {
            take(&part, a->next + m->first[s], &room->kept_sums[s]);
        } else if (!m->leaves_evenly[s]) {
            multiply(&part, room->other + m->first[s], a->next + m->first[s], &sum);
        }
        norm += sum;
    }
    const double by = TESS_HMM_SHARE(norm);
    for (int32_t s = 0; s < m->n_state && !is_last; s++) {
        const hmm_part part = part_of(kernels, m, a->filtered, a->dtype, t, s);
        double *next = a->next + m->first[s];
        if (!m->leaves_evenly[s]) {
            keep(&part, next, by, m->enters_evenly[s] ? NULL : next, &room->kept_sums[s]);
            continue;
        }
        scale(&part, room->level[s] * by, &room->kept_sums[s]);
        if (!m->enters_evenly[s]) {
            take(&part, next, &room->kept_sums[s]);
        }
    }
    if (a->acausal_states) {
        memcpy(a->acausal_states + t * m->n_state, room->kept_sums,
               (size_t)m->n_state * sizeof *room->kept_sums);
    }
}

// A row of the filter, and what it predicts for the next.
static void predict_row(const hmm_rounds *rounds, const hmm_room *room, int64_t t, double *prepared)
{
    const tess_stage_decode_hmm_smooth *a = rounds->args;
    const tess_hmm_model *m = a->model;
    double *sums = prepared + m->n_bin;
    for (int32_t s = 0; s < m->n_state; s++) {
        const hmm_part part = part_of(rounds->device->kernels, m, a->filtered, a->dtype, t, s);
        take(&part, m->leaves_evenly[s] ? NULL : room->row + m->first[s], &sums[s]);
    }
    tess_cpu_hmm_spread(rounds->device, m, room, 1, a->transition + t * a->transition_stride,
                        room->row, sums, prepared, sums + m->n_state);
}

// Blocks and their rows count from the last row.
static tess_status smooth_task(void *arg, int64_t task, int32_t worker)
{
    const hmm_rounds *rounds = arg;
    const tess_stage_decode_hmm_smooth *a = rounds->args;
    const tess_hmm_model *m = a->model;
    const int64_t block = rounds->round + (task > 0);
    const int64_t n = rows_of_block(rounds, block);
    const int64_t last = a->n_row - 1 - block * rounds->block_rows;
    if (task == 0) {
        for (int64_t i = 0; i < n; i++) {
            const hmm_ahead ahead = ahead_of(m, ahead_row(rounds, block, i));
            smooth_row(rounds, last - i, &ahead);
        }
        return TESS_OK;
    }
    const int64_t lane = a->n_lane < TESS_HMM_LANES ? worker : task - 1;
    hmm_room room = tess_cpu_hmm_room(m, a->lanes + lane * m->n_scratch);
    room.is_alone = rounds->room.is_alone;
    for (int64_t i = task - 1; i < n; i += TESS_HMM_LANES) {
        predict_row(rounds, &room, last - i, ahead_row(rounds, block, i));
    }
    return TESS_OK;
}

tess_status tess_cpu_decode_hmm_smooth(tess_backend_device *device, const void *args)
{
    const tess_stage_decode_hmm_smooth *a = args;
    const tess_hmm_model *m = a->model;
    hmm_rounds rounds =
        rounds_of(device, a, m, a->scratch, a->ahead, a->n_row, tess_cpu_hmm_products(m));
    // One way forth and one back: two threads share that best.
    rounds.room.is_alone |= a->n_lane == 1 || tess_pool_threads(device->ctx->pool) <= 2;
    rounds.is_divided &= a->n_lane > 1;
    for (int32_t s = 0; s < m->n_state && !a->is_last; s++) {
        device->kernels->hmm_sum(a->next + m->first[s], (size_t)(m->first[s + 1] - m->first[s]),
                                 &rounds.room.kept_sums[s]);
    }
    for (int64_t t = a->n_row - 1; t >= 0 && a->forecasts; t--) {
        const hmm_ahead ahead = forecast_of(m, a->forecasts + t * tess_hmm_forecast_width(m));
        smooth_row(&rounds, t, &ahead);
    }
    if (!a->forecasts) {
        TESS_TRY(run_rounds(&rounds, smooth_task));
    }
    for (int32_t s = 0; s < m->n_state && a->n_row > 0; s++) {
        const hmm_part part = part_of(device->kernels, m, a->filtered, a->dtype, 0, s);
        take(&part, a->next + m->first[s], &rounds.room.kept_sums[s]);
    }
    return TESS_OK;
}
