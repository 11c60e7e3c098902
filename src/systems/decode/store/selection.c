// Which samples and spikes a model learns from, and where the animal was at each spike.
#include "base/status.h"
#include "systems/decode/store/inputs.h"

#include <math.h>
#include <string.h>

// The training samples: their own times and raw positions, and the runs they form.
typedef struct samples {
    const tess_decode_position *position;
    uint8_t *is_kept; // [n_sample of position]
    int64_t n;
    double *time; // [n]
    double *raw;  // [n][n_dim]
    double *place;
    double *weights; // [n]; NULL: all 1
    int64_t n_run;
    double *run_begin_s; // [n_run] widened by one step
    double *run_end_s;
    double median_step_s;
} samples;

static bool is_tracked(const tess_decode_position *p, int64_t i)
{
    for (int64_t k = 0; k < p->n_dim; k++) {
        if (isnan(p->position[i * p->n_dim + k])) {
            return false;
        }
    }
    return true;
}

static tess_status mark_kept(tess_context *ctx, const tess_decode_training *training, int strict,
                             samples *s)
{
    const tess_decode_position *p = &training->position;
    int64_t n_nan = 0;
    int64_t n_training = 0;
    for (int64_t i = 0; i < p->n_sample; i++) {
        const bool tracked = is_tracked(p, i);
        const bool wanted = !training->is_training || training->is_training[i];
        if (!tracked && strict) {
            TESS_FAIL(TESS_E_NUMERIC,
                      "position[%lld] is NaN (t = %.9g); leave strict off to train without such "
                      "samples",
                      (long long)i, p->time[i]);
        }
        n_nan += !tracked;
        n_training += wanted;
        s->is_kept[i] = tracked && wanted;
        s->n += s->is_kept[i];
        s->n_run += s->is_kept[i] && (i == 0 || !s->is_kept[i - 1]);
    }
    if (s->n == 0) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "no training samples left: %lld position samples, %lld with a NaN, %lld selected "
                  "by is_training, encoding group and environment, none of them tracked",
                  (long long)p->n_sample, (long long)n_nan, (long long)n_training);
    }
    if (n_nan > 0) {
        tess_log_warn(&ctx->log, TESS_W_DECODE_POSITION_NAN,
                      "%lld of %lld position samples are NaN and not used for training",
                      (long long)n_nan, (long long)p->n_sample);
    }
    return TESS_OK;
}

static tess_status check_weights(const double *weights, int64_t n)
{
    for (int64_t i = 0; weights && i < n; i++) {
        if (!(weights[i] >= 0) || isinf(weights[i])) {
            TESS_FAIL(TESS_E_RANGE, "weights[%lld] is %g; expected a finite number of at least 0",
                      (long long)i, weights[i]);
        }
    }
    return TESS_OK;
}

static void copy_kept(const tess_decode_training *training, samples *s)
{
    const tess_decode_position *p = &training->position;
    const double step = p->n_sample > 1 ? p->time[1] - p->time[0] : 0;
    int64_t k = 0;
    int64_t run = 0;
    for (int64_t i = 0; i < p->n_sample; i++) {
        if (!s->is_kept[i]) {
            continue;
        }
        if (i == 0 || !s->is_kept[i - 1]) {
            s->run_begin_s[run] = p->time[i] - step;
        }
        if (i + 1 == p->n_sample || !s->is_kept[i + 1]) {
            s->run_end_s[run++] = p->time[i] + step;
        }
        s->time[k] = p->time[i];
        memcpy(s->raw + k * p->n_dim, p->position + i * p->n_dim,
               (size_t)p->n_dim * sizeof *s->raw);
        if (s->weights) {
            s->weights[k] = training->weights[i];
        }
        k++;
    }
}

