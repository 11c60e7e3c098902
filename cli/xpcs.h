// What the xpcs commands share: configuration, data, fit, summary.
#ifndef TESSERA_CLI_XPCS_H
#define TESSERA_CLI_XPCS_H

#include "cli.h"

#include <tessera/sys/json.h>
#include <tessera/xpcs.h>

#include <stdio.h>

// Lists given as text; owned.
typedef struct xpcs_lists {
    tess_xpcs_angle_range *phi_ranges;
    int64_t n_phi_range;
    int64_t *bad_frames;
    int64_t n_bad_frame;
    double *phi;
    int64_t n_phi;
    double *theta;
    int64_t n_theta;
    double *contrasts;
    int64_t n_contrast;
    double *offsets;
    int64_t n_offset;
} xpcs_lists;

enum { XPCS_MAX_RECORDED = 128 };

typedef enum xpcs_method { XPCS_NLSQ, XPCS_CMC, XPCS_BOTH } xpcs_method;

typedef struct xpcs_job {
    tess_context *reader;         // owned; the configuration's, before there are threads
    tess_xpcs_settings *settings; // owned
    const char *config;           // --config; NULL: none
    tess_xpcs_model model;
    tess_xpcs_data_config data_config;
    tess_xpcs_fit_config fit_config;
    tess_xpcs_simulation simulation;
    xpcs_lists lists;
    tess_xpcs_data_filter filter; // of --data-filter
    double start[TESS_XPCS_MAX_PARAM];
    double lower[TESS_XPCS_MAX_PARAM];
    double upper[TESS_XPCS_MAX_PARAM];
    double x_scale[TESS_XPCS_MAX_PARAM];
    uint8_t is_fixed[TESS_XPCS_MAX_PARAM];
    char *recorded[XPCS_MAX_RECORDED]; // owned; what the configuration said, as values of options
    int n_recorded;
    tess_xpcs_data *data;     // owned
    tess_xpcs_result *result; // owned
    xpcs_method method;
    tess_xpcs_sample_config sample_config;
    double prior_mean[TESS_XPCS_MAX_PARAM];
    double prior_sd[TESS_XPCS_MAX_PARAM];
    char *draws_folder;             // owned; checkpoints of the draws, NULL: none
    tess_xpcs_posterior *posterior; // owned
    tess_xpcs_diagnosis *diagnosis; // owned
} xpcs_job;

// xpcs fit, xpcs mcmc and xpcs watch.
int xpcs_is_fit(const cli *c);

// Reads --config, opens the session with what it says of the machine, and fills the structs of the
// command's tables: defaults, configuration, flags.
int xpcs_open_session(cli *c, xpcs_job *j);

// Opens the data and says what was noted; completes dt and gap of the model.
int xpcs_open_data(cli *c, xpcs_job *j, const char *path);

void xpcs_close(xpcs_job *j);

// As job_status(); what the library calls a configuration is the command line where there is no
// file.
int xpcs_status(const cli *c, const xpcs_job *j, tess_status status);

// Lays the options of parameters (starts, bounds, what stays) over the fit's configuration.
int xpcs_take_starts(const cli *c, xpcs_job *j);

// The parameter of the mode with a name or alias of this length, from an option's value.
int xpcs_find_param(const cli *c, const xpcs_job *j, const char *option, const char *name,
                    size_t length, int64_t *param);

// The struct of the job that a table describes; NULL: none of xpcs.
void *xpcs_struct_of(xpcs_job *j, const tess_param_table *table);

// Makes options of everything that a configuration of the original decides, as if it had been
// typed: the words of the command alone say what was computed. Called with every struct filled.
int xpcs_record_config(cli *c, xpcs_job *j);

int xpcs_parse_lists(const cli *c, xpcs_lists *lists);

// "q=0.005:0.006,phi=-20:20,quality=0.8,any,all-if-none", and back; the latter returns 0 where
// there is no filter.
int xpcs_parse_filter(const cli *c, const char *text, tess_xpcs_data_filter *filter);
int xpcs_write_filter(FILE *file, const xpcs_job *j);

