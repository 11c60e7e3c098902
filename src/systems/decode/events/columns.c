#include "systems/decode/events/columns.h"

#include "base/status.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

// Fields of an event that are columns as they are.
typedef enum field_type { REAL, WHOLE, WHOLE_32, INDEX, INDEX_32 } field_type;

typedef struct field {
    const char *name;
    field_type type;
    size_t offset;
} field;

#define AT(member) offsetof(tess_decode_event, member)

static const field fields[] = {
    {"event", WHOLE, AT(event)},
    {"start", REAL, AT(start)},
    {"end", REAL, AT(end)},
    {"duration", REAL, AT(duration)},
    {"reason", WHOLE_32, AT(reason)},
    {"spikes", WHOLE, AT(n_spike)},
    {"electrodes", WHOLE, AT(n_electrode)},
    {"parts", WHOLE, AT(n_part)},
    {"peak_z", REAL, AT(peak_z)},
    {"peak_speed", REAL, AT(max_speed)},
    {"bins", WHOLE, AT(n_bin)},
    {"counted_bins", WHOLE, AT(n_counted)},
    {"line_route", INDEX_32, AT(line_route)},
    {"line_velocity", REAL, AT(line_velocity)},
    {"line_intercept", REAL, AT(line_intercept)},
    {"direction", WHOLE_32, AT(direction)},
    {"start_bin", INDEX, AT(start_bin)},
    {"end_bin", INDEX, AT(end_bin)},
    {"log_evidence", REAL, AT(log_evidence)},
    {"evidence_gain", REAL, AT(evidence_gain)},
};

static tess_de_column *add(tess_de_columns_of_events *c, bool is_whole)
{
    const int64_t n = c->events->info.n_event;
    tess_de_column *column = &c->columns[c->n];
    column->is_whole = is_whole;
    if (is_whole) {
        column->whole = tess_blocks_alloc(c->blocks, n, sizeof *column->whole, "columns");
    } else {
        column->real = tess_blocks_alloc(c->blocks, n, sizeof *column->real, "columns");
    }
    if (!column->whole && !column->real) {
        return NULL;
    }
    c->n++;
    return column;
}

static tess_status add_field(tess_de_columns_of_events *c, const field *f)
{
    tess_de_column *column = add(c, f->type != REAL);
    if (!column) {
        return TESS_E_MEMORY;
    }
    snprintf(column->name, sizeof column->name, "%s", f->name);
    column->is_index = f->type == INDEX || f->type == INDEX_32;
    for (int64_t i = 0; i < c->events->info.n_event; i++) {
        const char *at = (const char *)&c->events->events[i] + f->offset;
        if (f->type == REAL) {
            column->real[i] = *(const double *)(const void *)at;
        } else if (f->type == WHOLE || f->type == INDEX) {
            column->whole[i] = *(const int64_t *)(const void *)at;
        } else {
            column->whole[i] = *(const int32_t *)(const void *)at;
        }
    }
    return TESS_OK;
}

// value of event i is first[i * stride].
static tess_status add_values(tess_de_columns_of_events *c, const char *prefix, const char *name,
                              const double *first, size_t stride_bytes)
{
    tess_de_column *column = add(c, false);
    if (!column) {
        return TESS_E_MEMORY;
    }
    snprintf(column->name, sizeof column->name, "%s%s", prefix, name);
    for (int64_t i = 0; i < c->events->info.n_event; i++) {
        column->real[i] =
            *(const double *)(const void *)((const char *)first + (size_t)i * stride_bytes);
    }
    return TESS_OK;
}

// Centres of the bins where an event starts and ends.
static tess_status add_places(tess_de_columns_of_events *c)
{
    static const char *const axis[] = {"x", "y", "z"};
    if (!c->events->env) {
        return TESS_OK;
    }
    const tess_decode_environment_info *env = tess_decode_environment_get_info(c->events->env);
    for (int64_t k = 0; k < 2 * env->n_place_dim; k++) {
        const int64_t d = k % env->n_place_dim;
        const bool is_end = k >= env->n_place_dim;
        tess_de_column *column = add(c, false);
        if (!column) {
            return TESS_E_MEMORY;
        }
        snprintf(column->name, sizeof column->name, "%s_%s", is_end ? "end" : "start",
                 env->n_place_dim > 1 ? axis[d] : "place");
        for (int64_t i = 0; i < c->events->info.n_event; i++) {
            const tess_decode_event *e = &c->events->events[i];
            const int64_t bin = is_end ? e->end_bin : e->start_bin;
            column->real[i] =
                bin < 0 ? (double)NAN : env->interior_centers[bin * env->n_place_dim + d];
        }
    }
    return TESS_OK;
}

