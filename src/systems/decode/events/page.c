// The HTML report of a table of events: the verdict, and the order of the rest.
#include "systems/decode/events/page.h"

#include "base/file.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/events/model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const double SIGNIFICANT = 0.05;

enum { N_SCORE = TESS_DECODE_EVENT_N_SCORE, FEW_EVENTS = 20 };

static void warn(tess_de_events_page *p, const char *format, ...) TESS_PRINTF(2, 3);

static void warn(tess_de_events_page *p, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tess_html_warning(&p->html, text);
}

// ---- What leads -------------------------------------------------------------------------------

// On a plane there are no lines. Time bins in another order are the only shuffle whose p is exact
// for bins in random order.
static void choose_leads(tess_de_events_page *p)
{
    const bool has_lines = p->info->n_route > 0;
    p->leads[0] = has_lines ? TESS_DECODE_EVENT_LINE_FIT : TESS_DECODE_EVENT_DISTANCE;
    p->leads[1] = has_lines ? TESS_DECODE_EVENT_WEIGHTED_CORRELATION : TESS_DECODE_EVENT_MAX_JUMP;
    p->kind = p->info->n_kind > 0 ? 0 : -1;
    for (int32_t k = 0; k < p->info->n_kind; k++) {
        if (p->info->kinds[k] == TESS_DECODE_SHUFFLE_TIME) {
            p->kind = k;
        }
    }
}

typedef struct ranked {
    double p;
    double statistic;
    int64_t event;
} ranked;

static int by_rank(const void *a, const void *b)
{
    const ranked *x = a;
    const ranked *y = b;
    if (x->p != y->p) {
        return x->p < y->p ? -1 : 1;
    }
    if (x->statistic != y->statistic) {
        return x->statistic > y->statistic ? -1 : 1;
    }
    return x->event < y->event ? -1 : 1;
}

static double known(double value, double otherwise)
{
    return isnan(value) ? otherwise : value;
}

static tess_status rank_events(tess_de_events_page *p)
{
    const tess_decode_events_info *info = p->info;
    ranked *order = tess_blocks_alloc(&p->memory, info->n_event, sizeof *order, "events in order");
    p->best = tess_blocks_alloc(&p->memory, info->n_event, sizeof *p->best, "events in order");
    if (!order || !p->best) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; info->posterior && i < info->n_event; i++) {
        const tess_decode_event *e = &info->events[i];
        if (e->reason & TESS_DE_EVENT_DROPS) {
            continue;
        }
        const int32_t lead = p->leads[0];
        const double value = tess_de_event_statistic(lead, e->scores[lead]);
        order[p->n_best++] =
            (ranked){p->kind < 0 ? 1 : known(info->p[tess_de_event_at(info, p->kind, i, lead)], 2),
                     known(value, -(double)INFINITY), i};
    }
    qsort(order, (size_t)p->n_best, sizeof *order, by_rank);
    for (int64_t i = 0; i < p->n_best; i++) {
        p->best[i] = order[i].event;
    }
    const int64_t most = p->events->config.report_events;
    p->n_drawn = p->n_best < most ? p->n_best : most;
    return TESS_OK;
}

// ---- Verdict ----------------------------------------------------------------------------------

static int64_t count_reason(const tess_decode_events_info *info, int32_t bits)
{
    int64_t n = 0;
    for (int64_t i = 0; i < info->n_event; i++) {
        n += (info->events[i].reason & bits) != 0;
    }
    return n;
}

static int64_t count_small_q(const tess_de_events_page *p, int32_t k, int32_t score)
{
    int64_t n = 0;
    for (int64_t i = 0; i < p->info->n_event; i++) {
        n += p->info->q[tess_de_event_at(p->info, k, i, score)] < SIGNIFICANT;
    }
    return n;
}

static int64_t count_rough_p(const tess_de_events_page *p)
{
    const tess_decode_events_info *info = p->info;
    const double small = 10 / (1 + (double)info->n_shuffle);
    int64_t n = 0;
    for (int64_t i = 0; i < info->n_event; i++) {
        n += info->p[tess_de_event_at(info, p->kind, i, p->leads[0])] < small;
    }
    return n;
}

