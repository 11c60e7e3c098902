// The table of keys, in the order in which templates and documents show them.
#include "systems/xpcs/settings/schema.h"

#include <float.h>
#include <stddef.h>

#define AT(field) ((uint32_t)offsetof(tess_xpcs_settings_info, field))

// Rows of the parameter tables.
#define MODEL(key, name, bits)                                                                     \
    {                                                                                              \
        .path = key, .table = tess_xpcs_model_params, .param = name, .offset = AT(model),          \
        .flags = (bits)                                                                            \
    }
#define DATA(key, name, bits)                                                                      \
    {                                                                                              \
        .path = key, .table = tess_xpcs_data_params, .param = name, .offset = AT(data),            \
        .flags = (bits)                                                                            \
    }
#define FIT(key, name, bits)                                                                       \
    {                                                                                              \
        .path = key, .table = tess_xpcs_fit_params, .param = name, .offset = AT(fit),              \
        .flags = (bits)                                                                            \
    }
// The same with a meaning, or an example for templates, of its own.
#define MODEL_AS(key, name, bits, text, shown)                                                     \
    {                                                                                              \
        .path = key, .table = tess_xpcs_model_params, .param = name, .offset = AT(model),          \
        .flags = (bits), .help = text, .example = shown                                            \
    }
#define FIT_AS(key, name, bits, text, shown)                                                       \
    {                                                                                              \
        .path = key, .table = tess_xpcs_fit_params, .param = name, .offset = AT(fit),              \
        .flags = (bits), .help = text, .example = shown                                            \
    }

// Rows of their own.
#define ROW(key, kind, role, bits, where, low, high, words, of, text, shown)                       \
    {                                                                                              \
        key, kind, role, bits, where, NULL, NULL, low, high, words, of, text, shown                \
    }
#define TEXT(key, bits, where, text, shown)                                                        \
    ROW(key, TESS_XP_TEXT, TESS_XP_USED, bits, where, 0, 0, NULL, "", text, shown)
#define FLAG(key, bits, where, text, shown)                                                        \
    ROW(key, TESS_XP_BOOL, TESS_XP_USED, bits, where, 0, 1, NULL, "", text, shown)
#define KEPT(key, kind, low, high, text)                                                           \
    ROW(key, kind, TESS_XP_KEPT, TESS_XP_NULL, TESS_XP_NOWHERE, low, high, NULL, "", text, NULL)
#define SAMPLING(key, kind, bits, low, high, text)                                                 \
    ROW(key, kind, TESS_XP_SAMPLING, (bits) | TESS_XP_NULL, TESS_XP_NOWHERE, low, high, NULL, "",  \
        text, NULL)
#define IGNORED(key, text)                                                                         \
    ROW(key, TESS_XP_ANY, TESS_XP_NO_EFFECT, TESS_XP_NULL, TESS_XP_NOWHERE, 0, 0, NULL, "", text,  \
        NULL)

#define NOWHERE TESS_XP_NOWHERE

static const char why_documentation[] = "for people";
static const char why_jax[] = "of the original's array library";
static const char why_exact[] = "the fit is exact at any size and needs no such tuning";
static const char why_scaling[] = "contrast and offset are eliminated in closed form instead";
static const char why_file[] = "the layout of the file is recognised";
static const char why_plots[] = "figures follow their own rules";

