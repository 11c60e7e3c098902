// tessera decode info: what a recording, a model or a result of decode holds, and what is missing.
//
// Everything is said once, as JSON; people get it as an outline.

#include "decode.h"
#include "info.h"
#include "job.h"
#include "outline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include <tessera/io.h>

// Steps of a series that its usual step is the median of.
enum { MAX_STEPS = 65536 };
// A step of more usual ones is a gap.
static const double GAP = 1.5;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// The median step of n times, NaN of fewer than two.
static double usual_step(const double *time, int64_t n)
{
    const int64_t n_step = n - 1 < MAX_STEPS ? n - 1 : MAX_STEPS;
    double *steps = n_step > 0 ? malloc((size_t)n_step * sizeof *steps) : NULL;
    double median = (double)NAN;

    for (int64_t i = 0; steps && i < n_step; i++) {
        const int64_t at = i * (n - 1) / n_step;
        steps[i] = time[at + 1] - time[at];
    }
    if (steps) {
        qsort(steps, (size_t)n_step, sizeof *steps, ascending);
        median = steps[n_step / 2];
    }
    free(steps);
    return median;
}

// A quotient, to as many digits as mean something.
static void write_rounded(tess_json *json, const char *key, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    tess_json_real(json, key, strtod(text, NULL));
}

// From, to, step and gaps of n times.
static void write_series(tess_json *json, const double *time, int64_t n)
{
    const double step = usual_step(time, n);
    int64_t n_gap = 0;
    double longest = 0;

    for (int64_t i = 0; i + 1 < n; i++) {
        const double here = time[i + 1] - time[i];
        n_gap += here > GAP * step;
        longest = here > GAP * step && here > longest ? here : longest;
    }
    tess_json_int(json, "n", n);
    if (n > 0) {
        tess_json_real(json, "from_s", time[0]);
        tess_json_real(json, "to_s", time[n - 1]);
    }
    if (n > 1) {
        write_rounded(json, "step_s", step);
        write_rounded(json, "rate_hz", 1 / step);
        tess_json_int(json, "gaps", n_gap);
        if (n_gap > 0) {
            write_rounded(json, "longest_gap_s", longest);
        }
    }
}