static tess_status keep_samples(tess_context *ctx, tess_blocks *keep, tess_blocks *scratch,
                                const tess_decode_environment *env,
                                const tess_decode_training *training, int strict, samples *s)
{
    const int64_t n_place_dim = tess_decode_environment_get_info(env)->n_place_dim;
    const tess_decode_position *p = s->position = &training->position;
    s->is_kept = tess_blocks_alloc(scratch, p->n_sample, 1, "training samples");
    if (!s->is_kept) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(check_weights(training->weights, p->n_sample));
    TESS_TRY(mark_kept(ctx, training, strict, s));
    const size_t row_bytes = (size_t)p->n_dim * sizeof(double);
    const size_t place_bytes = (size_t)n_place_dim * sizeof(double);
    s->time = tess_blocks_alloc(scratch, s->n, sizeof(double), "training samples");
    s->raw = tess_blocks_alloc(scratch, s->n, row_bytes, "training samples");
    s->run_begin_s = tess_blocks_alloc(scratch, s->n_run, sizeof(double), "training runs");
    s->run_end_s = tess_blocks_alloc(scratch, s->n_run, sizeof(double), "training runs");
    s->place = tess_blocks_alloc(keep, s->n, place_bytes, "training positions");
    if (training->weights) {
        s->weights = tess_blocks_alloc(keep, s->n, sizeof(double), "training weights");
    }
    if (!s->time || !s->raw || !s->run_begin_s || !s->run_end_s || !s->place ||
        (training->weights && !s->weights)) {
        return TESS_E_MEMORY;
    }
    copy_kept(training, s);
    TESS_TRY(tess_de_median_step(&ctx->heap, p->time, p->n_sample, &s->median_step_s));
    return tess_decode_place(env, s->raw, s->n, s->place);
}

// Widened runs, in order, cut to the training period; pick NULL only counts. A spike in two of them
// is picked twice, as the original does.
static int64_t pick_in_runs(const samples *s, const double *time, int64_t n, int64_t *pick)
{
    const int64_t window_begin = tess_de_first_from(time, n, s->time[0]);
    const int64_t window_end = tess_de_first_after(time, n, s->time[s->n - 1]);
    int64_t n_pick = 0;
    for (int64_t run = 0; run < s->n_run; run++) {
        int64_t begin = tess_de_first_from(time, n, s->run_begin_s[run]);
        int64_t end = tess_de_first_after(time, n, s->run_end_s[run]);
        begin = begin > window_begin ? begin : window_begin;
        end = end < window_end ? end : window_end;
        for (int64_t i = begin; i < end; i++) {
            if (pick) {
                pick[n_pick] = i;
            }
            n_pick++;
        }
    }
    return n_pick;
}

// Spikes whose nearest position sample (the later of two equally near) is a training sample at most
// one median step away.
static int64_t pick_nearest(const samples *s, const double *time, int64_t n, int64_t *pick)
{
    const double *sample_s = s->position->time;
    const int64_t n_sample = s->position->n_sample;
    int64_t n_pick = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t after = tess_de_first_after(sample_s, n_sample, time[i]);
        int64_t nearest = after > 0 ? after - 1 : 0;
        if (after > 0 && after < n_sample &&
            sample_s[after] - time[i] <= time[i] - sample_s[after - 1]) {
            nearest = after;
        }
        if (s->is_kept[nearest] && fabs(time[i] - sample_s[nearest]) <= s->median_step_s) {
            if (pick) {
                pick[n_pick] = i;
            }
            n_pick++;
        }
    }
    return n_pick;
}

// Places of picked times, on the line through the training samples around them.
static tess_status place_spikes(tess_blocks *scratch, const tess_decode_environment *env,
                                const samples *s, const double *time, int64_t n, double *place,
                                double *weight)
{
    const int64_t n_dim = s->position->n_dim;
    double *raw = tess_blocks_alloc(scratch, n, (size_t)n_dim * sizeof *raw, "positions");
    if (!raw) {
        return TESS_E_MEMORY;
    }
    if (s->n == 1) {
        for (int64_t i = 0; i < n; i++) {
            memcpy(raw + i * n_dim, s->raw, (size_t)n_dim * sizeof *raw);
            if (weight) {
                weight[i] = s->weights[0];
            }
        }
        return tess_decode_place(env, raw, n, place);
    }
    TESS_TRY(tess_decode_position_at(s->time, s->raw, s->n, n_dim, time, n, raw));
    if (weight) {
        TESS_TRY(tess_decode_position_at(s->time, s->weights, s->n, 1, time, n, weight));
        for (int64_t i = 0; i < n; i++) {
            weight[i] = weight[i] > 0 ? weight[i] : 0; // beyond the ends the line may go below 0
        }
    }
    return tess_decode_place(env, raw, n, place);
}

