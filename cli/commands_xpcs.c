// The commands of xpcs and their options.

#include "commands.h"

#include <tessera/xpcs.h>

// What is taken from a file, beside the scalars of table xpcs.data.
#define SELECTION_OPTIONS                                                                          \
    TEXT("phi-ranges", xpcs.phi_ranges, "LIST",                                                    \
         "angles to take in degrees, such as -10:10,85:95; 170:-170 wraps"),                       \
        TEXT("data-filter", xpcs.data_filter, "LIST",                                              \
             "matrices to take: q=0.005:0.006,phi=-20:20,quality=0.8; any: one is enough; "        \
             "all-if-none: no error where nothing passes"),                                        \
        TEXT("bad-frames", xpcs.bad_frames, "LIST", "frames to ignore, counted from 1"),           \
        TEXT("c2-path", xpcs.c2_path, "NAME",                                                      \
             "data set of a file of unknown layout, (P,N,N) or (N,N); with --q, --phi and --dt"),  \
        TEXT("phi", xpcs.phi, "LIST", "angles of its matrices in degrees"),                        \
        FLAG("angles-last", xpcs.angles_last, "it is (N,N,P)"),                                    \
        TEXT("sigma-dataset", xpcs.sigma_dataset, "NAME",                                          \
             "data set with the standard deviation of every point")

// The same with a cache, for one file.
#define DATA_OPTIONS                                                                               \
    SELECTION_OPTIONS,                                                                             \
        PATH("cache", 0, xpcs.cache, PATH_INTO, NULL,                                              \
             "keep what was read from HDF5 as .npz in this directory"),                            \
        FLAG("no-cache", xpcs.no_cache, "neither read nor write a cache")

// A plain array needs a q that was given, and a sigma that was given is no guess.
#define TYPED "|q|sigma|"

// Choices of the original that change no picture here.
#define PLOT_OPTIONS                                                                               \
    CHOICE("plotting-backend", xpcs.plotting_backend, "auto|matplotlib|datashader",                \
           "accepted: pictures are drawn by the library"),                                         \
        FLAG("parallel-plots", xpcs.parallel_plots, "accepted: all threads draw")

static const opt_def data_options[] = {DATA_OPTIONS};

static const opt_def g2_options[] = {
    TEXT("windows", xpcs.windows, "N",
         "curves of N equal parts of the age, the mean of both times (default 1)"),
    TEXT("multi-tau", xpcs.multi_tau, "N",
         "lags 1 to 2 N one by one, then N bins of 2, N of 4, N of 8 .. frames (default: every "
         "lag)"),
    DATA_OPTIONS,
};

static const opt_def plot_options[] = {DATA_OPTIONS, PLOT_OPTIONS};