static void write_position(tess_json *json, const char *key, const tess_decode_position *p)
{
    int64_t n_untracked = 0;
    double low[TESS_DECODE_MAX_DIM];
    double high[TESS_DECODE_MAX_DIM];

    for (int64_t k = 0; k < p->n_dim; k++) {
        low[k] = (double)INFINITY;
        high[k] = -(double)INFINITY;
    }
    for (int64_t i = 0; i < p->n_sample; i++) {
        int is_nan = 0;
        for (int64_t k = 0; k < p->n_dim; k++) {
            const double x = p->position[i * p->n_dim + k];
            is_nan |= isnan(x) != 0;
            low[k] = x < low[k] ? x : low[k];
            high[k] = x > high[k] ? x : high[k];
        }
        n_untracked += is_nan;
    }
    tess_json_object_begin(json, key);
    tess_json_int(json, "coordinates", p->n_dim);
    write_series(json, p->time, p->n_sample);
    tess_json_int(json, "not_tracked", n_untracked);
    tess_json_array_begin(json, "range_cm");
    for (int64_t k = 0; k < p->n_dim && n_untracked < p->n_sample; k++) {
        tess_json_array_begin(json, NULL);
        tess_json_real(json, NULL, low[k]);
        tess_json_real(json, NULL, high[k]);
        tess_json_array_end(json);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
}

// Time bins, and how many of them have no position, or are to be left out.
static void write_bins(tess_json *json, const tess_decode_recording_info *info)
{
    const tess_decode_observation *o = &info->observation;
    const tess_decode_position *p = &o->position;
    int64_t n_missing = 0;
    int64_t n_outside = 0;

    for (int64_t t = 0; t < o->n_time; t++) {
        n_missing += o->is_missing && o->is_missing[t];
        n_outside +=
            p->n_sample < 2 || o->time[t] < p->time[0] || o->time[t] > p->time[p->n_sample - 1];
    }
    tess_json_object_begin(json, "time_bins");
    write_series(json, o->time, o->n_time);
    tess_json_int(json, "missing", n_missing);
    tess_json_int(json, "outside_of_position", n_outside);
    tess_json_bool(json, "true_position", info->true_position != NULL);
    tess_json_object_end(json);
}

static double seconds(const double *time, int64_t n)
{
    return n > 1 ? time[n - 1] - time[0] : (double)NAN;
}

static void write_electrodes(tess_json *json, const tess_decode_recording_info *info)
{
    const tess_decode_spikes *spikes = &info->training.spikes;
    const tess_decode_spikes *seen = &info->observation.spikes;
    const double trained = seconds(info->training.position.time, info->training.position.n_sample);
    const double decoded = seconds(info->observation.time, info->observation.n_time);

    tess_json_array_begin(json, "electrodes");
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        tess_json_object_begin(json, NULL);
        tess_json_int(json, "electrode", e);
        tess_json_int(json, "features", spikes->marks ? spikes->n_feature[e] : 0);
        tess_json_int(json, "spikes", spikes->n_spike[e]);
        write_rounded(json, "rate_hz", (double)spikes->n_spike[e] / trained);
        if (seen->times != spikes->times) {
            tess_json_int(json, "decoding_spikes", seen->n_spike[e]);
            write_rounded(json, "decoding_rate_hz", (double)seen->n_spike[e] / decoded);
        }
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}

// What can be done with it, and what stands in the way.
static void write_use(tess_json *json, const tess_decode_recording_info *info)
{
    const tess_decode_position *p = &info->observation.position;
    const tess_decode_observation *o = &info->observation;
    const int is_tracked = p->n_sample > 1 && o->n_time > 0 &&
                           o->time[0] <= p->time[p->n_sample - 1] &&
                           o->time[o->n_time - 1] >= p->time[0];
    char text[256];

    tess_json_object_begin(json, "to_decode");
    tess_json_text(json, "models",
                   is_tracked ? "decoder, cont-frag, no-spike-cont-frag, non-local"
                              : "decoder, cont-frag, no-spike-cont-frag (non-local needs the "
                                "animal's position at the time bins)");
    tess_json_text(json, "algorithms",
                   info->training.spikes.marks ? "clusterless_kde, clusterless_gmm"
                                               : "sorted_spikes_kde, sorted_spikes_glm");
    snprintf(text, sizeof text, "tessera decode run %.160s -o RESULT.h5%s", info->path,
             info->training.spikes.marks ? "" : " --algorithm sorted_spikes_kde");
    tess_json_text(json, "command", text);
    tess_json_object_end(json);
}

static void write_recording(tess_json *json, const tess_decode_recording_info *info)
{
    const tess_decode_training *training = &info->training;
    int64_t n_training = 0;

    for (int64_t i = 0; training->is_training && i < training->position.n_sample; i++) {
        n_training += training->is_training[i] != 0;
    }
    tess_json_text(json, "format", info->format);
    write_position(json, "position", &training->position);
    if (training->is_training) {
        tess_json_int(json, "training_samples", n_training);
    }
    if (info->observation.position.time != training->position.time) {
        write_position(json, "decoding_position", &info->observation.position);
    }
    write_bins(json, info);
    write_electrodes(json, info);
    if (info->has_track) {
        tess_json_object_begin(json, "track");
        tess_json_int(json, "nodes", info->track.n_node);
        tess_json_int(json, "edges", info->track.n_edge);
        tess_json_object_end(json);
    }
    tess_json_object_begin(json, "asks_for"); // 0: nothing
    tess_json_real(json, "place_bin_size", info->place_bin_size);
    tess_json_real(json, "position_std", info->position_std);
    tess_json_real(json, "waveform_std", info->waveform_std);
    tess_json_object_end(json);
    write_use(json, info);
}

static int show_recording(cli *c, tess_json *json, const char *path)
{
    tess_decode_recording *recording = NULL;

    CLI_CALL(tess_decode_recording_open(c->ctx, path, &recording));
    console_notes(tess_decode_recording_get_info(recording)->notes);
    tess_json_text(json, "kind", "recording");
    write_recording(json, tess_decode_recording_get_info(recording));
    tess_decode_recording_close(recording);
    return 0;
}

static void write_needs(tess_json *json, const decode_job *j)
{
    const tess_decode_encoding_info *encoding =
        tess_decode_encoding_get_info(tess_decode_model_encoding(j->model));
    const tess_decode_detector_info *states =
        tess_decode_detector_get_info(tess_decode_model_detector(j->model));

    tess_json_object_begin(json, "to_decode");
    tess_json_text(json, "command",
                   "tessera decode predict RECORDING --model-file MODEL -o RESULT.h5");
    tess_json_int(json, "electrodes", encoding->n_electrode);
    tess_json_int(json, "coordinates",
                  tess_decode_environment_get_info(tess_decode_model_environment(j->model))->n_dim);
    tess_json_bool(json, "position_at_time_bins", states->needs_position);
    const char *names = tess_decode_model_settings(j->model)->covariates;
    tess_json_text(json, "covariates",
                   names                       ? names
                   : states->n_coefficient > 0 ? "without names, of Python"
                                               : "none");
    tess_json_object_end(json);
}

static void write_encoding(tess_json *json, const decode_job *j)
{
    const tess_decode_encoding_info *info =
        tess_decode_encoding_get_info(tess_decode_model_encoding(j->model));

    tess_json_real(json, "position_std", j->config.encoding.position_std);
    tess_json_real(json, "waveform_std", j->config.encoding.waveform_std);
    tess_json_int(json, "training_samples", info->n_training_sample);
    tess_json_array_begin(json, "electrodes");
    for (int64_t e = 0; e < info->n_electrode; e++) {
        tess_json_object_begin(json, NULL);
        tess_json_int(json, "electrode", e);
        tess_json_int(json, "features", info->n_feature ? info->n_feature[e] : 0);
        tess_json_int(json, "spikes", info->n_spike[e]);
        write_rounded(json, "spikes_per_sample", info->mean_rates[e]);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}

static int show_model(cli *c, tess_json *json, const char *path)
{
    decode_job j = {0};
    const int code = decode_load_model(c, &j, path);

    if (code == 0) {
        const tess_decode_environment_info *env =
            tess_decode_environment_get_info(tess_decode_model_environment(j.model));
        tess_json_text(json, "kind", "model");
        decode_write_model(json, &j);
        tess_json_object_begin(json, "environment");
        tess_json_bool(json, "track_graph", env->is_track);
        tess_json_int(json, "coordinates", env->n_place_dim);
        tess_json_int(json, "place_bins", env->n_bin);
        tess_json_int(json, "inside", env->n_interior);
        tess_json_real(json, "place_bin_size", j.config.environment.place_bin_size);
        tess_json_object_end(json);
        write_encoding(json, &j);
        write_needs(json, &j);
    }
    decode_close(&j);
    return code;
}

// A data set of a result as doubles, for free(); *n -1: there is none.
static double *read_reals(cli *c, const char *path, int is_folder, const char *name, int64_t *n)
{
    char file[PATH_MAX];
    tess_source *source = NULL;
    tess_source_config config;
    double *values = NULL;

    *n = -1;
    tess_source_config_init(&config, sizeof config);
    snprintf(file, sizeof file, is_folder ? "%.3000s/%s.npy" : "%.3000s", path, name);
    config.dataset = is_folder ? NULL : name;
    if (tess_source_open(c->ctx, file, &config, &source) != TESS_OK) {
        return NULL;
    }
    const tess_source_info *info = tess_source_get_info(source);
    if (info->rank == 1 && info->dtype == TESS_F64) {
        const uint64_t bytes = (uint64_t)info->shape[0] * sizeof *values;
        values = malloc(bytes + 1);
        if (values && tess_source_read(source, 0, info->shape[0], values, bytes) == TESS_OK) {
            *n = info->shape[0];
        }
    }
    tess_source_close(source);
    return values;
}

static void write_intervals(tess_json *json, const double *start, const double *end,
                            const double *evidence, int64_t n)
{
    tess_json_array_begin(json, "intervals");
    for (int64_t i = 0; i < n; i++) {
        tess_json_object_begin(json, NULL);
        tess_json_real(json, "start_s", start[i]);
        tess_json_real(json, "end_s", end[i]);
        tess_json_real(json, "log_evidence", evidence[i]);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}

static int show_result(cli *c, tess_json *json, const char *path, int is_folder)
{
    static const char *const names[] = {"time", "interval_start", "interval_end",
                                        "interval_log_evidence"};
    double *values[4];
    int64_t n[4];
    tess_decode_score score;

    CLI_CALL(tess_decode_score_result(c->ctx, path, NULL, &score, sizeof score));
    for (int i = 0; i < 4; i++) {
        values[i] = read_reals(c, path, is_folder, names[i], &n[i]);
    }
    tess_json_text(json, "kind", "result");
    tess_json_object_begin(json, "time_bins");
    write_series(json, values[0], n[0] > 0 ? n[0] : 0);
    tess_json_object_end(json);
    if (n[1] > 0 && n[2] == n[1] && n[3] == n[1]) {
        write_intervals(json, values[1], values[2], values[3], n[1]);
    }
    decode_write_score(json, &score);
    for (int i = 0; i < 4; i++) {
        free(values[i]);
    }
    return 0;
}

// A table of 'decode events': how many, when, and which shuffles they were tested by.
static int show_events(cli *c, tess_json *json, const char *path)
{
    static const char *const names[] = {"start", "end", "line_fit"};
    double *values[3];
    int64_t n[3];
    int64_t n_scored = 0;

    for (int i = 0; i < 3; i++) {
        values[i] = read_reals(c, path, 0, names[i], &n[i]);
    }
    for (int64_t i = 0; i < n[2]; i++) {
        n_scored += !isnan(values[2][i]);
    }
    tess_json_text(json, "kind", "events");
    tess_json_int(json, "n", n[0] > 0 ? n[0] : 0);
    if (n[0] > 0 && n[1] == n[0]) {
        tess_json_real(json, "from_s", values[0][0]);
        tess_json_real(json, "to_s", values[1][n[1] - 1]);
    }
    tess_json_int(json, "scored", n_scored);
    tess_json_array_begin(json, "shuffles");
    for (int32_t kind = 1; kind <= TESS_DECODE_N_SHUFFLE; kind++) {
        char name[64];
        int64_t n_p = -1;
        snprintf(name, sizeof name, "p_%s_line_fit", tess_decode_shuffle_name(kind));
        free(read_reals(c, path, 0, name, &n_p));
        if (n_p >= 0) {
            tess_json_text(json, NULL, tess_decode_shuffle_name(kind));
        }
    }
    tess_json_array_end(json);
    for (int i = 0; i < 3; i++) {
        free(values[i]);
    }
    return 0;
}

typedef struct signs {
    int has_posterior;
    int has_settings;
    int has_lines;
} signs;

static int notice(void *user, const tess_dataset_info *info)
{
    signs *s = user;
    const char *plain = info->name[0] == '/' ? info->name + 1 : info->name;

    s->has_posterior |= strcmp(plain, "acausal_posterior") == 0;
    s->has_settings |= strcmp(plain, "setting_names") == 0;
    s->has_lines |= strcmp(plain, "line_fit") == 0;
    return 0;
}

static int write_file(cli *c, tess_json *json, const char *path)
{
    struct stat there;
    signs s = {0};
    const char *format = NULL;

    const int is_there = stat(path, &there) == 0;
    if (is_there && S_ISDIR(there.st_mode)) {
        return show_result(c, json, path, 1);
    }
    const char *ending = strrchr(path, '.');
    if (is_there && ending && strcasecmp(ending, ".csv") == 0) {
        return console_fail(tess_status_exit_code(TESS_E_FORMAT),
                            "%s: is text, to be read as it is; of tables of events those in .h5 "
                            "and .npz are described",
                            path);
    }
    CLI_CALL(tess_file_list(c->ctx, path, &format, notice, &s));
    return s.has_settings    ? show_model(c, json, path)
           : s.has_posterior ? show_result(c, json, path, 0)
           : s.has_lines     ? show_events(c, json, path)
                             : show_recording(c, json, path);
}

static int run_info(cli *c, tess_json *json, const char *path)
{
    const char *text = NULL;

    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.decode.info/1");
    tess_json_text(json, "path", path);
    CLI_TRY(write_file(c, json, path));
    tess_json_object_end(json);
    if (c->values.json) {
        return job_print_json(json);
    }
    CLI_CALL(tess_json_finish(json, &text));
    outline_print(stdout, text);
    return 0;
}

int cmd_decode_info(cli *c)
{
    tess_json *json = NULL;
    void *systems[CLI_MAX_TABLE] = {0};

    CLI_TRY(session_open(c, systems));
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    const int code = run_info(c, json, c->operands[0]);
    tess_json_destroy(json);
    return code;
}
