// The table of commands and of the options they share.

#include "cli.h"

#include <tessera/autoreject.h>
#include <tessera/decode.h>

#include <string.h>

#define AT(field) offsetof(cli_values, field)
#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))
#define OWN_OPTIONS(array) .options = (array), .n_option = COUNT(array)

static const opt_def output_options[] = {
    {"output", 'o', OPT_TEXT, AT(output), "FILE", NULL,
     "write the result here; the format follows the name: .npy, .npz, .h5"},
    {"overwrite", 0, OPT_FLAG, AT(overwrite), NULL, NULL, "replace files that exist"},
};

static const opt_def input_options[] = {
    {"dataset", 0, OPT_TEXT, AT(dataset), "NAME", NULL,
     "member or path inside the input file; needed when there are several"},
    {"allow-truncated", 0, OPT_FLAG, AT(allow_truncated), NULL, NULL,
     "use the whole epochs of a file that ends too early"},
};

static const opt_def report_options[] = {
    {"report", 0, OPT_TEXT, AT(report), "FILE", NULL, "write a one-file HTML report"},
};

static const opt_def engine_options[] = {
    {"device", 0, OPT_TEXT, AT(device), "NAME", NULL, "cpu, cuda, cuda:1 or auto"},
    {"isa", 0, OPT_TEXT, AT(isa), "NAME", NULL,
     "instruction set of the CPU kernels; 'tessera sysinfo' lists them"},
    {"config", 0, OPT_TEXT, AT(config), "FILE", NULL, "read settings from a YAML or JSON file"},
    {"profile", 0, OPT_FLAG, AT(profile), NULL, NULL,
     "print time, bandwidth and share of the measured peak per stage"},
    {"trace", 0, OPT_TEXT, AT(trace), "FILE", NULL, "write a Chrome trace"},
    {"log-file", 0, OPT_TEXT, AT(log_file), "FILE", NULL, "append the log to this file"},
};

static const opt_def run_options[] = {
    {"checkpoint", 0, OPT_TEXT, AT(checkpoint), "DIR", NULL,
     "keep finished work in this directory"},
    {"resume", 0, OPT_FLAG, AT(resume), NULL, NULL,
     "continue from --checkpoint DIR if it holds this run"},
    {"dry-run", 0, OPT_FLAG, AT(dry_run), NULL, NULL, "print the plan and stop"},
    {"progress", 0, OPT_MAYBE_TEXT, AT(progress), NULL, "auto|bar|plain|json|none",
     "how to show progress on stderr; auto draws a bar on a terminal only"},
    {"no-progress", 0, OPT_FLAG, AT(no_progress), NULL, NULL, "same as --progress=none"},
};

static const opt_def json_options[] = {
    {"json", 0, OPT_FLAG, AT(json), NULL, NULL, "print one JSON object on stdout"},
};

static const opt_def talk_options[] = {
    {"verbose", 'v', OPT_COUNT, AT(verbose), NULL, NULL, "say more; -vv says everything"},
    {"quiet", 'q', OPT_FLAG, AT(quiet), NULL, NULL, "say nothing but errors"},
    {"help", 'h', OPT_FLAG, AT(help), NULL, NULL, "print this help"},
};

static const opt_def device_options[] = {
    {"benchmark", 0, OPT_FLAG, AT(benchmark), NULL, NULL,
     "measure bandwidth and floating-point ceilings"},
};
static const opt_def sysinfo_options[] = {
    {"paths", 0, OPT_FLAG, AT(paths), NULL, NULL, "include file system paths"},
};
static const opt_def show_options[] = {
    {"origin", 0, OPT_FLAG, AT(origin), NULL, NULL, "say where each value came from"},
};
static const opt_def demo_options[] = {
    {"dir", 0, OPT_TEXT, AT(dir), "DIR", NULL, "where to write (default ./tessera-demo)"},
};
static const opt_def help_options[] = {
    {"all", 0, OPT_FLAG, AT(all), NULL, NULL, "print the help of every command"},
    {"markdown", 0, OPT_FLAG, AT(markdown), NULL, NULL, "with --all: as Markdown"},
};