// Of --method cmc and both; those of the original that change nothing here say so.
#define SAMPLING_OPTIONS                                                                           \
    TEXT("n-samples", xpcs.n_samples, "N", "draws of each chain (default 1500)"),                  \
        TEXT("n-warmup", xpcs.n_warmup, "N",                                                       \
             "draws of each chain before, that learn the steps (default 500)"),                    \
        TEXT("n-chains", xpcs.n_chains, "N", "chains (default 4)"),                                \
        TEXT("target-accept", xpcs.target_accept, "X",                                             \
             "acceptance that steps are made for (default 0.85)"),                                 \
        TEXT("max-tree-depth", xpcs.max_tree_depth, "N",                                           \
             "doublings of a path at most (default 10)"),                                          \
        TEXT("max-attempts", xpcs.max_attempts, "N",                                               \
             "runs at most, while more than 5 % of the paths diverge (default 3)"),                \
        CHOICE("sampler", xpcs.sampler, "nuts|laplace|consensus",                                  \
               "NUTS on all data (default); at once from a normal at the maximum, weighed; or "    \
               "parts of the data by NUTS, combined"),                                             \
        CHOICE("surrogate", xpcs.surrogate, "auto|off|on",                                         \
               "a polynomial proposes, all data accept: exact, one evaluation a draw (default "    \
               "auto: where it is near enough)"),                                                  \
        CHOICE("modes", xpcs.modes, "on|off",                                                      \
               "look for hills at the other minima of the fit, and weigh them (default on)"),      \
        CHOICE("coords", xpcs.coords, "logit|upstream",                                            \
               "coordinates of the chains; the original's have priors of their own"),              \
        CHOICE("draw-scaling", xpcs.draw_scaling,                                                  \
               "fit|individual|averaged|constant|constant_averaged|auto",                          \
               "contrast and offset of the draws (default: as --scaling of the fit)"),             \
        CHOICE("priors", xpcs.priors, "wide|upstream",                                             \
               "so wide that the data decide (default), or the original's"),                       \
        TEXT("prior", xpcs.prior, "LIST",                                                          \
             "mean and standard deviation of priors, such as D0=1e4:2e3,contrast=0.3:0.1"),        \
        CHOICE("fit-priors", xpcs.fit_priors, "on|off",                                            \
               "priors around the fit, as use_nlsq_informed_priors: the data count twice "         \
               "(default off)"),                                                                   \
        TEXT("prior-width", xpcs.prior_width, "X",                                                 \
             "their width in standard deviations of the fit (default 2)"),                         \
        TEXT("temper", xpcs.temper, "X",                                                           \
             "priors to the power 1/X (default: the number of parts)"),                            \
        TEXT("noise-scale", xpcs.noise_scale, "X",                                                 \
             "noise of a point, of which 1.5 times is its prior's scale (default: estimated)"),    \
        TEXT("mcmc-seed", xpcs.mcmc_seed, "N", "seed of the chains (default: --seed)"),            \
        PATH("nlsq-result", 0, xpcs.nlsq_result, PATH_READ, NULL,                                  \
             "begin with the parameters of this folder of results, or parameters.json"),           \
        TEXT("shard", xpcs.shard, "K/N",                                                           \
             "sample part K of N of the data, for a job array; --combine joins the parts"),        \
        PATH("combine", 0, xpcs.combine, PATH_READ, NULL,                                          \
             "join the parts that --shard left in this folder of results"),                        \
        FLAG("no-nlsq-warmstart", xpcs.no_warmstart,                                               \
             "accepted: chains begin around the minimum, priors never know of it"),                \
        TEXT("cmc-num-shards", xpcs.num_shards, "N",                                               \
             "sample N parts of the data and combine them; auto (default): all data at once, "     \
             "which is exact"),                                                                    \
        TEXT("shard-points", xpcs.shard_points, "N", "the same by points of a part at most"),      \
        CHOICE("shard-strategy", xpcs.shard_strategy, "random|stratified|contiguous",              \
               "which points a part gets (default random)"),                                       \
        TEXT("shard-seed", xpcs.shard_seed, "N", "seed of random parts (default 42)"),             \
        CHOICE("combination", xpcs.combination, "consensus_mc|robust_consensus_mc",                \
               "join parts by full covariances (default), or as the original does"),               \
        TEXT("max-rhat", xpcs.max_rhat, "X", "parts with a larger R-hat drop out (default 1.1)"),  \
        TEXT("min-ess", xpcs.min_ess, "X",                                                         \
             "parts with fewer effective draws drop out (default 100)"),                           \
        TEXT("max-divergence", xpcs.max_divergence, "X",                                           \
             "parts with a larger share of diverged paths drop out (default 0.1)"),                \
        TEXT("min-success", xpcs.min_success, "X",                                                 \
             "share of parts that must be left (default 0.8; below half of it an error)"),         \
        TEXT("max-shard-distance", xpcs.max_shard_distance, "X",                                   \
             "most distance of parts in their own errors (default 10)"),                           \
        CHOICE("cmc-backend", xpcs.cmc_backend, "auto|pjit|multiprocessing|pbs",                   \
               "accepted: chains share every pass over the data"),                                 \
        FLAG("cmc-plot-diagnostics", xpcs.cmc_plot_diagnostics, "accepted: the report has them"),  \
        FLAG("dense-mass-matrix", xpcs.dense_mass, "accepted: it always is"),                      \
        TEXT("gpu-memory-fraction", xpcs.gpu_memory_fraction, "X",                                 \
             "accepted: see --device-memory-limit")

