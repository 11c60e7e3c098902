// tessera autoreject ptp: source, plan, sink, run, summary.

#include "job.h"
#include "summary.h"
#include "text.h"

#include <tessera/autoreject.h>
#include <tessera/io.h>

#include <stdlib.h>

typedef struct ptp_command {
    tess_source *input;
    tess_sink *sink;
    void *values;        // the result, when it is held in memory
    tess_array array;    // view of values
    tess_source *result; // the finished result, from file or memory
    job j;
    summary facts;
} ptp_command;

static int open_input(cli *c, ptp_command *p)
{
    tess_source_config config;

    tess_source_config_init(&config, sizeof config);
    config.dataset = c->values.dataset;
    config.allow_truncated = c->values.allow_truncated;
    CLI_CALL(tess_source_open(c->ctx, c->operands[0], &config, &p->input));
    return 0;
}

// A result nobody keeps lives in memory: it is as small as the input has samples per row.
static int open_sink(cli *c, ptp_command *p)
{
    const tess_source_info *info = tess_source_get_info(p->input);
    const tess_dtype dtype = (tess_dtype)info->dtype;

    if (c->values.output) {
        tess_sink_config config;
        tess_sink_config_init(&config, sizeof config);
        config.overwrite = c->values.overwrite;
        CLI_CALL(
            tess_sink_create(c->ctx, c->values.output, &config, dtype, 2, info->shape, &p->sink));
        return 0;
    }
    const uint64_t bytes =
        (uint64_t)info->shape[0] * (uint64_t)info->shape[1] * (uint64_t)info->item_bytes;
    p->values = malloc(bytes + 1);
    if (!p->values) {
        return console_fail(71, "no memory for %llu bytes of results; give -o FILE",
                            (unsigned long long)bytes);
    }
    CLI_CALL(tess_array_init(&p->array, p->values, dtype, 2, info->shape));
    CLI_CALL(tess_sink_from_array(c->ctx, &p->array, &p->sink));
    return 0;
}

static int open_result(cli *c, ptp_command *p)
{
    if (c->values.output) {
        CLI_CALL(tess_source_open(c->ctx, c->values.output, NULL, &p->result));
    } else {
        CLI_CALL(tess_source_from_array(c->ctx, &p->array, &p->result));
    }
    return summary_compute(p->result, &p->facts);
}

static int write_report(cli *c, ptp_command *p)
{
    const tess_source_info *info = tess_source_get_info(p->result);

    if (!p->values) {
        const uint64_t bytes =
            (uint64_t)info->shape[0] * (uint64_t)info->shape[1] * (uint64_t)info->item_bytes;
        p->values = malloc(bytes + 1);
        if (!p->values) {
            return console_fail(71, "no memory for the report");
        }
        CLI_CALL(tess_source_read(p->result, 0, info->shape[0], p->values, bytes));
        CLI_CALL(tess_array_init(&p->array, p->values, (tess_dtype)info->dtype, 2, info->shape));
    }
    CLI_CALL(tess_autoreject_ptp_report(c->ctx, &p->array, job_provenance(&p->j), c->values.report,
                                        c->values.overwrite ? 1 : 2 * c->values.resume));
    console_note("report written to %s", c->values.report);
    return 0;
}

static void print_flat(const summary *facts)
{
    printf("flat channels  %lld", (long long)facts->n_flat);
    for (int64_t i = 0; i < facts->n_flat && i < SUMMARY_FLAT_LISTED; i++) {
        printf("%s%lld", i == 0 ? " (" : ", ", (long long)facts->flat[i]);
    }
    puts(facts->n_flat == 0 ? "" : (facts->n_flat > SUMMARY_FLAT_LISTED ? ", ...)" : ")"));
}

static void print_text(const cli *c, const ptp_command *p)
{
    const tess_source_info *in = tess_source_get_info(p->input);
    const char *dtype = tess_dtype_name((tess_dtype)in->dtype);
    char shape[128];

    text_shape(shape, sizeof shape, in->rank, in->shape);
    printf("input          %s%s%s: %s %s, %s\n", c->operands[0], in->dataset[0] ? " " : "",
           in->dataset, dtype, shape, in->format);
    text_shape(shape, sizeof shape, 2, in->shape);
    printf("peak-to-peak   %s: %s %s\n", c->values.output ? c->values.output : "not kept", dtype,
           shape);
    printf("minimum        %.6g\n", p->facts.minimum);
    printf("median         %.6g\n", p->facts.median);
    printf("maximum        %.6g\n", p->facts.maximum);
    printf("NaN rows       %lld of %lld\n", (long long)p->facts.n_nan_row,
           (long long)p->facts.n_row);
    print_flat(&p->facts);
}

