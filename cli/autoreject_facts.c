// What the autoreject commands tell: epochs, thresholds, choices, rejected epochs.

#include "autoreject.h"
#include "job.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED = 20 };

void autoreject_print_name(const char *name, int width)
{
    enum { LONGEST = 64 };
    int column = 0;
    for (const char *letter = name; *letter; letter++) {
        const int starts = ((unsigned char)*letter & 0xc0) != 0x80; // of UTF-8
        if (starts && column == LONGEST) {
            printf("...");
            break;
        }
        text_print_char(stdout, *letter);
        column += starts;
    }
    printf("%*s", column < width ? width - column : 0, "");
}

static int64_t count_type(const tess_autoreject_epochs_info *info, int32_t type)
{
    int64_t n = 0;
    for (int64_t c = 0; c < info->sensors->n_chan; c++) {
        n += info->sensors->channels[c].type == type;
    }
    return n;
}

static int64_t count_positions(const tess_autoreject_epochs_info *info)
{
    int64_t n = 0;
    for (int64_t c = 0; c < info->sensors->n_chan; c++) {
        const double *loc = info->sensors->channels[c].loc;
        n += isfinite(loc[0]) && (loc[0] != 0 || loc[1] != 0 || loc[2] != 0);
    }
    return n;
}

static int64_t count_event(const tess_autoreject_epochs_info *info, int32_t code)
{
    int64_t n = 0;
    for (int64_t e = 0; info->events && e < info->n_epoch; e++) {
        n += info->events[3 * e + 2] == code;
    }
    return n;
}

// What the epochs are epochs of.
static void print_events(const tess_autoreject_epochs_info *info)
{
    for (int64_t i = 0; i < info->n_event_name && i < LISTED; i++) {
        printf("%s", i > 0 ? ", " : "events         ");
        autoreject_print_name(info->event_names[i], 0);
        printf(" %lld", (long long)count_event(info, info->event_codes[i]));
    }
    if (info->n_event_name > 0) {
        puts(info->n_event_name > LISTED ? ", ..." : "");
    }
}

void autoreject_print_epochs(const autoreject_job *j)
{
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(j->epochs);
    const int64_t shape[] = {info->n_epoch, info->sensors->n_chan, info->n_time};
    char text[128];

    text_shape(text, sizeof text, 3, shape);
    printf("epochs         %s: %s, %s, %g Hz from %g s\n", info->path, text, info->format,
           info->sampling_hz, info->tmin);
    print_events(info);
    printf("channels       ");
    for (int32_t type = 0, first = 1; type <= TESS_AUTOREJECT_OTHER; type++) {
        const int64_t n = count_type(info, type);
        if (n > 0) {
            printf("%s%lld %s", first ? "" : ", ", (long long)n, tess_autoreject_type_name(type));
            first = 0;
        }
    }
    printf("; %lld with a position, %lld picked\n", (long long)count_positions(info),
           (long long)j->n_pick);
    int64_t n_bad = 0;
    for (int64_t c = 0; c < info->sensors->n_chan; c++) {
        if (info->sensors->channels[c].is_bad) {
            printf("%s", n_bad++ ? ", " : "marked bad     ");
            autoreject_print_name(info->sensors->channels[c].name, 0);
        }
    }
    if (n_bad) {
        puts("");
    }
}

void autoreject_hint_at_montage(const autoreject_job *j)
{
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(j->epochs);
    if (count_type(info, TESS_AUTOREJECT_EEG) > 0 && count_positions(info) == 0) {
        console_note(
            "no electrode has a position, which a fit needs: give --montage 1005 for names "
            "of the 10-20 system, or --montage FILE");
    }
}

// The mean of the channels' standard errors as shares of their thresholds.
static void print_error(const tess_autoreject_type_fit *fit)
{
    double sum = 0;
    int64_t n = 0;
    for (int64_t c = 0; fit->standard_errors && c < fit->n_chan; c++) {
        const double share = fit->standard_errors[c] / fit->thresholds[c];
        if (isfinite(share)) {
            sum += share;
            n++;
        }
    }
    if (n > 0) {
        printf(" +- %.0f %%", 100 * sum / (double)n);
    }
}

void autoreject_print_types(const tess_autoreject_model_info *info)
{
    for (int64_t t = 0; t < info->n_type; t++) {
        const tess_autoreject_type_fit *fit = &info->types[t];
        double low = (double)INFINITY;
        double high = 0;
        for (int64_t c = 0; c < fit->n_chan; c++) {
            low = fmin(low, fit->thresholds[c]);
            high = fmax(high, fit->thresholds[c]);
        }
        printf("%-14s %lld channels, thresholds %.4g to %.4g", tess_autoreject_type_name(fit->type),
               (long long)fit->n_chan, low, high);
        print_error(fit);
        if (fit->consensus_index >= 0) {
            printf("; consensus %g, n_interpolate %lld", fit->consensus,
                   (long long)fit->n_interpolate);
        }
        puts("");
    }
}

static int64_t count_bad(const tess_autoreject_log_info *log)
{
    int64_t n = 0;
    for (int64_t e = 0; e < log->n_epoch; e++) {
        n += log->bad_epochs[e] != 0;
    }
    return n;
}