// Before any work: without --overwrite the results of another run stay, whatever the folder holds
// besides. first: the file of the folder that is written first; may_be: it may be there.
int xpcs_check_absent(const cli *c, const char *folder, const char *first, int may_be);
// The same for a command that has no folder without -o.
int xpcs_check_output(const cli *c, const char *first, int may_be);
// {schema, folder, result} on stdout; takes result, a text of the library.
int xpcs_print_json(cli *c, const char *schema, char *result);

// Writes the files of the job's fit, parameters first, into a folder.
int xpcs_write_results(cli *c, xpcs_job *j, const char *folder);

// --per-angle: every angle of the job's data fitted by itself, into a folder each, with a table and
// a page of all. What does not go with it is refused before.
int xpcs_check_per_angle(const cli *c, const xpcs_job *j);
int xpcs_fit_angles(cli *c, xpcs_job *j, const char *folder);

// Options of pictures of the model where none is drawn.
int xpcs_check_drawing(const cli *c);
// Pictures of the data at path, or of the model, where that is all that was asked for.
int xpcs_draw(cli *c, xpcs_job *j, const char *folder, const char *path);

// Options of sampling as keys of the configuration.
int xpcs_apply_draw_options(const cli *c, tess_xpcs_settings *file);
// With a fit alone they change nothing; the original says so, too.
void xpcs_warn_unused_draws(const cli *c);
// Options of a fit or a simulation that change nothing without another one.
void xpcs_warn_unused(const cli *c, const xpcs_job *j);
// A copy of a text that lasts; NULL: no memory.
typedef const char *xpcs_keep_fn(void *self, const char *text);
// Makes options of what a configuration says of sampling.
int xpcs_record_draws(const xpcs_job *j, cli_xpcs_values *v, xpcs_keep_fn *keep, void *self);
// How parts are joined.
void xpcs_combine_config(const xpcs_job *j, tess_xpcs_combine_config *config);
// Takes the options of sampling, which the configuration has been told already.
int xpcs_take_sampling(const cli *c, xpcs_job *j);
// "D0=10000:2000" of what neither default nor wide priors say; 0: nothing.
int xpcs_write_priors(FILE *file, const xpcs_job *j);

// --nlsq-result: where another fit ended is where this one starts.
int xpcs_take_warm_start(cli *c, xpcs_job *j);

// Says what sampling will take, with --dry-run.
int xpcs_announce_draws(cli *c, const xpcs_job *j);
// Samples around the fit of the job, writes folder/cmc, and what the report has of it.
int xpcs_sample(cli *c, xpcs_job *j, const char *folder);
// --shard K/N, checked.
int xpcs_take_shard(const cli *c, xpcs_job *j);
// Keeps the draws of one part, for --combine.
int xpcs_save_shard(cli *c, const xpcs_job *j, const char *folder);
// The draws of all parts that --combine names, joined.
int xpcs_combine_shards(cli *c, xpcs_job *j);

// Checkpoints of the draws lie in a folder of their own within those of the fit.
int xpcs_take_draws_checkpoints(const cli *c, xpcs_job *j);
void xpcs_forget_draws(cli *c, const xpcs_job *j);
void xpcs_print_draws(const xpcs_job *j);
// The last word: with --strict doubtful draws fail.
int xpcs_draws_verdict(const cli *c, const xpcs_job *j);

// What was planned: on stderr, with --dry-run on stdout.
int xpcs_announce(cli *c, xpcs_job *j);

// The facts on stdout, as lines or as one JSON object.
void xpcs_print_data(const tess_xpcs_data_info *info);
void xpcs_write_data(tess_json *json, const tess_xpcs_data_info *info);
int xpcs_print_fit(cli *c, const xpcs_job *j, const char *folder);
int xpcs_print_file(cli *c, const char *path, const tess_xpcs_file_info *info);

#endif
