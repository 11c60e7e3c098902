// What a single row of a result says.
#include "base/status.h"
#include "systems/decode/report/block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char MEMORY[] = "facts of a result";

// The band of a posterior: central, this much outside on either side.
static const double OUTSIDE = 0.025;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static tess_status find_lines(tess_de_digest *d, int32_t environment, int32_t axis)
{
    const tess_de_environment_view *env = &d->view->environments[environment];
    const int64_t n = env->n_place;
    const double *center = d->view->center[axis] + env->first_place;
    double *sorted = tess_blocks_copy(&d->memory, center, n, sizeof *sorted, MEMORY);
    int64_t *of_place = tess_blocks_alloc(&d->memory, n, sizeof *of_place, MEMORY);
    if (!sorted || !of_place) {
        return TESS_E_MEMORY;
    }
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    int64_t n_line = 0;
    for (int64_t i = 0; i < n; i++) {
        if (n_line == 0 || sorted[i] != sorted[n_line - 1]) {
            sorted[n_line++] = sorted[i];
        }
    }
    bool is_place = n_line == n;
    for (int64_t i = 0; i < n; i++) {
        const double *found =
            bsearch(&center[i], sorted, (size_t)n_line, sizeof *sorted, ascending);
        of_place[i] = found ? found - sorted : 0;
        is_place = is_place && of_place[i] == i;
    }
    d->lines[environment][axis] = (tess_de_lines){n_line, sorted, of_place, is_place};
    d->most_lines = n_line > d->most_lines ? n_line : d->most_lines;
    return TESS_OK;
}

static tess_status find_segments(tess_de_digest *d)
{
    const tess_de_view *v = d->view;
    const int64_t n_home = v->n_environment > 0 ? v->environments[0].n_place : 0;
    d->segments = tess_blocks_alloc(&d->memory, v->n_state_bin, sizeof *d->segments, MEMORY);
    if (!d->segments) {
        return TESS_E_MEMORY;
    }
    for (int64_t b = 0; b < v->n_state_bin; b++) {
        const int64_t place = v->place_of_bin[b];
        if (place == TESS_DE_PLACE_OUTSIDE) {
            continue;
        }
        tess_de_segment *last = d->n_segment > 0 ? &d->segments[d->n_segment - 1] : NULL;
        if (last && v->state_of_bin[b] == v->state_of_bin[b - 1] && place >= 0 &&
            place == last->first_place + last->n_bin && b == last->first_bin + last->n_bin) {
            last->n_bin++;
        } else {
            d->segments[d->n_segment++] =
                (tess_de_segment){.first_bin = b,
                                  .n_bin = 1,
                                  .first_place = place,
                                  .is_home = place < n_home,
                                  .is_local = v->is_local_state[v->state_of_bin[b]]};
        }
    }
    return TESS_OK;
}

tess_status tess_de_digest_create(const tess_de_view *v, tess_de_digest *out)
{
    memset(out, 0, sizeof *out);
    tess_blocks_init(&out->memory, &v->ctx->heap);
    out->view = v;
    tess_status status = find_segments(out);
    for (int32_t e = 0; e < v->n_environment; e++) {
        for (int32_t a = 0; a < v->n_axis && status == TESS_OK; a++) {
            status = find_lines(out, e, a);
        }
    }
    out->place = tess_blocks_alloc(&out->memory, v->n_place, sizeof(double), MEMORY);
    out->line = tess_blocks_alloc(&out->memory, out->most_lines, sizeof(double), MEMORY);
    if (status == TESS_OK && (!out->place || !out->line)) {
        status = TESS_E_MEMORY;
    }
    if (status != TESS_OK) {
        tess_de_digest_destroy(out);
    }
    return status;
}

void tess_de_digest_destroy(tess_de_digest *digest)
{
    tess_blocks_free(&digest->memory);
}

void tess_de_digest_marginal(const tess_de_digest *d, int32_t environment, int32_t axis,
                             const double *place, double *line)
{
    const tess_de_environment_view *env = &d->view->environments[environment];
    const tess_de_lines *lines = &d->lines[environment][axis];
    if (lines->is_place) {
        memcpy(line, place + env->first_place, (size_t)lines->n_line * sizeof *line);
        return;
    }
    memset(line, 0, (size_t)lines->n_line * sizeof *line);
    for (int64_t p = 0; p < env->n_place; p++) {
        line[lines->of_place[p]] += place[env->first_place + p];
    }
}

