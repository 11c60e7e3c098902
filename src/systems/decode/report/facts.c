#include "systems/decode/report/facts.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char MEMORY[] = "facts of a result";

// Values looked at, at most: a second's work. Longer results are sampled evenly.
static const double MAX_VALUES = 4e8;

// Rows of state probabilities read at once.
enum { STATE_ROWS = 512 };

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Distinct coordinates along one axis, and which of them each place has.
static tess_status find_lines(tess_de_facts *f, int32_t axis)
{
    const int64_t n = f->view->n_place;
    const double *center = f->view->center[axis];
    double *sorted = tess_blocks_copy(&f->memory, center, n, sizeof *sorted, MEMORY);
    int64_t *line = tess_blocks_alloc(&f->memory, n, sizeof *line, MEMORY);
    if (!sorted || !line) {
        return TESS_E_MEMORY;
    }
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    int64_t n_line = 0;
    for (int64_t i = 0; i < n; i++) {
        if (n_line == 0 || sorted[i] != sorted[n_line - 1]) {
            sorted[n_line++] = sorted[i];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        const double *found =
            bsearch(&center[i], sorted, (size_t)n_line, sizeof *sorted, ascending);
        line[i] = found ? found - sorted : 0;
    }
    f->n_line[axis] = n_line;
    f->line_of_place[axis] = line;
    f->line_position[axis] = sorted;
    return TESS_OK;
}

static tess_status allocate(tess_de_facts *f)
{
    const tess_de_view *v = f->view;
    tess_blocks *memory = &f->memory;
    bool is_complete = true;
    for (int32_t a = 0; a < v->n_axis; a++) {
        TESS_TRY(find_lines(f, a));
        f->map[a] = tess_blocks_alloc(memory, f->n_column * f->n_line[a], sizeof(double), MEMORY);
        f->truth_mean[a] = tess_blocks_alloc(memory, f->n_column, sizeof(double), MEMORY);
        is_complete = is_complete && f->map[a] && f->truth_mean[a];
    }
    tess_de_agreement *g = &f->agreement;
    f->state_mean = tess_blocks_alloc(memory, f->n_column * v->n_state, sizeof(double), MEMORY);
    f->state_most = tess_blocks_alloc(memory, f->n_column * v->n_state, sizeof(double), MEMORY);
    f->occupancy = tess_blocks_alloc(memory, v->n_state, sizeof(double), MEMORY);
    g->errors = tess_blocks_alloc(memory, f->n_row, sizeof(double), MEMORY);
    g->away = tess_blocks_alloc(memory, f->n_row, sizeof(double), MEMORY);
    is_complete = is_complete && f->state_mean && f->state_most && f->occupancy && g->errors;
    return is_complete && g->away ? TESS_OK : TESS_E_MEMORY;
}

void tess_de_place_posterior(const tess_de_view *view, const double *row, double *place)
{
    memset(place, 0, (size_t)view->n_place * sizeof *place);
    for (int64_t b = 0; b < view->n_state_bin; b++) {
        if (view->place_of_bin[b] >= 0) {
            place[view->place_of_bin[b]] += row[b];
        }
    }
}

// One row into the pictures. line has room for a marginal.
static void draw_row(tess_de_facts *f, int64_t column, const double *place, double *line)
{
    const tess_de_view *v = f->view;
    for (int32_t a = 0; a < v->n_axis; a++) {
        double *map = f->map[a] + column * f->n_line[a];
        memset(line, 0, (size_t)f->n_line[a] * sizeof *line);
        for (int64_t p = 0; p < v->n_place; p++) {
            line[f->line_of_place[a][p]] += place[p];
        }
        for (int64_t i = 0; i < f->n_line[a]; i++) {
            map[i] = line[i] > map[i] ? line[i] : map[i];
        }
    }
}

typedef struct buffers {
    double *row;
    double *place;
    double *line;
    void *raw;
    double *states; // [STATE_ROWS][n_state]
    void *raw_states;
} buffers;

static tess_de_rest find_rest(const tess_de_view *v, const double *row)
{
    tess_de_rest rest = {0, 0, 0};
    for (int64_t b = 0; b < v->n_state_bin; b++) {
        const bool has_place = v->place_of_bin[b] >= 0;
        rest.local += !has_place && v->is_local_bin[b] ? row[b] : 0;
        rest.around += has_place && v->is_local_bin[b] ? row[b] : 0;
        rest.none += !has_place && !v->is_local_bin[b] ? row[b] : 0;
    }
    return rest;
}

static tess_status gather_row(tess_de_facts *f, const buffers *b, int64_t t, int64_t column)
{
    const tess_de_view *v = f->view;
    TESS_TRY(tess_de_view_rows(v->posterior, t, 1, b->raw, b->row));
    tess_de_place_posterior(v, b->row, b->place);
    const tess_de_rest rest = find_rest(v, b->row);
    draw_row(f, column, b->place, b->line);
    tess_de_agree(&f->agreement, v, t, b->place, &rest);
    return TESS_OK;
}

// Mean and largest probability of each state in a column's rows, first to end.
static tess_status gather_column(tess_de_facts *f, const buffers *b, int64_t c, int64_t first,
                                 int64_t end)
{
    const tess_de_view *v = f->view;
    for (int64_t t = first; t < end; t += STATE_ROWS) {
        const int64_t n = end - t < STATE_ROWS ? end - t : STATE_ROWS;
        TESS_TRY(tess_de_view_rows(v->states, t, n, b->raw_states, b->states));
        for (int64_t i = 0; i < n * v->n_state; i++) {
            const int64_t s = i % v->n_state;
            double *most = &f->state_most[s * f->n_column + c];
            f->state_mean[s * f->n_column + c] += b->states[i] / (double)(end - first);
            f->occupancy[s] += b->states[i] / (double)v->n_time;
            *most = b->states[i] > *most ? b->states[i] : *most;
        }
    }
    return TESS_OK;
}

// All rows, also where the posterior is sampled: an event of a few rows must show.
static tess_status gather_states(tess_de_facts *f, const buffers *b)
{
    const tess_de_view *v = f->view;
    for (int64_t c = 0; c < f->n_column; c++) {
        const int64_t first = v->n_time * c / f->n_column;
        const int64_t end = v->n_time * (c + 1) / f->n_column;
        TESS_TRY(gather_column(f, b, c, first, end));
        for (int32_t a = 0; a < v->n_axis; a++) {
            double sum = 0;
            for (int64_t t = first; t < end; t++) {
                sum += v->truth[a] ? v->truth[a][t] : (double)NAN;
            }
            f->truth_mean[a][c] = sum / (double)(end - first);
        }
    }
    return TESS_OK;
}

static tess_status gather(tess_de_facts *f, const buffers *b)
{
    TESS_TRY(gather_states(f, b));
    for (int64_t c = 0; c < f->n_column; c++) {
        const int64_t first = f->n_row * c / f->n_column;
        const int64_t end = f->n_row * (c + 1) / f->n_column;
        TESS_TRY(tess_context_check_cancel(f->view->ctx));
        for (int64_t r = first; r < end; r++) {
            TESS_TRY(gather_row(f, b, r * f->step, c));
        }
    }
    tess_de_agreement_finish(&f->agreement, f->view);
    return TESS_OK;
}

tess_status tess_de_facts_gather(const tess_de_view *view, tess_de_facts *out)
{
    memset(out, 0, sizeof *out);
    tess_blocks_init(&out->memory, &view->ctx->heap);
    out->view = view;
    const double values = (double)view->n_time * (double)view->n_state_bin;
    out->step = values > MAX_VALUES ? (int64_t)ceil(values / MAX_VALUES) : 1;
    out->n_row = (view->n_time + out->step - 1) / out->step;
    out->n_column = out->n_row < TESS_DE_FACTS_COLUMNS ? out->n_row : TESS_DE_FACTS_COLUMNS;
    tess_status status = allocate(out);
    const int64_t n = view->n_state_bin;
    const int64_t n_state = (int64_t)STATE_ROWS * view->n_state;
    tess_blocks *memory = &out->memory;
    const buffers b = {tess_blocks_alloc(memory, n, sizeof(double), MEMORY),
                       tess_blocks_alloc(memory, n, sizeof(double), MEMORY),
                       tess_blocks_alloc(memory, n, sizeof(double), MEMORY),
                       tess_blocks_alloc(memory, n, sizeof(double), MEMORY),
                       tess_blocks_alloc(memory, n_state, sizeof(double), MEMORY),
                       tess_blocks_alloc(memory, n_state, sizeof(double), MEMORY)};
    if (status == TESS_OK &&
        (!b.row || !b.place || !b.line || !b.raw || !b.states || !b.raw_states)) {
        status = TESS_E_MEMORY;
    }
    if (status == TESS_OK) {
        status = gather(out, &b);
    }
    if (status != TESS_OK) {
        tess_de_facts_free(out);
    }
    return status;
}

void tess_de_facts_free(tess_de_facts *facts)
{
    tess_blocks_free(&facts->memory);
}