#define WANT_OPTION                                                                                \
    {                                                                                              \
        "want", 0, OPT_TEXT, AT(want), "LIST", NULL,                                               \
            "more to write besides posterior and state probabilities: filter, predictive, "        \
            "predictive-posterior, log-likelihood, separated by commas"                            \
    }
#define DTYPE_OPTION                                                                               \
    {                                                                                              \
        "dtype", 0, OPT_TEXT, AT(dtype), NULL, "f32|f64",                                          \
            "type of the numbers in the result (default f32)"                                      \
    }

static const opt_def decode_run_options[] = {
    WANT_OPTION,
    DTYPE_OPTION,
    {"verify", 0, OPT_TEXT, AT(verify), "SHARE", NULL,
     "compute this share of the bins (such as 1%) again in exact mode and print the largest "
     "difference"},
};
static const opt_def decode_predict_options[] = {
    {"model-file", 0, OPT_TEXT, AT(model_file), "FILE", NULL,
     "the model, as 'tessera decode fit' or 'em' wrote it"},
    WANT_OPTION,
    DTYPE_OPTION,
};
static const opt_def decode_em_options[] = {
    {"model-file", 0, OPT_TEXT, AT(model_file), "FILE", NULL,
     "start from this model instead of fitting one"},
};
static const opt_def decode_report_options[] = {
    {"recording", 0, OPT_TEXT, AT(recording), "FILE", NULL,
     "the recording the result was decoded from, for spikes and true position"},
};

// How epochs are taken from a file.
#define EPOCHS_OPTIONS                                                                             \
    {"picks",                                                                                      \
     0,                                                                                            \
     OPT_TEXT,                                                                                     \
     AT(picks),                                                                                    \
     "LIST",                                                                                       \
     NULL,                                                                                         \
     "channels by name or type, separated by commas (default: all that can be solved)"},           \
        {"bads", 0, OPT_TEXT, AT(bads), "LIST", NULL, "channels to mark bad besides the file's"},  \
        {"montage",                                                                                \
         0,                                                                                        \
         OPT_TEXT,                                                                                 \
         AT(montage),                                                                              \
         "FILE",                                                                                   \
         NULL,                                                                                     \
         "positions by channel name, or 1005 for the geometric 10-05 rule"},                       \
        {"types",                                                                                  \
         0,                                                                                        \
         OPT_TEXT,                                                                                 \
         AT(types),                                                                                \
         "LIST",                                                                                   \
         NULL,                                                                                     \
         "types by name where the file is wrong, such as eog=HEOG,VEOG;misc=Aux1"},                \
        {"events",                                                                                 \
         0,                                                                                        \
         OPT_TEXT,                                                                                 \
         AT(events),                                                                               \
         "FILE",                                                                                   \
         NULL,                                                                                     \
         "events of a continuous recording: -eve.fif, .txt, .tsv or .npy"},                        \
        {"event", 0, OPT_TEXT, AT(event), "LIST", NULL, "names or codes of the events to keep"},   \
        {"stim", 0, OPT_TEXT, AT(stim), "NAME", NULL, "the trigger channel"},                      \
        {"baseline",                                                                               \
         0,                                                                                        \
         OPT_TEXT,                                                                                 \
         AT(baseline),                                                                             \
         "A,B",                                                                                    \
         NULL,                                                                                     \
         "seconds whose mean is subtracted, such as -0.2,0; or none"},                             \
    {                                                                                              \
        "dataset", 0, OPT_TEXT, AT(dataset), "NAME", NULL,                                         \
            "member or path inside .npz and HDF5 files"                                            \
    }

#define GRID_OPTIONS                                                                               \
    {"consensus",                                                                                  \
     0,                                                                                            \
     OPT_TEXT,                                                                                     \
     AT(consensus),                                                                                \
     "LIST",                                                                                       \
     NULL,                                                                                         \
     "fractions of bad channels to try (default 0,0.1,...,1)"},                                    \
        {"n-interpolate",                                                                          \
         0,                                                                                        \
         OPT_TEXT,                                                                                 \
         AT(n_interpolate),                                                                        \
         "LIST",                                                                                   \
         NULL,                                                                                     \
         "numbers of repaired channels to try (default 1,4,32)"},                                  \
    {                                                                                              \
        "log", 0, OPT_TEXT, AT(log), "FILE", NULL, "write the reject log here, .npz"               \
    }

