// The commands of decode and their options.

#include "commands.h"

#include <tessera/decode.h>

#define WANT_OPTION                                                                                \
    TEXT("want", want, "LIST",                                                                     \
         "more to write besides posterior and state probabilities: filter, predictive, "           \
         "predictive-posterior, log-likelihood, path (the most likely path), separated by commas")
#define DTYPE_OPTION                                                                               \
    CHOICE("dtype", dtype, "f32|f64",                                                              \
           "type of the numbers in the result (default f64 in mode exact, else f32)")

#define INTERVALS_NAME_OPTION                                                                      \
    TEXT("intervals-name", intervals_name, "NAME",                                                 \
         "the table or group of --intervals, where the file has several")
#define INTERVALS_OPTION                                                                           \
    PATH("intervals", 0, intervals, PATH_READ, NULL,                                               \
         "decode only the time bins that begin in these intervals (.csv, .npz, .h5 or .nwb with "  \
         "start and end times), each interval as a sequence of its own")

#define GAP_OPTION                                                                                 \
    TEXT("position-max-gap", position_max_gap, "SECONDS",                                          \
         "take the animal as not tracked between position samples that are further apart "         \
         "(default: interpolate across any gap)")

#define COVARIATES_OPTION                                                                          \
    TEXT(                                                                                          \
        "covariates", covariates, "LIST",                                                          \
        "data sets of the recording, separated by commas, that transitions between states depend " \
        "on: a number for each time bin; 'em' learns how")
#define COVARIATES_FILE_OPTION                                                                     \
    PATH("covariates-file", 0, covariates_file, PATH_READ, NULL,                                   \
         "take the covariates from this file (.npz or .h5) instead of the recording")

static const opt_def decode_fit_options[] = {
    COVARIATES_OPTION,
    GAP_OPTION,
};
static const opt_def decode_run_options[] = {
    WANT_OPTION,
    DTYPE_OPTION,
    INTERVALS_OPTION,
    INTERVALS_NAME_OPTION,
    TEXT("verify", verify, "SHARE",
         "compute this share of the bins (such as 1%) again in exact mode and print the largest "
         "difference"),
    COVARIATES_OPTION,
    COVARIATES_FILE_OPTION,
    GAP_OPTION,
};
static const opt_def decode_predict_options[] = {
    PATH("model-file", 0, model_file, PATH_READ, NULL,
         "the model, as 'tessera decode fit' or 'em' wrote it"),
    WANT_OPTION,
    DTYPE_OPTION,
    INTERVALS_OPTION,
    INTERVALS_NAME_OPTION,
    COVARIATES_FILE_OPTION,
    GAP_OPTION,
};
static const opt_def decode_em_options[] = {
    PATH("model-file", 0, model_file, PATH_READ, NULL,
         "start from this model instead of fitting one"),
    COVARIATES_OPTION,
    COVARIATES_FILE_OPTION,
    GAP_OPTION,
};
static const opt_def decode_online_options[] = {
    PATH("model-file", 0, model_file, PATH_READ, NULL,
         "play to this model instead of fitting one to the recording"),
    FLAG("real-time", real_time,
         "hand spikes and positions over at their times; without it as fast as bins are closed"),
    COVARIATES_OPTION,
    COVARIATES_FILE_OPTION,
    GAP_OPTION,
};
static const opt_def decode_report_options[] = {
    PATH("recording", 0, recording, PATH_READ, NULL,
         "the recording the result was decoded from, for spikes and true position"),
};

static const opt_def decode_tune_options[] = {
    FLAG("dry-run", dry_run, "print the plan and stop"),
    GAP_OPTION,
};

static const opt_def decode_events_options[] = {
    PATH("model-file", 0, model_file, PATH_READ, NULL,
         "decode with this model instead of fitting one to the recording"),
    PATH("intervals", 0, intervals, PATH_READ, NULL,
         "take events from this table of start and end times (.csv, .npz, .h5 or .nwb) instead of "
         "finding them by the multi-unit rate"),
    INTERVALS_NAME_OPTION,
    PATH("result", 0, result, PATH_READ, NULL,
         "take events from this decoded result: where the states of --states are likely"),
    TEXT("states", states, "LIST",
         "states of --result that make an event, separated by commas (default: all that begin with "
         "Non-Local)"),
    TEXT(
        "kinds", kinds, "LIST",
        "what to shuffle: column, field, time, marks, spikes, units, separated by commas (default: "
        "column, field and time, and marks or, of sorted spikes, units)"),
    COVARIATES_OPTION,
    COVARIATES_FILE_OPTION,
    GAP_OPTION,
};

