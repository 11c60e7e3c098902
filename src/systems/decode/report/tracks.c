#include "systems/decode/report/tracks.h"

#include "base/status.h"
#include "systems/decode/files/recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char MEMORY[] = "pictures of a result";

// Single bins are kept this far around an event, where the page has no room for all of them: of the
// strongest events, until they take this share of the room, packed to this share of their size.
static const double AROUND = 0.25; // s
static const double SHARE_EVENTS = 0.4;
static const double PACKED_LINES = 0.7;
static const double PACKED_MAP = 0.3;

// Spikes per second are counted this far around a time.
static const double RATE_HALF_WINDOW = 0.01; // s

// Colours are brightest from a quarter of the mass in one line on, as posteriors are usually shown,
// or from what nine bins in ten stay below, of those that places hold most of.
static const double BRIGHT = 0.25;
static const double BRIGHT_SHARE = 0.9;
enum { BRIGHT_LEVELS = 100 };

// Shares of the page.
static const double SHARE_MAPS = 0.5;
static const double SHARE_SPIKES = 0.15;
static const double SHARE_POSITIONS = 0.15;
static const double SHARE_STATES = 0.12;
static const double SHARE_REST = 0.03;
// Of what is left of it besides text and base64's four bytes for three.
static const double PACKED = 0.7;

typedef struct making {
    tess_de_tracks *tracks;
    double budget;                // packed bytes of all
    double first;                 // x of the middle of the first column
    const tess_de_event **events; // the strongest first
    int64_t *levels;              // [maps][BRIGHT_LEVELS] rows by their largest value
} making;

// A pyramid keeps whole chunks; a chunk that two events share is counted twice, which leaves room.
static void keep_events(const making *m, tess_pyramid *p, double bytes)
{
    const tess_de_facts *f = m->tracks->facts;
    const int64_t around = f->view->step > 0 ? (int64_t)fmin(AROUND / f->view->step, 1e6) : 1;
    const double packed = p->setup.is_map ? PACKED_MAP : PACKED_LINES;
    const double chunk_bytes =
        packed * (double)(p->chunk_columns * p->setup.n_row) * p->setup.bits / 8;
    for (int64_t i = 0; i < f->events.n_item && bytes > 0; i++) {
        const tess_de_event *e = m->events[i];
        const int64_t column = tess_de_time_column(&f->axis, e->first_row, e->start);
        const int64_t n = e->n_row + 2 * around;
        tess_pyramid_keep(p, column - around, column - around + n);
        bytes -= chunk_bytes * (double)(n / p->chunk_columns + 1);
    }
}

static tess_status create(making *m, tess_pyramid *out, int64_t n_row, bool is_map, int bits,
                          double share)
{
    const tess_de_facts *f = m->tracks->facts;
    const tess_pyramid_setup setup = {.n_column = f->axis.n_column,
                                      .n_row = n_row,
                                      .first = m->first,
                                      .step = f->axis.step,
                                      .is_map = is_map,
                                      .bits = bits,
                                      .budget_bytes = (int64_t)(share * m->budget)};
    TESS_TRY(tess_pyramid_create(f->view->ctx, &setup, out));
    keep_events(m, out, SHARE_EVENTS * share * m->budget);
    return TESS_OK;
}

static int64_t grouped(int64_t n)
{
    const int64_t group = tess_de_track_group(n);
    return (n + group - 1) / group;
}

static tess_status create_all(making *m)
{
    tess_de_tracks *t = m->tracks;
    const tess_de_view *v = t->facts->view;
    const double n_map = (double)v->n_environment * v->n_axis;
    TESS_TRY(create(m, &t->states, v->n_state + 1, false, 8, SHARE_STATES));
    TESS_TRY(create(m, &t->positions, (int64_t)v->n_axis * TESS_DE_TRACK_ROWS, false, 16,
                    SHARE_POSITIONS));
    TESS_TRY(create(m, &t->speed, 1, false, 8, SHARE_REST));
    if (t->counts.n_electrode > 0) {
        TESS_TRY(create(m, &t->rate, 1, false, 8, SHARE_REST));
        TESS_TRY(create(m, &t->spikes, grouped(t->counts.n_electrode), true, 8, SHARE_SPIKES));
    }
    for (int32_t e = 0; e < v->n_environment; e++) {
        for (int32_t a = 0; a < v->n_axis; a++) {
            const int64_t n = grouped(t->digest.lines[e][a].n_line);
            if (n > 0) {
                TESS_TRY(create(m, &t->maps[e][a], n, true, 8, SHARE_MAPS / n_map));
            }
        }
    }
    return TESS_OK;
}

