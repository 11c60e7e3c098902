// The facts of a recording, a model and a prediction, for people and for programs.

#include "decode.h"
#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static int64_t total(const int64_t *counts, int64_t n)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += counts[i];
    }
    return sum;
}

// "4 features", "1 to 6 features", "sorted".
static void feature_text(const tess_decode_spikes *spikes, char *text, size_t capacity)
{
    int64_t least = INT64_MAX;
    int64_t most = 0;

    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        const int64_t n = spikes->n_feature[e];
        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    if (!spikes->marks || spikes->n_electrode == 0) {
        snprintf(text, capacity, "no features");
    } else if (least == most) {
        snprintf(text, capacity, "%lld feature%s", (long long)most, most == 1 ? "" : "s");
    } else {
        snprintf(text, capacity, "%lld to %lld features", (long long)least, (long long)most);
    }
}

void decode_print_recording(const tess_decode_recording_info *info)
{
    const tess_decode_spikes *spikes = &info->training.spikes;
    const tess_decode_position *position = &info->training.position;
    char features[64];

    feature_text(spikes, features, sizeof features);
    printf("recording      %s: %s, %lld electrode%s, %s%s\n", info->path, info->format,
           (long long)spikes->n_electrode, spikes->n_electrode == 1 ? "" : "s", features,
           info->has_track ? ", track graph" : "");
    printf("position       %lld-D, %lld samples", (long long)position->n_dim,
           (long long)position->n_sample);
    if (position->n_sample > 0) {
        printf(", %.10g to %.10g s", position->time[0], position->time[position->n_sample - 1]);
    }
    printf("\nspikes         %lld", (long long)total(spikes->n_spike, spikes->n_electrode));
    if (info->observation.spikes.times != spikes->times) {
        const tess_decode_spikes *seen = &info->observation.spikes;
        printf(" for encoding, %lld for decoding",
               (long long)total(seen->n_spike, seen->n_electrode));
    }
    printf("\ntime bins      %lld", (long long)info->observation.n_time);
    if (info->observation.n_time > 0) {
        printf(", %.10g to %.10g s", info->observation.time[0],
               info->observation.time[info->observation.n_time - 1]);
    }
    puts("");
}

void decode_write_recording(tess_json *json, const tess_decode_recording_info *info)
{
    const tess_decode_spikes *spikes = &info->training.spikes;
    const tess_decode_spikes *seen = &info->observation.spikes;

    tess_json_object_begin(json, "recording");
    tess_json_text(json, "path", info->path);
    tess_json_text(json, "format", info->format);
    tess_json_int(json, "n_electrode", spikes->n_electrode);
    tess_json_array_begin(json, "n_feature");
    for (int64_t e = 0; e < spikes->n_electrode; e++) {
        tess_json_int(json, NULL, spikes->n_feature[e]);
    }
    tess_json_array_end(json);
    tess_json_int(json, "n_dim", info->training.position.n_dim);
    tess_json_int(json, "n_sample", info->training.position.n_sample);
    tess_json_int(json, "n_time", info->observation.n_time);
    tess_json_int(json, "encoding_spikes", total(spikes->n_spike, spikes->n_electrode));
    tess_json_int(json, "decoding_spikes", total(seen->n_spike, seen->n_electrode));
    tess_json_bool(json, "has_track", info->has_track);
    tess_json_object_end(json);
}

static const char *floor_name(int32_t floor)
{
    static const char *const names[] = {"auto", "absolute", "relative", "none"};
    return floor >= 0 && floor <= TESS_DECODE_FLOOR_NONE ? names[floor] : "?";
}

void decode_print_model(decode_job *j)
{
    const tess_decode_detector_info *states =
        tess_decode_detector_get_info(tess_decode_model_detector(j->model));
    const tess_decode_encoding_info *encoding =
        tess_decode_encoding_get_info(tess_decode_model_encoding(j->model));
    const tess_decode_environment_info *env =
        tess_decode_environment_get_info(tess_decode_model_environment(j->model));
    char model[32];

    tess_param_get_text(&tess_decode_model_params()->params[0], &j->config, model, sizeof model);
    printf("model          %s: ", model);
    for (int32_t s = 0; s < states->n_state; s++) {
        printf("%s%s", s ? ", " : "", states->state_names[s]);
    }
    printf("\nplace bins     %lld, %lld inside\n", (long long)env->n_bin,
           (long long)env->n_interior);
    printf("encoding       %lld spikes inside, %lld before, %lld after the training samples\n",
           (long long)total(encoding->n_spike, encoding->n_electrode),
           (long long)total(encoding->n_before, encoding->n_electrode),
           (long long)total(encoding->n_after, encoding->n_electrode));
}

