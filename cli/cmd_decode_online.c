// tessera decode online: a recording played to the online decoder, as an experiment would.

#include "decode.h"
#include "job.h"
#include "signals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// A spike (electrode >= 0) or a position sample of the played part.
typedef struct played {
    double time;
    int64_t electrode;
    int64_t number;
} played;

typedef struct rehearsal {
    decode_job job;
    tess_decode_online_config config;
    tess_decode_online *online; // owned
    played *events;             // owned, in the order of time
    int64_t n_event;
    int64_t n_bin;
    double *latency;       // owned, [n_bin] s, sorted in the end
    float *mark;           // owned
    int64_t covariate_row; // of the recording's time bins
    int64_t n_refused;
    char refused[256]; // why, of the first
} rehearsal;

static void sleep_until(double when)
{
    const double left = when - decode_now_s();
    if (left > 0) {
        const struct timespec t = {.tv_sec = (time_t)left,
                                   .tv_nsec = (long)((left - floor(left)) * 1e9)};
        nanosleep(&t, NULL);
    }
}

// Positions before spikes of the same time.
static int by_time(const void *a, const void *b)
{
    const played *x = a;
    const played *y = b;
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return x->electrode != y->electrode ? (x->electrode < y->electrode ? -1 : 1)
                                        : (x->number > y->number) - (x->number < y->number);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static const tess_decode_recording_info *recording_of(const rehearsal *r)
{
    return tess_decode_recording_get_info(r->job.recording);
}

static void gather(rehearsal *r, double end_s)
{
    const tess_decode_observation *o = &recording_of(r)->observation;
    for (int64_t i = 0; i < o->position.n_sample; i++) {
        if (o->position.time[i] >= r->config.start_s - 1 && o->position.time[i] < end_s) {
            r->events[r->n_event++] = (played){o->position.time[i], -1, i};
        }
    }
    for (int64_t e = 0; e < o->spikes.n_electrode; e++) {
        for (int64_t i = 0; i < o->spikes.n_spike[e]; i++) {
            if (o->spikes.times[e][i] >= r->config.start_s && o->spikes.times[e][i] < end_s) {
                r->events[r->n_event++] = (played){o->spikes.times[e][i], e, i};
            }
        }
    }
    qsort(r->events, (size_t)r->n_event, sizeof *r->events, by_time);
}

static int prepare(cli *c, rehearsal *r)
{
    const tess_decode_observation *o = &recording_of(r)->observation;
    int64_t n_event = o->position.n_sample;
    int64_t most_features = 1;
    for (int64_t e = 0; e < o->spikes.n_electrode; e++) {
        n_event += o->spikes.n_spike[e];
        most_features =
            o->spikes.n_feature[e] > most_features ? o->spikes.n_feature[e] : most_features;
    }
    if (decode_is_default(c, "decode.online", "start") && o->n_time > 0) {
        r->config.start_s = o->time[0];
    }
    const double last_s = o->n_time > 0 ? o->time[o->n_time - 1] : r->config.start_s;
    const double n_bin = floor((last_s - r->config.start_s) / r->config.bin_width_s + 1e-6);
    if (!(n_bin >= 1)) {
        return cli_usage_error(c,
                               "nothing to play: the recording ends at %.9g s, and a bin of %g s "
                               "from --start %.9g does not fit",
                               last_s, r->config.bin_width_s, r->config.start_s);
    }
    r->n_bin = (int64_t)n_bin;
    r->events = calloc((size_t)n_event + 1, sizeof *r->events);
    r->latency = calloc((size_t)r->n_bin, sizeof *r->latency);
    r->mark = calloc((size_t)most_features, sizeof *r->mark);
    if (!r->events || !r->latency || !r->mark) {
        return console_fail(71, "no memory for %lld bins", (long long)r->n_bin);
    }
    gather(r, r->config.start_s + n_bin * r->config.bin_width_s);
    CLI_CALL(tess_decode_online_create(c->ctx, tess_decode_model_detector(r->job.model), &r->config,
                                       &r->online));
    return 0;
}

static int play_position(rehearsal *r, const played *p)
{
    const tess_decode_position *position = &recording_of(r)->observation.position;
    const double *at = position->position + p->number * position->n_dim;
    CLI_CALL(tess_decode_online_push_position(r->online, p->time, at, position->n_dim));
    // Samples off the track or not tracked teach nothing; how many is said in the end.
    if (r->config.learn != TESS_DECODE_LEARN_NONE &&
        tess_decode_online_learn_position(r->online, p->time, at, position->n_dim) != TESS_OK) {
        if (r->n_refused++ == 0) {
            snprintf(r->refused, sizeof r->refused, "%s", tess_last_error());
        }
    }
    return 0;
}

static int play_spike(rehearsal *r, const played *p)
{
    const tess_decode_spikes *spikes = &recording_of(r)->observation.spikes;
    const tess_decode_encoding_info *info =
        tess_decode_encoding_get_info(tess_decode_model_encoding(r->job.model));
    const int64_t n = info->n_feature ? info->n_feature[p->electrode] : 0;
    for (int64_t f = 0; f < n; f++) {
        const int64_t at = p->number * n + f;
        r->mark[f] = spikes->mark_dtype == TESS_F32
                         ? ((const float *)spikes->marks[p->electrode])[at]
                         : (float)((const double *)spikes->marks[p->electrode])[at];
    }
    CLI_CALL(tess_decode_online_push_spike(r->online, p->time, p->electrode, r->mark, n));
    if (r->config.learn != TESS_DECODE_LEARN_NONE) {
        CLI_CALL(tess_decode_online_learn_spike(r->online, p->time, p->electrode, r->mark, n));
    }
    return 0;
}

// Bin k is due. Of covariates it has those of the recording's time bin that its middle is in.
static int close_bins(rehearsal *r, int64_t k, double due_s, int64_t *n_closed)
{
    const tess_decode_observation *o = &recording_of(r)->observation;
    const double middle = r->config.start_s + ((double)k + 0.5) * r->config.bin_width_s;
    if (!r->job.covariates) {
        CLI_CALL(tess_decode_online_advance(r->online, due_s, n_closed));
        return 0;
    }
    int64_t n = 0;
    const double *design = tess_decode_covariates_design(r->job.covariates, &n);
    while (r->covariate_row + 1 < o->n_time && o->time[r->covariate_row + 1] <= middle) {
        r->covariate_row++;
    }
    CLI_CALL(tess_decode_online_advance_with(r->online, due_s, design + r->covariate_row * n, 1, n,
                                             n_closed));
    return 0;
}

// Hands everything over, at its time where that is asked for, and closes bins when they are due.
static int play(cli *c, rehearsal *r)
{
    const tess_decode_online_config *config = &r->config;
    const double begin_s = decode_now_s() - config->start_s;
    int64_t next = 0;
    for (int64_t k = 0; k < r->n_bin; k++) {
        const double due_s =
            config->start_s + (double)(k + 1) * config->bin_width_s + config->delay_s + 1e-9;
        for (; next < r->n_event && r->events[next].time < due_s - config->delay_s; next++) {
            const played *p = &r->events[next];
            if (c->values.real_time) {
                sleep_until(begin_s + p->time);
            }
            CLI_TRY(p->electrode < 0 ? play_position(r, p) : play_spike(r, p));
        }
        if (c->values.real_time) {
            sleep_until(begin_s + due_s);
        }
        int64_t n_closed = 0;
        const double before_s = decode_now_s();
        CLI_TRY(close_bins(r, k, due_s, &n_closed));
        r->latency[k] = decode_now_s() - before_s;
        if (signals_caught()) {
            console_note("stopped after %lld of %lld bins", (long long)k + 1, (long long)r->n_bin);
            r->n_bin = k + 1;
        }
    }
    qsort(r->latency, (size_t)r->n_bin, sizeof *r->latency, ascending);
    return 0;
}

static double at_share(const rehearsal *r, double share)
{
    return 1e6 * r->latency[(int64_t)(share * (double)(r->n_bin - 1))];
}

static void print_text(const rehearsal *r, const tess_decode_online_stats *stats,
                       const tess_decode_online_learned *learned)
{
    printf("bins           %lld of %g ms\n", (long long)r->n_bin, 1e3 * r->config.bin_width_s);
    printf("spikes         %lld decoded, %lld late, %lld duplicate, %lld dropped\n",
           (long long)stats->n_spike, (long long)stats->n_late, (long long)stats->n_duplicate,
           (long long)stats->n_dropped);
    printf("latency        p50 %.0f, p99 %.0f, p99.9 %.0f, max %.0f us; %lld bins over %g ms\n",
           at_share(r, 0.5), at_share(r, 0.99), at_share(r, 0.999), at_share(r, 1),
           (long long)stats->n_deadline_miss, 1e3 * r->config.deadline_s);
    if (learned) {
        printf("learned        %lld spikes, %lld position samples, %lld refused; %lld refreshes, "
               "max %.0f us\n",
               (long long)learned->stats.n_spike, (long long)learned->n_sample,
               (long long)r->n_refused, (long long)learned->stats.n_refresh,
               1e6 * learned->stats.refresh_max_s);
    }
}

static int print_json(cli *c, const rehearsal *r, const tess_decode_online_stats *stats,
                      const tess_decode_online_learned *learned)
{
    tess_json *json = NULL;
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.decode.online/1");
    decode_write_recording(json, recording_of(r));
    tess_json_int(json, "n_bin", r->n_bin);
    tess_json_real(json, "bin_width_s", r->config.bin_width_s);
    tess_json_int(json, "n_spike", stats->n_spike);
    tess_json_int(json, "n_late", stats->n_late);
    tess_json_int(json, "n_duplicate", stats->n_duplicate);
    tess_json_int(json, "n_dropped", stats->n_dropped);
    tess_json_int(json, "n_deadline_miss", stats->n_deadline_miss);
    tess_json_real(json, "p50_us", at_share(r, 0.5));
    tess_json_real(json, "p99_us", at_share(r, 0.99));
    tess_json_real(json, "p999_us", at_share(r, 0.999));
    tess_json_real(json, "max_us", at_share(r, 1));
    if (learned) {
        tess_json_int(json, "n_learned", learned->stats.n_spike);
        tess_json_int(json, "n_sample", learned->n_sample);
        tess_json_int(json, "n_refused", r->n_refused);
        tess_json_int(json, "n_refresh", learned->stats.n_refresh);
        tess_json_real(json, "refresh_max_us", 1e6 * learned->stats.refresh_max_s);
    }
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int rehearse(cli *c, rehearsal *r)
{
    tess_decode_online_stats stats;
    tess_decode_online_learned learned;
    const tess_decode_online_learned *of = NULL;

    CLI_TRY(decode_check_model_file(c));
    CLI_TRY(decode_open_session(c, &r->job));
    r->config = r->job.online;
    CLI_TRY(decode_open_recording(c, &r->job, c->operands[0]));
    CLI_TRY(c->values.model_file ? decode_load_model(c, &r->job, c->values.model_file)
                                 : decode_fit(c, &r->job));
    CLI_TRY(decode_open_covariates(c, &r->job));
    CLI_TRY(prepare(c, r));
    CLI_TRY(play(c, r));
    CLI_CALL(tess_decode_online_get_stats(r->online, &stats, sizeof stats));
    if (r->config.learn != TESS_DECODE_LEARN_NONE) {
        CLI_CALL(tess_decode_online_get_learned(r->online, &learned, sizeof learned));
        of = &learned;
    }
    if (r->n_refused > 0) {
        console_note("%lld position samples were not learned, the first: %s",
                     (long long)r->n_refused, r->refused);
    }
    if (c->values.json) {
        CLI_TRY(print_json(c, r, &stats, of));
    } else {
        decode_print_recording(recording_of(r));
        print_text(r, &stats, of);
    }
    return signals_exit_code();
}

int cmd_decode_online(cli *c)
{
    rehearsal r = {0};
    const int code = rehearse(c, &r);
    tess_decode_online_destroy(r.online);
    free(r.events);
    free(r.latency);
    free(r.mark);
    decode_close(&r.job);
    return code;
}
