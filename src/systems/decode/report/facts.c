#include "systems/decode/report/facts.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char MEMORY[] = "facts of a result";

// Values looked at, at most: a second's work. Longer results are sampled evenly.
static const double MAX_VALUES = 4e8;

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
    f->state_mean = tess_blocks_alloc(memory, f->n_column * v->n_state, sizeof(double), MEMORY);
    f->occupancy = tess_blocks_alloc(memory, v->n_state, sizeof(double), MEMORY);
    f->errors = tess_blocks_alloc(memory, f->n_row, sizeof(double), MEMORY);
    is_complete = is_complete && f->state_mean && f->occupancy && f->errors;
    return is_complete ? TESS_OK : TESS_E_MEMORY;
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

static double squared_distance(const tess_de_view *v, int64_t place, const double *point)
{
    double sum = 0;
    for (int32_t a = 0; a < v->n_axis; a++) {
        const double difference = v->center[a][place] - point[a];
        sum += difference * difference;
    }
    return sum;
}

// Error of the best place, and the mass of the places above the true one.
static void score_row(tess_de_facts *f, const double *place, const double *point)
{
    const tess_de_view *v = f->view;
    int64_t best = 0;
    int64_t nearest = 0;
    double total = 0;
    double least = squared_distance(v, 0, point);
    for (int64_t p = 0; p < v->n_place; p++) {
        const double distance = squared_distance(v, p, point);
        nearest = distance < least ? p : nearest;
        least = distance < least ? distance : least;
        best = place[p] > place[best] ? p : best;
        total += place[p];
    }
    if (!(total > 0.5)) {
        return; // a state without places explains this row
    }
    double above = 0;
    for (int64_t p = 0; p < v->n_place; p++) {
        above += place[p] > place[nearest] ? place[p] : 0;
    }
    above /= total;
    f->errors[f->n_scored++] = sqrt(squared_distance(v, best, point));
    const int64_t level = (int64_t)(above * TESS_DE_FACTS_LEVELS);
    f->levels[level < TESS_DE_FACTS_LEVELS ? level : TESS_DE_FACTS_LEVELS - 1]++;
    f->n_below_50 += above < 0.5;
    f->n_below_95 += above < 0.95;
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
    double *states;
    void *raw;
} buffers;

static tess_status gather_row(tess_de_facts *f, const buffers *b, int64_t t, int64_t column)
{
    const tess_de_view *v = f->view;
    double point[TESS_DECODE_MAX_DIM];
    bool is_known = v->truth[0] != NULL;
    TESS_TRY(tess_de_view_row(v->states, t, b->raw, b->states));
    for (int32_t s = 0; s < v->n_state; s++) {
        f->state_mean[column * v->n_state + s] += b->states[s];
        f->occupancy[s] += b->states[s];
    }
    TESS_TRY(tess_de_view_row(v->posterior, t, b->raw, b->row));
    tess_de_place_posterior(v, b->row, b->place);
    draw_row(f, column, b->place, b->line);
    for (int32_t a = 0; a < v->n_axis && is_known; a++) {
        point[a] = v->truth[a][t];
        is_known = isfinite(point[a]);
    }
    for (int32_t a = 0; a < v->n_axis && v->truth[0]; a++) {
        f->truth_mean[a][column] += v->truth[a][t];
    }
    if (is_known && v->n_place > 0) {
        score_row(f, b->place, point);
    }
    return TESS_OK;
}

static tess_status gather(tess_de_facts *f, const buffers *b)
{
    const tess_de_view *v = f->view;
    for (int64_t c = 0; c < f->n_column; c++) {
        const int64_t first = f->n_row * c / f->n_column;
        const int64_t end = f->n_row * (c + 1) / f->n_column;
        for (int64_t r = first; r < end; r++) {
            TESS_TRY(gather_row(f, b, r * f->step, c));
        }
        const double count = (double)(end - first);
        for (int32_t s = 0; s < v->n_state; s++) {
            f->state_mean[c * v->n_state + s] /= count;
        }
        for (int32_t a = 0; a < v->n_axis; a++) {
            f->truth_mean[a][c] = v->truth[0] ? f->truth_mean[a][c] / count : (double)NAN;
        }
    }
    for (int32_t s = 0; s < v->n_state && f->n_row > 0; s++) {
        f->occupancy[s] /= (double)f->n_row;
    }
    qsort(f->errors, (size_t)f->n_scored, sizeof *f->errors, ascending);
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
    const int64_t n = view->n_state_bin > view->n_state ? view->n_state_bin : view->n_state;
    tess_blocks *memory = &out->memory;
    const buffers b = {tess_blocks_alloc(memory, n, sizeof(double), MEMORY),
                       tess_blocks_alloc(memory, n, sizeof(double), MEMORY),
                       tess_blocks_alloc(memory, n, sizeof(double), MEMORY),
                       tess_blocks_alloc(memory, n, sizeof(double), MEMORY),
                       tess_blocks_alloc(memory, n, sizeof(double), MEMORY)};
    if (status == TESS_OK && (!b.row || !b.place || !b.line || !b.states || !b.raw)) {
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

double tess_de_facts_error(const tess_de_facts *facts, double q)
{
    if (facts->n_scored == 0) {
        return (double)NAN;
    }
    const double at = q * (double)(facts->n_scored - 1);
    const int64_t i = (int64_t)at;
    const int64_t next = i + 1 < facts->n_scored ? i + 1 : i;
    return facts->errors[i] + (at - (double)i) * (facts->errors[next] - facts->errors[i]);
}
