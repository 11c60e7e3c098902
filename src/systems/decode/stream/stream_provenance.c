// Where a streamed result comes from, and whether one is there already.
//
// The result itself holds what is the same for every run of the same computation, so that a killed
// and resumed run gives the same bytes. What differs (times, threads, command line) is beside it.
#include "systems/decode/stream/stream.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "runtime/bundle.h"
#include "runtime/group.h"
#include "runtime/origin.h"

#include <stdio.h>
#include <string.h>

static void write_hash(tess_json *json, const char *key, tess_hash hash)
{
    char text[33];
    tess_hash_text(hash, text);
    tess_json_text(json, key, text);
}

static void write_settings(tess_json *json, const tess_de_stream_run *run)
{
    const tess_decode_detector *d = run->detector;
    tess_json_object_begin(json, "settings");
    tess_json_int(json, "want", run->config.want);
    tess_json_text(json, "dtype", tess_dtype_name((tess_dtype)run->config.dtype));
    const tess_decode_model_config *model = run->config.model;
    const tess_param_table *tables[] = {
        tess_decode_model_params(), tess_decode_environment_params(), tess_decode_detector_params(),
        tess_decode_encoding_params()};
    const void *configs[] = {model, model ? &model->environment : NULL, &d->config,
                             d->n_encoding > 0 ? &d->encodings[0]->config : NULL};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        if (configs[t]) {
            tess_origin_settings(json, tables[t], configs[t]);
        }
    }
    tess_json_object_end(json);
}

static void write_inputs(tess_json *json, const tess_de_stream_run *run)
{
    const tess_decode_recording_info *recording = run->config.recording;
    const char *path = recording && recording->path ? recording->path : "";
    const char *slash = strrchr(path, '/');
    tess_json_array_begin(json, "inputs");
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "name", slash ? slash + 1 : path); // folders stay private
    write_hash(json, "model", run->fingerprint.model);
    write_hash(json, "time", run->fingerprint.time);
    write_hash(json, "spikes", run->fingerprint.spikes);
    write_hash(json, "position", run->fingerprint.position);
    tess_json_object_end(json);
    if (run->config.intervals) {
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "name", "intervals");
        tess_json_int(json, "n", run->intervals.table.n);
        write_hash(json, "intervals", run->intervals.hash);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}

// For reports made later, which cannot hear them.
static tess_status write_warnings(tess_json *json, const tess_de_stream_run *run)
{
    tess_heap *heap = &run->ctx->heap;
    char *text = tess_heap_alloc(heap, TESS_LOG_KEPT_BYTES, TESS_TAG_RESULT, "warnings");
    if (!text) {
        return TESS_E_MEMORY;
    }
    const int n_lost = tess_log_warnings(&run->ctx->log, text);
    tess_json_array_begin(json, "warnings");
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n');
        *end = 0;
        tess_json_text(json, NULL, line);
        line = end + 1;
    }
    tess_json_array_end(json);
    tess_json_int(json, "warnings_lost", n_lost);
    tess_heap_free(heap, text, TESS_LOG_KEPT_BYTES, TESS_TAG_RESULT);
    return TESS_OK;
}

static tess_status write_details(tess_json *json, const tess_de_stream_run *run)
{
    const tess_context *ctx = run->ctx;
    char now[32];
    tess_utc_text(now, sizeof now);
    tess_json_text(json, "command_line", tess_origin_command(ctx, run->config.command_line));
    tess_json_text(json, "device", tess_group_id(ctx, run->device));
    tess_json_text(json, "device_name", run->device->info.name);
    tess_json_text(json, "isa", ctx->isa);
    tess_json_int(json, "threads", ctx->n_thread);
    tess_json_uint(json, "memory_limit_bytes", ctx->memory_limit_bytes);
    tess_json_int(json, "chunks", run->report.n_chunk);
    tess_json_int(json, "rows_per_chunk", run->report.rows_per_chunk);
    tess_json_bool(json, "resumed", run->report.resumed);
    tess_json_text(json, "started", run->started);
    tess_json_text(json, "written", now);
    tess_json_real(json, "log_evidence", run->report.log_evidence);
    tess_json_real(json, "elapsed_s", run->report.elapsed_s);
    tess_json_real(json, "likelihood_s", run->report.likelihood_s);
    tess_json_real(json, "filter_s", run->report.filter_s);
    tess_json_real(json, "smoother_s", run->report.smoother_s);
    tess_json_real(json, "write_s", run->report.write_s);
    tess_json_real(json, "checkpoint_s", run->report.checkpoint_s);
    return write_warnings(json, run);
}

tess_status tess_de_stream_provenance(const tess_de_stream_run *run, int with_details, char **text,
                                      size_t *bytes)
{
    *text = NULL;
    tess_json *json = NULL;
    TESS_TRY(tess_json_create_on(&run->ctx->heap, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_origin_head(json, "decode.predict", run->ctx->command);
    tess_json_text(json, "identity", run->id_text);
    write_settings(json, run);
    tess_json_int(json, "items", run->decoded.n_time);
    tess_json_text(json, "unit", "rows");
    write_inputs(json, run);
    const tess_status status = with_details ? write_details(json, run) : TESS_OK;
    tess_json_object_end(json);
    if (status != TESS_OK) {
        tess_json_destroy(json);
        return status;
    }
    return tess_json_keep(json, text, bytes);
}

tess_status tess_de_stream_write_details(const tess_de_stream_run *run)
{
    char path[TESS_DE_RESULT_PATH + 8];
    char *text = NULL;
    size_t bytes = 0;
    TESS_TRY(tess_de_stream_provenance(run, 1, &text, &bytes));
    snprintf(path, sizeof path, "%s.json", run->result.path);
    const tess_status status = tess_file_write_text(path, text, 1);
    tess_heap_free(&run->ctx->heap, text, bytes, TESS_TAG_RESULT);
    return status;
}

void tess_de_stream_read_evidence(tess_de_stream_run *run)
{
    char path[TESS_DE_RESULT_PATH + 32];
    tess_bundle bundle;
    snprintf(path, sizeof path, "%s%s", run->result.path,
             run->result.is_folder ? "/log_evidence.npy" : "");
    if (tess_bundle_open(run->ctx, path, &bundle) != TESS_OK) {
        tess_error_clear();
        return;
    }
    const tess_bundle_entry *entry = tess_bundle_find(&bundle, "log_evidence");
    if (entry && entry->n_item == 1) {
        (void)(tess_bundle_read_f64(&bundle, entry, &run->report.log_evidence) == TESS_OK);
    }
    tess_bundle_close(&bundle);
}
