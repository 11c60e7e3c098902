// An observation as a whole: checked once before hours of work, with a word on what is odd.
#include "base/status.h"
#include "systems/decode/encoding/evaluate.h"
#include "systems/decode/settings/check.h"
#include "systems/decode/store/inputs.h"

#include <math.h>

static bool has_marks(const tess_decode_encoding *encoding)
{
    return encoding->info.n_feature != NULL;
}

tess_status tess_de_check_grid(const tess_decode_encoding *encoding,
                               const tess_decode_observation *o, bool local)
{
    if (o->n_time < 0 || (o->n_time > 0 && !o->time)) {
        TESS_FAIL(TESS_E_ARGUMENT, "time: %lld bins, but no times", (long long)o->n_time);
    }
    TESS_TRY(tess_de_check_times(o->time, o->n_time, "time"));
    TESS_TRY(tess_de_check_spikes(&o->spikes, has_marks(encoding)));
    TESS_TRY(tess_de_check_fitted(&encoding->info, &o->spikes));
    if (!local) {
        return TESS_OK;
    }
    if (o->position.n_sample == 0) {
        TESS_FAIL(TESS_E_ARGUMENT, "position and position_time are missing: the likelihood of a "
                                   "local state is evaluated where the animal is");
    }
    TESS_TRY(tess_de_check_position(&o->position, tess_decode_environment_get_info(encoding->env)));
    if (o->position.n_sample < 2) {
        TESS_FAIL(TESS_E_SHAPE, "position has 1 sample; at least 2 are needed to interpolate");
    }
    return TESS_OK;
}

tess_status tess_de_bin_scale(tess_context *ctx, const tess_decode_encoding *encoding,
                              const tess_decode_observation *o, double *scale)
{
    *scale = encoding->config.bin_scale;
    if (*scale > 0) {
        return TESS_OK;
    }
    double step_s = 0;
    TESS_TRY(tess_de_median_step(&ctx->heap, o->time, o->n_time, &step_s));
    const bool known = step_s > 0 && encoding->info.bin_width_s > 0;
    *scale = known ? step_s / encoding->info.bin_width_s : 1;
    return TESS_OK;
}

static tess_status warn_width(tess_context *ctx, const tess_decode_encoding *encoding,
                              const tess_decode_observation *o)
{
    const double sample_s = encoding->info.bin_width_s;
    double step_s = 0;
    TESS_TRY(tess_de_median_step(&ctx->heap, o->time, o->n_time, &step_s));
    const bool known = step_s > 0 && sample_s > 0;
    if (known && encoding->config.bin_scale == 1) {
        TESS_TRY(tess_de_units_of_bins(step_s, sample_s));
    }
    if (known && encoding->config.bin_scale == 1 && fabs(step_s / sample_s - 1) > 0.01) {
        tess_log_warn(&ctx->log, TESS_W_DECODE_BIN_WIDTH,
                      "decoding bins are %.6g s wide but position samples %.6g s apart: expected "
                      "spike counts are off by a factor of %.4g; pass bin_scale=0 to correct for "
                      "it, or the same grid to both",
                      step_s, sample_s, step_s / sample_s);
    }
    return TESS_OK;
}

static void warn_excluded(tess_context *ctx, const tess_decode_encoding *encoding, int64_t e,
                          int64_t n)
{
    const bool excluded =
        encoding->info.floor != TESS_DECODE_FLOOR_ABSOLUTE && encoding->info.n_spike[e] == 0;
    if (excluded && n > 0) {
        tess_log_warn(&ctx->log, TESS_W_DECODE_ELECTRODE,
                      "electrode %lld has no encoding spikes: its %lld decoding spikes are left "
                      "out (floor=absolute would charge ln 1e-15 for each)",
                      (long long)e, (long long)n);
    }
}

// Spikes per second that the model learned from; 0 where samples do not tell how long they last.
static double known_rate(const tess_decode_encoding_info *info)
{
    double n_spike = 0;
    for (int64_t e = 0; e < info->n_electrode; e++) {
        n_spike += (double)info->n_spike[e];
    }
    const double duration_s = (double)info->n_training_sample * info->bin_width_s;
    return duration_s > 0 ? n_spike / duration_s : 0;
}