// Adds masses to places; their sum, over four that need not wait for each other.
static double add_masses(const double *mass, int64_t n, double *place)
{
    double sums[4] = {0};
    int64_t i = 0;
    for (; n - i >= 4; i += 4) {
        for (int64_t k = 0; k < 4; k++) {
            place[i + k] += mass[i + k];
            sums[k] += mass[i + k];
        }
    }
    for (; i < n; i++) {
        place[i] += mass[i];
        sums[0] += mass[i];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Mass by place, and of what has none.
static void sum_places(const tess_de_digest *d, const double *values, tess_de_row *row)
{
    memset(row->place, 0, (size_t)d->view->n_place * sizeof *row->place);
    row->placed = row->local = row->around = row->none = 0;
    for (int64_t k = 0; k < d->n_segment; k++) {
        const tess_de_segment *s = &d->segments[k];
        const double *mass = values + s->first_bin;
        if (s->first_place < 0) {
            row->local += s->first_place == TESS_DE_PLACE_LOCAL ? mass[0] : 0;
            row->none += s->first_place == TESS_DE_PLACE_LOCAL ? 0 : mass[0];
            continue;
        }
        const double sum = add_masses(mass, s->n_bin, row->place + s->first_place);
        row->placed += s->is_home ? sum : 0;
        row->none += s->is_home ? 0 : sum; // of which the animal's place says nothing
        row->around += s->is_home && s->is_local ? sum : 0;
    }
    row->is_finite = isfinite(row->placed + row->local + row->none);
}

// Ends of the central part of a line of masses that sum to total.
static void find_band(const tess_de_lines *lines, const double *mass, double total, double *low,
                      double *high)
{
    double below = 0;
    int64_t i = 0;
    while (i + 1 < lines->n_line && below + mass[i] < OUTSIDE * total) {
        below += mass[i++];
    }
    *low = lines->position[i];
    double above = 0;
    int64_t k = lines->n_line - 1;
    while (k > i && above + mass[k] < OUTSIDE * total) {
        above += mass[k--];
    }
    *high = lines->position[k];
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

// The mass first, over four that need not wait for each other, then who has it.
int64_t tess_de_largest_place(const double *place, int64_t n)
{
    double most[4] = {place[0], place[0], place[0], place[0]};
    int64_t p = 0;
    for (; n - p >= 4; p += 4) {
        for (int64_t k = 0; k < 4; k++) {
            most[k] = larger(place[p + k], most[k]);
        }
    }
    for (; p < n; p++) {
        most[0] = larger(place[p], most[0]);
    }
    const double all = larger(larger(most[0], most[1]), larger(most[2], most[3]));
    for (p = 0; p < n; p++) {
        if (place[p] == all) {
            return p;
        }
    }
    return 0; // none is a number
}

static void find_peak(tess_de_digest *d, tess_de_row *row)
{
    const tess_de_view *v = d->view;
    const int64_t n = v->n_environment > 0 ? v->environments[0].n_place : 0;
    const bool is_placed =
        row->is_finite && n > 0 && row->placed > 0 && row->placed >= row->local + row->none;
    const int64_t best = is_placed ? tess_de_largest_place(row->place, n) : 0;
    row->peak_place = is_placed ? best : -1;
    for (int32_t a = 0; a < v->n_axis; a++) {
        row->peak[a] = row->low[a] = row->high[a] = (double)NAN;
        if (is_placed) {
            row->peak[a] = v->center[a][best];
            tess_de_digest_marginal(d, 0, a, row->place, d->line);
            find_band(&d->lines[0][a], d->line, row->placed, &row->low[a], &row->high[a]);
        }
    }
}

void tess_de_digest_row(tess_de_digest *d, const tess_de_block *b, int64_t i, tess_de_row *row)
{
    const tess_de_view *v = d->view;
    row->index = b->first + i;
    row->time = b->time[i];
    row->interval = b->interval[i];
    row->states = b->states + i * v->n_state;
    row->place = d->place;
    row->speed = b->speed[i];
    sum_places(d, b->posterior + i * v->n_state_bin, row);
    row->state = row->is_finite ? 0 : -1;
    for (int32_t s = 0; s < v->n_state; s++) {
        row->is_finite = row->is_finite && isfinite(row->states[s]);
        row->state = !row->is_finite                            ? -1
                     : row->states[s] > row->states[row->state] ? s
                                                                : row->state;
    }
    find_peak(d, row);
    row->spot = b->spots[i];
    for (int32_t a = 0; a < v->n_axis; a++) {
        row->animal[a] = b->animal[a][i];
        row->represented[a] = b->represented[a][i];
    }
}
