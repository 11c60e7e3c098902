// Events of a decoded result: runs of time bins in which some states together are likely.
#include "base/status.h"
#include "base/text.h"
#include "systems/decode/events/events.h"
#include "systems/decode/report/view.h"

#include <string.h>

static const char DEFAULT_STATES[] = "Non-Local";

// Whether a list of names, separated by commas, has this one.
static bool is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; *at;) {
        const size_t n = strcspn(at, ",");
        if (n == length && strncmp(at, name, n) == 0) {
            return true;
        }
        at += n + (at[n] == ',');
    }
    return false;
}

static tess_status fail_unknown(const tess_de_view *view, const char *name, size_t length)
{
    tess_error_set(TESS_E_ARGUMENT, "%s: %s%.*s; name some with --states (states=) of", view->path,
                   name ? "no state is named " : "no state begins with Non-Local", (int)length,
                   name ? name : "");
    for (int32_t s = 0; s < view->n_state; s++) {
        char text[64];
        tess_de_view_state_name(view, s, text, sizeof text);
        tess_error_append("%s %s", s > 0 ? "," : "", text);
    }
    return TESS_E_ARGUMENT;
}

static tess_status choose_states(const tess_de_view *view, const char *states, uint8_t *is_chosen)
{
    int32_t n = 0;
    for (int32_t s = 0; s < view->n_state; s++) {
        char name[64];
        tess_de_view_state_name(view, s, name, sizeof name);
        is_chosen[s] = states ? is_listed(states, name)
                              : strncmp(name, DEFAULT_STATES, strlen(DEFAULT_STATES)) == 0;
        n += is_chosen[s];
    }
    for (const char *at = states ? states : ""; *at;) {
        const size_t length = strcspn(at, ",");
        bool is_known = false;
        for (int32_t s = 0; s < view->n_state; s++) {
            char name[64];
            tess_de_view_state_name(view, s, name, sizeof name);
            is_known |= strlen(name) == length && strncmp(name, at, length) == 0;
        }
        if (!is_known) {
            return fail_unknown(view, at, length);
        }
        at += length + (at[length] == ',');
    }
    return n > 0 ? TESS_OK : fail_unknown(view, NULL, 0);
}

static tess_status read_states(tess_context *ctx, const tess_de_view *view, const char *states,
                               tess_blocks *blocks, double **time, double **probability)
{
    enum { AT_ONCE = 4096 };
    const int64_t n = view->n_time;
    const int64_t n_state = view->n_state;
    uint8_t *is_chosen = tess_blocks_alloc(blocks, n_state, 1, "states");
    double *rows = tess_blocks_alloc(blocks, AT_ONCE * n_state, sizeof *rows, "states");
    void *scratch = tess_blocks_alloc(blocks, AT_ONCE * n_state, sizeof *rows, "states");
    *time = tess_blocks_alloc(blocks, n, sizeof **time, "times");
    *probability = tess_blocks_alloc(blocks, n, sizeof **probability, "states");
    if (!is_chosen || !rows || !scratch || !*time || !*probability) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(choose_states(view, states, is_chosen));
    for (int64_t first = 0; first < n; first += AT_ONCE) {
        const int64_t count = n - first < AT_ONCE ? n - first : AT_ONCE;
        TESS_TRY(tess_context_check_cancel(ctx));
        TESS_TRY(
            tess_de_view_read(view->time, view->first_row + first, count, scratch, *time + first));
        TESS_TRY(tess_de_view_read(view->states, view->first_row + first, count, scratch, rows));
        for (int64_t k = 0; k < count; k++) {
            for (int64_t s = 0; s < n_state; s++) {
                (*probability)[first + k] += is_chosen[s] ? rows[k * n_state + s] : 0;
            }
        }
    }
    return TESS_OK;
}

// Intervals that were decoded apart are apart: as the last row of all, that of each interval only
// closes the one before.
static tess_status part_intervals(const tess_de_view *view, double *probability)
{
    enum { AT_ONCE = 4096 };
    double scratch[AT_ONCE];
    double intervals[AT_ONCE];
    double last = 0;
    for (int64_t first = 0; view->interval && first < view->n_time; first += AT_ONCE) {
        const int64_t left = view->n_time - first;
        const int64_t count = left < AT_ONCE ? left : AT_ONCE;
        TESS_TRY(
            tess_de_view_read(view->interval, view->first_row + first, count, scratch, intervals));
        for (int64_t k = 0; k < count; k++) {
            if (first + k > 0 && intervals[k] != last) {
                probability[first + k - 1] = 0;
            }
            last = intervals[k];
        }
    }
    return TESS_OK;
}

tess_status tess_decode_events_of_result(tess_context *ctx, const char *result_path,
                                         const char *states, const tess_decode_spikes *spikes,
                                         const tess_decode_position *position,
                                         const tess_decode_events_config *config,
                                         tess_decode_events **out)
{
    tess_error_clear();
    *out = NULL;
    tess_de_view view = {0};
    tess_blocks blocks;
    double *time = NULL;
    double *probability = NULL;
    tess_blocks_init(&blocks, &ctx->heap);
    tess_status status = tess_de_view_open(ctx, result_path, NULL, NULL, &view);
    if (status == TESS_OK) {
        status = read_states(ctx, &view, states, &blocks, &time, &probability);
    }
    if (status == TESS_OK) {
        status = part_intervals(&view, probability);
    }
    if (status == TESS_OK) {
        status = tess_decode_events_of_states(ctx, spikes, position, time, probability, view.n_time,
                                              config, out);
    }
    tess_blocks_free(&blocks);
    tess_de_view_close(&view);
    return status;
}
