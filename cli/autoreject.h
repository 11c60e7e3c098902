// What the autoreject commands share: epochs, fit, reject log, summary.
#ifndef TESSERA_CLI_AUTOREJECT_H
#define TESSERA_CLI_AUTOREJECT_H

#include "cli.h"

#include <tessera/autoreject.h>
#include <tessera/sys/json.h>

typedef struct autoreject_job {
    tess_autoreject_epochs_config epochs_config;
    tess_autoreject_fit_config fit_config;
    tess_autoreject_transform_config transform_config;
    tess_autoreject_global_config global_config;
    tess_autoreject_ransac_config ransac_config;
    tess_autoreject_report_config report_config;
    tess_autoreject_study_config study_config;
    tess_autoreject_epochs *epochs; // owned
    tess_autoreject_model *model;   // owned
    tess_autoreject_log *log;       // owned
    int64_t *picks;                 // owned; the channels --picks names
    int64_t n_pick;
    double *consensus; // owned; of --consensus, NULL: not given
    int64_t n_consensus;
    int64_t *n_interpolate; // owned; of --n-interpolate, NULL: not given
    int64_t n_n_interpolate;
    int64_t n_kept; // epochs written by transform; -1: none were
} autoreject_job;

// The exit codes when no epoch survives, and when recordings of a study failed.
enum { AUTOREJECT_ALL_BAD = 5, AUTOREJECT_STUDY_FAILED = 1 };

// Opens the session with the command's tables.
int autoreject_open_session(cli *c, autoreject_job *j);

// Opens the epochs named by the operand, says what was assumed, and resolves --picks.
int autoreject_open_epochs(cli *c, autoreject_job *j, const char *path);

// The second half of that, of epochs that are open.
int autoreject_pick(cli *c, autoreject_job *j);

// Says what was planned; with --dry-run on stdout.
int autoreject_announce(cli *c, autoreject_job *j);

// Fits (thresholds_only: without the local search) and says what was noted.
int autoreject_fit(cli *c, autoreject_job *j, int thresholds_only);

// Reads the model of --model.
int autoreject_load_model(cli *c, autoreject_job *j);

// The reject log of the model, or of --use-log; written to --log if asked for.
int autoreject_make_log(cli *c, autoreject_job *j);

// Writes repaired epochs to -o.
int autoreject_transform(cli *c, autoreject_job *j);

// The commands by which a log edited in the report is carried out, a line each; free() *out.
int autoreject_use_log_command(const cli *c, char **out);

// Writes the report if asked for.
int autoreject_write_report(cli *c, autoreject_job *j);
void autoreject_close(autoreject_job *j);

// Every output is on the disk: nothing is lost without the checkpoints any more.
void autoreject_forget_checkpoints(cli *c);

// How outputs treat what has their names: --overwrite replaces it, --resume only what this very run
// left when it was stopped.
int autoreject_overwrite(const cli *c);

// The facts on stdout, as lines or as one JSON object.
int autoreject_print(cli *c, autoreject_job *j, const char *schema);

// A name out of a file, filled up to width columns: shortened, and without power over terminals.
void autoreject_print_name(const char *name, int width);
void autoreject_print_epochs(const autoreject_job *j);
// Says what a fit will need where no electrode has a position.
void autoreject_hint_at_montage(const autoreject_job *j);
// Thresholds and choices of each type of channel.
void autoreject_print_types(const tess_autoreject_model_info *info);
void autoreject_write_epochs(tess_json *json, const autoreject_job *j);

#endif
