// What the decode commands share: recording, model, prediction, summary.
#ifndef TESSERA_CLI_DECODE_H
#define TESSERA_CLI_DECODE_H

#include "cli.h"

#include <tessera/decode.h>
#include <tessera/sys/json.h>

typedef struct decode_job {
    tess_decode_recording *recording;   // owned
    tess_decode_model *model;           // owned
    tess_decode_interval_table *table;  // owned: of --intervals; NULL: everything is decoded
    int64_t *rows;                      // owned: first row and number of rows of each interval
    tess_decode_covariates *covariates; // owned: of a model that depends on some; else NULL
    tess_decode_observation seen;       // what is decoded; see decode_look()
    tess_decode_model_config config;    // what the model is fitted with
    tess_decode_predict_config predict;
    tess_decode_em_config em;
    tess_decode_tune_config tune;
    tess_decode_online_config online;
    tess_decode_events_config events;
    tess_decode_stream_report report; // of the prediction
    tess_decode_score score;
    double fit_s;
    int has_prediction;
    int was_finished;         // events: everything was there already
    double verify_difference; // largest difference found by --verify, nats; NaN: not asked for
    int64_t verify_rows;
} decode_job;

// Seconds of a clock that never goes back.
double decode_now_s(void);

// Opens the session with the command's tables, in this order: model, environment, encoding,
// detector, then predict, em, tune, online and events as far as the command lists them.
int decode_open_session(cli *c, decode_job *j);

// 1 if nobody but the table has set this parameter.
int decode_is_default(const cli *c, const char *table, const char *name);

// Opens the recording named by the operand and says what was taken from where, and which options
// change nothing for it.
int decode_open_recording(cli *c, decode_job *j, const char *path);

// Opens --intervals, if given, and finds their time bins in the recording.
int decode_open_intervals(cli *c, decode_job *j);

// Refuses beside --model-file what a model is fitted with.
int decode_check_model_file(const cli *c);
// Says which options change nothing for the open recording, by what else is asked for.
void decode_warn_unused(const cli *c, const decode_job *j);
// Reads what the model's transitions depend on, if they do, at the recording's time bins.
int decode_open_covariates(cli *c, decode_job *j);

// Takes the recording's own bandwidths and bin size where the user set none, and fits.
int decode_fit(cli *c, decode_job *j);
int decode_load_model(cli *c, decode_job *j, const char *path);

// What of the recording the model is shown: where it needs no position, it is not to lose rows
// whose position is unknown. TESS_E_SHAPE's exit code where the model is of other positions.
int decode_look(const cli *c, decode_job *j);

// Plans, and unless --dry-run predicts into the output; then scores the result.
int decode_predict(cli *c, decode_job *j);

// The bits of --want.
int decode_parse_want(const cli *c, const char *text, int32_t *want);

// Recomputes a share of the rows in exact mode ("1%", "0.01").
int decode_parse_share(const cli *c, const char *text, double *share);
int decode_verify(cli *c, decode_job *j, double share);

// Exit code of a failed call. What is wrong after the options were parsed is wrong with the
// recording, unless the message names another file.
int decode_data_status(const cli *c, const decode_job *j, tess_status status);

void decode_close(decode_job *j);

// The facts on stdout, as lines or as members of the open JSON object.
void decode_print_recording(const tess_decode_recording_info *info);
void decode_write_recording(tess_json *json, const tess_decode_recording_info *info);
// How a result agrees with what is known, and how it divides the time among states.
void decode_print_score(const tess_decode_score *score);
void decode_write_score(tess_json *json, const tess_decode_score *score);
// How the transitions depend on covariates, if they do.
void decode_print_coefficients(decode_job *j);
void decode_print_model(decode_job *j);
void decode_write_model(tess_json *json, decode_job *j);
void decode_print_prediction(const cli *c, decode_job *j);
void decode_write_prediction(tess_json *json, const cli *c, decode_job *j);

#endif