static const cli_command commands[] = {
    {.name = "decode run",
     .operands = "RECORDING",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_REPORT | CLI_RANKS,
     OWN_OPTIONS(decode_run_options),
     .params = {tess_decode_model_params, tess_decode_environment_params,
                tess_decode_encoding_params, tess_decode_detector_params,
                tess_decode_predict_params},
     .summary = "fit a model to a recording and decode position from its spikes",
     .output =
         "write the result here: .h5 or .nc, or a folder of .npy files (a name without suffix)",
     .output_role = PATH_RESULT,
     .output_endings = "|.h5|.hdf5|.hdf|.nc",
     .examples = "tessera decode run day.npz -o result.h5 --report result.html\n"
                 "tessera decode run day.nwb -o result.h5 --model non-local --mode bounded:1e-6\n"
                 "tessera decode run day.npz -o result.h5 --checkpoint work --resume\n",
     .run = cmd_decode_run},
    {.name = "decode fit",
     .operands = "RECORDING",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_OUTPUT,
     OWN_OPTIONS(decode_fit_options),
     .params = {tess_decode_model_params, tess_decode_environment_params,
                tess_decode_encoding_params, tess_decode_detector_params},
     .summary = "fit a model and keep it in a file",
     .output = "write the model here: .npz or .h5",
     .output_endings = CLI_BUNDLE_ENDINGS,
     .examples = "tessera decode fit run-epoch.npz -o model.npz\n",
     .run = cmd_decode_fit},
    {.name = "decode predict",
     .operands = "RECORDING",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_REPORT | CLI_RANKS,
     OWN_OPTIONS(decode_predict_options),
     .params = {tess_decode_predict_params},
     .summary = "decode a recording with a model from a file",
     .output =
         "write the result here: .h5 or .nc, or a folder of .npy files (a name without suffix)",
     .output_role = PATH_RESULT,
     .output_endings = "|.h5|.hdf5|.hdf|.nc",
     .examples = "tessera decode predict sleep-epoch.npz --model-file model.npz -o sleep.h5\n"
                 "tessera decode predict day.nwb --model-file model.npz --intervals ripples.csv "
                 "-o ripples.h5\n",
     .run = cmd_decode_predict},
    {.name = "decode em",
     .operands = "RECORDING",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT,
     OWN_OPTIONS(decode_em_options),
     .params = {tess_decode_model_params, tess_decode_environment_params,
                tess_decode_encoding_params, tess_decode_detector_params, tess_decode_em_params},
     .summary = "improve a model's transitions by expectation maximisation",
     .output = "write the model here: .npz or .h5",
     .output_endings = CLI_BUNDLE_ENDINGS,
     .examples = "tessera decode em day.npz -o model.npz --max-iterations 10\n"
                 "tessera decode em day.npz -o model.npz --checkpoint work --resume\n",
     .run = cmd_decode_em},
    {.name = "decode tune",
     .operands = "RECORDING",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_OUTPUT | CLI_REPORT,
     OWN_OPTIONS(decode_tune_options),
     .params = {tess_decode_tune_params, tess_decode_environment_params,
                tess_decode_encoding_params},
     .summary = "choose bandwidths by the likelihood of held-out spikes",
     .output = "write the choice here as a configuration file, for --config: .yaml or .json",
     .output_endings = ".yaml|.yml|.json",
     .examples = "tessera decode tune day.npz --report tune.html\n"
                 "tessera decode tune day.npz -o best.yaml\n"
                 "tessera decode run day.npz --config best.yaml -o result.h5\n",
     .run = cmd_decode_tune},
    {.name = "decode online",
     .operands = "RECORDING",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE,
     OWN_OPTIONS(decode_online_options),
     .params = {tess_decode_model_params, tess_decode_environment_params,
                tess_decode_encoding_params, tess_decode_detector_params,
                tess_decode_online_params},
     .summary = "play a recording to the online decoder and print its latencies",
     .examples = "tessera decode online day.npz --model-file model.npz --real-time\n"
                 "tessera decode online day.npz --learn window --learn-from-nothing --cpu 2\n",
     .run = cmd_decode_online},
    {.name = "decode events",
     .operands = "RECORDING",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_REPORT | CLI_RANKS,
     OWN_OPTIONS(decode_events_options),
     .params = {tess_decode_events_params, tess_decode_model_params, tess_decode_environment_params,
                tess_decode_encoding_params, tess_decode_detector_params},
     .summary = "find replay events, score them, and test them against shuffles",
     .output = "write the table of events here: .csv, or with posteriors .h5 or .npz",
     .output_endings = ".csv|.h5|.hdf5|.hdf|.npz",
     .examples = "tessera decode events day.npz -o events.csv --report events.html\n"
                 "tessera decode events day.npz --intervals ripples.csv --shuffles 5000 -o e.h5\n"
                 "tessera decode events day.npz --result day.h5 --kinds time,marks -o e.csv\n"
                 "tessera decode events day.npz -o e.csv --checkpoint work --resume\n",
     .run = cmd_decode_events},
    {.name = "decode simulate",
     .operands = "[SIZE] -o FILE",
     .max_operand = 1,
     .operand_roles = {PATH_NONE},
     .operand_option = "size",
     .groups = CLI_ENGINE | CLI_OUTPUT,
     .params = {tess_decode_simulate_params},
     .summary = "a recording of simulated spikes with known truth",
     .output = "write the recording here: .npz or .h5",
     .output_endings = CLI_BUNDLE_ENDINGS,
     .examples = "tessera decode simulate medium -o medium.npz\n"
                 "tessera decode simulate day-1d -o day.h5 --seed 7\n",
     .run = cmd_decode_simulate},
    {.name = "decode info",
     .operands = "FILE",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE,
     .summary =
         "what a recording, a model or a result of decode holds, and what it takes to decode",
     .examples = "tessera decode info day.nwb\n"
                 "tessera decode info model.npz --json\n",
     .run = cmd_decode_info},
    {.name = "decode report",
     .operands = "RESULT",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_OUTPUT,
     OWN_OPTIONS(decode_report_options),
     .params = {tess_decode_report_params},
     .summary = "a one-file HTML report of a decoded result",
     .output = "write the report here",
     .output_endings = CLI_ANY_ENDING,
     .examples =
         "tessera decode report result.h5 --recording day.npz -o result.html\n"
         "tessera decode report result.h5 --from 600 --to 660 --event-threshold 0.95 -o min.html\n",
     .run = cmd_decode_report},
};

const cli_command_list cli_decode_commands = {commands, COUNT(commands)};