// How a fit is made, beside the scalars of table xpcs.fit.
#define FIT_OPTIONS                                                                                \
    FLAG("static-mode", xpcs.static_mode, "same as --mode static_anisotropic"),                    \
        FLAG("laminar-flow", xpcs.laminar_flow, "same as --mode laminar_flow"),                    \
        TEXT("max-iterations", xpcs.max_iterations, "N", "most evaluations; same as --max-nfev"),  \
        TEXT("tolerance", xpcs.tolerance, "X", "sets ftol, xtol and gtol at once"),                \
        TEXT("initial-d0", xpcs.starts[0], "X", "start of D0 in Å²/s"),                            \
        TEXT("initial-alpha", xpcs.starts[1], "X", "start of alpha"),                              \
        TEXT("initial-d-offset", xpcs.starts[2], "X", "start of D_offset in Å²/s"),                \
        TEXT("initial-gamma-dot-t0", xpcs.starts[3], "X", "start of gamma_dot_t0 in 1/s"),         \
        TEXT("initial-beta", xpcs.starts[4], "X", "start of beta"),                                \
        TEXT("initial-gamma-dot-offset", xpcs.starts[5], "X",                                      \
             "start of gamma_dot_t_offset in 1/s"),                                                \
        TEXT("initial-phi0", xpcs.starts[6], "X", "start of phi0 in degrees"),                     \
        TEXT("fix", xpcs.fixed, "LIST",                                                            \
             "parameters that are not fitted, such as beta=0,phi0=2.5"),                           \
        TEXT("bounds", xpcs.bounds, "LIST",                                                        \
             "how far parameters may go, such as phi0=-45:45,D0=1:1e7; equal bounds fix"),         \
        TEXT("x-scale", xpcs.x_scale, "LIST",                                                      \
             "what a step of a parameter is measured by, such as D0=1e4 (default: by the data)"),  \
        TEXT("contrasts", xpcs.contrasts, "LIST",                                                  \
             "start of every angle's contrast; its value with --scaling constant"),                \
        TEXT("offsets", xpcs.offsets, "LIST", "the same of offsets"),                              \
        FLAG("save-plots", xpcs.save_plots,                                                        \
             "draw measured, fitted and residual maps of every angle as PNG"),                     \
        FLAG("save-surfaces", xpcs.save_surfaces, "write fitted_data.npz also beyond 1e7 points"), \
        FLAG("no-surfaces", xpcs.no_surfaces, "write no fitted_data.npz"),                         \
        CHOICE("output-format", xpcs.output_format, "yaml|json|npz",                               \
               "also write the summary homodyne_results.* in this format"),                        \
        FLAG("force-cpu", xpcs.force_cpu, "same as --device cpu")

static const opt_def fit_options[] = {
    PATH("data-file", 0, xpcs.data_file, PATH_READ, NULL,
         "the data, instead of the operand or the configuration's file_path"),
    PATH("output-dir", 0, xpcs.output_dir, PATH_INTO, NULL, "same as --output"),
    CHOICE("method", xpcs.method, "nlsq|cmc|both",
           "nlsq fits, cmc samples the posterior around the fit, both writes both"),
    FIT_OPTIONS,
    FLAG("plot-experimental-data", xpcs.plot_experimental,
         "draw the measured maps and fit nothing; see tessera xpcs plot"),
    FLAG("plot-simulated-data", xpcs.plot_simulated,
         "draw maps of the model at the starts of the configuration, and fit nothing"),
    TEXT("contrast", xpcs.contrast, "X", "of these maps (default 0.3)"),
    TEXT("offset", xpcs.offset, "X", "of these maps (default 1)"),
    TEXT("phi-angles", xpcs.phi_angles, "LIST", "angles of these maps in degrees"),
    PLOT_OPTIONS,
    SAMPLING_OPTIONS,
    FLAG("per-angle", xpcs.per_angle,
         "fit every angle by itself: folders angle_001 .., per_angle.csv and per_angle.html"),
    FLAG("strict", xpcs.strict,
         "exit with 1 if the fit or the chains did not converge or have warnings"),
    FLAG("no-jit", xpcs.no_jit, "accepted; nothing is compiled at run time"),
    FLAG("version", xpcs.version, "print the version and stop"),
    DATA_OPTIONS,
};