// A regression counts spikes at the samples that begin their bins; the last one begins none.
static double begin_of_bin(const samples *s, double time)
{
    const int64_t after = tess_de_first_after(s->time, s->n, time);
    const int64_t last = s->n > 1 ? s->n - 2 : 0;
    const int64_t at = after > 0 ? after - 1 : 0;
    return s->time[at < last ? at : last];
}

typedef struct selecting {
    const tess_decode_environment *env;
    const tess_decode_spikes *spikes;
    const tess_decode_encoding_config *config;
    const samples *samples;
    tess_blocks *keep;
    int64_t *n_spike;
    double **place;
    double **marks; // NULL: sorted spikes
    double **weight;
} selecting;

static tess_status keep_spikes(const selecting *job, tess_blocks *scratch, int64_t e,
                               const tess_de_taken *taken)
{
    const samples *s = job->samples;
    int64_t (*pick_by)(const samples *, const double *, int64_t, int64_t *) =
        job->config->membership == TESS_DECODE_MEMBERSHIP_NEAREST ? pick_nearest : pick_in_runs;
    const int64_t n = pick_by(s, taken->time, taken->n, NULL);
    const int64_t n_place_dim = tess_decode_environment_get_info(job->env)->n_place_dim;
    const int64_t d = job->marks ? job->spikes->n_feature[e] : 0;
    int64_t *pick = tess_blocks_alloc(scratch, n, sizeof *pick, "training spikes");
    double *time = tess_blocks_alloc(scratch, n, sizeof *time, "training spikes");
    double *place = tess_blocks_alloc(job->keep, n, (size_t)n_place_dim * sizeof *place,
                                      "positions of training spikes");
    double *marks =
        tess_blocks_alloc(job->keep, n, (size_t)d * sizeof *marks, "features of training spikes");
    double *weight = NULL;
    if (s->weights) {
        weight = tess_blocks_alloc(job->keep, n, sizeof *weight, "weights of spikes");
    }
    if (!pick || !time || !place || !marks || (s->weights && !weight)) {
        return TESS_E_MEMORY;
    }
    pick_by(s, taken->time, taken->n, pick);
    const bool is_counted = job->config->algorithm == TESS_DECODE_SORTED_SPIKES_GLM;
    for (int64_t i = 0; i < n; i++) {
        time[i] = is_counted ? begin_of_bin(s, taken->time[pick[i]]) : taken->time[pick[i]];
        if (d > 0) {
            memcpy(marks + i * d, taken->marks + pick[i] * d, (size_t)d * sizeof *marks);
        }
    }
    job->n_spike[e] = n;
    job->place[e] = place;
    if (job->marks) {
        job->marks[e] = marks;
    }
    if (weight) {
        job->weight[e] = weight;
    }
    return place_spikes(scratch, job->env, s, time, n, place, weight);
}

// What an electrode leaves behind besides its spikes.
typedef struct electrode_notes {
    tess_de_notes notes;
    tess_de_ordered ordered;
    tess_blocks scratch; // of ordered, where it is no array of the caller's
} electrode_notes;

typedef struct selecting_all {
    const selecting *job;
    tess_context *ctx;
    electrode_notes *each; // [n_electrode]
} selecting_all;

static tess_status select_electrode(void *self, int64_t e, int32_t worker)
{
    (void)worker;
    const selecting_all *all = self;
    const selecting *job = all->job;
    electrode_notes *own = &all->each[e];
    const tess_de_spike_rules rules = {job->config->nan_policy, job->config->strict};
    tess_blocks scratch;
    tess_de_taken taken;
    TESS_TRY(tess_context_check_cancel(all->ctx));
    TESS_TRY(
        tess_de_order_spikes(&own->scratch, job->spikes, e, &rules, &own->notes, &own->ordered));
    tess_blocks_init(&scratch, &all->ctx->heap);
    tess_status status =
        tess_de_take_spikes(&scratch, job->spikes, e, &own->ordered, 0, own->ordered.n,
                            job->marks != NULL, &rules, &own->notes, &taken);
    if (status == TESS_OK) {
        status = keep_spikes(job, &scratch, e, &taken);
    }
    tess_blocks_free(&scratch);
    return status;
}