static void write_input(tess_json *json, const cli *c, const tess_source_info *in)
{
    tess_json_object_begin(json, "input");
    tess_json_text(json, "path", c->operands[0]);
    tess_json_text(json, "dataset", in->dataset);
    tess_json_text(json, "format", in->format);
    tess_json_text(json, "dtype", tess_dtype_name((tess_dtype)in->dtype));
    tess_json_array_begin(json, "shape");
    for (int32_t i = 0; i < in->rank; i++) {
        tess_json_int(json, NULL, in->shape[i]);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
}

static void write_result(tess_json *json, const cli *c, const ptp_command *p)
{
    const tess_source_info *in = tess_source_get_info(p->input);

    tess_json_object_begin(json, "result");
    tess_json_text(json, "path", c->values.output);
    tess_json_text(json, "report", c->values.report);
    tess_json_text(json, "dtype", tess_dtype_name((tess_dtype)in->dtype));
    tess_json_array_begin(json, "shape");
    tess_json_int(json, NULL, in->shape[0]);
    tess_json_int(json, NULL, in->shape[1]);
    tess_json_array_end(json);
    tess_json_real(json, "minimum", p->facts.minimum);
    tess_json_real(json, "median", p->facts.median);
    tess_json_real(json, "maximum", p->facts.maximum);
    tess_json_int(json, "n_row", p->facts.n_row);
    tess_json_int(json, "n_nan_row", p->facts.n_nan_row);
    tess_json_int(json, "n_flat_channel", p->facts.n_flat);
    tess_json_object_end(json);
}

static int print_json(cli *c, const ptp_command *p)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.autoreject.ptp/1");
    write_input(json, c, tess_source_get_info(p->input));
    write_result(json, c, p);
    job_write_json(json, &p->j);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static void note_speed(const ptp_command *p)
{
    const tess_source_info *in = tess_source_get_info(p->input);
    const tess_run_report *report = &p->j.report;
    const double bytes = (double)(in->shape[0] - report->first_item) * (double)in->shape[1] *
                         (double)in->shape[2] * (double)in->item_bytes;

    console_note("%lld epochs in %.3f s, %.2f GB/s", (long long)(in->shape[0] - report->first_item),
                 report->elapsed_s, report->elapsed_s > 0 ? bytes / report->elapsed_s * 1e-9 : 0);
}

static int compute(cli *c, ptp_command *p)
{
    int finished = 0;

    CLI_TRY(job_find_finished(c, &p->j, p->input, &finished));
    if (finished) {
        return 0;
    }
    if (!c->values.output) {
        console_note("no -o FILE: the result is summarised, not kept");
    }
    CLI_TRY(open_sink(c, p));
    CLI_TRY(job_execute(c, &p->j, p->input, p->sink));
    note_speed(p);
    return 0;
}

static int run_ptp(cli *c, ptp_command *p)
{
    tess_autoreject_ptp_config config;

    tess_autoreject_ptp_config_init(&config, sizeof config);
    CLI_TRY(job_check_options(c));
    CLI_TRY(session_open(c, (void *[]){&config}));
    CLI_TRY(open_input(c, p));
    CLI_CALL(tess_autoreject_ptp_plan_create(c->ctx, p->input, &config, &p->j.plan));
    CLI_TRY(job_announce(c, &p->j));
    if (c->values.dry_run) {
        return 0;
    }
    CLI_TRY(compute(c, p));
    CLI_TRY(open_result(c, p));
    if (c->values.report) {
        CLI_TRY(write_report(c, p));
    }
    if (c->values.json) {
        return print_json(c, p);
    }
    print_text(c, p);
    return 0;
}

int cmd_autoreject_ptp(cli *c)
{
    ptp_command p = {0};
    const int code = run_ptp(c, &p);

    tess_source_close(p.result);
    job_close(&p.j);
    tess_sink_close(p.sink);
    tess_source_close(p.input);
    free(p.values);
    return code;
}