static const tess_xp_setting rows[] = {
    KEPT("metadata.config_version", TESS_XP_TEXT, 0, 0,
         "version of the original the file was written for"),
    KEPT("metadata.description", TESS_XP_TEXT, 0, 0, "free text"),
    IGNORED("metadata.**", why_documentation),

    ROW("analysis_mode", TESS_XP_CHOICE, TESS_XP_USED, TESS_XP_HELD | TESS_XP_MINIMAL, NOWHERE, 0,
        0, "static_isotropic|static_anisotropic|static|laminar_flow", "",
        "diffusion with one contrast and offset for all angles, with one for each (static means "
        "this), or with shear flow",
        NULL),

    MODEL_AS("analyzer_parameters.dt", "dt", TESS_XP_NULL | TESS_XP_POSITIVE | TESS_XP_MINIMAL,
             "time between frames of the correlation (frame time, stride and averaging together); "
             "compared with the file's, which is taken where this is missing",
             "0.1"),
    DATA("analyzer_parameters.start_frame", "start_frame", TESS_XP_MINIMAL),
    DATA("analyzer_parameters.end_frame", "end_frame", TESS_XP_MINIMAL),
    DATA("analyzer_parameters.scattering.wavevector_q", "q", TESS_XP_POSITIVE | TESS_XP_MINIMAL),
    DATA("analyzer_parameters.scattering.q_max_deviation", "q_max_deviation", 0),
    DATA("analyzer_parameters.scattering.q_tolerance_fraction", "q_tolerance", 0),
    MODEL_AS("analyzer_parameters.geometry.stator_rotor_gap", "gap",
             TESS_XP_NULL | TESS_XP_POSITIVE | TESS_XP_MINIMAL,
             "gap between stator and rotor (200 µm are 2000000 Å); needed for laminar_flow",
             "2000000"),
    MODEL_AS("analyzer_parameters.temporal.dt", "dt",
             TESS_XP_NULL | TESS_XP_POSITIVE | TESS_XP_SPELLING,
             "the same as analyzer_parameters.dt", NULL),
    DATA("analyzer_parameters.temporal.start_frame", "start_frame", TESS_XP_SPELLING),
    DATA("analyzer_parameters.temporal.end_frame", "end_frame", TESS_XP_SPELLING),
    IGNORED("analyzer_parameters.temporal.frame_interval", "every frame is taken"),
    IGNORED("analyzer_parameters.geometry.beam_size", NULL),
    IGNORED("analysis_settings.**", why_documentation),

    TEXT("experimental_data.file_path", TESS_XP_NULL | TESS_XP_HELD | TESS_XP_MINIMAL, NOWHERE,
         "the data file; a relative name is looked for in the working directory, then beside the "
         "configuration",
         "data.hdf"),
    TEXT("experimental_data.data_folder_path", TESS_XP_NULL | TESS_XP_HELD, NOWHERE,
         "folder of data_file_name, where there is no file_path", "./data"),
    TEXT("experimental_data.data_file_name", TESS_XP_NULL | TESS_XP_HELD, NOWHERE,
         "the data file in data_folder_path", "data.hdf"),
    TEXT("experimental_data.cache_file_path", TESS_XP_NULL, AT(data.cache_folder),
         "folder for what was read from slow files; without it there is no cache", "./cache"),
    TEXT("experimental_data.cache_filename_template", TESS_XP_NULL | TESS_XP_HELD, NOWHERE,
         "name of the cache; ${wavevector_q}, ${start_frame} and ${end_frame} are filled in",
         "cached_c2_frames_${start_frame}_${end_frame}.npz"),
    KEPT("experimental_data.cache_compression", TESS_XP_BOOL, 0, 1, "caches are always compressed"),
    FLAG("experimental_data.no_cache", 0, AT(data.no_cache), "neither read nor write a cache",
         NULL),
    ROW("experimental_data.bad_frames", TESS_XP_INTS, TESS_XP_USED, TESS_XP_NULL | TESS_XP_HELD,
        NOWHERE, 1, 1e9, NULL, "",
        "frames of the file, counted from 1, whose rows and columns are left out", "[17, 18]"),
    TEXT("experimental_data.c2_path", TESS_XP_NULL, AT(data.c2_path),
         "data set of a file of unknown layout", "/my/c2"),
    ROW("experimental_data.phi_angles", TESS_XP_REALS, TESS_XP_USED, TESS_XP_NULL | TESS_XP_HELD,
        NOWHERE, -360, 360, NULL, "degrees", "angles of its matrices", "[0, 45, 90]"),
    FLAG("experimental_data.angles_last", 0, AT(data.angles_last),
         "its last index counts the angles", NULL),
    IGNORED("experimental_data.phi_angles_path", "angles come with the data"),
    IGNORED("experimental_data.phi_angles_file", "angles come with the data"),
    IGNORED("experimental_data.phi_angles_manual", "angles come with the data"),
    IGNORED("experimental_data.preprocessing.**", "the diagonal is always interpolated"),
    IGNORED("experimental_data.data_type", why_file),
    IGNORED("experimental_data.file_format", why_file),
    IGNORED("experimental_data.exchange_key", why_file),
    IGNORED("experimental_data.result_folder_path", "results go to output.directory"),

    FLAG("phi_filtering.enabled", TESS_XP_HELD, NOWHERE, "take the angles of target_ranges alone",
         "false"),
    ROW("phi_filtering.target_ranges[].min_angle", TESS_XP_REAL, TESS_XP_USED, TESS_XP_HELD,
        NOWHERE, -720, 720, NULL, "degrees",
        "first angle of a range, inclusive; above max_angle the range wraps through 180", NULL),
    ROW("phi_filtering.target_ranges[].max_angle", TESS_XP_REAL, TESS_XP_USED, TESS_XP_HELD,
        NOWHERE, -720, 720, NULL, "degrees", "last angle, inclusive", NULL),
    KEPT("phi_filtering.target_ranges[].description", TESS_XP_TEXT, 0, 0, "free text"),
    DATA("phi_filtering.fallback_to_all_angles", "fallback_all", 0),
    DATA("phi_filtering.quality_control.min_angles_required", "min_angles", 0),
    IGNORED("phi_filtering.quality_control.max_angle_spread", NULL),
    IGNORED("phi_filtering.quality_control.validate_coverage", "coverage is always looked at"),
    IGNORED("phi_filtering.quality_control.require_orthogonal_angles",
            "coverage is always looked at"),
    IGNORED("phi_filtering.laminar_flow_ranges.**", "target_ranges says it"),
    IGNORED("phi_filtering.algorithm", NULL),
    IGNORED("phi_filtering.tolerance", "ranges are taken as they stand"),
    FLAG("data_filtering.enabled", TESS_XP_HELD, NOWHERE,
         "not in this version: true is an error; use phi_filtering, frames and bad_frames",
         "false"),
    IGNORED("data_filtering.**", NULL),

    ROW("initial_parameters.parameter_names", TESS_XP_NAMES, TESS_XP_USED,
        TESS_XP_NULL | TESS_XP_HELD, NOWHERE, 0, 0, NULL, "", "order of values", NULL),
    ROW("initial_parameters.values", TESS_XP_REALS, TESS_XP_USED, TESS_XP_NULL | TESS_XP_HELD,
        NOWHERE, -DBL_MAX, DBL_MAX, NULL, "",
        "where the fit starts; null finds a start from the data", NULL),
    ROW("initial_parameters.values.*", TESS_XP_REAL, TESS_XP_USED,
        TESS_XP_NULL | TESS_XP_HELD | TESS_XP_SPELLING, NOWHERE, -DBL_MAX, DBL_MAX, NULL, "",
        "the start of one parameter by its name", NULL),
    ROW("initial_parameters.per_angle_scaling.contrast", TESS_XP_REALS, TESS_XP_USED,
        TESS_XP_NULL | TESS_XP_HELD, NOWHERE, -DBL_MAX, DBL_MAX, NULL, "",
        "contrast of every angle: the start, or the value of constant scaling", NULL),
    ROW("initial_parameters.per_angle_scaling.offset", TESS_XP_REALS, TESS_XP_USED,
        TESS_XP_NULL | TESS_XP_HELD, NOWHERE, -DBL_MAX, DBL_MAX, NULL, "",
        "the same for the offset", NULL),
    ROW("initial_parameters.active_parameters", TESS_XP_NAMES, TESS_XP_USED,
        TESS_XP_NULL | TESS_XP_HELD, NOWHERE, 0, 0, NULL, "",
        "parameters to fit; the others stay at their start", "[D0, alpha]"),
    ROW("initial_parameters.fixed_parameters.*", TESS_XP_REAL, TESS_XP_USED,
        TESS_XP_NULL | TESS_XP_HELD, NOWHERE, -DBL_MAX, DBL_MAX, NULL, "",
        "a parameter that stays at this value", NULL),
    IGNORED("initial_parameters.units", why_documentation),
    IGNORED("parameter_space.model", "analysis_mode says it"),
    ROW("parameter_space.bounds[].name", TESS_XP_TEXT, TESS_XP_USED, TESS_XP_HELD, NOWHERE, 0, 0,
        NULL, "", "whose bounds these are: a parameter, contrast or offset", NULL),
    ROW("parameter_space.bounds[].min", TESS_XP_REAL, TESS_XP_USED, TESS_XP_HELD, NOWHERE, -DBL_MAX,
        DBL_MAX, NULL, "", "least value; equal to max it fixes the parameter", NULL),
    ROW("parameter_space.bounds[].max", TESS_XP_REAL, TESS_XP_USED, TESS_XP_HELD, NOWHERE, -DBL_MAX,
        DBL_MAX, NULL, "", "largest value", NULL),
    SAMPLING("parameter_space.bounds[].type", TESS_XP_TEXT, 0, 0, 0, "kind of the prior"),
    SAMPLING("parameter_space.bounds[].prior_mu", TESS_XP_REAL, 0, -DBL_MAX, DBL_MAX,
             "mean of the prior"),
    SAMPLING("parameter_space.bounds[].prior_sigma", TESS_XP_REAL, TESS_XP_POSITIVE, 0, DBL_MAX,
             "standard deviation of the prior"),
    KEPT("parameter_space.bounds[].unit", TESS_XP_TEXT, 0, 0, "free text"),
    KEPT("parameter_space.bounds[].description", TESS_XP_TEXT, 0, 0, "free text"),
    SAMPLING("parameter_space.priors.*.dist_type", TESS_XP_TEXT, 0, 0, 0, "kind of the prior"),
    SAMPLING("parameter_space.priors.*.mu", TESS_XP_REAL, 0, -DBL_MAX, DBL_MAX, "its mean"),
    SAMPLING("parameter_space.priors.*.sigma", TESS_XP_REAL, TESS_XP_POSITIVE, 0, DBL_MAX,
             "its standard deviation"),
    SAMPLING("parameter_space.priors.*.min_val", TESS_XP_REAL, 0, -DBL_MAX, DBL_MAX,
             "its least value"),
    SAMPLING("parameter_space.priors.*.max_val", TESS_XP_REAL, 0, -DBL_MAX, DBL_MAX,
             "its largest value"),

    MODEL("model.shear_kernel", "kernel", 0),
    MODEL_AS("model.exclude_t0", "keep_t0", TESS_XP_NEGATED, "drop the frame at time zero", NULL),
    DATA("model.exclude_lags", "exclude_lags", 0),
    MODEL("model.compat_eps", "compat_eps", 0),
    FIT("model.counting", "counting", 0),
    FIT("model.sigma.mode", "sigma_mode", 0),
    FIT_AS("model.sigma.value", "sigma", TESS_XP_NULL | TESS_XP_POSITIVE, NULL, "0.02"),
    TEXT("model.sigma.dataset", TESS_XP_NULL, AT(data.sigma_dataset),
         "data set with the standard deviation of every point, for mode dataset", "/my/sigma"),

    ROW("optimization.method", TESS_XP_CHOICE, TESS_XP_USED, TESS_XP_HELD, NOWHERE, 0, 0,
        "nlsq|mcmc|cmc|both|vi|hybrid|auto", "",
        "nlsq is a least-squares fit; the others sample, which is not in this version", "nlsq"),
    FIT_AS("optimization.nlsq.max_iterations", "max_nfev", TESS_XP_NULL | TESS_XP_POSITIVE,
           "most evaluations; without it 100 per free parameter", "1000"),
    FIT("optimization.nlsq.tolerance", "ftol", TESS_XP_POSITIVE),
    FIT("optimization.nlsq.ftol", "ftol", TESS_XP_POSITIVE | TESS_XP_SPELLING),
    FIT("optimization.nlsq.xtol", "xtol", TESS_XP_POSITIVE),
    FIT("optimization.nlsq.gtol", "gtol", TESS_XP_POSITIVE),
    FIT("optimization.nlsq.loss", "loss", 0),
    FIT("optimization.nlsq.f_scale", "f_scale", 0),
    FIT("optimization.nlsq.precision", "precision", 0),
    FIT("optimization.nlsq.uncertainty", "uncertainty", 0),
    FIT("optimization.nlsq.n_bootstrap", "n_bootstrap", 0),
    FIT("optimization.nlsq.block_frames", "block_frames", 0),
    FIT("optimization.nlsq.absolute_sigma", "absolute_sigma", 0),
    FIT("optimization.nlsq.compat_xtol", "compat_xtol", 0),
    FIT("optimization.nlsq.shear_weights", "shear_weights", 0),
    ROW("optimization.nlsq.x_scale_map.*", TESS_XP_REAL, TESS_XP_USED,
        TESS_XP_NULL | TESS_XP_HELD | TESS_XP_POSITIVE, NOWHERE, 0, DBL_MAX, NULL, "",
        "scale of one parameter by its name; without it the Jacobian's", NULL),
    ROW("optimization.nlsq.memory_fraction", TESS_XP_REAL, TESS_XP_USED,
        TESS_XP_NULL | TESS_XP_HELD | TESS_XP_POSITIVE, NOWHERE, 0, 1, NULL, "",
        "share of the machine's memory to use, where no limit is given", "0.75"),
    ROW("optimization.nlsq.memory_threshold_gb", TESS_XP_REAL, TESS_XP_USED,
        TESS_XP_NULL | TESS_XP_HELD | TESS_XP_POSITIVE, NOWHERE, 0, 1e6, NULL, "GiB",
        "the same as an amount", "16"),
    FIT("optimization.nlsq.anti_degeneracy.per_angle_mode", "scaling", TESS_XP_HELD),
    FIT("optimization.nlsq.anti_degeneracy.constant_scaling_threshold",
        "constant_scaling_threshold", 0),
    FIT("optimization.nlsq.anti_degeneracy.fourier_order", "fourier_order", 0),
    FLAG("optimization.nlsq.multi_start.enable", TESS_XP_HELD, NOWHERE,
         "several starts on all of the data; without it minima are searched on part of them",
         "false"),
    FIT_AS("optimization.nlsq.multi_start.n_starts", "n_start", TESS_XP_HELD,
           "how many, where that is enabled", "12"),
    FIT("optimization.nlsq.multi_start.seed", "seed", TESS_XP_NULL),
    FIT("optimization.nlsq.multi_start.screen_keep_fraction", "screen_keep", TESS_XP_POSITIVE),
    FLAG("optimization.nlsq.multi_start.use_screening", TESS_XP_HELD, NOWHERE,
         "false fits every start to the end", "true"),
    FIT("optimization.nlsq.multi_start.refine_top_k", "refine_top", 0),
    FIT("optimization.nlsq.multi_start.degeneracy_threshold", "degeneracy_threshold", 0),
    IGNORED("optimization.nlsq.multi_start.sampling_strategy", "a Latin hypercube"),
    IGNORED("optimization.nlsq.multi_start.n_workers", "all threads work on each start"),
    IGNORED("optimization.nlsq.multi_start.refinement_ftol", NULL),
    IGNORED("optimization.nlsq.multi_start.subsample_size", "no point is ever left out"),
    IGNORED("optimization.nlsq.multi_start.warmup_only_threshold", why_exact),
    IGNORED("optimization.nlsq.multi_start.custom_starts",
            "initial_parameters.values is a start, too"),
    FLAG("optimization.nlsq.cmaes.enable", TESS_XP_HELD, NOWHERE,
         "read as a search from 32 starts, which takes its place", "false"),
    IGNORED("optimization.nlsq.cmaes.**", "multi_start takes its place"),
    FLAG("optimization.nlsq.quality_validation.enable", TESS_XP_HELD, NOWHERE,
         "false leaves the warning about chi2 out", "true"),
    FIT("optimization.nlsq.quality_validation.reduced_chi_squared_threshold", "chi2_threshold",
        TESS_XP_POSITIVE),
    KEPT("optimization.nlsq.quality_validation.bounds_tolerance", TESS_XP_REAL, 0, 1,
         "parameters at a bound are told by the solver"),
    IGNORED("optimization.nlsq.quality_validation.warn_on_max_restarts", "every warning is given"),
    IGNORED("optimization.nlsq.quality_validation.warn_on_bounds_hit", "every warning is given"),
    IGNORED("optimization.nlsq.quality_validation.warn_on_convergence_failure",
            "every warning is given"),
    IGNORED("optimization.nlsq.enabled", "optimization.method says it"),
    IGNORED("optimization.nlsq.method", "a trust region with bounds"),
    IGNORED("optimization.nlsq.workflow", why_exact),
    IGNORED("optimization.nlsq.goal", why_exact),
    IGNORED("optimization.nlsq.trust_region_scale", why_exact),
    IGNORED("optimization.nlsq.verbose", "logging.level says it"),
    IGNORED("optimization.nlsq.progress.**", NULL),
    IGNORED("optimization.nlsq.diagnostics.**", NULL),
    IGNORED("optimization.nlsq.hybrid_streaming.**", why_exact),
    IGNORED("optimization.nlsq.recovery.**", why_exact),
    IGNORED("optimization.nlsq.shear_transforms.**", "parameters are scaled by the Jacobian"),
    IGNORED("optimization.nlsq.anti_degeneracy.enable", why_scaling),
    IGNORED("optimization.nlsq.anti_degeneracy.fourier_auto_threshold", why_scaling),
    IGNORED("optimization.nlsq.anti_degeneracy.hierarchical.**", why_scaling),
    IGNORED("optimization.nlsq.anti_degeneracy.regularization.**", why_scaling),
    IGNORED("optimization.nlsq.anti_degeneracy.gradient_monitoring.**", why_scaling),
    IGNORED("optimization.nlsq.anti_degeneracy.shear_weighting.**",
            "optimization.nlsq.shear_weights turns weights on"),
    FLAG("optimization.streaming.enable_checkpoints", TESS_XP_HELD, NOWHERE,
         "keep checkpoints of long fits", "false"),
    TEXT("optimization.streaming.checkpoint_dir", TESS_XP_NULL | TESS_XP_HELD, NOWHERE,
         "their folder; without any key of this group there are none", "./checkpoints"),
    FIT("optimization.streaming.checkpoint_frequency", "checkpoint_iterations", 0),
    FLAG("optimization.streaming.resume_from_checkpoint", 0, AT(fit.resume),
         "continue from a checkpoint of this very fit", NULL),
    ROW("optimization.streaming.keep_last_checkpoints", TESS_XP_INT, TESS_XP_USED, 0,
        AT(fit.keep_checkpoints), 1, 1000, NULL, "", "checkpoints to keep", NULL),
    FLAG("optimization.streaming.enable_fault_tolerance", TESS_XP_HELD, NOWHERE,
         "false stops at the first read that fails", "true"),
    FIT("optimization.streaming.max_retries_per_batch", "max_retries", 0),
    FIT("optimization.streaming.min_success_rate", "min_success_rate", 0),
    FIT("optimization.streaming.on_bad_chunk", "bad_chunk", 0),
    ROW("optimization.streaming.batch_size", TESS_XP_INT, TESS_XP_USED,
        TESS_XP_NULL | TESS_XP_AUTO | TESS_XP_HELD, NOWHERE, 1, 1e12, NULL, "points",
        "points worked on at a time; changes no bit of the result", "100000"),
    FIT("optimization.streaming.fast_mode", "fast", 0),
    IGNORED("optimization.streaming.validate_numerics", "always, unless fast_mode"),
    IGNORED("optimization.streaming.adaptive_batching", why_exact),
    IGNORED("optimization.streaming.max_epochs", why_exact),
    IGNORED("optimization.lsq.**", "of version 2.1; optimization.nlsq took its place"),
    IGNORED("optimization.stratification.**", "any part of the data may lack any angle"),
    IGNORED("optimization.sequential.**", "all angles are fitted together"),
    IGNORED("optimization.recovery.**", why_exact),
    SAMPLING("optimization.mcmc.num_warmup", TESS_XP_INT, TESS_XP_POSITIVE, 0, 1e9,
             "draws that adapt the sampler"),
    SAMPLING("optimization.mcmc.num_samples", TESS_XP_INT, TESS_XP_POSITIVE, 0, 1e9,
             "draws to keep"),
    SAMPLING("optimization.mcmc.num_chains", TESS_XP_INT, TESS_XP_POSITIVE, 0, 1e6, "chains"),
    SAMPLING("optimization.mcmc.target_accept_prob", TESS_XP_REAL, TESS_XP_POSITIVE, 0, 1,
             "acceptance to adapt to"),
    SAMPLING("optimization.mcmc.max_tree_depth", TESS_XP_INT, TESS_XP_POSITIVE, 0, 64,
             "doublings of a trajectory"),
    SAMPLING("optimization.mcmc.dense_mass", TESS_XP_BOOL, 0, 0, 1, "full mass matrix"),
    SAMPLING("optimization.mcmc.dense_mass_matrix", TESS_XP_BOOL, 0, 0, 1, "the same"),
    SAMPLING("optimization.mcmc.seed", TESS_XP_INT, 0, 0, 4294967295.0, "seed"),
    SAMPLING("optimization.mcmc.**", TESS_XP_ANY, 0, 0, 0, "more of the sampler"),
    SAMPLING("optimization.cmc.enable", TESS_XP_BOOL, TESS_XP_AUTO, 0, 1,
             "sample shards of the data"),
    SAMPLING("optimization.cmc.sharding.strategy", TESS_XP_TEXT, 0, 0, 0, "how the data are cut"),
    SAMPLING("optimization.cmc.sharding.num_shards", TESS_XP_INT, TESS_XP_AUTO | TESS_XP_POSITIVE,
             0, 1e9, "shards"),
    SAMPLING("optimization.cmc.sharding.max_points_per_shard", TESS_XP_INT,
             TESS_XP_AUTO | TESS_XP_POSITIVE, 0, 1e15, "points of a shard"),
    SAMPLING("optimization.cmc.prior_tempering", TESS_XP_BOOL, 0, 0, 1,
             "widen priors by the number of shards"),
    SAMPLING("optimization.cmc.combination.method", TESS_XP_TEXT, 0, 0, 0,
             "how shards are combined"),
    SAMPLING("optimization.cmc.combination.min_success_rate", TESS_XP_REAL, 0, 0, 1,
             "least share of good shards"),
    SAMPLING("optimization.cmc.validation.max_per_shard_rhat", TESS_XP_REAL, TESS_XP_POSITIVE, 0,
             DBL_MAX, "largest R-hat"),
    SAMPLING("optimization.cmc.validation.min_per_shard_ess", TESS_XP_REAL, 0, 0, DBL_MAX,
             "least effective sample size"),
    SAMPLING("optimization.cmc.validation.max_divergence_rate", TESS_XP_REAL, 0, 0, 1,
             "largest share of divergences"),
    SAMPLING("optimization.cmc.**", TESS_XP_ANY, 0, 0, 0, "more of consensus sampling"),
    SAMPLING("optimization.vi.**", TESS_XP_ANY, 0, 0, 0, "variational inference of old versions"),
    SAMPLING("optimization.hybrid.**", TESS_XP_ANY, 0, 0, 0, "the same, then sampling"),

    FIT("performance.strategy_override", "strategy", TESS_XP_NULL),
    ROW("performance.memory_limit_gb", TESS_XP_REAL, TESS_XP_USED,
        TESS_XP_NULL | TESS_XP_AUTO | TESS_XP_HELD | TESS_XP_POSITIVE, NOWHERE, 0, 1e6, NULL, "GiB",
        "memory to stay below; HOMODYNE_MEMORY_LIMIT in the environment wins", "8"),
    TEXT("performance.device", TESS_XP_NULL, AT(device), "cpu, cuda, cuda:1 or auto", "auto"),
    ROW("performance.computation.cpu_threads", TESS_XP_INT, TESS_XP_USED,
        TESS_XP_NULL | TESS_XP_AUTO, AT(n_thread), 1, 1024, NULL, "",
        "threads to use; auto takes all there are", "4"),
    FIT("performance.chunk_tiles", "chunk_tiles", 0),
    TEXT("performance.device.preferred_device", TESS_XP_NULL | TESS_XP_HELD | TESS_XP_SPELLING,
         NOWHERE, "the same as performance.device; gpu means cuda", NULL),
    IGNORED("performance.device.gpu_memory_fraction", NULL),
    IGNORED("performance.performance_engine_enabled", why_exact),
    IGNORED("performance.enable_progress", NULL),
    IGNORED("performance.computation.**", why_jax),
    IGNORED("performance.memory_optimization.**", why_exact),
    IGNORED("performance.io_optimization.**", why_exact),
    IGNORED("performance.subsampling.**", "no point is ever left out"),

    FLAG("plotting.save_plots", TESS_XP_NULL, AT(save_plots), "write figures", "true"),
    KEPT("plotting.format", TESS_XP_TEXT, 0, 0, "figures are PNG and in the HTML report"),
    KEPT("plotting.dpi", TESS_XP_INT, 1, 1e6, "figures have a pixel per point"),
    IGNORED("plotting.show_plots", "nothing is shown on the screen"),
    IGNORED("plotting.style", why_plots),
    IGNORED("plotting.preview_mode", why_plots),
    IGNORED("plotting.fit_surface", why_plots),
    IGNORED("plotting.color_scale.**", why_plots),
    IGNORED("plotting.datashader.**", why_plots),
    IGNORED("plotting.matplotlib.**", why_plots),
    IGNORED("plotting.correlation_function", why_plots),
    IGNORED("plotting.fit_quality", why_plots),
    IGNORED("plotting.parameter_distributions", why_plots),
    IGNORED("plotting.residual_analysis", why_plots),
    IGNORED("plotting.angle_coverage", why_plots),
    IGNORED("plotting.angle_correlation", why_plots),
    IGNORED("plotting.shear_rate_evolution", why_plots),
    IGNORED("plotting.flow_direction_analysis", why_plots),
    IGNORED("plotting.parameter_correlations", why_plots),
    IGNORED("plotting.angle_dependence", why_plots),
    IGNORED("plotting.time_evolution", why_plots),

    TEXT("output.directory", TESS_XP_NULL, AT(output_folder), "folder of the results", "./results"),
    TEXT("output.base_directory", TESS_XP_NULL | TESS_XP_HELD, NOWHERE,
         "the same, where there is no directory", "./homodyne_results"),
    IGNORED("output.formats.**", "JSON, NPZ and HDF5 are written on demand"),
    IGNORED("output.plots.**", why_plots),
    IGNORED("output.reports.**", why_plots),
    IGNORED("output.create_subdirs", NULL),
    IGNORED("output.timestamp_dirs", NULL),
    IGNORED("output.compress_hdf5", NULL),
    IGNORED("output.compression_level", NULL),
    ROW("logging.level", TESS_XP_CHOICE, TESS_XP_USED, TESS_XP_NULL | TESS_XP_HELD, NOWHERE, 0, 0,
        "ERROR|WARNING|INFO|DEBUG|CRITICAL", "", "what is said while working", "INFO"),
    IGNORED("logging.**", NULL),
    IGNORED("noise_estimation.**", "model.sigma.mode estimate takes its place"),
    IGNORED("quality_control.**", "data are always checked"),
    IGNORED("validation.**", "configurations are always checked"),
    IGNORED("hardware.**", NULL),
    IGNORED("advanced.**", NULL),
    IGNORED("v2_features.**", NULL),
};

const tess_xp_setting *tess_xp_settings_rows(int64_t *n)
{
    *n = sizeof rows / sizeof *rows;
    return rows;
}