// Name k of those separated by commas, after the intercept.
static void covariate_name(const char *names, int64_t k, char name[64])
{
    for (; k > 1 && names; k--) {
        names = strchr(names, ',') ? strchr(names, ',') + 1 : NULL;
    }
    snprintf(name, 64, "%.*s", names && k > 0 ? (int)strcspn(names, ",") : 9,
             names && k > 0 ? names
             : k > 0        ? "covariate"
                            : "intercept");
}

void decode_print_coefficients(decode_job *j)
{
    const tess_decode_detector_info *states =
        tess_decode_detector_get_info(tess_decode_model_detector(j->model));
    const char *names = tess_decode_model_settings(j->model)->covariates;
    const int64_t n = states->n_state;

    for (int64_t from = 0; from < n && states->n_coefficient > 0; from++) {
        printf("from %s: log odds against %s\n", states->state_names[from],
               states->state_names[n - 1]);
        for (int64_t k = 0; k < states->n_coefficient; k++) {
            char name[64];
            covariate_name(names, k, name);
            printf("  %-18s", name);
            for (int64_t to = 0; to + 1 < n; to++) {
                printf("  %s %.6g", states->state_names[to],
                       states->coefficients[(k * n + from) * (n - 1) + to]);
            }
            printf("\n");
        }
    }
}

static void write_coefficients(tess_json *json, const tess_decode_detector_info *states,
                               const char *names)
{
    const int64_t n = states->n_state;

    tess_json_array_begin(json, "coefficients");
    for (int64_t k = 0; k < states->n_coefficient; k++) {
        char name[64];
        covariate_name(names, k, name);
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "covariate", name);
        tess_json_array_begin(json, "log_odds"); // [from][to], against the last state
        for (int64_t i = 0; i < n * (n - 1); i++) {
            tess_json_real(json, NULL, states->coefficients[k * n * (n - 1) + i]);
        }
        tess_json_array_end(json);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}

void decode_write_model(tess_json *json, decode_job *j)
{
    const tess_decode_detector_info *states =
        tess_decode_detector_get_info(tess_decode_model_detector(j->model));
    const tess_decode_encoding_info *encoding =
        tess_decode_encoding_get_info(tess_decode_model_encoding(j->model));
    const tess_decode_environment_info *env =
        tess_decode_environment_get_info(tess_decode_model_environment(j->model));
    char model[32];

    tess_param_get_text(&tess_decode_model_params()->params[0], &j->config, model, sizeof model);
    tess_json_object_begin(json, "model");
    tess_json_text(json, "name", model);
    tess_json_array_begin(json, "states");
    for (int32_t s = 0; s < states->n_state; s++) {
        tess_json_text(json, NULL, states->state_names[s]);
    }
    tess_json_array_end(json);
    tess_json_array_begin(json, "discrete_transition");
    for (int32_t s = 0; s < states->n_state * states->n_state; s++) {
        tess_json_real(json, NULL, states->discrete_transition[s]);
    }
    tess_json_array_end(json);
    if (states->n_coefficient > 0) {
        write_coefficients(json, states, tess_decode_model_settings(j->model)->covariates);
    }
    tess_json_int(json, "n_bin", env->n_bin);
    tess_json_int(json, "n_interior", env->n_interior);
    tess_json_int(json, "n_state_bin", states->n_state_bin);
    tess_json_text(json, "floor", floor_name(encoding->floor));
    tess_json_int(json, "spikes_inside", total(encoding->n_spike, encoding->n_electrode));
    tess_json_int(json, "spikes_before", total(encoding->n_before, encoding->n_electrode));
    tess_json_int(json, "spikes_after", total(encoding->n_after, encoding->n_electrode));
    tess_json_real(json, "fit_s", j->fit_s);
    tess_json_object_end(json);
}

