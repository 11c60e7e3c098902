// The HTML report of a decoded result.
#include "base/file.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/files/recording.h"
#include "systems/decode/report/page.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static void fact(tess_de_page *p, const char *name, const char *format, ...) TESS_PRINTF(3, 4);

static void fact(tess_de_page *p, const char *name, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tess_html_fact(&p->html, name, text);
}

static void write_path(tess_de_page *p)
{
    const tess_de_facts *f = p->facts;
    char text[256];
    char name[64];
    size_t at = 0;
    if (f->path_changes < 0) {
        return;
    }
    for (int32_t s = 0; s < p->view->n_state && at < sizeof text; s++) {
        tess_de_view_state_name(p->view, s, name, sizeof name);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s %.1f %%, ", name,
                               100 * f->path_share[s]);
    }
    fact(p, "most likely path", "%s%lld changes of state", at < sizeof text ? text : "",
         (long long)f->path_changes);
}

static void write_facts(tess_de_page *p)
{
    const tess_de_view *v = p->view;
    const tess_de_facts *f = p->facts;
    char name[64];
    tess_html_heading(&p->html, "Result");
    tess_html_fact_begin(&p->html);
    tess_de_page_settings(p);
    if (v->n_time < v->n_file_row) {
        fact(p, "time bins", "%lld of %lld", (long long)v->n_time, (long long)v->n_file_row);
    } else {
        fact(p, "time bins", "%lld", (long long)v->n_time);
    }
    if (v->interval) {
        fact(p, "intervals", "%lld, each decoded as a sequence of its own",
             (long long)v->n_interval);
    }
    if (v->n_time > 0) {
        fact(p, "time", "%.10g to %.10g s", v->start, v->end);
    }
    if (v->step > 0) {
        fact(p, "length of a time bin", "%.4g ms", 1e3 * v->step);
    }
    for (int32_t e = 0; e < v->n_environment; e++) {
        const tess_de_environment_view *env = &v->environments[e];
        snprintf(name, sizeof name, "place bins%s%.40s", v->n_environment > 1 ? " of " : "",
                 v->n_environment > 1 ? env->name : "");
        fact(p, name, "%lld, %d-D", (long long)env->n_place, (int)v->n_axis);
    }
    if (!isnan(v->log_evidence)) {
        fact(p, "log evidence", "%.6f%s", v->log_evidence,
             v->n_time < v->n_file_row ? " (of all time bins)" : "");
    }
    for (int32_t s = 0; s < v->n_state; s++) {
        tess_de_view_state_name(v, s, name, sizeof name);
        fact(p, name, "%.1f %% of the time", 100 * f->occupancy[s]);
    }
    write_path(p);
    tess_html_fact_end(&p->html);
}

static void timing(tess_de_page *p, const char *name, double seconds)
{
    char cells[2][64];
    snprintf(cells[0], sizeof cells[0], "%s", name);
    snprintf(cells[1], sizeof cells[1], "%.3f", seconds);
    const char *const row[] = {cells[0], cells[1]};
    tess_html_table_row(&p->html, row, 2);
}

static void write_run(tess_de_page *p)
{
    static const char *const heads[] = {"stage", "seconds"};
    const tess_decode_stream_report *r = p->config->report;
    char text[256];
    if (!r) {
        return;
    }
    tess_html_heading(&p->html, "Run");
    tess_html_table_begin(&p->html, heads, 2);
    timing(p, "likelihood", r->likelihood_s);
    timing(p, "filter", r->filter_s);
    timing(p, "smoother", r->smoother_s);
    timing(p, "writing", r->write_s);
    timing(p, "checkpoints", r->checkpoint_s);
    timing(p, "all", r->elapsed_s);
    tess_html_table_end(&p->html);
    const tess_decode_likelihood_report *l = &r->likelihood;
    snprintf(text, sizeof text,
             "%lld spikes decoded, %lld before and %lld after the time bins, %lld left out; "
             "%lld %s.",
             (long long)l->n_spike, (long long)l->n_before, (long long)l->n_after,
             (long long)l->n_excluded, (long long)r->n_chunk, r->n_chunk == 1 ? "chunk" : "chunks");
    tess_html_paragraph(&p->html, text);
}

