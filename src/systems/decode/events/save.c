// The table of events as a file: CSV, or a data set per column with the posteriors.
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "runtime/bundle.h"
#include "runtime/origin.h"
#include "systems/decode/events/columns.h"

#include <math.h>
#include <string.h>

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text);
    const size_t m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static tess_origin origin_of(const tess_decode_events *events)
{
    return (tess_origin){.stage = "decode.events",
                         .identity = events->identity[0] ? events->identity : NULL,
                         .hashes = events->hashes,
                         .tables = {tess_decode_events_params()},
                         .values = {&events->config},
                         .with_run = true};
}

static void add_reasons(tess_text *text, int32_t reason)
{
    const char *separator = "";
    for (int32_t bit = 1; tess_decode_event_reason_name(bit); bit <<= 1) {
        if (reason & bit) {
            tess_text_printf(text, "%s%s", separator, tess_decode_event_reason_name(bit));
            separator = "; ";
        }
    }
}

static void add_row(const tess_de_columns_of_events *c, int64_t i, tess_text *text)
{
    for (int64_t k = 0; k < c->n; k++) {
        const tess_de_column *column = &c->columns[k];
        if (column->is_whole && !(column->is_index && column->whole[i] < 0)) {
            tess_text_printf(text, "%lld", (long long)column->whole[i]);
        } else if (!column->is_whole && !isnan(column->real[i])) {
            tess_text_printf(text, "%.17g", column->real[i]);
        }
        tess_text_add(text, ",");
    }
    add_reasons(text, c->events->events[i].reason);
    tess_text_add(text, "\n");
}

static tess_status save_csv(tess_context *ctx, const tess_de_columns_of_events *c, tess_text *text,
                            const char *path, int overwrite)
{
    char *origin = NULL;
    size_t bytes = 0;
    const char *finished = NULL;
    const tess_origin from = origin_of(c->events);
    TESS_TRY(tess_origin_make(ctx, &from, &origin, &bytes));
    tess_text_add(text, "# " TESS_ORIGIN_NAME " ");
    tess_text_add(text, origin);
    tess_text_add(text, "\n");
    tess_heap_free(&ctx->heap, origin, bytes, TESS_TAG_RESULT);
    for (int64_t k = 0; k < c->n; k++) {
        // Names of states may have commas and quotes.
        const bool is_plain = strpbrk(c->columns[k].name, ",\"\n") == NULL;
        tess_text_add(text, is_plain ? "" : "\"");
        for (const char *at = c->columns[k].name; *at; at++) {
            tess_text_append(text, *at == '"' ? "\"\"" : at, *at == '"' ? 2 : 1);
        }
        tess_text_add(text, is_plain ? "," : "\",");
    }
    tess_text_add(text, "reasons\n");
    for (int64_t i = 0; i < c->events->info.n_event; i++) {
        add_row(c, i, text);
    }
    TESS_TRY(tess_text_finish(text, &finished));
    return tess_file_write_text(path, finished, overwrite);
}

static void add_rows(const tess_decode_events_info *info, tess_format_writer_input *inputs,
                     int64_t *n)
{
    const int64_t wide[2] = {info->n_row, info->n_place};
    const int64_t states[2] = {info->n_row, info->n_state};
    tess_bundle_input(&inputs[(*n)++], "posterior", TESS_F64, 2, wide, info->posterior);
    tess_bundle_input(&inputs[(*n)++], "row_event", TESS_I64, 1, wide, info->row_event);
    tess_bundle_input(&inputs[(*n)++], "row_time", TESS_F64, 1, wide, info->row_time);
    tess_bundle_input(&inputs[(*n)++], "row_is_counted", TESS_BOOL, 1, wide, info->is_counted);
    if (info->n_state > 0) {
        tess_bundle_input(&inputs[(*n)++], "state_probability", TESS_F64, 2, states,
                          info->state_rows);
    }
}

static tess_status save_bundle(tess_context *ctx, const tess_de_columns_of_events *c,
                               const char *path, int overwrite)
{
    const tess_decode_events_info *info = &c->events->info;
    const int64_t shape[1] = {info->n_event};
    tess_format_writer_input *inputs =
        tess_blocks_alloc(c->blocks, c->n + 8, sizeof *inputs, "columns");
    if (!inputs) {
        return TESS_E_MEMORY;
    }
    int64_t n = 0;
    for (int64_t k = 0; k < c->n; k++) {
        tess_de_column *column = &c->columns[k];
        for (char *at = column->name; *at; at++) {
            *at = *at == '/' ? '_' : *at; // groups of HDF5
        }
        tess_bundle_input(&inputs[n++], column->name, column->is_whole ? TESS_I64 : TESS_F64, 1,
                          shape, column->is_whole ? (const void *)column->whole : column->real);
    }
    if (info->posterior) {
        const tess_decode_environment_info *env = tess_decode_environment_get_info(c->events->env);
        const int64_t places[2] = {env->n_interior, env->n_place_dim};
        add_rows(info, inputs, &n);
        tess_bundle_input(&inputs[n++], "place", TESS_F64, 2, places, env->interior_centers);
    }
    const tess_origin from = origin_of(c->events);
    return tess_bundle_write_from(ctx, &from, path, inputs, n, overwrite);
}

tess_status tess_decode_events_save(tess_context *ctx, const tess_decode_events *events,
                                    const char *path, int overwrite)
{
    tess_error_clear();
    tess_blocks blocks;
    tess_text text;
    tess_de_columns_of_events columns;
    tess_blocks_init(&blocks, &ctx->heap);
    tess_text_init(&text, &ctx->heap);
    tess_status status = tess_de_columns_make(&blocks, events, &columns);
    if (status == TESS_OK) {
        status = ends_with(path, ".csv") ? save_csv(ctx, &columns, &text, path, overwrite)
                                         : save_bundle(ctx, &columns, path, overwrite);
    }
    tess_text_destroy(&text);
    tess_blocks_free(&blocks);
    return status;
}