static const opt_def autoreject_epochs_options[] = {EPOCHS_OPTIONS};
static const opt_def autoreject_fit_options[] = {EPOCHS_OPTIONS, GRID_OPTIONS};
static const opt_def autoreject_fit_transform_options[] = {
    EPOCHS_OPTIONS,
    GRID_OPTIONS,
    {"save-model", 0, OPT_TEXT, AT(save_model), "FILE", NULL, "write the model here, .json"},
};
static const opt_def autoreject_transform_options[] = {
    {"model", 'm', OPT_TEXT, AT(model_file), "FILE", NULL,
     "the model, as 'tessera autoreject fit' wrote it"},
    {"use-log", 0, OPT_TEXT, AT(use_log), "FILE", NULL,
     "repair and drop by this reject log, such as an edited one"},
    {"log", 0, OPT_TEXT, AT(log), "FILE", NULL, "write the reject log here, .npz"},
    EPOCHS_OPTIONS,
};
static const opt_def autoreject_simulate_options[] = {
    {"positions", 0, OPT_TEXT, AT(positions), "FILE", NULL,
     "write names and positions of the electrodes here, a montage as CSV"},
};
static const opt_def autoreject_curve_options[] = {
    {"thresholds", 0, OPT_TEXT, AT(thresholds), "LIST", NULL, "values to try, separated by commas"},
    EPOCHS_OPTIONS,
};