// Largest of each group, in place; returns the largest of all.
static double group_lines(double *values, int64_t n)
{
    const int64_t group = tess_de_track_group(n);
    double most = 0;
    for (int64_t first = 0, to = 0; first < n; first += group, to++) {
        double largest = values[first];
        for (int64_t i = first + 1; i < n && i < first + group; i++) {
            largest = values[i] > largest ? values[i] : largest;
        }
        values[to] = largest;
        most = largest > most ? largest : most;
    }
    return most;
}

static tess_status push_maps(making *m, const tess_de_row *row)
{
    tess_de_tracks *t = m->tracks;
    const tess_de_view *v = t->facts->view;
    for (int32_t e = 0; e < v->n_environment; e++) {
        for (int32_t a = 0; a < v->n_axis; a++) {
            const int64_t n = t->digest.lines[e][a].n_line;
            if (n == 0) {
                continue;
            }
            tess_de_digest_marginal(&t->digest, e, a, row->place, t->column);
            const double most = group_lines(t->column, n);
            const double level = most * BRIGHT_LEVELS;
            if (row->is_finite && most > 0 && row->placed >= row->local + row->none) {
                const int at = level < BRIGHT_LEVELS - 1 ? (int)level : BRIGHT_LEVELS - 1;
                m->levels[(e * v->n_axis + a) * BRIGHT_LEVELS + at]++;
            }
            TESS_TRY(tess_pyramid_push(&t->maps[e][a], t->column, 1));
        }
    }
    return TESS_OK;
}

static tess_status push_spikes(tess_de_tracks *t, const tess_de_row *row, double next_time)
{
    if (t->counts.n_electrode == 0) {
        return TESS_OK;
    }
    tess_de_spike_counts_row(&t->counts, row->time, next_time, t->column);
    const double most = group_lines(t->column, t->counts.n_electrode);
    TESS_TRY(tess_pyramid_push(&t->spikes, t->column, 1));
    const double rate = tess_de_spike_counts_rate(&t->counts, row->time, RATE_HALF_WINDOW);
    t->most_spikes = most > t->most_spikes ? most : t->most_spikes;
    t->most_rate = rate > t->most_rate ? rate : t->most_rate;
    return tess_pyramid_push(&t->rate, &rate, 1);
}

static tess_status push_row(making *m, const tess_de_row *row, double next_time)
{
    tess_de_tracks *t = m->tracks;
    const tess_de_view *v = t->facts->view;
    for (int32_t s = 0; s < v->n_state; s++) {
        t->column[s] = row->states[s];
    }
    t->column[v->n_state] = tess_de_events_probability(&t->facts->events, row);
    TESS_TRY(tess_pyramid_push(&t->states, t->column, 1));
    for (int32_t a = 0; a < v->n_axis; a++) {
        double *to = t->column + (int64_t)a * TESS_DE_TRACK_ROWS;
        to[TESS_DE_TRACK_ANIMAL] = row->animal[a];
        to[TESS_DE_TRACK_PEAK] = row->peak[a];
        to[TESS_DE_TRACK_LOW] = row->low[a];
        to[TESS_DE_TRACK_HIGH] = row->high[a];
    }
    TESS_TRY(tess_pyramid_push(&t->positions, t->column, 1));
    TESS_TRY(tess_pyramid_push(&t->speed, &row->speed, 1));
    TESS_TRY(push_spikes(t, row, next_time));
    return push_maps(m, row);
}

// The pyramids that are there, one after another; NULL at the end.
static tess_pyramid *each(tess_de_tracks *t, int *at)
{
    tess_pyramid *const lines[] = {&t->states, &t->positions, &t->speed, &t->rate, &t->spikes};
    const int n_line = (int)(sizeof lines / sizeof *lines);
    const int n = n_line + TESS_DE_VIEW_ENVIRONMENTS * TESS_DECODE_MAX_DIM;
    for (; *at < n; (*at)++) {
        const int map = *at - n_line;
        tess_pyramid *p =
            map < 0 ? lines[*at] : &t->maps[map / TESS_DECODE_MAX_DIM][map % TESS_DECODE_MAX_DIM];
        if (p->ctx) {
            (*at)++;
            return p;
        }
    }
    return NULL;
}