static int64_t count_label(const tess_autoreject_log_info *log, int8_t label)
{
    int64_t n = 0;
    for (int64_t i = 0; i < log->n_epoch * log->n_chan; i++) {
        n += log->labels[i] == label;
    }
    return n;
}

static void print_log(const tess_autoreject_log_info *log)
{
    const int64_t n_bad = count_bad(log);
    printf("bad epochs     %lld of %lld", (long long)n_bad, (long long)log->n_epoch);
    for (int64_t e = 0, n = 0; e < log->n_epoch && n < LISTED; e++) {
        if (log->bad_epochs[e]) {
            printf("%s%lld", n++ ? ", " : ": ", (long long)e);
        }
    }
    puts(n_bad > LISTED ? ", ..." : "");
    printf("bad channels   %lld repaired and %lld left in single epochs\n",
           (long long)count_label(log, 2), (long long)count_label(log, 1));
}

void autoreject_write_epochs(tess_json *json, const autoreject_job *j)
{
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(j->epochs);
    tess_json_object_begin(json, "epochs");
    tess_json_text(json, "path", info->path);
    tess_json_text(json, "format", info->format);
    tess_json_int(json, "n_epoch", info->n_epoch);
    tess_json_int(json, "n_time", info->n_time);
    tess_json_real(json, "sampling_hz", info->sampling_hz);
    tess_json_real(json, "tmin", info->tmin);
    tess_json_int(json, "n_pick", j->n_pick);
    tess_json_array_begin(json, "events");
    for (int64_t i = 0; i < info->n_event_name; i++) {
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "name", info->event_names[i]);
        tess_json_int(json, "code", info->event_codes[i]);
        tess_json_int(json, "n_epoch", count_event(info, info->event_codes[i]));
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
    tess_json_array_begin(json, "channels");
    for (int64_t c = 0; c < info->sensors->n_chan; c++) {
        const tess_autoreject_channel *channel = &info->sensors->channels[c];
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "name", channel->name);
        tess_json_text(json, "type", tess_autoreject_type_name(channel->type));
        tess_json_bool(json, "bad", channel->is_bad);
        tess_json_array_begin(json, "position");
        for (int i = 0; i < 3; i++) {
            tess_json_real(json, NULL, channel->loc[i]);
        }
        tess_json_array_end(json);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
}

static void write_type(tess_json *json, const tess_autoreject_model_info *info,
                       const tess_autoreject_type_fit *fit)
{
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "type", tess_autoreject_type_name(fit->type));
    if (fit->consensus_index >= 0) {
        tess_json_real(json, "consensus", fit->consensus);
        tess_json_int(json, "n_interpolate", fit->n_interpolate);
    }
    tess_json_object_begin(json, "thresholds");
    for (int64_t c = 0; c < fit->n_chan; c++) {
        tess_json_real(json, info->channel_names[fit->channels[c]], fit->thresholds[c]);
    }
    tess_json_object_end(json);
    tess_json_object_begin(json, "standard_errors");
    for (int64_t c = 0; c < fit->n_chan; c++) {
        tess_json_real(json, info->channel_names[fit->channels[c]], fit->standard_errors[c]);
    }
    tess_json_object_end(json);
    tess_json_object_end(json);
}

static void write_model(tess_json *json, const tess_autoreject_model_info *info)
{
    tess_json_int(json, "seed", info->seed);
    tess_json_array_begin(json, "types");
    for (int64_t t = 0; t < info->n_type; t++) {
        write_type(json, info, &info->types[t]);
    }
    tess_json_array_end(json);
    tess_json_real(json, "elapsed_s", info->seconds[3]);
}

static void write_log(tess_json *json, const tess_autoreject_log_info *log)
{
    tess_json_object_begin(json, "reject_log");
    tess_json_int(json, "n_epoch", log->n_epoch);
    tess_json_array_begin(json, "bad_epochs");
    for (int64_t e = 0; e < log->n_epoch; e++) {
        if (log->bad_epochs[e]) {
            tess_json_int(json, NULL, e);
        }
    }
    tess_json_array_end(json);
    tess_json_int(json, "n_repaired", count_label(log, 2));
    tess_json_int(json, "n_left", count_label(log, 1));
    tess_json_object_end(json);
}

int autoreject_print(cli *c, autoreject_job *j, const char *schema)
{
    tess_json *json = NULL;

    // What was written says it; what can only be read here is printed.
    if (!c->values.json && c->values.quiet && c->values.output) {
        return 0;
    }
    if (!c->values.json) {
        autoreject_print_epochs(j);
        if (j->model) {
            autoreject_print_types(tess_autoreject_model_get_info(j->model));
        }
        if (j->log) {
            print_log(tess_autoreject_log_get_info(j->log));
        }
        if (j->n_kept >= 0) {
            printf("written        %s: %lld epochs\n", c->values.output, (long long)j->n_kept);
        }
        return 0;
    }
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", schema);
    autoreject_write_epochs(json, j);
    if (j->model) {
        write_model(json, tess_autoreject_model_get_info(j->model));
    }
    if (j->log) {
        write_log(json, tess_autoreject_log_get_info(j->log));
    }
    if (j->n_kept >= 0) {
        tess_json_text(json, "written", c->values.output);
        tess_json_int(json, "n_kept", j->n_kept);
    }
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}
