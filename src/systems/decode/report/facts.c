#include "systems/decode/report/facts.h"

#include "base/status.h"
#include "runtime/errand.h"

#include <math.h>
#include <string.h>

static const char MEMORY[] = "facts of a result";

// Rows scored, at most: their errors are held for quantiles. Longer results are sampled evenly.
static const int64_t MAX_SCORED = INT64_C(1) << 21;

// Gaps in time are drawn as gaps as long as the axis has no more than this many columns per row.
static const double MAX_GAP_COLUMNS = 20;

// Rows that are digested and judged before they are added up: as many as have so many values, in
// bounds. Of those a thread reads so many bytes at once, and digests so many rows.
enum {
    VALUES_AHEAD = 1 << 18,
    LEAST_AHEAD = 1024,
    MOST_AHEAD = 8192,
    BYTES_AT_ONCE = 128 << 10,
    ROWS_AT_ONCE = 8
};

// What the pass carries along besides the facts.
typedef struct passing {
    tess_de_block blocks[2]; // the one at hand and the next, which another thread reads
    tess_de_block *block;
    tess_errand reading;
    tess_de_digest digest;
    int64_t capacity;          // of the following, in rows
    tess_de_row *rows;         // [capacity]
    tess_de_judgement *judged; // [capacity]; of rows that are scored
    double *places;            // [capacity][n_place]
    double *lines;             // [n_thread][most_lines]
    int64_t ahead;             // first row of the block that they have
    int64_t n_ahead;
    const tess_de_facts *facts;
    int64_t n_finite;
    int64_t last_column;
    bool is_rising; // every row has a column of its own, in order
} passing;

static void see_column(passing *p, tess_de_facts *f, const tess_de_row *row)
{
    const double at = (row->time - f->axis.first) / f->axis.step + 0.5;
    const bool fits = at >= 0 && at < MAX_GAP_COLUMNS * (double)f->view->n_time + 1e6;
    const int64_t column = fits ? (int64_t)at : -1;
    p->is_rising = p->is_rising && column > p->last_column;
    p->last_column = column;
}

static bool is_scored(const tess_de_facts *f, int64_t row)
{
    return row % f->step == 0;
}

// Rows of the posterior that are read at once, and in how many parts those ahead are.
static int64_t rows_of_read(const passing *p)
{
    const tess_de_view *v = p->facts->view;
    const int64_t row_bytes = v->n_state_bin * tess_source_get_info(v->posterior)->item_bytes;
    return row_bytes < BYTES_AT_ONCE ? BYTES_AT_ONCE / row_bytes : 1;
}

static tess_status read_rows(void *self, int64_t part, int32_t worker)
{
    (void)worker;
    const passing *p = self;
    const int64_t rows = rows_of_read(p);
    const int64_t first = part * rows;
    const int64_t left = p->n_ahead - first;
    return tess_de_block_widen(p->block, p->ahead + first, left < rows ? left : rows);
}

// What rows say each by itself: by as many threads as there are.
static tess_status digest_rows(void *self, int64_t part, int32_t worker)
{
    passing *p = self;
    const tess_de_view *v = p->facts->view;
    const int64_t first = part * ROWS_AT_ONCE;
    const int64_t end = first + ROWS_AT_ONCE < p->n_ahead ? first + ROWS_AT_ONCE : p->n_ahead;
    tess_de_digest digest = p->digest; // with room of its own
    digest.line = p->lines + worker * p->digest.most_lines;
    for (int64_t i = first; i < end; i++) {
        digest.place = p->places + i * v->n_place;
        tess_de_digest_row(&digest, p->block, p->ahead + i, &p->rows[i]);
        if (is_scored(p->facts, p->rows[i].index)) {
            tess_de_judge(v, &p->rows[i], &p->judged[i]);
        }
    }
    return TESS_OK;
}

static tess_status see_row(passing *p, tess_de_facts *f, int64_t i)
{
    const tess_de_row *row = &p->rows[i];
    see_column(p, f, row);
    tess_de_agreement_see(&f->agreement, row);
    const int64_t part = row->index * f->n_mean / f->view->n_time;
    f->n_mean_row[part] += row->is_finite;
    f->mean_times[part] += row->is_finite ? row->time : 0;
    for (int32_t s = 0; row->is_finite && s < f->view->n_state; s++) {
        f->occupancy[s] += row->states[s];
        f->state_means[s * f->n_mean + part] += row->states[s];
    }
    p->n_finite += row->is_finite;
    f->largest_speed = row->speed > f->largest_speed ? row->speed : f->largest_speed;
    if (f->events.view) {
        TESS_TRY(tess_de_events_push(&f->events, row, tess_de_events_probability(&f->events, row)));
    }
    if (is_scored(f, row->index)) {
        tess_de_agree(&f->agreement, &p->judged[i]);
    }
    return TESS_OK;
}