static const cli_command commands[] = {
    {.name = "autoreject fit",
     .operands = "INPUT",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_REPORT,
     OWN_OPTIONS(autoreject_fit_options),
     .params = {tess_autoreject_fit_params, tess_autoreject_epochs_params},
     .summary = "learn thresholds, consensus and number of repairs from epochs",
     .output = "write the model here, .json",
     .examples = "tessera autoreject fit subject-epo.fif -o model.json --report fit.html\n"
                 "tessera autoreject fit rest.edf --montage 1005 --window 2 -o model.json\n"
                 "tessera autoreject fit big.npz -o model.json --memory-limit 4G --checkpoint work "
                 "--resume\n",
     .run = cmd_autoreject_fit},
    {.name = "autoreject transform",
     .operands = "INPUT -m MODEL -o FILE",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_REPORT,
     OWN_OPTIONS(autoreject_transform_options),
     .params = {tess_autoreject_transform_params, tess_autoreject_epochs_params},
     .summary = "repair bad channels and leave out bad epochs by a model",
     .output =
         "write the repaired epochs here; the format follows the name: .fif, .fif.gz, .npy, .npz",
     .examples = "tessera autoreject transform subject-epo.fif -m model.json -o clean-epo.fif\n",
     .run = cmd_autoreject_transform},
    {.name = "autoreject fit-transform",
     .operands = "INPUT -o FILE",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_REPORT,
     OWN_OPTIONS(autoreject_fit_transform_options),
     .params = {tess_autoreject_fit_params, tess_autoreject_transform_params,
                tess_autoreject_epochs_params},
     .summary = "fit, then transform the same epochs",
     .output =
         "write the repaired epochs here; the format follows the name: .fif, .fif.gz, .npy, .npz",
     .examples = "tessera autoreject fit-transform subject-epo.fif -o clean-epo.fif --report "
                 "clean.html\n",
     .run = cmd_autoreject_fit_transform},
    {.name = "autoreject thresholds",
     .operands = "INPUT",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE | CLI_OUTPUT,
     OWN_OPTIONS(autoreject_epochs_options),
     .params = {tess_autoreject_fit_params, tess_autoreject_epochs_params},
     .summary = "one peak-to-peak threshold per channel",
     .output = "write the thresholds here, a model as .json",
     .examples = "tessera autoreject thresholds subject-epo.fif --n-split 100\n",
     .run = cmd_autoreject_thresholds},
    {.name = "autoreject global",
     .operands = "INPUT",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE,
     OWN_OPTIONS(autoreject_epochs_options),
     .params = {tess_autoreject_overall_params, tess_autoreject_epochs_params},
     .summary = "one threshold per channel type, for MNE's reject=",
     .examples = "tessera autoreject global subject-epo.fif --json\n",
     .run = cmd_autoreject_global},
    {.name = "autoreject validation-curve",
     .operands = "INPUT",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE,
     OWN_OPTIONS(autoreject_curve_options),
     .params = {tess_autoreject_overall_params, tess_autoreject_epochs_params},
     .summary = "scores of given global thresholds by cross-validation",
     .examples = "tessera autoreject validation-curve subject-epo.fif --thresholds "
                 "40e-6,80e-6,160e-6\n",
     .run = cmd_autoreject_validation_curve},
    {.name = "autoreject ransac",
     .operands = "INPUT",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE,
     OWN_OPTIONS(autoreject_epochs_options),
     .params = {tess_autoreject_ransac_params, tess_autoreject_epochs_params},
     .summary = "channels that are bad over the whole recording",
     .examples = "tessera autoreject ransac subject-epo.fif\n",
     .run = cmd_autoreject_ransac},
    {.name = "autoreject info",
     .operands = "INPUT",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE,
     OWN_OPTIONS(autoreject_epochs_options),
     .params = {tess_autoreject_epochs_params},
     .summary = "channels, types, positions and epochs of a recording",
     .examples = "tessera autoreject info subject-epo.fif\n",
     .run = cmd_autoreject_info},
    {.name = "autoreject ptp",
     .operands = "INPUT",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_INPUT | CLI_REPORT,
     .params = {tess_autoreject_ptp_params},
     .summary = "peak-to-peak amplitude of every channel of every epoch",
     .examples = "tessera autoreject ptp epochs.npy -o ptp.npy --report ptp.html\n"
                 "tessera autoreject ptp big.h5 --dataset /epochs -o ptp.npy --memory-limit 256M\n"
                 "tessera autoreject ptp big.npy -o ptp.npy --checkpoint work --resume\n",
     .run = cmd_autoreject_ptp},
    {.name = "autoreject simulate",
     .operands = "-o FILE",
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT,
     OWN_OPTIONS(autoreject_simulate_options),
     .params = {tess_autoreject_simulate_params},
     .summary = "EEG-like epochs with artifacts, for trials and tests",
     .examples = "tessera autoreject simulate -o epochs.npy\n"
                 "tessera autoreject simulate -o epochs.npy --epochs 1000 --positions head.csv\n",
     .run = cmd_autoreject_simulate},
    {.name = "decode run",
     .operands = "RECORDING",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_REPORT,
     OWN_OPTIONS(decode_run_options),
     .params = {tess_decode_model_params, tess_decode_environment_params,
                tess_decode_encoding_params, tess_decode_detector_params,
                tess_decode_predict_params},
     .summary = "fit a model to a recording and decode position from its spikes",
     .examples = "tessera decode run day.npz -o result.h5 --report result.html\n"
                 "tessera decode run day.nwb -o result.h5 --model non-local --mode bounded:1e-6\n"
                 "tessera decode run day.npz -o result.h5 --checkpoint work --resume\n",
     .run = cmd_decode_run},
    {.name = "decode fit",
     .operands = "RECORDING",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE | CLI_OUTPUT,
     .params = {tess_decode_model_params, tess_decode_environment_params,
                tess_decode_encoding_params, tess_decode_detector_params},
     .summary = "fit a model and keep it in a file",
     .examples = "tessera decode fit run-epoch.npz -o model.npz\n",
     .run = cmd_decode_fit},
    {.name = "decode predict",
     .operands = "RECORDING",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_REPORT,
     OWN_OPTIONS(decode_predict_options),
     .params = {tess_decode_predict_params},
     .summary = "decode a recording with a model from a file",
     .examples = "tessera decode predict sleep-epoch.npz --model-file model.npz -o sleep.h5\n",
     .run = cmd_decode_predict},
    {.name = "decode em",
     .operands = "RECORDING",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE | CLI_OUTPUT,
     OWN_OPTIONS(decode_em_options),
     .params = {tess_decode_model_params, tess_decode_environment_params,
                tess_decode_encoding_params, tess_decode_detector_params, tess_decode_em_params},
     .summary = "improve a model's transitions by expectation maximisation",
     .examples = "tessera decode em day.npz -o model.npz --max-iterations 10\n",
     .run = cmd_decode_em},
    {.name = "decode simulate",
     .operands = "[SIZE] -o FILE",
     .max_operand = 1,
     .groups = CLI_ENGINE | CLI_OUTPUT,
     .params = {tess_decode_simulate_params},
     .summary = "a recording of simulated spikes with known truth",
     .examples = "tessera decode simulate medium -o medium.npz\n"
                 "tessera decode simulate day-1d -o day.h5 --seed 7\n",
     .run = cmd_decode_simulate},
    {.name = "decode report",
     .operands = "RESULT",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_ENGINE | CLI_OUTPUT,
     OWN_OPTIONS(decode_report_options),
     .summary = "a one-file HTML report of a decoded result",
     .examples = "tessera decode report result.h5 --recording day.npz -o result.html\n",
     .run = cmd_decode_report},
    {.name = "xpcs", .summary = "homodyne fits of two-time X-ray correlations"},
    {.name = "clifford", .summary = "fused Clifford-algebra network layers"},
    {.name = "demo",
     .operands = "[SYSTEM]",
     .max_operand = 1,
     .groups = CLI_TEXT_ONLY,
     OWN_OPTIONS(demo_options),
     .summary = "make data, run, write an HTML report; offline, under a minute",
     .examples = "tessera demo\ntessera demo decode --dir my-demo\n",
     .run = cmd_demo},
    {.name = "bench",
     .operands = "[CASE...]",
     .max_operand = CLI_ANY_OPERAND,
     .groups = CLI_ENGINE,
     .summary = "time our stages, with share of the measured read bandwidth",
     .examples = "tessera bench\ntessera bench ptp-f32-long --threads 1 --json\n",
     .run = cmd_bench},
    {.name = "device",
     .groups = CLI_ENGINE,
     OWN_OPTIONS(device_options),
     .summary = "what hardware was found, what was chosen and why",
     .examples = "tessera device\ntessera device --benchmark\n",
     .run = cmd_device},
    {.name = "sysinfo",
     .groups = CLI_ENGINE,
     OWN_OPTIONS(sysinfo_options),
     .summary = "everything a bug report needs",
     .examples = "tessera sysinfo\n",
     .run = cmd_sysinfo},
    {.name = "selftest",
     .groups = CLI_ENGINE,
     .summary = "small cases on every device and instruction set, against stored numbers",
     .examples = "tessera selftest\n",
     .run = cmd_selftest},
    {.name = "info",
     .operands = "FILE",
     .min_operand = 1,
     .max_operand = 1,
     .summary = "data sets and provenance of a file, or what a checkpoint holds",
     .examples = "tessera info ptp.npy\n",
     .run = cmd_info},
    {.name = "config init",
     .groups = CLI_OUTPUT | CLI_TEXT_ONLY,
     .summary = "print a configuration file with every setting and its default",
     .examples = "tessera config init -o run.yaml\n",
     .run = cmd_config_init},
    {.name = "config validate",
     .operands = "FILE",
     .min_operand = 1,
     .max_operand = 1,
     .summary = "check a configuration file",
     .examples = "tessera config validate run.yaml\n",
     .run = cmd_config_validate},
    {.name = "config show",
     .groups = CLI_ENGINE,
     OWN_OPTIONS(show_options),
     .summary = "print the settings in force",
     .examples = "tessera config show --config run.yaml --origin\n",
     .run = cmd_config_show},
    {.name = "config diff",
     .operands = "A [B]",
     .min_operand = 1,
     .max_operand = 2,
     .summary = "compare two files, or one with the defaults; exit 1 if they differ",
     .examples = "tessera config diff run.yaml\n",
     .run = cmd_config_diff},
    {.name = "completion",
     .operands = "bash|zsh|fish",
     .min_operand = 1,
     .max_operand = 1,
     .groups = CLI_TEXT_ONLY,
     .summary = "print a shell completion script",
     .examples = "source <(tessera completion bash)\n",
     .run = cmd_completion},
    {.name = "cite",
     .operands = "[SYSTEM]",
     .max_operand = 1,
     .groups = CLI_TEXT_ONLY,
     .summary = "BibTeX entries of Tessera and of the methods",
     .examples = "tessera cite autoreject >> paper.bib\n",
     .run = cmd_cite},
    {.name = "help",
     .operands = "[TOPIC]",
     .max_operand = 2,
     .groups = CLI_TEXT_ONLY,
     OWN_OPTIONS(help_options),
     .summary = "help on a command, 'environment' or 'exit-codes'",
     .examples = "tessera help autoreject ptp\ntessera help environment\n",
     .run = cmd_help},
};