static const opt_def watch_options[] = {
    TEXT("pattern", xpcs.pattern, "GLOB",
         "names of files to fit, such as 'A*_results.hdf' (default: those that end in .hdf, .h5, "
         ".hdf5, .nxs, .npz or .txc2)"),
    FLAG("once", xpcs.once, "fit what is there and not in the table yet, and end"),
    TEXT("poll", xpcs.poll, "S",
         "ask the folder this often, seconds; needed where other machines write (default 0.25)"),
    TEXT("settle", xpcs.settle, "S",
         "a file is complete that rested so long and can be read (default 0.3)"),
    TEXT("patience", xpcs.patience, "S",
         "a file that rests and cannot be fitted so long gets a row that says so (default 60)"),
    TEXT("alarm", xpcs.alarm, "LIST",
         "mark fits beyond bounds, such as D0>2e4,alpha_sd>0.1,reduced_chi2>3,quality=poor"),
    FIT_OPTIONS,
    DATA_OPTIONS,
};

static const opt_def joint_options[] = {
    TEXT("qs", xpcs.qs, "LIST",
         "q to take from every file in 1/Å, such as 0.004,0.006; all: every q of APS-U files "
         "(default: one of each, as --q says)"),
    TEXT("share", xpcs.share, "LIST",
         "parameters with one value for all members: all that are not named elsewhere"),
    TEXT("power", xpcs.power, "LIST",
         "parameters that are a power of q, value (q / q_ref)^n, such as D0; n is fitted"),
    TEXT("per-q", xpcs.per_q, "LIST", "parameters with a value for every member"),
    TEXT("q-ref", xpcs.q_ref, "X",
         "where powers of q have their value, 1/Å (default: geometric mean of the members' q)"),
    TEXT("fix", xpcs.fixed, "LIST", "parameters that are not fitted, such as beta=0,phi0=2.5"),
    TEXT("bounds", xpcs.bounds, "LIST",
         "how far parameters may go, such as phi0=-45:45,D0=1:1e7; equal bounds fix"),
    FLAG("strict", xpcs.strict, "exit with 1 if the fit did not converge or has warnings"),
    SELECTION_OPTIONS,
};

static const opt_def rates_options[] = {
    TEXT("knots", xpcs.knots, "N",
         "knots of each rate, 4 to 100 (default 20, or one per frame where those are fewer)"),
    CHOICE("shape", xpcs.shape, "smooth|monotone",
           "any smooth curve (default), or one that only falls or only rises"),
    CHOICE("spacing", xpcs.spacing, "auto|log|linear",
           "knots even in ln t, or in t (default auto: both, the larger evidence is shown)"),
    TEXT("smoothness", xpcs.smoothness, "auto|X",
         "weight of squared second differences; auto (default): by marginal likelihood"),
    TEXT("fix", xpcs.fixed, "LIST", "phi0 alone can stay as it is: phi0=2.5"),
    TEXT("bounds", xpcs.bounds, "LIST",
         "how far parameters of the power law may go, such as phi0=-45:45,D0=1:1e7"),
    DATA_OPTIONS,
};