// Columns without a row are gaps.
static tess_status push_gap(tess_de_tracks *t, int64_t n)
{
    for (int64_t i = 0; n > 0 && i < t->most_rows; i++) {
        t->column[i] = (double)NAN;
    }
    for (int64_t k = 0; k < n; k++) {
        int at = 0;
        for (tess_pyramid *p = each(t, &at); p; p = each(t, &at)) {
            TESS_TRY(tess_pyramid_push(p, t->column, 1));
        }
    }
    t->next_column += n;
    return TESS_OK;
}

static tess_status pass(making *m)
{
    tess_de_tracks *t = m->tracks;
    const tess_de_view *v = t->facts->view;
    const tess_de_time_axis *axis = &t->facts->axis;
    tess_de_row row;
    for (int64_t first = 0; first < v->n_time; first += t->block.n_row) {
        TESS_TRY(tess_de_block_read(&t->block, first));
        for (int64_t i = 0; i < t->block.n_row; i++) {
            tess_de_digest_row(&t->digest, &t->block, i, &row);
            const int64_t column = tess_de_time_column(axis, row.index, row.time);
            TESS_TRY(push_gap(t, column - t->next_column));
            const double next_time =
                i + 1 < t->block.n_row ? t->block.time[i + 1] : row.time + v->step;
            TESS_TRY(push_row(m, &row, next_time));
            t->next_column++;
        }
    }
    int at = 0;
    t->has_all = true;
    for (tess_pyramid *p = each(t, &at); p; p = each(t, &at)) {
        TESS_TRY(tess_pyramid_finish(p));
        t->has_all = t->has_all && tess_pyramid_finest(p) == 1;
    }
    return TESS_OK;
}

static double find_bright(const int64_t *levels)
{
    int64_t n = 0;
    int64_t below = 0;
    int i = 0;
    for (int k = 0; k < BRIGHT_LEVELS; k++) {
        n += levels[k];
    }
    while (i < BRIGHT_LEVELS - 1 && (double)(below + levels[i]) < BRIGHT_SHARE * (double)n) {
        below += levels[i++];
    }
    const double high = (double)(i + 1) / BRIGHT_LEVELS;
    return n > 0 && high < BRIGHT ? high : BRIGHT;
}

static tess_status make(making *m, const tess_decode_recording *recording)
{
    tess_de_tracks *t = m->tracks;
    const tess_de_view *v = t->facts->view;
    TESS_TRY(tess_de_spike_counts_create(v->ctx, recording ? &recording->info.observation : NULL,
                                         &t->counts));
    TESS_TRY(tess_de_block_create(v, &t->block));
    TESS_TRY(tess_de_digest_create(v, &t->digest));
    t->most_rows = v->n_place + v->n_state + t->counts.n_electrode +
                   (int64_t)TESS_DECODE_MAX_DIM * TESS_DE_TRACK_ROWS;
    const int64_t n_map = (int64_t)v->n_environment * v->n_axis;
    t->column = tess_blocks_alloc(&t->memory, t->most_rows, sizeof *t->column, MEMORY);
    m->levels = tess_blocks_alloc(&t->memory, n_map * BRIGHT_LEVELS, sizeof *m->levels, MEMORY);
    m->events = tess_de_events_strongest(&t->facts->events, &t->memory);
    if (!t->column || !m->levels || !m->events) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(create_all(m));
    TESS_TRY(pass(m));
    for (int32_t e = 0; e < v->n_environment; e++) {
        for (int32_t a = 0; a < v->n_axis; a++) {
            t->bright[e][a] = find_bright(m->levels + (e * v->n_axis + a) * BRIGHT_LEVELS);
        }
    }
    return TESS_OK;
}

tess_status tess_de_tracks_make(const tess_de_facts *facts, const tess_decode_report_config *config,
                                double origin, tess_de_tracks *out)
{
    memset(out, 0, sizeof *out);
    tess_blocks_init(&out->memory, &facts->view->ctx->heap);
    out->facts = facts;
    making m = {.tracks = out,
                .budget = PACKED * (double)config->max_size,
                .first = facts->axis.first - origin + facts->axis.step / 2};
    const tess_status status = make(&m, config->recording);
    if (status != TESS_OK) {
        tess_de_tracks_destroy(out);
    }
    return status;
}

void tess_de_tracks_destroy(tess_de_tracks *t)
{
    int at = 0;
    for (tess_pyramid *p = each(t, &at); p; p = each(t, &at)) {
        tess_pyramid_destroy(p);
    }
    tess_de_digest_destroy(&t->digest);
    tess_de_block_destroy(&t->block);
    tess_de_spike_counts_destroy(&t->counts);
    tess_blocks_free(&t->memory);
}