// Spikes whose features are held at once, where they are copied.
static const int64_t SPIKES_AT_ONCE = 1 << 14;

// What is told of an electrode's spikes, by any thread.
typedef struct checked {
    tess_de_notes notes;
    tess_de_window window;
} checked;

typedef struct checking {
    tess_context *ctx;
    const tess_decode_encoding *encoding;
    const tess_decode_observation *observation;
    checked *electrodes;
} checking;

static tess_status check_marks(const checking *job, int64_t e, const tess_de_spike_rules *rules,
                               const tess_de_ordered *ordered, int64_t first, int64_t n)
{
    const tess_decode_spikes *spikes = &job->observation->spikes;
    tess_status status = TESS_OK;
    for (int64_t at = 0; at < n && status == TESS_OK; at += SPIKES_AT_ONCE) {
        const int64_t count = n - at < SPIKES_AT_ONCE ? n - at : SPIKES_AT_ONCE;
        tess_blocks copies;
        tess_de_taken taken;
        tess_blocks_init(&copies, &job->ctx->heap);
        status = tess_de_take_spikes(&copies, spikes, e, ordered, first + at, count, true, rules,
                                     &job->electrodes[e].notes, &taken);
        tess_blocks_free(&copies);
    }
    return status;
}

static tess_status check_electrode(void *self, int64_t e, int32_t worker)
{
    (void)worker;
    const checking *job = self;
    const tess_decode_encoding *encoding = job->encoding;
    const tess_decode_observation *o = job->observation;
    const tess_de_spike_rules rules = {encoding->config.nan_policy, encoding->config.strict};
    checked *own = &job->electrodes[e];
    tess_blocks scratch;
    tess_de_ordered ordered;
    tess_blocks_init(&scratch, &job->ctx->heap);
    tess_status status =
        tess_de_order_spikes(&scratch, &o->spikes, e, &rules, &own->notes, &ordered);
    if (status == TESS_OK) {
        int64_t first, n;
        own->window = tess_de_window_open(o->time[0], o->time[o->n_time - 1]);
        tess_de_window_add(&own->window, e, &ordered, &first, &n);
        status = has_marks(encoding) ? check_marks(job, e, &rules, &ordered, first, n) : TESS_OK;
    }
    tess_blocks_free(&scratch);
    return status;
}

// What electrodes are told, one after the other.
static tess_status check_electrodes(checking *job, tess_de_notes *notes, tess_de_window *window)
{
    const int64_t n_electrode = job->observation->spikes.n_electrode;
    TESS_TRY(tess_parallel_for(job->ctx->pool, n_electrode, check_electrode, job));
    for (int64_t e = 0; e < n_electrode; e++) {
        const checked *own = &job->electrodes[e];
        tess_de_window_join(&own->window, window);
        warn_excluded(job->ctx, job->encoding, e, own->window.n_in);
        tess_de_notes_add(&own->notes, notes);
    }
    return TESS_OK;
}

tess_status tess_de_check_observation(tess_context *ctx, const tess_decode_encoding *encoding,
                                      const tess_decode_observation *o, bool local)
{
    TESS_TRY(tess_de_check_grid(encoding, o, local));
    if (o->spikes.n_electrode == 0) {
        tess_log_warn(&ctx->log, TESS_W_DECODE_NO_ELECTRODES,
                      "no electrodes at all: the likelihood is the same everywhere");
    }
    if (o->n_time == 0) {
        return TESS_OK;
    }
    tess_de_notes notes = {0};
    tess_de_window window = tess_de_window_open(o->time[0], o->time[o->n_time - 1]);
    tess_blocks blocks;
    tess_blocks_init(&blocks, &ctx->heap);
    checking job = {.ctx = ctx, .encoding = encoding, .observation = o};
    job.electrodes =
        tess_blocks_alloc(&blocks, o->spikes.n_electrode, sizeof *job.electrodes, "electrodes");
    const tess_status status =
        job.electrodes ? check_electrodes(&job, &notes, &window) : TESS_E_MEMORY;
    tess_blocks_free(&blocks);
    TESS_TRY(status);
    tess_de_notes_log(ctx, &notes, "decoding");
    TESS_TRY(warn_width(ctx, encoding, o));
    return tess_de_window_judge(ctx, &window, "the decoding window", known_rate(&encoding->info));
}