_Static_assert(COUNT(commands) <= CLI_MAX_COMMAND, "raise CLI_MAX_COMMAND");

const cli_command *cli_commands(int64_t *n_command)
{
    *n_command = COUNT(commands);
    return commands;
}

void cli_first_word(const cli_command *command, char word[CLI_WORD_BYTES])
{
    snprintf(word, CLI_WORD_BYTES, "%.*s", (int)strcspn(command->name, " "), command->name);
}

int cli_is_group(const char *word)
{
    const size_t length = strlen(word);

    for (int64_t i = 0; i < COUNT(commands); i++) {
        if (strncmp(commands[i].name, word, length) == 0 && commands[i].name[length] == ' ') {
            return 1;
        }
    }
    return 0;
}

const cli_command *cli_find_command(const char *name)
{
    for (int64_t i = 0; i < COUNT(commands); i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

// Heading of a table's options in the help of a command with several.
static const char *heading_of(const tess_param_table *table)
{
    static const struct {
        const char *name;
        const char *heading;
    } headings[] = {{"decode.model", "Model"},         {"decode.environment", "Position bins"},
                    {"decode.encoding", "Encoding"},   {"decode.detector", "States"},
                    {"decode.predict", "Prediction"},  {"decode.em", "Iterations"},
                    {"decode.simulate", "Simulation"}, {"autoreject.fit", "Search"},
                    {"autoreject.epochs", "Epochs"},   {"autoreject.transform", "Repair"}};
    for (size_t i = 0; i < sizeof headings / sizeof *headings; i++) {
        if (strcmp(table->name, headings[i].name) == 0) {
            return headings[i].heading;
        }
    }
    return "Computation";
}

void cli_build_options(cli *c, const cli_command *command)
{
    static const char result[] = "Input and output";
    static const char engine[] = "Machine";
    static const char run[] = "Long runs";
    static const char general[] = "General";
    opt_list *list = &c->options;

    list->n_item = 0;
    settings_init(&c->run, run_settings_table());
    opt_add_defs(list, "Options", command->options, command->n_option, &c->values);
    for (int i = 0; i < CLI_MAX_TABLE; i++) {
        const tess_param_table *table = command->params[i] ? command->params[i]() : NULL;
        settings_init(&c->system[i], table);
        if (table) {
            opt_add_params(list, heading_of(table), &c->system[i], 0, table->n_param);
        }
    }
    if (command->groups & CLI_INPUT) {
        opt_add_defs(list, result, input_options, COUNT(input_options), &c->values);
    }
    if (command->groups & CLI_OUTPUT) {
        opt_add_defs(list, result, output_options, COUNT(output_options), &c->values);
        if (command->output) {
            opt_item *output = &list->items[list->n_item - COUNT(output_options)];
            snprintf(output->help, sizeof output->help, "%s", command->output);
        }
    }
    if (command->groups & CLI_REPORT) {
        opt_add_defs(list, result, report_options, COUNT(report_options), &c->values);
    }
    if (command->groups & CLI_ENGINE) {
        opt_add_params(list, engine, &c->run, 0, RUN_SETTINGS_ENGINE);
        opt_add_defs(list, engine, engine_options, COUNT(engine_options), &c->values);
    }
    if (command->groups & CLI_RUN) {
        opt_add_defs(list, run, run_options, COUNT(run_options), &c->values);
        opt_add_params(list, run, &c->run, RUN_SETTINGS_ENGINE,
                       c->run.table->n_param - RUN_SETTINGS_ENGINE);
    }
    if (!(command->groups & CLI_TEXT_ONLY)) {
        opt_add_defs(list, general, json_options, COUNT(json_options), &c->values);
    }
    opt_add_defs(list, general, talk_options, COUNT(talk_options), &c->values);
}
