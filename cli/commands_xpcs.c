// The commands of xpcs and their options.

#include "commands.h"

#include <tessera/xpcs.h>

// What is taken from a file, beside the scalars of table xpcs.data.
#define DATA_OPTIONS                                                                               \
    {"phi-ranges",                                                                                 \
     0,                                                                                            \
     OPT_TEXT,                                                                                     \
     AT(xpcs.phi_ranges),                                                                          \
     "LIST",                                                                                       \
     NULL,                                                                                         \
     "angles to take in degrees, such as -10:10,85:95; 170:-170 wraps"},                           \
        {"bad-frames",                                                                             \
         0,                                                                                        \
         OPT_TEXT,                                                                                 \
         AT(xpcs.bad_frames),                                                                      \
         "LIST",                                                                                   \
         NULL,                                                                                     \
         "frames to ignore, counted from 1"},                                                      \
        {"c2-path",                                                                                \
         0,                                                                                        \
         OPT_TEXT,                                                                                 \
         AT(xpcs.c2_path),                                                                         \
         "NAME",                                                                                   \
         NULL,                                                                                     \
         "data set of a file of unknown layout, (P,N,N) or (N,N); with --q, --phi and --dt"},      \
        {"phi", 0, OPT_TEXT, AT(xpcs.phi), "LIST", NULL, "angles of its matrices in degrees"},     \
        {"angles-last", 0, OPT_FLAG, AT(xpcs.angles_last), NULL, NULL, "it is (N,N,P)"},           \
        {"sigma-dataset",                                                                          \
         0,                                                                                        \
         OPT_TEXT,                                                                                 \
         AT(xpcs.sigma_dataset),                                                                   \
         "NAME",                                                                                   \
         NULL,                                                                                     \
         "data set with the standard deviation of every point"},                                   \
        {"cache",                                                                                  \
         0,                                                                                        \
         OPT_TEXT,                                                                                 \
         AT(xpcs.cache),                                                                           \
         "DIR",                                                                                    \
         NULL,                                                                                     \
         "keep what was read from HDF5 as .npz in this directory"},                                \
    {                                                                                              \
        "no-cache", 0, OPT_FLAG, AT(xpcs.no_cache), NULL, NULL, "neither read nor write a cache"   \
    }

static const opt_def data_options[] = {DATA_OPTIONS};

static const opt_def fit_options[] = {
    {"data-file", 0, OPT_TEXT, AT(xpcs.data_file), "FILE", NULL,
     "the data, instead of the operand or the configuration's file_path"},
    {"output-dir", 0, OPT_TEXT, AT(output), "DIR", NULL, "same as --output"},
    {"static-mode", 0, OPT_FLAG, AT(xpcs.static_mode), NULL, NULL,
     "same as --mode static_anisotropic"},
    {"laminar-flow", 0, OPT_FLAG, AT(xpcs.laminar_flow), NULL, NULL, "same as --mode laminar_flow"},
    {"method", 0, OPT_TEXT, AT(xpcs.method), NULL, "nlsq|cmc|both",
     "nlsq fits; sampling is not in this version"},
    {"max-iterations", 0, OPT_TEXT, AT(xpcs.max_iterations), "N", NULL,
     "most evaluations; same as --max-nfev"},
    {"tolerance", 0, OPT_TEXT, AT(xpcs.tolerance), "X", NULL, "sets ftol, xtol and gtol at once"},
    {"initial-d0", 0, OPT_TEXT, AT(xpcs.starts[0]), "X", NULL, "start of D0 in Å²/s"},
    {"initial-alpha", 0, OPT_TEXT, AT(xpcs.starts[1]), "X", NULL, "start of alpha"},
    {"initial-d-offset", 0, OPT_TEXT, AT(xpcs.starts[2]), "X", NULL, "start of D_offset in Å²/s"},
    {"initial-gamma-dot-t0", 0, OPT_TEXT, AT(xpcs.starts[3]), "X", NULL,
     "start of gamma_dot_t0 in 1/s"},
    {"initial-beta", 0, OPT_TEXT, AT(xpcs.starts[4]), "X", NULL, "start of beta"},
    {"initial-gamma-dot-offset", 0, OPT_TEXT, AT(xpcs.starts[5]), "X", NULL,
     "start of gamma_dot_t_offset in 1/s"},
    {"initial-phi0", 0, OPT_TEXT, AT(xpcs.starts[6]), "X", NULL, "start of phi0 in degrees"},
    {"fix", 0, OPT_TEXT, AT(xpcs.fixed), "LIST", NULL,
     "parameters that are not fitted, such as beta=0,phi0=2.5"},
    {"save-plots", 0, OPT_FLAG, AT(xpcs.save_plots), NULL, NULL,
     "draw measured, fitted and residual maps of every angle as PNG"},
    {"save-surfaces", 0, OPT_FLAG, AT(xpcs.save_surfaces), NULL, NULL,
     "write fitted_data.npz also beyond 1e7 points"},
    {"no-surfaces", 0, OPT_FLAG, AT(xpcs.no_surfaces), NULL, NULL, "write no fitted_data.npz"},
    {"output-format", 0, OPT_TEXT, AT(xpcs.output_format), NULL, "yaml|json|npz",
     "also write the summary homodyne_results.* in this format"},
    {"strict", 0, OPT_FLAG, AT(xpcs.strict), NULL, NULL,
     "exit with 1 if the fit did not converge or has warnings"},
    {"force-cpu", 0, OPT_FLAG, AT(xpcs.force_cpu), NULL, NULL, "same as --device cpu"},
    {"no-jit", 0, OPT_FLAG, AT(xpcs.no_jit), NULL, NULL,
     "accepted; nothing is compiled at run time"},
    DATA_OPTIONS,
};