static tess_status write_provenance(tess_de_page *p)
{
    char *text = NULL;
    TESS_TRY(tess_de_view_provenance(p->view, &text));
    if (text) {
        tess_html_provenance(&p->html, text);
    }
    tess_text_free(text);
    return TESS_OK;
}

static tess_status write_page(tess_de_page *p)
{
    TESS_TRY(tess_de_page_verdict(p));
    write_facts(p);
    TESS_TRY(tess_de_page_timeline(p));
    TESS_TRY(tess_de_page_events(p));
    TESS_TRY(tess_de_page_moments(p));
    tess_de_page_agreement(p);
    TESS_TRY(tess_de_page_places(p));
    write_run(p);
    tess_html_cite(&p->html,
                   "Clusterless decoding of position from spike waveform features: Deng et al., "
                   "Neural Computation 27, 2015, 1438-1460. State-space model over position and "
                   "discrete states: Denovellis et al., eLife 10, 2021, e64505.");
    return write_provenance(p);
}

// Numbers of an axis have no room for the digits of clock times: those count from the start.
static void choose_origin(tess_de_page *p)
{
    const double first = p->facts->axis.first;
    if (!p->facts->axis.is_time) {
        snprintf(p->time_label, sizeof p->time_label, "time bin");
    } else if (fabs(first) < 1e5) {
        snprintf(p->time_label, sizeof p->time_label, "time");
    } else {
        p->origin = first;
        snprintf(p->time_label, sizeof p->time_label, "time after %.12g s", first);
    }
}

static tess_status report(tess_context *ctx, const tess_de_view *view, tess_de_facts *facts,
                          const tess_decode_report_config *config)
{
    tess_de_page p = {.view = view, .facts = facts, .config = config};
    tess_document *origin = NULL;
    char title[160];
    TESS_TRY(tess_de_page_origin(view, &origin));
    p.origin_of = origin;
    if (config->recording) {
        tess_de_events_count_spikes(&facts->events, &config->recording->info.observation);
    }
    tess_de_score_facts(facts, &p.score);
    choose_origin(&p);
    tess_de_page_title(&p, title, sizeof title);
    tess_html_begin(&p.html, ctx, &(tess_origin){.stage = "decode.report"}, title);
    tess_status status = write_page(&p);
    if (status == TESS_OK) {
        status = tess_html_write(&p.html, config->path, config->overwrite);
    }
    tess_html_destroy(&p.html);
    tess_document_destroy(origin);
    return status;
}

static tess_status check(const char *result_path, const tess_decode_report_config *given,
                         tess_decode_report_config *config)
{
    tess_decode_report_config_init(config, sizeof *config);
    TESS_TRY(tess_struct_read(given, config, sizeof *config, "report config"));
    TESS_TRY(tess_params_check(tess_decode_report_params(), config));
    if (!config->path) {
        TESS_FAIL(TESS_E_ARGUMENT, "path: NULL; it says where the report goes");
    }
    if (!(config->from < config->to)) {
        TESS_FAIL(TESS_E_ARGUMENT, "to: %.10g s is not after from (%.10g s)", config->to,
                  config->from);
    }
    TESS_TRY(tess_file_check_distinct(result_path, config->path));
    return tess_file_check_distinct(config->recording ? config->recording->info.path : NULL,
                                    config->path);
}

tess_status tess_decode_report_write(tess_context *ctx, const char *result_path,
                                     const tess_decode_report_config *given)
{
    tess_error_clear();
    tess_decode_report_config config;
    tess_de_view view;
    tess_de_facts facts;
    TESS_TRY(check(result_path, given, &config));
    const tess_de_period period = {config.from, config.to};
    TESS_TRY(tess_de_view_open(ctx, result_path, config.recording, &period, &view));
    tess_status status = tess_de_facts_gather(&view, &config, &facts);
    if (status == TESS_OK) {
        status = report(ctx, &view, &facts, &config);
        tess_de_facts_free(&facts);
    }
    tess_de_view_close(&view);
    return status;
}

tess_status tess_decode_report(tess_context *ctx, const char *result_path,
                               const tess_decode_recording *recording,
                               const tess_decode_stream_report *report, const char *path,
                               int overwrite)
{
    tess_decode_report_config config;
    tess_decode_report_config_init(&config, sizeof config);
    config.recording = recording;
    config.report = report;
    config.path = path;
    config.overwrite = overwrite;
    return tess_decode_report_write(ctx, result_path, &config);
}