static tess_status add_states(tess_de_columns_of_events *c)
{
    const tess_decode_events_info *info = &c->events->info;
    for (int64_t s = 0; s < info->n_state; s++) {
        const tess_decode_event *first = c->events->events;
        TESS_TRY(add_values(c, "state_time_", info->state_names[s], &first->state_time[s],
                            sizeof *first));
        TESS_TRY(add_values(c, "state_probability_", info->state_names[s],
                            &first->state_probability[s], sizeof *first));
    }
    return TESS_OK;
}

static tess_status add_tests(tess_de_columns_of_events *c)
{
    const tess_decode_events_info *info = &c->events->info;
    const size_t stride = TESS_DECODE_EVENT_N_SCORE * sizeof(double);
    if (info->n_kind == 0) {
        return TESS_OK;
    }
    tess_de_column *more = add(c, true);
    if (!more) {
        return TESS_E_MEMORY;
    }
    snprintf(more->name, sizeof more->name, "more_shuffles_needed");
    const double small = 10 / (1 + (double)info->n_shuffle);
    for (int32_t k = 0; k < info->n_kind * TESS_DECODE_EVENT_N_SCORE; k++) {
        const int32_t score = k % TESS_DECODE_EVENT_N_SCORE;
        const int32_t kind = info->kinds[k / TESS_DECODE_EVENT_N_SCORE];
        const int64_t first =
            k / TESS_DECODE_EVENT_N_SCORE * info->n_event * TESS_DECODE_EVENT_N_SCORE + score;
        char prefix[2][32];
        if (!tess_decode_event_has_p(kind, score)) {
            continue;
        }
        snprintf(prefix[0], sizeof prefix[0], "p_%s_", tess_decode_shuffle_name(kind));
        snprintf(prefix[1], sizeof prefix[1], "q_%s_", tess_decode_shuffle_name(kind));
        TESS_TRY(
            add_values(c, prefix[0], tess_decode_event_score_name(score), info->p + first, stride));
        TESS_TRY(
            add_values(c, prefix[1], tess_decode_event_score_name(score), info->q + first, stride));
        for (int64_t i = 0; i < info->n_event; i++) {
            more->whole[i] |= info->p[first + i * TESS_DECODE_EVENT_N_SCORE] < small;
        }
    }
    return TESS_OK;
}

tess_status tess_de_columns_make(tess_blocks *blocks, const tess_decode_events *events,
                                 tess_de_columns_of_events *out)
{
    const int64_t n_field = (int64_t)(sizeof fields / sizeof *fields);
    const int64_t most = n_field + TESS_DECODE_EVENT_N_SCORE + 2 * TESS_DECODE_MAX_DIM +
                         2 * events->info.n_state + 1 +
                         2 * TESS_DECODE_N_SHUFFLE * TESS_DECODE_EVENT_N_SCORE;
    *out = (tess_de_columns_of_events){.blocks = blocks, .events = events};
    out->columns = tess_blocks_alloc(blocks, most, sizeof *out->columns, "columns");
    if (!out->columns) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n_field; i++) {
        TESS_TRY(add_field(out, &fields[i]));
    }
    TESS_TRY(add_places(out));
    for (int32_t k = 0; k < TESS_DECODE_EVENT_N_SCORE; k++) {
        TESS_TRY(add_values(out, "", tess_decode_event_score_name(k),
                            events->events ? &events->events->scores[k] : NULL,
                            sizeof *events->events));
    }
    TESS_TRY(add_states(out));
    return add_tests(out);
}

tess_status tess_decode_events_columns(tess_context *ctx, const tess_decode_events *events,
                                       tess_decode_event_column_fn visit, void *user)
{
    tess_error_clear();
    tess_blocks blocks;
    tess_de_columns_of_events columns;
    tess_blocks_init(&blocks, &ctx->heap);
    tess_status status = tess_de_columns_make(&blocks, events, &columns);
    for (int64_t k = 0; status == TESS_OK && k < columns.n; k++) {
        const tess_de_column *c = &columns.columns[k];
        if (visit(user, c->name, c->is_whole ? NULL : c->real, c->is_whole ? c->whole : NULL,
                  events->info.n_event) != 0) {
            status = TESS_CANCELLED;
        }
    }
    tess_blocks_free(&blocks);
    return status;
}