static const opt_def simulate_options[] = {
    {"layout", 0, OPT_TEXT, AT(xpcs.layout), NULL, "aps-u|aps-legacy|txc2",
     "layout of the file (default aps-u, or txc2 by the name)"},
    {"filter", 0, OPT_TEXT, AT(xpcs.filter), NULL, "lzf|deflate|none",
     "compression of HDF5 files (default lzf)"},
    {"theta", 0, OPT_TEXT, AT(xpcs.theta), "LIST", NULL,
     "D0,alpha,D_offset[,gamma_dot_t0,beta,gamma_dot_t_offset,phi0] (default: published values)"},
    {"phi", 0, OPT_TEXT, AT(xpcs.phi), "LIST", NULL, "angles in degrees (default: -90 to 90)"},
    {"contrasts", 0, OPT_TEXT, AT(xpcs.contrasts), "LIST", NULL, "contrast of each angle"},
    {"offsets", 0, OPT_TEXT, AT(xpcs.offsets), "LIST", NULL, "offset of each angle"},
    {"bad-frames", 0, OPT_TEXT, AT(xpcs.bad_frames), "LIST", NULL,
     "frames that are NaN, counted from 1"},
};

static const opt_def config_options[] = {
    {"mode", 0, OPT_TEXT, AT(xpcs.mode), NULL,
     "static|static_isotropic|static_anisotropic|laminar_flow",
     "generate: for this analysis_mode (default laminar_flow)"},
    {"output", 'o', OPT_TEXT, AT(output), "FILE", NULL, "generate: write here"},
    {"force", 0, OPT_FLAG, AT(xpcs.force), NULL, NULL, "generate: replace the file if it exists"},
    {"minimal", 0, OPT_FLAG, AT(xpcs.minimal), NULL, NULL,
     "generate: only what every configuration needs"},
    {"lenient", 0, OPT_FLAG, AT(xpcs.lenient), NULL, NULL,
     "validate, show: unknown keys are warnings instead of errors"},
};

static const cli_command commands[] = {
    {.name = "xpcs fit",
     .operands = "[INPUT] [--config FILE]",
     .max_operand = 1,
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_REPORT,
     OWN_OPTIONS(fit_options),
     .params = {tess_xpcs_model_params, tess_xpcs_data_params, tess_xpcs_fit_params},
     .summary = "fit diffusion and shear to two-time correlations",
     .output = "folder of the results (default: the configuration's, else ./homodyne_results)",
     .examples = "tessera xpcs fit run42.hdf --gap 2e6 -o run42 --report run42.html\n"
                 "tessera xpcs fit --config homodyne_config.yaml --save-plots\n"
                 "tessera xpcs fit big.txc2 --gap 2e6 -o big --memory-limit 1G --checkpoint work "
                 "--resume\n",
     .run = cmd_xpcs_fit},
    {.name = "xpcs simulate",
     .operands = "-o FILE",
     .groups = CLI_ENGINE | CLI_OUTPUT,
     OWN_OPTIONS(simulate_options),
     .params = {tess_xpcs_simulation_params, tess_xpcs_model_params},
     .summary = "a file of correlations with known parameters",
     .output = "write the correlations here: .hdf, .h5 or .txc2",
     .examples = "tessera xpcs simulate -o run.hdf --mode static_anisotropic --n-frame 200\n"
                 "tessera xpcs simulate -o big.txc2 --n-angle 23 --n-frame 2000 --sigma 0.02\n",
     .run = cmd_xpcs_simulate},
    {.name = "xpcs inspect",
     .operands = "FILE",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE,
     .summary = "layout, bins, q and phi, and times of a file",
     .examples = "tessera xpcs inspect run42.hdf\n",
     .run = cmd_xpcs_inspect},
    {.name = "xpcs convert",
     .operands = "INPUT -o FILE",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE | CLI_OUTPUT,
     OWN_OPTIONS(data_options),
     .params = {tess_xpcs_model_params, tess_xpcs_data_params},
     .summary = "rewrite correlations as .txc2, which is fitted in constant memory",
     .output = "write the tiles here, .txc2",
     .examples = "tessera xpcs convert run42.hdf -o run42.txc2 --gap 2e6\n",
     .run = cmd_xpcs_convert},
    {.name = "xpcs plot",
     .operands = "INPUT -o DIR",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE | CLI_OUTPUT,
     OWN_OPTIONS(data_options),
     .params = {tess_xpcs_model_params, tess_xpcs_data_params},
     .summary = "draw the measured maps of a file",
     .output = "folder of the pictures",
     .examples = "tessera xpcs plot run42.hdf -o pictures\n",
     .run = cmd_xpcs_plot},
    {.name = "xpcs config",
     .operands = "generate|validate|show [FILE]",
     .min_operand = 1,
     .max_operand = 2,
     OWN_OPTIONS(config_options),
     .summary = "write, check or show a configuration in the schema of homodyne",
     .examples = "tessera xpcs config generate --mode laminar_flow -o run42.yaml\n"
                 "tessera xpcs config validate run42.yaml\n"
                 "tessera xpcs config show run42.yaml\n",
     .run = cmd_xpcs_config},
    {.name = "xpcs mcmc", .summary = "sample the posterior of a fit"},
};

const cli_command_list cli_xpcs_commands = {commands, COUNT(commands)};