static const opt_def simulate_options[] = {
    CHOICE("layout", xpcs.layout, "aps-u|aps-legacy|txc2",
           "layout of the file (default aps-u, or txc2 by the name)"),
    CHOICE("filter", xpcs.filter, "lzf|deflate|none", "compression of HDF5 files (default lzf)"),
    TEXT("theta", xpcs.theta, "LIST",
         "D0,alpha,D_offset[,gamma_dot_t0,beta,gamma_dot_t_offset,phi0] (default: published "
         "values)"),
    TEXT("phi", xpcs.phi, "LIST", "angles in degrees (default: -90 to 90)"),
    TEXT("contrasts", xpcs.contrasts, "LIST", "contrast of each angle"),
    TEXT("offsets", xpcs.offsets, "LIST", "offset of each angle"),
    TEXT("bad-frames", xpcs.bad_frames, "LIST", "frames that are NaN, counted from 1"),
};

static const opt_def compare_options[] = {
    HINTED("models", xpcs.models, "LIST", "static_isotropic|static_anisotropic|laminar_flow",
           "models to weigh (default static_isotropic,static_anisotropic,laminar_flow)"),
    DATA_OPTIONS,
};

static const opt_def inspect_options[] = {
    TEXT("c2-path", xpcs.c2_path, "NAME",
         "data set of a file of unknown layout, (P,N,N) or (N,N); with --q, --phi and --dt"),
    TEXT("q", xpcs.q, "X", "its scattering vector in 1/Å"),
    TEXT("phi", xpcs.phi, "LIST", "angles of its matrices in degrees"),
    TEXT("dt", xpcs.dt, "X", "its time between frames in s"),
    FLAG("angles-last", xpcs.angles_last, "it is (N,N,P)"),
};

static const opt_def config_options[] = {
    CHOICE("mode", xpcs.mode,
           "static|static_isotropic|static_anisotropic|laminar_flow|two_component|heterodyne",
           "generate: for this analysis_mode (default laminar_flow)"),
    PATH("output", 'o', output, PATH_WRITE, NULL, "generate: write here"),
    FLAG("force", overwrite, "generate: replace the file if it exists"),
    FLAG("minimal", xpcs.minimal, "generate: only what every configuration needs"),
    FLAG("lenient", xpcs.lenient, "validate, show: unknown keys are warnings instead of errors"),
};

// What a fit writes into its folder, pictures aside.
#define RESULT_NAMES                                                                               \
    "report.html|result.h5|homodyne_results.json|homodyne_results.yaml|homodyne_results.npz|"      \
    "nlsq/fitted_data.npz|"                                                                        \
    "nlsq/parameters.json|nlsq/analysis_results_nlsq.json|nlsq/convergence_metrics.json|"          \
    "cmc/parameters.json|cmc/diagnostics.json|cmc/analysis_results_cmc.json|cmc/samples.npz|"      \
    "cmc/inference_data.nc|cmc/fitted_data.npz|cmc/report.html|cmc/shard_*.npy|per_angle.csv|"     \
    "per_angle.html"

