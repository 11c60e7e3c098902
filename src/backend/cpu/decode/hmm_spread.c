// The hidden Markov model of decode on the CPU: one step of all states' movements.
#include "backend/cpu/decode/hmm.h"

#include "base/status.h"

// Products of a pass from which on it is shared: a tenth of a millisecond of one thread.
static const int64_t SHARED_PRODUCTS = 1000000;
enum { SHARES = 32 };

hmm_room tess_cpu_hmm_room(const tess_hmm_model *model, double *scratch)
{
    const int64_t n = model->n_bin;
    const int64_t n_state = model->n_state;
    double *sums = scratch + 5 * n + model->n_ll + 1 + n_state;
    return (hmm_room){.row = scratch,
                      .other = scratch + n,
                      .ratio = scratch + 2 * n,
                      .in = scratch + 3 * n,
                      .out = scratch + 4 * n,
                      .likelihood = scratch + 5 * n,
                      .sums = sums,
                      .level = sums + n_state,
                      .kept_sums = sums + 2 * n_state,
                      .cells = scratch};
}

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

static int64_t products_of_tile(const tess_tile_sum *tile)
{
    return (int64_t)tile->n_term * tile->n_row * tile->n;
}

static int64_t products_of(const tess_hmm_pass *pass)
{
    int64_t products = 0;
    for (int64_t i = 0; i < pass->n_tile; i++) {
        products += products_of_tile(&pass->tiles[i]);
    }
    return products;
}

static int is_shared(const tess_hmm_pass *pass)
{
    return products_of(pass) >= SHARED_PRODUCTS;
}

int64_t tess_cpu_hmm_products(const tess_hmm_model *model)
{
    int64_t products = 0;
    for (int32_t k = 0; k < model->n_operator; k++) {
        for (int32_t p = 0; p < model->forward[k].n_pass; p++) {
            products += products_of(&model->forward[k].pass[p]);
        }
    }
    return products;
}

int tess_cpu_hmm_is_shared(const tess_hmm_model *model)
{
    for (int32_t k = 0; k < model->n_operator; k++) {
        for (int32_t p = 0; p < model->forward[k].n_pass; p++) {
            if (is_shared(&model->forward[k].pass[p])) {
                return 1;
            }
        }
    }
    return 0;
}

static void fetch(hmm_wanted *wanted, int64_t n_line)
{
    enum { LINE = 64 };
    for (; n_line > 0 && wanted->next < wanted->end; n_line--, wanted->next += LINE) {
        __builtin_prefetch(wanted->next);
    }
}

// Tile by tile; meanwhile what the row after it wants is fetched, as much as the products of a tile
// leave time for: all at once would stop the core.
static void run_alone(const pass_job *job, hmm_wanted *wanted)
{
    enum { PRODUCTS_A_LINE = 256 };
    for (const tess_tile_sum *t = job->pass->tiles; t < job->pass->tiles + job->pass->n_tile; t++) {
        fetch(&wanted[wanted->next < wanted->end ? 0 : 1],
              1 + products_of_tile(t) / PRODUCTS_A_LINE);
        job->kernels->tile_sums(t, 1, job->w, job->x, job->out);
    }
}

static void run_pass(tess_backend_device *device, int is_alone, pass_job *job, hmm_wanted *wanted)
{
    if (is_alone || !is_shared(job->pass) ||
        tess_parallel_for(device->ctx->pool, SHARES, run_share, job) != TESS_OK) {
        run_alone(job, wanted);
    }
}

// One step into a state.
typedef struct step_to {
    const int32_t *link;  // of every state that it comes from
    const double *weight; // likewise
    ptrdiff_t apart;      // from one of these states to the next
    const double *x;
} step_to;

