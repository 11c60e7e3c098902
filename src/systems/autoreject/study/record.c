#include "systems/autoreject/study/record.h"

#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "runtime/origin.h"
#include "systems/autoreject/result/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void count_labels(const tess_autoreject_log_info *log, tess_ar_record *r)
{
    for (int64_t i = 0; i < log->n_epoch * log->n_chan; i++) {
        r->n_considered += log->labels[i] >= 0;
        r->n_bad += log->labels[i] > 0;
        r->n_repaired += log->labels[i] == 2;
    }
    for (int64_t e = 0; e < log->n_epoch; e++) {
        r->n_bad_epoch += log->bad_epochs[e] != 0;
    }
}

static void fill_channel(const tess_autoreject_log_info *log,
                         const tess_autoreject_sensors *sensors, int64_t c,
                         tess_ar_record_channel *channel)
{
    int64_t n_bad = 0;
    int64_t n_repaired = 0;
    for (int64_t e = 0; e < log->n_epoch; e++) {
        n_bad += log->labels[e * log->n_chan + c] > 0;
        n_repaired += log->labels[e * log->n_chan + c] == 2;
    }
    const double n = log->n_epoch > 0 ? (double)log->n_epoch : 1;
    channel->bad = (double)n_bad / n;
    channel->repaired = (double)n_repaired / n;
    memcpy(channel->position, sensors->channels[c].loc, sizeof channel->position);
}

tess_status tess_ar_record_make(tess_blocks *memory, const tess_autoreject_model *model,
                                const tess_autoreject_log *log,
                                const tess_autoreject_epochs *epochs, tess_ar_record *r)
{
    const tess_autoreject_model_info *m = &model->info;
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(epochs);
    tess_ar_record_channel *channels =
        tess_blocks_alloc(memory, m->n_pick, sizeof *channels, "the record of a recording");
    const size_t n_note[3] = {strlen(info->notes), strlen(m->notes), strlen(log->info.notes)};
    const size_t room = n_note[0] + n_note[1] + n_note[2] + 3;
    char *notes = tess_blocks_alloc(memory, (int64_t)room, 1, "the record of a recording");
    if (!channels || !notes) {
        return TESS_E_MEMORY;
    }
    snprintf(notes, room, "%s%s%s%s%s", info->notes, n_note[0] && n_note[1] ? "\n" : "", m->notes,
             (n_note[0] || n_note[1]) && n_note[2] ? "\n" : "", log->info.notes);
    r->n_epoch = info->n_epoch;
    r->n_time = info->n_time;
    r->sampling_hz = info->sampling_hz;
    r->tmin = info->tmin;
    r->notes = notes;
    r->n_type = m->n_type;
    count_labels(&log->info, r);
    for (int64_t t = 0; t < m->n_type; t++) {
        const tess_autoreject_type_fit *fit = &m->types[t];
        r->types[t].type = fit->type;
        r->types[t].consensus = fit->consensus;
        r->types[t].n_interpolate = fit->n_interpolate;
        for (int64_t k = 0; k < fit->n_chan; k++) {
            tess_ar_record_channel *channel = &channels[r->n_channel++];
            *channel = (tess_ar_record_channel){
                .name = m->channel_names[fit->channels[k]],
                .type = fit->type,
                .threshold = fit->thresholds[k],
                .standard_error = fit->standard_errors ? fit->standard_errors[k] : (double)NAN};
            fill_channel(&log->info, info->sensors, fit->channels[k], channel);
        }
    }
    r->channels = channels;
    return TESS_OK;
}

static void write_channel(tess_json *json, const tess_ar_record_channel *channel)
{
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "name", channel->name);
    tess_json_text(json, "type", tess_autoreject_type_name(channel->type));
    tess_json_real(json, "threshold", channel->threshold);
    tess_json_real(json, "standard_error", channel->standard_error);
    tess_json_real(json, "bad", channel->bad);
    tess_json_real(json, "repaired", channel->repaired);
    tess_json_array_begin(json, "position");
    for (int i = 0; i < 3; i++) {
        tess_json_real(json, NULL, channel->position[i]);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
}

static void write_types(tess_json *json, const tess_ar_record *r)
{
    tess_json_array_begin(json, "types");
    for (int64_t t = 0; t < r->n_type; t++) {
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "type", tess_autoreject_type_name(r->types[t].type));
        tess_json_real(json, "consensus", r->types[t].consensus);
        tess_json_int(json, "n_interpolate", r->types[t].n_interpolate);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}

static void write_counts(tess_json *json, const tess_ar_record *r)
{
    tess_json_object_begin(json, "counts");
    tess_json_int(json, "epochs", r->n_epoch);
    tess_json_int(json, "epochs_kept", r->n_kept);
    tess_json_int(json, "epochs_bad", r->n_bad_epoch);
    tess_json_int(json, "samples", r->n_time);
    tess_json_int(json, "labels", r->n_considered);
    tess_json_int(json, "labels_bad", r->n_bad);
    tess_json_int(json, "labels_repaired", r->n_repaired);
    tess_json_object_end(json);
}

tess_status tess_ar_record_write(tess_context *ctx, const tess_ar_record *r, const char *source,
                                 const char *path)
{
    tess_json *json = NULL;
    char text[1200];
    const char *written = NULL;
    TESS_TRY(tess_json_create(ctx, 1, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(
        json, "Description",
        "Epochs after autoreject: bad channels of single epochs interpolated, bad epochs "
        "left out");
    snprintf(text, sizeof text, "bids:raw:%.1000s", source);
    tess_json_array_begin(json, "Sources");
    tess_json_text(json, NULL, text);
    tess_json_array_end(json);
    tess_json_real(json, "SamplingFrequency", r->sampling_hz);
    tess_json_real(json, "EpochStart", r->tmin);
    tess_json_text(json, "schema", TESS_AR_RECORD_SCHEMA);
    tess_json_object_begin(json, TESS_ORIGIN_NAME);
    tess_origin_head(json, "autoreject.study", NULL);
    tess_json_text(json, "settings_digest", r->settings);
    tess_json_text(json, "inputs_digest", r->inputs);
    tess_json_object_end(json);
    write_counts(json, r);
    write_types(json, r);
    tess_json_text(json, "notes", r->notes);
    tess_json_array_begin(json, "channels");
    for (int64_t c = 0; c < r->n_channel; c++) {
        write_channel(json, &r->channels[c]);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    tess_status status = tess_json_finish(json, &written);
    if (status == TESS_OK) {
        status = tess_file_write_text(path, written, 1);
    }
    tess_json_destroy(json);
    return status;
}