static void finish_means(const passing *p, tess_de_facts *f)
{
    for (int32_t s = 0; s < f->view->n_state; s++) {
        f->occupancy[s] = p->n_finite > 0 ? f->occupancy[s] / (double)p->n_finite : (double)NAN;
        for (int64_t k = 0; k < f->n_mean; k++) {
            f->state_means[s * f->n_mean + k] /= f->n_mean_row[k]; // NaN where there is none
        }
    }
    for (int64_t k = 0; k < f->n_mean; k++) {
        f->mean_times[k] /= f->n_mean_row[k];
    }
}

static void finish_axis(const passing *p, tess_de_facts *f)
{
    const tess_de_view *v = f->view;
    f->axis.is_time = p->is_rising;
    if (p->is_rising) {
        f->axis.n_column = p->last_column + 1;
        f->axis.has_gaps = f->axis.n_column > v->n_time;
    } else {
        f->axis =
            (tess_de_time_axis){.first = (double)v->first_row, .step = 1, .n_column = v->n_time};
    }
}

static tess_status see_block(passing *p, tess_de_facts *f)
{
    const int64_t n_row = p->block->n_row;
    for (p->ahead = 0; p->ahead < n_row; p->ahead += p->n_ahead) {
        const int64_t left = n_row - p->ahead;
        p->n_ahead = left < p->capacity ? left : p->capacity;
        const int64_t rows = rows_of_read(p);
        TESS_TRY(
            tess_parallel_for(f->view->ctx->pool, (p->n_ahead + rows - 1) / rows, read_rows, p));
        TESS_TRY(tess_parallel_for(f->view->ctx->pool,
                                   (p->n_ahead + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, digest_rows, p));
        for (int64_t i = 0; i < p->n_ahead; i++) {
            TESS_TRY(see_row(p, f, i));
        }
    }
    return TESS_OK;
}

static tess_status read_next(void *self)
{
    tess_de_block *block = self;
    return tess_de_block_fetch(block, block->first);
}

static tess_status pass(passing *p, tess_de_facts *f)
{
    const tess_de_view *v = f->view;
    p->last_column = -1;
    p->is_rising = true;
    p->block = &p->blocks[0];
    if (v->n_time > 0) {
        TESS_TRY(tess_de_block_fetch(p->block, 0));
    }
    for (int64_t first = 0; first < v->n_time;) {
        tess_de_block *next = &p->blocks[p->block == &p->blocks[0]];
        first += p->block->n_row;
        next->first = first;
        if (first < v->n_time) {
            tess_errand_start(&p->reading, read_next, next);
        }
        TESS_TRY(see_block(p, f));
        TESS_TRY(tess_errand_wait(&p->reading));
        p->block = next;
    }
    finish_means(p, f);
    finish_axis(p, f);
    tess_de_agreement_finish(&f->agreement);
    return f->events.view ? tess_de_events_finish(&f->events) : TESS_OK;
}

// How the most likely path divides the time among states.
static tess_status see_path(tess_de_facts *f)
{
    enum { BLOCK = 1024 };
    const tess_de_view *v = f->view;
    double scratch[BLOCK];
    double states[BLOCK];
    double intervals[BLOCK] = {0};
    double last = -1;
    double last_interval = 0;
    f->path_changes = -1;
    for (int64_t first = 0; v->path_state && first < v->n_time; first += BLOCK) {
        const int64_t n = v->n_time - first < BLOCK ? v->n_time - first : BLOCK;
        TESS_TRY(tess_de_view_read(v->path_state, v->first_row + first, n, scratch, states));
        if (v->interval) {
            TESS_TRY(tess_de_view_read(v->interval, v->first_row + first, n, scratch, intervals));
        }
        for (int64_t i = 0; i < n; i++) {
            if (!(states[i] >= 0 && states[i] < v->n_state)) {
                TESS_FAIL(TESS_E_FORMAT,
                          "%s: most_likely_state is %g in row %lld; it has %d states", v->path,
                          states[i], (long long)(v->first_row + first + i), (int)v->n_state);
            }
            f->path_share[(int32_t)states[i]] += 1;
            // From -1: the first row is no change.
            f->path_changes += last < 0 || (states[i] != last && intervals[i] == last_interval);
            last = states[i];
            last_interval = intervals[i];
        }
    }
    for (int32_t s = 0; s < v->n_state && v->n_time > 0; s++) {
        f->path_share[s] /= (double)v->n_time;
    }
    return TESS_OK;
}

// Room of the digest's, which ends with it.
static tess_status take_rows(passing *p, const tess_de_facts *f)
{
    tess_blocks *memory = &p->digest.memory;
    const int64_t capacity = p->blocks[0].capacity;
    const int64_t wanted = VALUES_AHEAD / f->view->n_state_bin;
    const int64_t ahead = wanted < LEAST_AHEAD  ? LEAST_AHEAD
                          : wanted > MOST_AHEAD ? MOST_AHEAD
                                                : wanted;
    const int64_t n = capacity < ahead ? capacity : ahead;
    p->facts = f;
    p->capacity = n;
    p->rows = tess_blocks_alloc(memory, n, sizeof *p->rows, MEMORY);
    p->judged = tess_blocks_alloc(memory, n, sizeof *p->judged, MEMORY);
    p->places = tess_blocks_alloc(memory, n * f->view->n_place, sizeof *p->places, MEMORY);
    p->lines = tess_blocks_alloc(memory, f->view->ctx->n_thread * p->digest.most_lines,
                                 sizeof *p->lines, MEMORY);
    return p->rows && p->judged && p->places && p->lines ? TESS_OK : TESS_E_MEMORY;
}

static tess_status run(tess_de_facts *f, const tess_decode_report_config *config)
{
    passing p;
    memset(&p, 0, sizeof p);
    TESS_TRY(tess_de_agreement_create(&f->memory, f->view, f->n_row, &f->agreement));
    if (config) {
        TESS_TRY(tess_de_events_create(f->view, config, &f->events));
    }
    TESS_TRY(see_path(f));
    tess_status status = tess_de_digest_create(f->view, &p.digest);
    for (int i = 0; i < 2 && status == TESS_OK; i++) {
        status = tess_de_block_create(f->view, &p.blocks[i]);
    }
    if (status == TESS_OK) {
        status = take_rows(&p, f);
    }
    if (status == TESS_OK) {
        status = pass(&p, f);
    }
    tess_errand_drop(&p.reading);
    tess_de_digest_destroy(&p.digest);
    tess_de_block_destroy(&p.blocks[0]);
    tess_de_block_destroy(&p.blocks[1]);
    return status;
}

tess_status tess_de_facts_gather(const tess_de_view *view, const tess_decode_report_config *config,
                                 tess_de_facts *out)
{
    memset(out, 0, sizeof *out);
    tess_blocks_init(&out->memory, &view->ctx->heap);
    out->view = view;
    out->step = (view->n_time + MAX_SCORED - 1) / MAX_SCORED;
    out->step = out->step < 1 ? 1 : out->step;
    out->n_row = (view->n_time + out->step - 1) / out->step;
    out->axis.first = view->start;
    out->axis.step = view->step > 0 ? view->step : 1;
    out->occupancy = tess_blocks_alloc(&out->memory, view->n_state, sizeof(double), MEMORY);
    out->path_share = tess_blocks_alloc(&out->memory, view->n_state, sizeof(double), MEMORY);
    out->n_mean = view->n_time < TESS_DE_FACTS_MEANS ? view->n_time : TESS_DE_FACTS_MEANS;
    out->state_means =
        tess_blocks_alloc(&out->memory, out->n_mean * view->n_state, sizeof(double), MEMORY);
    out->n_mean_row = tess_blocks_alloc(&out->memory, out->n_mean, sizeof(double), MEMORY);
    out->mean_times = tess_blocks_alloc(&out->memory, out->n_mean, sizeof(double), MEMORY);
    const bool is_complete =
        out->occupancy && out->path_share && out->state_means && out->n_mean_row && out->mean_times;
    const tess_status status = is_complete ? run(out, config) : TESS_E_MEMORY;
    if (status != TESS_OK) {
        tess_de_facts_free(out);
    }
    return status;
}

void tess_de_facts_free(tess_de_facts *facts)
{
    tess_de_events_destroy(&facts->events);
    tess_blocks_free(&facts->memory);
}