static double floored_share(const tess_decode_likelihood_report *seen)
{
    return seen->n_value > 0 ? (double)seen->n_floored / (double)seen->n_value : 0;
}

static void print_floor(decode_job *j)
{
    const tess_decode_encoding_info *encoding =
        tess_decode_encoding_get_info(tess_decode_model_encoding(j->model));

    printf("floor          %s, %.2g %% of the values on it\n", floor_name(encoding->floor),
           100 * floored_share(&j->report.likelihood));
}

static double share_of(int64_t part, int64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void print_error(const tess_decode_score *score)
{
    printf("error          median %.3g cm, 90 %% below %.3g cm, over %lld of %lld bins (%.1f %%)\n",
           score->median_error, score->percentile_90, (long long)score->n_scored,
           (long long)score->n_looked, share_of(score->n_scored, score->n_looked));
    if (score->n_local > 0) {
        printf("               %.1f %% of them Local, taken at the animal",
               share_of(score->n_local, score->n_scored));
        if (score->n_scored > score->n_local) {
            printf("; of the other %lld the median is %.3g cm",
                   (long long)(score->n_scored - score->n_local), score->median_away);
        }
        puts("");
    }
    printf("calibration    50 %% region holds the true place in %.0f %%, 95 %% region in %.0f %%\n",
           100 * score->coverage_50, 100 * score->coverage_95);
    printf("verdict        error %s", tess_decode_grade_name(score->error_grade));
    if (score->rests) {
        printf(" (the animal rests: chance would be %.2g cm off)", score->chance_error);
    } else if (score->error_grade != TESS_DECODE_GRADE_NONE) {
        printf(" (%.2g of chance, %.3g cm)", score->median_error / score->chance_error,
               score->chance_error);
    }
    printf(", calibration %s\n", tess_decode_grade_name(score->coverage_grade));
}

static void print_path(const tess_decode_score *score)
{
    if (score->path_changes < 0) {
        return;
    }
    printf("path           ");
    for (int32_t s = 0; s < score->n_state; s++) {
        printf("%s%s %.1f %%", s ? ", " : "", score->state_names[s], 100 * score->path_share[s]);
    }
    printf("; %lld %s of state\n", (long long)score->path_changes,
           score->path_changes == 1 ? "change" : "changes");
}

void decode_print_score(const tess_decode_score *score)
{
    if (score->n_scored > 0) {
        print_error(score);
    } else {
        printf(
            "error          not known: of %lld bins %lld without a known position, %lld without a "
            "place\n",
            (long long)score->n_looked, (long long)score->n_unknown, (long long)score->n_unplaced);
    }
    printf("states         ");
    for (int32_t s = 0; s < score->n_state; s++) {
        printf("%s%s %.1f %%", s ? ", " : "", score->state_names[s], 100 * score->occupancy[s]);
    }
    puts("");
    print_path(score);
}

void decode_write_score(tess_json *json, const tess_decode_score *score)
{
    tess_json_object_begin(json, "score");
    tess_json_int(json, "n_time", score->n_time);
    tess_json_real(json, "log_evidence", score->log_evidence);
    tess_json_int(json, "n_looked", score->n_looked);
    tess_json_int(json, "n_scored", score->n_scored);
    tess_json_int(json, "n_local", score->n_local);
    tess_json_int(json, "n_unplaced", score->n_unplaced);
    tess_json_int(json, "n_unknown", score->n_unknown);
    tess_json_int(json, "n_not_finite", score->n_not_finite);
    tess_json_bool(json, "rests", score->rests);
    tess_json_real(json, "median_error", score->median_error);
    tess_json_real(json, "percentile_90", score->percentile_90);
    tess_json_real(json, "median_away", score->median_away);
    tess_json_real(json, "chance_error", score->chance_error);
    tess_json_real(json, "coverage_50", score->coverage_50);
    tess_json_real(json, "coverage_95", score->coverage_95);
    tess_json_real(json, "spread", score->spread);
    tess_json_text(json, "error_grade", tess_decode_grade_name(score->error_grade));
    tess_json_text(json, "coverage_grade", tess_decode_grade_name(score->coverage_grade));
    tess_json_object_begin(json, "occupancy");
    for (int32_t s = 0; s < score->n_state; s++) {
        tess_json_real(json, score->state_names[s], score->occupancy[s]);
    }
    tess_json_object_end(json);
    if (score->path_changes >= 0) {
        tess_json_object_begin(json, "path");
        tess_json_int(json, "changes", score->path_changes);
        for (int32_t s = 0; s < score->n_state; s++) {
            tess_json_real(json, score->state_names[s], score->path_share[s]);
        }
        tess_json_object_end(json);
    }
    tess_json_object_end(json);
}

void decode_print_prediction(const cli *c, decode_job *j)
{
    const tess_decode_likelihood_report *seen = &j->report.likelihood;
    const tess_decode_score *score = &j->score;

    if (j->report.n_interval > 0) {
        printf("intervals      %lld, %lld of them without a time bin\n",
               (long long)j->report.n_interval, (long long)j->report.n_empty);
        printf("decoding       %lld spikes inside, %lld outside of the intervals\n",
               (long long)seen->n_spike, (long long)(seen->n_before + seen->n_after));
    } else {
        printf("decoding       %lld spikes inside, %lld before, %lld after the time bins\n",
               (long long)seen->n_spike, (long long)seen->n_before, (long long)seen->n_after);
    }
    print_floor(j);
    printf("log evidence   %.10g\n", j->report.log_evidence);
    decode_print_score(score);
    printf("result         %s: %lld bins\n", c->values.output, (long long)score->n_time);
    if (j->report.n_impossible > 0) {
        printf("impossible     %lld bins, first %lld: no state could explain the spikes\n",
               (long long)j->report.n_impossible, (long long)j->report.first_impossible);
    }
    if (!isnan(j->verify_difference)) {
        printf("verified       %lld bins in exact mode, largest difference %.2g nats\n",
               (long long)j->verify_rows, j->verify_difference);
    }
}

static void write_run(tess_json *json, const tess_decode_stream_report *report)
{
    tess_json_object_begin(json, "run");
    tess_json_bool(json, "resumed", report->resumed);
    tess_json_int(json, "n_chunk", report->n_chunk);
    tess_json_int(json, "rows_per_chunk", report->rows_per_chunk);
    tess_json_uint(json, "memory_bytes", report->memory_bytes);
    tess_json_uint(json, "limit_bytes", report->limit_bytes);
    tess_json_real(json, "elapsed_s", report->elapsed_s);
    tess_json_real(json, "likelihood_s", report->likelihood_s);
    tess_json_real(json, "filter_s", report->filter_s);
    tess_json_real(json, "smoother_s", report->smoother_s);
    tess_json_real(json, "write_s", report->write_s);
    tess_json_int(json, "n_checkpoint", report->n_checkpoint);
    tess_json_real(json, "checkpoint_s", report->checkpoint_s);
    tess_json_object_end(json);
}

void decode_write_prediction(tess_json *json, const cli *c, decode_job *j)
{
    const tess_decode_likelihood_report *seen = &j->report.likelihood;
    const tess_decode_score *score = &j->score;

    tess_json_object_begin(json, "result");
    tess_json_text(json, "path", c->values.output);
    tess_json_text(json, "report", c->values.report);
    tess_json_int(json, "n_time", score->n_time);
    if (j->report.n_interval > 0) {
        tess_json_int(json, "n_interval", j->report.n_interval);
        tess_json_int(json, "n_empty_interval", j->report.n_empty);
    }
    tess_json_int(json, "spikes_inside", seen->n_spike);
    tess_json_int(json, "spikes_before", seen->n_before);
    tess_json_int(json, "spikes_after", seen->n_after);
    tess_json_int(json, "spikes_excluded", seen->n_excluded);
    tess_json_real(json, "floored_share", floored_share(seen));
    tess_json_int(json, "n_flat_spike", seen->n_flat_spike);
    tess_json_real(json, "bound", seen->bound);
    tess_json_real(json, "log_evidence", j->report.log_evidence);
    tess_json_int(json, "n_impossible", j->report.n_impossible);
    if (!isnan(j->verify_difference)) {
        tess_json_int(json, "verified_rows", j->verify_rows);
        tess_json_real(json, "verified_difference", j->verify_difference);
    }
    tess_json_object_end(json);
    decode_write_score(json, score);
    write_run(json, &j->report);
}