static void warn_of_shuffles(tess_de_events_page *p)
{
    const tess_decode_events_info *info = p->info;
    const double least = 1 / (1 + (double)info->n_shuffle);
    if (info->n_kind == 0) {
        warn(p, "no shuffles were made: scores say how replay-like events look, not whether chance "
                "does as well");
        return;
    }
    if (least >= SIGNIFICANT) {
        warn(p, "with %lld shuffles no p can be below 0.05; take 1,000",
             (long long)info->n_shuffle);
    } else if (count_rough_p(p) > 0) {
        warn(p,
             "%lld events have a p below %.3g, of which %lld shuffles say little more than that it "
             "is small; q of many events needs more shuffles",
             (long long)count_rough_p(p), 10 * least, (long long)info->n_shuffle);
    }
}

static void warn_of_events(tess_de_events_page *p)
{
    const tess_decode_events_info *info = p->info;
    const int64_t n_overlap = count_reason(info, TESS_DECODE_EVENT_OVERLAPS);
    int64_t n_short = 0;
    if (info->problem[0]) {
        warn(p, "there are no events: %s", info->problem);
    } else if (info->n_event == 0) {
        warn(p, "there are no events");
    } else if (p->n_best == 0) {
        warn(p, "every event was dropped; the reasons are below");
    } else if (p->n_best < FEW_EVENTS) {
        warn(p, "%lld scored %s: shares are uncertain, as their intervals say",
             (long long)p->n_best, p->n_best == 1 ? "event" : "events");
    }
    if (n_overlap > 0) {
        warn(p,
             "%lld events overlap an earlier one: q and the intervals of shares take events as "
             "independent",
             (long long)n_overlap);
    }
    for (int64_t i = 0; i < p->n_best; i++) {
        n_short += info->events[p->best[i]].n_counted < 5;
    }
    if (n_short > 0) {
        warn(p,
             "%lld events have fewer than 5 counted bins: no order of so few can have a p below "
             "0.05",
             (long long)n_short);
    }
}

static void write_badges(tess_de_events_page *p)
{
    const tess_decode_events_info *info = p->info;
    char text[160];
    snprintf(text, sizeof text, "%lld of %lld events scored", (long long)p->n_best,
             (long long)info->n_event);
    tess_html_badge(&p->html, p->n_best > 0 ? TESS_HTML_NEUTRAL : TESS_HTML_CHECK, text);
    if (p->kind < 0) {
        return;
    }
    const tess_decode_event_share *share = &info->shares[p->kind * N_SCORE + p->leads[0]];
    if (share->n_event == 0) {
        return;
    }
    const bool is_more = share->low > SIGNIFICANT;
    snprintf(text, sizeof text, "%.0f %% significant: %s chance", 100 * share->share,
             is_more ? "more than" : "no more than");
    tess_html_badge(&p->html, is_more ? TESS_HTML_GOOD : TESS_HTML_CHECK, text);
}

static void write_verdict(tess_de_events_page *p)
{
    const tess_decode_events_info *info = p->info;
    tess_html_heading(&p->html, "Verdict");
    write_badges(p);
    warn_of_events(p);
    if (info->posterior) {
        warn_of_shuffles(p);
    }
    tess_de_events_say(p, "%lld events by %s, %lld of them scored.", (long long)info->n_event,
                       info->source, (long long)p->n_best);
    if (p->kind < 0) {
        return;
    }
    const tess_decode_event_share *share = &info->shares[p->kind * N_SCORE + p->leads[0]];
    if (share->n_event == 0) {
        return;
    }
    tess_de_events_say(
        p,
        "By %s against shuffle %s, %lld of %lld events have p < 0.05: %.1f %%, 95 %% "
        "interval %.1f to %.1f %%. Chance alone gives 5 %%, so %s. With the false discovery rate "
        "held at 5 %% (q < 0.05) %lld events are left.",
        tess_de_event_score_words(p->leads[0]), tess_decode_shuffle_name(info->kinds[p->kind]),
        (long long)share->n_significant, (long long)share->n_event, 100 * share->share,
        100 * share->low, 100 * share->high,
        share->low > SIGNIFICANT ? "there are more of them than chance explains"
                                 : "chance could explain them",
        (long long)count_small_q(p, p->kind, p->leads[0]));
}