static const cli_command commands[] = {
    {.name = "xpcs fit",
     .operands = "[INPUT] [--config FILE]",
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_REPORT | CLI_RANKS,
     OWN_OPTIONS(fit_options),
     .typed = TYPED,
     .params = {tess_xpcs_model_params, tess_xpcs_data_params, tess_xpcs_fit_params},
     .summary = "fit diffusion and shear to two-time correlations",
     .output = "folder of the results (default: the configuration's, else ./homodyne_results)",
     .output_role = PATH_INTO,
     .output_names = RESULT_NAMES,
     .examples = "tessera xpcs fit run42.hdf --gap 2e6 -o run42 --report run42.html\n"
                 "tessera xpcs fit --config homodyne_config.yaml --save-plots\n"
                 "tessera xpcs fit big.txc2 --gap 2e6 -o big --memory-limit 1G --checkpoint work "
                 "--resume\n",
     .run = cmd_xpcs_fit},
    {.name = "xpcs mcmc",
     .operands = "[INPUT] [--config FILE]",
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_REPORT | CLI_RANKS,
     OWN_OPTIONS(fit_options),
     .typed = TYPED,
     .params = {tess_xpcs_model_params, tess_xpcs_data_params, tess_xpcs_fit_params},
     .summary = "fit, then draw from the exact posterior; same as xpcs fit --method cmc",
     .output = "folder of the results (default: the configuration's, else ./homodyne_results)",
     .output_role = PATH_INTO,
     .output_names = RESULT_NAMES,
     .examples = "tessera xpcs mcmc run42.hdf --gap 2e6 -o run42 --report draws.html\n"
                 "tessera xpcs mcmc --config homodyne_config.yaml --method both --n-samples 4000\n"
                 "tessera xpcs mcmc run43.hdf --gap 2e6 -o run43 --nlsq-result run42\n",
     .run = cmd_xpcs_fit},
    {.name = "xpcs watch",
     .operands = "FOLDER [--config FILE]",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_OUTPUT,
     OWN_OPTIONS(watch_options),
     .typed = TYPED,
     .params = {tess_xpcs_model_params, tess_xpcs_data_params, tess_xpcs_fit_params},
     .summary = "fit every file of a folder as soon as it is complete",
     .output = "folder of the table, the page and the results (default: as of xpcs fit)",
     .output_role = PATH_INTO,
     .output_names = "watch.csv|watch.html",
     .examples = "tessera xpcs watch /data/run7 --gap 2e6 --sigma-mode estimate -o live\n"
                 "tessera xpcs watch /data/run7 --config run7.yaml -o live "
                 "--alarm 'reduced_chi2>3,quality=poor'\n"
                 "tessera xpcs watch /data/run7 --gap 2e6 -o night --once\n",
     .run = cmd_xpcs_watch},
    {.name = "xpcs joint",
     .operands = "FILE... -o DIR",
     .min_operand = 1,
     .max_operand = CLI_ANY_OPERAND,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT,
     OWN_OPTIONS(joint_options),
     .typed = TYPED,
     .params = {tess_xpcs_model_params, tess_xpcs_data_params, tess_xpcs_fit_params},
     .summary = "fit several q or files at once, with parameters in common",
     .output = "folder of the results",
     .output_role = PATH_INTO,
     .output_names = "joint.json|joint.npz|joint.csv|report.html",
     .examples = "tessera xpcs joint run42.hdf --qs all --power D0 --gap 2e6 -o joint\n"
                 "tessera xpcs joint a.hdf b.hdf --qs 0.004,0.006 --per-q gamma_dot_t0 --gap 2e6 "
                 "-o joint\n",
     .run = cmd_xpcs_joint},
    {.name = "xpcs rates",
     .operands = "INPUT -o DIR",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_OUTPUT,
     OWN_OPTIONS(rates_options),
     .typed = TYPED,
     .params = {tess_xpcs_model_params, tess_xpcs_data_params, tess_xpcs_fit_params},
     .summary = "D(t) and shear rate of any shape, and whether a power law does",
     .output = "folder of the results",
     .output_role = PATH_INTO,
     .output_names = "rates.json|rates.npz|report.html",
     .examples = "tessera xpcs rates run42.hdf --gap 2e6 -o rates\n"
                 "tessera xpcs rates run42.hdf --config run42.yaml --shape monotone --knots 30 "
                 "-o rates\n",
     .run = cmd_xpcs_rates},
    {.name = "xpcs simulate",
     .operands = "-o FILE",
     .groups = CLI_ENGINE | CLI_OUTPUT,
     OWN_OPTIONS(simulate_options),
     .params = {tess_xpcs_simulation_params, tess_xpcs_model_params},
     .summary = "a file of correlations with known parameters",
     .output = "write the correlations here: .hdf, .h5 or .txc2",
     .output_endings = ".hdf|.h5|.hdf5|.txc2",
     .examples = "tessera xpcs simulate -o run.hdf --mode static_anisotropic --n-frame 200\n"
                 "tessera xpcs simulate -o big.txc2 --n-angle 23 --n-frame 2000 --sigma 0.02\n"
                 "tessera xpcs simulate -o photons.hdf --speckle --photons 0.2 --n-pixel 5000\n",
     .run = cmd_xpcs_simulate},
    {.name = "xpcs inspect",
     .operands = "FILE",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE,
     OWN_OPTIONS(inspect_options),
     .summary = "layout, bins, q and phi, and times of a file",
     .examples = "tessera xpcs inspect run42.hdf\n"
                 "tessera xpcs inspect ours.h5 --c2-path results/twotime --phi=-60,0,60 --q 0.01 "
                 "--dt 0.05\n",
     .run = cmd_xpcs_inspect},
    {.name = "xpcs convert",
     .operands = "INPUT -o FILE",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_OUTPUT,
     OWN_OPTIONS(data_options),
     .typed = TYPED,
     .params = {tess_xpcs_model_params, tess_xpcs_data_params},
     .summary = "rewrite correlations as .txc2, which is fitted in constant memory",
     .output = "write the tiles here, .txc2",
     .output_endings = ".txc2",
     .examples = "tessera xpcs convert run42.hdf -o run42.txc2 --gap 2e6\n",
     .run = cmd_xpcs_convert},
    {.name = "xpcs g2",
     .operands = "INPUT -o FILE",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_OUTPUT,
     OWN_OPTIONS(g2_options),
     .typed = TYPED,
     .params = {tess_xpcs_model_params, tess_xpcs_data_params},
     .summary = "one-time correlations g2(tau) of every angle, with errors",
     .output = "write the curves here, .csv or .npz",
     .output_endings = ".csv|.npz",
     .examples = "tessera xpcs g2 run42.hdf -o g2.csv --multi-tau 8\n"
                 "tessera xpcs g2 run42.hdf -o g2.npz --windows 4\n",
     .run = cmd_xpcs_g2},
    {.name = "xpcs plot",
     .operands = "INPUT -o DIR",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_OUTPUT,
     OWN_OPTIONS(plot_options),
     .typed = TYPED,
     .params = {tess_xpcs_model_params, tess_xpcs_data_params},
     .summary = "draw the measured maps of a file",
     .output = "folder of the pictures",
     .output_role = PATH_INTO,
     .output_names = "c2_heatmaps_phi_*.png",
     .examples = "tessera xpcs plot run42.hdf -o pictures\n",
     .run = cmd_xpcs_plot},
    {.name = "xpcs compare",
     .operands = "INPUT",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_OUTPUT | CLI_REPORT,
     OWN_OPTIONS(compare_options),
     .typed = TYPED,
     .params = {tess_xpcs_model_params, tess_xpcs_data_params, tess_xpcs_sample_params},
     .summary = "which model the data speak for, by marginal likelihood",
     .output = "write the table here, .json",
     .output_endings = ".json",
     .examples = "tessera xpcs compare run42.hdf --gap 2e6\n"
                 "tessera xpcs compare run42.hdf --models static_anisotropic,laminar_flow "
                 "--method laplace -o models.json --report models.html\n",
     .run = cmd_xpcs_compare},
    {.name = "xpcs config",
     .operands = "generate|validate|show [FILE]",
     .min_operand = 1,
     .max_operand = 2,
     .operand_roles = {PATH_NONE, PATH_READ},
     .operand_choices = "generate|validate|show",
     OWN_OPTIONS(config_options),
     .summary = "write, check or show a configuration in the schema of homodyne",
     .examples = "tessera xpcs config generate --mode laminar_flow -o run42.yaml\n"
                 "tessera xpcs config validate run42.yaml\n"
                 "tessera xpcs config show run42.yaml\n",
     .run = cmd_xpcs_config},
};

const cli_command_list cli_xpcs_commands = {commands, COUNT(commands)};
