// What the options of the command line hold, but for those of parameter tables.
#ifndef TESSERA_CLI_VALUES_H
#define TESSERA_CLI_VALUES_H

// Parameters whose start the command line may give.
enum { CLI_XPCS_STARTS = 7 };

// Options of the xpcs commands that are not in a parameter table.
typedef struct cli_xpcs_values {
    int has_config; // one of the original was given: Tessera's own files say nothing
    int static_mode;
    int laminar_flow;
    int save_plots;
    int plot_experimental;
    int plot_simulated;
    int parallel_plots;
    int save_surfaces;
    int no_surfaces;
    int no_cache;
    int angles_last;
    int strict;
    int per_angle;
    int force_cpu;
    int no_jit;
    int version;
    int lenient;
    int minimal;
    const char *method;
    const char *data_file;
    const char *output_dir;
    const char *max_iterations;
    const char *tolerance;
    const char *starts[CLI_XPCS_STARTS];
    const char *fixed;
    const char *bounds;
    const char *x_scale;
    const char *output_format;
    const char *phi_ranges;
    const char *data_filter;
    const char *plotting_backend;
    const char *contrast; // of pictures of the model
    const char *offset;
    const char *phi_angles;
    const char *bad_frames;
    const char *c2_path;
    const char *q;  // of inspect, which has no tables
    const char *dt; // likewise
    const char *phi;
    const char *cache;
    const char *sigma_dataset;
    const char *theta;
    const char *contrasts;
    const char *offsets;
    const char *layout;
    const char *filter;
    const char *mode;    // of a template
    const char *models;  // to compare
    const char *windows; // of g2
    const char *multi_tau;
    // Of a watch.
    int once;
    const char *pattern;
    const char *poll;
    const char *settle;
    const char *patience;
    const char *alarm;
    // Of sampling.
    int cmc_plot_diagnostics;
    int no_warmstart;
    int dense_mass;
    const char *n_samples;
    const char *n_warmup;
    const char *n_chains;
    const char *num_shards;
    const char *cmc_backend;
    const char *nlsq_result;
    const char *target_accept;
    const char *max_tree_depth;
    const char *priors;
    const char *prior; // of single parameters
    const char *noise_scale;
    const char *mcmc_seed;
    const char *max_attempts;
    const char *sampler;
    const char *surrogate;
    const char *modes;
    const char *coords;
    const char *fit_priors;
    const char *prior_width;
    const char *temper;
    const char *draw_scaling;
    const char *shard_points;
    const char *shard_strategy;
    const char *shard_seed;
    const char *combination;
    const char *max_rhat;
    const char *min_ess;
    const char *max_divergence;
    const char *min_success;
    const char *max_shard_distance;
    const char *shard;
    const char *combine;
    const char *gpu_memory_fraction;
    // Of joint fits.
    const char *share;
    const char *power;
    const char *per_q;
    const char *q_ref;
    const char *qs;
    // Of rates of any shape.
    const char *knots;
    const char *shape;
    const char *spacing;
    const char *smoothness;
} cli_xpcs_values;

// Options of the clifford commands that are not in a parameter table.
typedef struct cli_clifford_values {
    int terms;
    const char *signature;
    const char *product;
    const char *operation;
    const char *batch;
    const char *features;
    const char *seconds;
    const char *peer;
} cli_clifford_values;

// Options of a study of autoreject that are not in a parameter table.
typedef struct cli_study_values {
    const char *subjects;
    const char *sessions;
    const char *tasks;
    const char *acquisitions;
    const char *runs;
    const char *datatypes;
} cli_study_values;

// Options of 'try' that are not in its parameter table.
typedef struct cli_try_values {
    int twice;
    int html;
    const char *only;
    const char *original_python;
} cli_try_values;

// Options of 'slurm' and 'pbs' that are not in their parameter table.
typedef struct cli_batch_values {
    int per_subject;
    const char *job_name;
    const char *time;
    const char *partition;
    const char *account;
    const char *each;
    const char *work;
} cli_batch_values;

// Options that are not in a parameter table. Absent ones are 0 or NULL.
typedef struct cli_values {
    int help;
    int json;
    int quiet;
    int verbose;
    int overwrite;
    int resume;
    int no_progress;
    int profile;
    int dry_run;
    int real_time;
    int allow_truncated;
    int benchmark;
    int list;
    int paths;
    int origin;
    int all;
    int markdown;
    int man;
    const char *device;
    const char *isa;
    const char *checkpoint;
    const char *scratch;
    const char *report;
    const char *trace;
    const char *progress;
    const char *output;
    const char *config;
    const char *log_file;
    const char *log_json;
    const char *werror;
    const char *no_warn;
    const char *moved; // of rerun: OLD=NEW, separated by commas
    const char *dataset;
    const char *dir;
    const char *model_file;
    const char *recording;
    const char *intervals;
    const char *intervals_name;
    const char *position_max_gap;
    const char *covariates;
    const char *covariates_file;
    const char *result;
    const char *states;
    const char *kinds;
    const char *want;
    const char *dtype;
    const char *verify;
    const char *baseline;
    const char *bads;
    const char *consensus;
    const char *event;
    const char *events;
    const char *log;
    const char *montage;
    const char *n_interpolate;
    const char *picks;
    const char *positions;
    const char *save_model;
    const char *stim;
    const char *thresholds;
    const char *types;
    const char *use_log;
    cli_xpcs_values xpcs;
    cli_clifford_values clifford;
    cli_study_values study;
    cli_try_values try_script;
    cli_batch_values batch;
} cli_values;

#endif