// Electrode by electrode, in order, whoever selected them.
static void add_notes(const selecting_all *all, tess_de_notes *notes, tess_de_window *window,
                      int64_t *n_before, int64_t *n_after)
{
    for (int64_t e = 0; e < all->job->spikes->n_electrode; e++) {
        const electrode_notes *own = &all->each[e];
        const int64_t before = window->n_before;
        const int64_t after = window->n_after;
        int64_t first = 0;
        int64_t n = 0;
        tess_de_window_add(window, e, &own->ordered, &first, &n);
        tess_de_notes_add(&own->notes, notes);
        n_before[e] = window->n_before - before;
        n_after[e] = window->n_after - after;
    }
}

static tess_status select_spikes(tess_context *ctx, const selecting *job, tess_blocks *scratch,
                                 int64_t *n_before, int64_t *n_after)
{
    const int64_t n = job->spikes->n_electrode;
    const samples *s = job->samples;
    tess_de_notes notes = {0};
    tess_de_window window = tess_de_window_open(s->time[0], s->time[s->n - 1]);
    window.whole_begin_s = s->position->time[0];
    window.whole_end_s = s->position->time[s->position->n_sample - 1];
    selecting_all all = {.job = job, .ctx = ctx};
    all.each = tess_blocks_alloc(scratch, n, sizeof *all.each, "spikes of electrodes");
    if (!all.each) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < n; e++) {
        tess_blocks_init(&all.each[e].scratch, &ctx->heap);
    }
    const tess_status status = tess_parallel_for(ctx->pool, n, select_electrode, &all);
    if (status == TESS_OK) {
        add_notes(&all, &notes, &window, n_before, n_after);
    }
    for (int64_t e = 0; e < n; e++) {
        tess_blocks_free(&all.each[e].scratch);
    }
    TESS_TRY(status);
    tess_de_notes_log(ctx, &notes, "training");
    return tess_de_window_judge(ctx, &window, "the training period", -1);
}

tess_status tess_de_select(tess_context *ctx, tess_blocks *blocks,
                           const tess_decode_environment *env, const tess_decode_training *training,
                           const tess_decode_encoding_config *config, int64_t *n_before,
                           int64_t *n_after, tess_de_selection *out)
{
    const bool sorted = config->algorithm == TESS_DECODE_SORTED_SPIKES_KDE ||
                        config->algorithm == TESS_DECODE_SORTED_SPIKES_GLM;
    const int64_t n_electrode = training->spikes.n_electrode;
    samples s = {0};
    selecting job = {env, &training->spikes, config, &s, blocks, NULL, NULL, NULL, NULL};
    job.n_spike = tess_blocks_alloc(blocks, n_electrode, sizeof(int64_t), "spike counts");
    job.place = tess_blocks_alloc(blocks, n_electrode, sizeof(double *), "spike positions");
    job.marks = tess_blocks_alloc(blocks, n_electrode, sizeof(double *), "spike features");
    job.weight = tess_blocks_alloc(blocks, n_electrode, sizeof(double *), "spike weights");
    if (!job.n_spike || !job.place || !job.marks || !job.weight) {
        return TESS_E_MEMORY;
    }
    job.marks = sorted ? NULL : job.marks;
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    tess_status status = keep_samples(ctx, blocks, &scratch, env, training, config->strict, &s);
    if (status == TESS_OK) {
        status = select_spikes(ctx, &job, &scratch, n_before, n_after);
    }
    *out = (tess_de_selection){
        .n_sample = s.n,
        .n_dim = tess_decode_environment_get_info(env)->n_place_dim,
        .n_electrode = n_electrode,
        .place = s.place,
        .weights = s.weights,
        .n_spike = job.n_spike,
        .n_feature = sorted ? NULL : training->spikes.n_feature,
        .spike_place = job.place,
        .spike_marks = job.marks,
        .spike_weight = s.weights ? job.weight : NULL,
    };
    tess_blocks_free(&scratch);
    return status;
}
