// Whether everything that a command must hold fits the memory limit, before any of it is read.
#include "base/status.h"
#include "systems/decode/model/model_size.h"
#include "systems/decode/report/view.h"
#include "tessera/decode/report.h"

// What decoding takes besides its inputs, where the limit leaves more than it must have: chunks,
// transitions, what is known of every row.
static const uint64_t ENGINE_BYTES = UINT64_C(32) << 20;
enum { ROW_BYTES = 96 };
// A report: blocks of rows; the errors of the rows that are scored; the page, three times while it
// grows. Long results are sampled for the errors, and their pictures are as large as they may be.
static const uint64_t REPORT_BYTES = UINT64_C(24) << 20;
enum { MAX_SCORED = 1 << 21, SCORED_BYTES = 16, PAGE_BYTES_PER_ROW = 256 };

static tess_status add_result(tess_context *ctx, const char *path, tess_de_need *need)
{
    tess_decode_report_config config;
    int64_t n_time = 0;
    tess_decode_report_config_init(&config, sizeof config);
    TESS_TRY(tess_de_view_count(ctx, path, &n_time));
    const uint64_t n = (uint64_t)n_time;
    const uint64_t grown = n * PAGE_BYTES_PER_ROW;
    const uint64_t page = grown < config.max_size ? grown : config.max_size;
    const uint64_t scored = SCORED_BYTES * (n < MAX_SCORED ? n : MAX_SCORED);
    need->least += REPORT_BYTES + scored + 3 * page;
    need->most += REPORT_BYTES + scored + 3 * page;
    return TESS_OK;
}

static tess_status add_recording(tess_context *ctx, const char *path,
                                 const tess_decode_model_config *fit, int predicts,
                                 tess_de_need *need)
{
    tess_bundle bundle = {0};
    tess_de_recording_size size;
    TESS_TRY(tess_bundle_open(ctx, path, &bundle));
    tess_de_size_recording(&bundle, &size);
    tess_bundle_close(&bundle);
    need->least += size.bytes;
    need->most += size.bytes;
    if (fit) {
        size.n_place_dim = fit->environment.track ? 1 : size.n_place_dim;
        const tess_de_need model =
            tess_de_size_fit(&size, fit->encoding.algorithm, fit->encoding.mode, !predicts);
        need->least += model.least;
        need->most += model.most;
    }
    need->most += predicts ? ENGINE_BYTES + ROW_BYTES * size.n_time : 0;
    return TESS_OK;
}

tess_status tess_decode_check_memory(tess_context *ctx, const char *recording_path,
                                     const char *model_path, const char *result_path,
                                     const tess_decode_model_config *fit, int predicts)
{
    tess_error_clear();
    tess_de_need need = {0, 0};
    if (!ctx->memory_limit_is_set) {
        return TESS_OK;
    }
    if (recording_path) {
        TESS_TRY(add_recording(ctx, recording_path, fit, predicts, &need));
    }
    if (model_path) {
        tess_de_need model;
        TESS_TRY(tess_de_size_model(ctx, model_path, &model));
        need.least += model.least;
        need.most += model.most;
    }
    if (result_path) {
        TESS_TRY(add_result(ctx, result_path, &need));
    }
    const char *what = result_path  ? "the report"
                       : fit        ? "the recording with a model fitted to it"
                       : model_path ? "the recording with its model"
                                    : "the recording";
    const char *path = result_path ? result_path : recording_path;
    return tess_de_need_check(ctx, path ? path : model_path, what, need);
}