// The operator's first cells: the states that move alike, added up. NULL: there are none.
static const double *begin_operator(const tess_kernels *kernels, const tess_hmm_model *m,
                                    const hmm_room *room, const step_to *step,
                                    const tess_hmm_operator *op, int32_t k)
{
    double *cells = op->scatter_runs ? room->cells + op->scratch : room->in;
    int n_used = 0;
    for (int32_t from = 0; from < m->n_state; from++) {
        const double weight = step->weight[from * step->apart];
        const double *x = step->x + m->first[from];
        if (step->link[from * step->apart] != k || weight == 0) {
            continue;
        }
        if (op->scatter_runs) {
            kernels->hmm_scatter(op->scatter_runs, (size_t)op->n_run, weight, x, op->before,
                                 n_used > 0, cells);
        } else {
            if (n_used == 0) {
                kernels->hmm_fill(0, (size_t)op->n_in, cells);
            }
            kernels->hmm_add_scaled(weight, x, (size_t)op->n_in, cells);
        }
        n_used++;
    }
    return n_used > 0 ? cells : NULL;
}

// Takes the operator's cells through its passes; out [n_out] is what they end as, plus base.
static void run_operator(tess_backend_device *device, const tess_hmm_operator *op,
                         const hmm_room *room, const double *cells, double base, double *out,
                         hmm_wanted *wanted)
{
    const double *in = cells;
    for (int32_t p = 0; p < op->n_pass; p++) {
        const tess_hmm_pass *pass = &op->pass[p];
        double *to = op->gather_runs ? room->cells + op->scratch + (p + 1) * op->n_cell : room->out;
        pass_job job = {.kernels = device->kernels,
                        .pass = pass,
                        .w = pass->weighs ? in : op->table,
                        .x = pass->weighs ? op->table : in,
                        .out = to};
        run_pass(device, room->is_alone, &job, wanted);
        in = to;
    }
    if (op->gather_runs) {
        device->kernels->hmm_gather(op->gather_runs, (size_t)op->n_run, in, op->after, base, out);
    } else {
        device->kernels->hmm_fill(base, (size_t)op->n_out, out);
        device->kernels->hmm_add_scaled(1, in, (size_t)op->n_out, out);
    }
}

// What every bin of a state gets from the states that enter it evenly.
static double base_of(const tess_hmm_model *m, const step_to *step, int is_forward,
                      const double *sums, int32_t to)
{
    double base = 0;
    for (int32_t from = 0; from < m->n_state; from++) {
        const int32_t end = is_forward ? to : from; // the uniform value is that of the destination
        if (step->link[from * step->apart] == TESS_HMM_UNIFORM) {
            base += step->weight[from * step->apart] * sums[from] /
                    (double)(m->first[end + 1] - m->first[end]);
        }
    }
    return base;
}

void tess_cpu_hmm_spread(tess_backend_device *device, const tess_hmm_model *m, const hmm_room *room,
                         int is_forward, const double *transition, const double *x,
                         const double *sums, double *y, double *level)
{
    const tess_kernels *kernels = device->kernels;
    const uint8_t *is_even = is_forward ? m->enters_evenly : m->leaves_evenly;
    const int32_t n_state = m->n_state;
    hmm_wanted wanted[2] = {room->wanted[0], room->wanted[1]};
    for (int32_t to = 0; to < n_state; to++) {
        const ptrdiff_t begin = is_forward ? to : (ptrdiff_t)to * n_state;
        const step_to step = {.link = m->link + begin,
                              .weight = transition + begin,
                              .apart = is_forward ? n_state : 1,
                              .x = x};
        const size_t n = (size_t)(m->first[to + 1] - m->first[to]);
        double *out = y + m->first[to];
        const double base = base_of(m, &step, is_forward, sums, to);
        if (is_even[to]) {
            level[to] = base;
            continue;
        }
        int is_begun = 0;
        for (int32_t k = 0; k < m->n_operator; k++) {
            const tess_hmm_operator *op = is_forward ? &m->forward[k] : &m->backward[k];
            const double *cells = begin_operator(kernels, m, room, &step, op, k);
            if (!cells) {
                continue;
            }
            run_operator(device, op, room, cells, is_begun ? 0 : base, is_begun ? room->in : out,
                         wanted);
            if (is_begun) {
                kernels->hmm_add_scaled(1, room->in, n, out);
            }
            is_begun = 1;
        }
        if (!is_begun) {
            kernels->hmm_fill(base, n, out);
        }
        for (int32_t from = 0; from < n_state; from++) {
            if (step.link[from * step.apart] == TESS_HMM_IDENTITY) {
                kernels->hmm_add_scaled(step.weight[from * step.apart], x + m->first[from], n, out);
            }
        }
    }
}
