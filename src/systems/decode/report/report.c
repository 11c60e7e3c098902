// The HTML report of a decoded result.
#include "base/file.h"
#include "base/status.h"
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

static void write_facts(tess_de_page *p)
{
    const tess_de_view *v = p->view;
    const tess_de_facts *f = p->facts;
    tess_html_fact_begin(&p->html);
    fact(p, "time bins", "%lld", (long long)v->n_time);
    if (v->n_time > 0) {
        fact(p, "time", "%.10g to %.10g s", v->time[0], v->time[v->n_time - 1]);
    }
    fact(p, "place bins", "%lld, %d-D", (long long)v->n_place, (int)v->n_axis);
    if (!isnan(v->log_evidence)) {
        fact(p, "log evidence", "%.6f", v->log_evidence);
    }
    for (int32_t s = 0; s < v->n_state; s++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)v->name_bytes, v->names + s * v->name_bytes);
        fact(p, name, "%.1f %% of the time", 100 * f->occupancy[s]);
    }
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
    const tess_decode_stream_report *r = p->report;
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
        tess_html_heading(&p->html, "Provenance");
        tess_html_code(&p->html, text);
    }
    tess_text_free(text);
    return TESS_OK;
}

static tess_status write_page(tess_de_page *p)
{
    TESS_TRY(tess_de_page_verdict(p));
    write_facts(p);
    tess_de_page_posterior(p);
    TESS_TRY(tess_de_page_snapshots(p));
    tess_de_page_states(p);
    tess_de_page_agreement(p);
    TESS_TRY(tess_de_page_raster(p));
    write_run(p);
    tess_html_heading(&p->html, "Method");
    tess_html_paragraph(&p->html,
                        "Clusterless decoding of position from spike waveform features (Deng et "
                        "al., Neural Computation 27, 2015, 1438-1460) with a state-space model "
                        "over position and discrete states (Denovellis et al., eLife 10, 2021, "
                        "e64505).");
    return write_provenance(p);
}

tess_status tess_decode_report(tess_context *ctx, const char *result_path,
                               const tess_decode_recording *recording,
                               const tess_decode_stream_report *report, const char *path,
                               int overwrite)
{
    tess_error_clear();
    tess_de_view view;
    tess_de_facts facts;
    TESS_TRY(tess_file_check_distinct(result_path, path));
    TESS_TRY(tess_file_check_distinct(recording ? recording->info.path : NULL, path));
    TESS_TRY(tess_de_view_open(ctx, result_path, recording, &view));
    tess_status status = tess_de_facts_gather(&view, &facts);
    if (status != TESS_OK) {
        tess_de_view_close(&view);
        return status;
    }
    tess_de_page p = {.view = &view, .facts = &facts, .recording = recording, .report = report};
    tess_de_score_facts(&facts, &p.score);
    tess_html_begin(&p.html, ctx, &(tess_origin){.stage = "decode.report"}, "Decoded position");
    status = write_page(&p);
    if (status == TESS_OK) {
        status = tess_html_write(&p.html, path, overwrite);
    }
    tess_html_destroy(&p.html);
    tess_de_facts_free(&facts);
    tess_de_view_close(&view);
    return status;
}