// ---- The page ---------------------------------------------------------------------------------

static void write_settings(tess_de_events_page *p)
{
    const tess_param_table *table = tess_decode_events_params();
    const tess_decode_events_info *info = p->info;
    char text[128];
    tess_html_heading(&p->html, "Settings");
    tess_html_fact_begin(&p->html);
    if (info->posterior) {
        snprintf(text, sizeof text, "%.4g ms", 1e3 * info->event_bin);
        tess_html_fact(&p->html, "time bin", text);
        snprintf(text, sizeof text, "%lld, %lld-D", (long long)info->n_place,
                 (long long)p->env->n_place_dim);
        tess_html_fact(&p->html, "place bins", text);
        snprintf(text, sizeof text, "%.3f s", info->elapsed_s);
        tess_html_fact(&p->html, "scores and shuffles took", text);
    }
    for (int64_t i = 0; i < table->n_param; i++) {
        const tess_param *param = &table->params[i];
        char value[64];
        tess_param_get_text(param, &p->events->config, value, sizeof value);
        snprintf(text, sizeof text, "%s %s", value, param->unit ? param->unit : "");
        tess_html_fact(&p->html, param->name, text);
    }
    tess_html_fact_end(&p->html);
}

static tess_status write_page(tess_de_events_page *p, const tess_origin *origin)
{
    char *text = NULL;
    size_t bytes = 0;
    write_verdict(p);
    TESS_TRY(tess_de_events_page_chance(p));
    TESS_TRY(tess_de_events_page_pictures(p));
    tess_de_events_page_table(p);
    tess_de_events_page_dropped(p);
    write_settings(p);
    tess_html_cite(&p->html,
                   "Line fit: Davidson, Kloosterman and Wilson, Neuron 63, 2009, 497-507. False "
                   "discovery rate: Benjamini and Hochberg, J. R. Stat. Soc. B 57, 1995, 289-300.");
    TESS_TRY(tess_origin_make(p->html.ctx, origin, &text, &bytes));
    tess_html_provenance(&p->html, text);
    tess_heap_free(&p->html.ctx->heap, text, bytes, TESS_TAG_RESULT);
    return TESS_OK;
}

static tess_status prepare(tess_de_events_page *p)
{
    tess_events_route *routes = NULL;
    int64_t n_route = 0;
    if (p->info->posterior) {
        p->env = tess_decode_environment_get_info(p->events->env);
        TESS_TRY(tess_de_routes_make(&p->memory, p->events->env, &routes, &n_route));
        p->routes = routes;
    }
    choose_leads(p);
    return rank_events(p);
}

tess_status tess_decode_events_report(tess_context *ctx, const tess_decode_events *events,
                                      const tess_decode_spikes *given, const char *path,
                                      int overwrite)
{
    tess_error_clear();
    tess_decode_spikes spikes;
    tess_decode_spikes_init(&spikes, sizeof spikes);
    if (given) {
        TESS_TRY(tess_struct_read(given, &spikes, sizeof spikes, "spikes"));
    }
    tess_de_events_page p = {
        .events = events, .info = &events->info, .spikes = given ? &spikes : NULL};
    const tess_origin origin = {.stage = "decode.events",
                                .identity = events->identity[0] ? events->identity : NULL,
                                .tables = {tess_decode_events_params()},
                                .values = {&events->config},
                                .with_run = true};
    tess_blocks_init(&p.memory, &ctx->heap);
    tess_html_begin(&p.html, ctx, &origin, "Replay events");
    tess_status status = prepare(&p);
    if (status == TESS_OK) {
        status = write_page(&p, &origin);
    }
    if (status == TESS_OK) {
        status = tess_html_write(&p.html, path, overwrite);
    }
    tess_html_destroy(&p.html);
    tess_blocks_free(&p.memory);
    return status;
}
