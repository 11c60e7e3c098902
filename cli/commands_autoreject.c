// The commands of autoreject and their options.

#include "commands.h"

#include <tessera/autoreject.h>

// How epochs are taken from any file.
#define ANY_EPOCHS_OPTIONS                                                                         \
    TEXT("picks", picks, "LIST",                                                                   \
         "channels by name or type, separated by commas (default: all that can be solved)"),       \
        TEXT("bads", bads, "LIST", "channels to mark bad besides the file's"),                     \
        PATH("montage", 0, montage, PATH_READ, NULL,                                               \
             "positions by channel name, or 1005 for the geometric 10-05 rule"),                   \
        TEXT("types", types, "LIST",                                                               \
             "types by name where the file is wrong, such as eog=HEOG,VEOG;misc=Aux1"),            \
        TEXT("event", event, "LIST", "names or codes of the events to keep"),                      \
        TEXT("stim", stim, "NAME", "the trigger channel"),                                         \
        TEXT("baseline", baseline, "A,B",                                                          \
             "seconds whose mean is subtracted, such as -0.2,0; or none")

// And from one.
#define EPOCHS_OPTIONS                                                                             \
    ANY_EPOCHS_OPTIONS,                                                                            \
        PATH("events", 0, events, PATH_READ, NULL,                                                 \
             "events of a continuous recording: -eve.fif, .txt, .tsv or .npy"),                    \
        TEXT("dataset", dataset, "NAME",                                                           \
             "member or path inside .npz and HDF5 files; one of several EEGLAB sets")

#define CHOICE_OPTIONS                                                                             \
    TEXT("consensus", consensus, "LIST",                                                           \
         "fractions of bad channels to try (default 0,0.1,...,1)"),                                \
        TEXT("n-interpolate", n_interpolate, "LIST",                                               \
             "numbers of repaired channels to try (default 1, 4 and 32 or the channels less one)")

#define GRID_OPTIONS                                                                               \
    CHOICE_OPTIONS, PATH("log", 0, log, PATH_WRITE, ".npz", "write the reject log here, .npz")

static const opt_def autoreject_epochs_options[] = {EPOCHS_OPTIONS};
static const opt_def autoreject_fit_options[] = {EPOCHS_OPTIONS, GRID_OPTIONS};
static const opt_def autoreject_fit_transform_options[] = {
    EPOCHS_OPTIONS,
    GRID_OPTIONS,
    PATH("save-model", 0, save_model, PATH_WRITE, NULL, "write the model here, .json"),
};
static const opt_def autoreject_transform_options[] = {
    PATH("model", 'm', model_file, PATH_READ, NULL,
         "the model, as 'tessera autoreject fit' wrote it"),
    PATH("use-log", 0, use_log, PATH_READ, NULL,
         "repair and drop by this reject log, such as an edited one"),
    PATH("log", 0, log, PATH_WRITE, ".npz", "write the reject log here, .npz"),
    EPOCHS_OPTIONS,
};
static const opt_def autoreject_simulate_options[] = {
    PATH("positions", 0, positions, PATH_WRITE, NULL,
         "write names and positions of the electrodes here, a montage as CSV"),
};
static const opt_def autoreject_study_options[] = {
    TEXT("subjects", study.subjects, "LIST",
         "labels such as 01,02, separated by commas (default: all)"),
    TEXT("sessions", study.sessions, "LIST", "labels of the sessions (default: all)"),
    TEXT("task", study.tasks, "LIST", "labels of the tasks (default: all)"),
    TEXT("acquisition", study.acquisitions, "LIST", "labels of the acquisitions (default: all)"),
    TEXT("run", study.runs, "LIST", "labels of the runs (default: all)"),
    HINTED("datatype", study.datatypes, "LIST", "eeg|meg", "kinds of recordings (default: all)"),
    ANY_EPOCHS_OPTIONS,
    CHOICE_OPTIONS,
};
static const opt_def autoreject_curve_options[] = {
    TEXT("thresholds", thresholds, "LIST", "values to try, separated by commas"),
    EPOCHS_OPTIONS,
};

static const cli_command commands[] = {
    {.name = "autoreject fit",
     .operands = "INPUT",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_REPORT | CLI_RANKS,
     OWN_OPTIONS(autoreject_fit_options),
     .params = {tess_autoreject_fit_params, tess_autoreject_report_params,
                tess_autoreject_epochs_params},
     .summary = "learn thresholds, consensus and number of repairs from epochs",
     .output = "write the model here, .json; or its thresholds and their errors, .tsv",
     .output_endings = CLI_ANY_ENDING,
     .examples = "tessera autoreject fit subject-epo.fif -o model.json --report fit.html\n"
                 "tessera autoreject fit rest.edf --montage 1005 --window 2 -o model.json\n"
                 "tessera autoreject fit big.npz -o model.json --memory-limit 4G --checkpoint work "
                 "--resume\n",
     .run = cmd_autoreject_fit},
    {.name = "autoreject transform",
     .operands = "INPUT -m MODEL -o FILE",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_REPORT,
     OWN_OPTIONS(autoreject_transform_options),
     .params = {tess_autoreject_transform_params, tess_autoreject_report_params,
                tess_autoreject_epochs_params},
     .summary = "repair bad channels and leave out bad epochs by a model",
     .output = "write the repaired epochs here; the format follows the name: .fif, .fif.gz, .set, "
               ".npy, .npz",
     .output_endings = ".fif|.fif.gz|.set|.npy|.npz",
     .examples = "tessera autoreject transform subject-epo.fif -m model.json -o clean-epo.fif\n",
     .run = cmd_autoreject_transform},
    {.name = "autoreject fit-transform",
     .operands = "INPUT -o FILE",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_REPORT,
     OWN_OPTIONS(autoreject_fit_transform_options),
     .params = {tess_autoreject_fit_params, tess_autoreject_transform_params,
                tess_autoreject_report_params, tess_autoreject_epochs_params},
     .summary = "fit, then transform the same epochs",
     .output = "write the repaired epochs here; the format follows the name: .fif, .fif.gz, .set, "
               ".npy, .npz",
     .output_endings = ".fif|.fif.gz|.set|.npy|.npz",
     .examples = "tessera autoreject fit-transform subject-epo.fif -o clean-epo.fif --report "
                 "clean.html\n",
     .run = cmd_autoreject_fit_transform},
    {.name = "autoreject study",
     .operands = "BIDS_DIR -o DIR",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_RANKS,
     OWN_OPTIONS(autoreject_study_options),
     .params = {tess_autoreject_study_params, tess_autoreject_fit_params,
                tess_autoreject_transform_params, tess_autoreject_report_params,
                tess_autoreject_epochs_params},
     .summary = "fit and repair every recording of a BIDS tree; exit 1 if some failed",
     .output = "write the derivatives here, a folder of their own",
     .output_role = PATH_INTO,
     .examples = "tessera autoreject study bids -o bids/derivatives/tessera --dry-run\n"
                 "tessera autoreject study bids -o derivatives --task rest --window 2\n"
                 "tessera autoreject study bids -o derivatives --event go,stop --tmin -0.2 --tmax "
                 "0.8 --resume\n",
     .run = cmd_autoreject_study},
    {.name = "autoreject thresholds",
     .operands = "INPUT",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE | CLI_RUN | CLI_OUTPUT | CLI_RANKS,
     OWN_OPTIONS(autoreject_epochs_options),
     .params = {tess_autoreject_fit_params, tess_autoreject_epochs_params},
     .summary = "one peak-to-peak threshold per channel",
     .output = "write the thresholds here: a model as .json, or a table with their errors as .tsv",
     .output_endings = CLI_ANY_ENDING,
     .examples = "tessera autoreject thresholds subject-epo.fif --n-split 100\n",
     .run = cmd_autoreject_thresholds},
    {.name = "autoreject global",
     .operands = "INPUT",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE,
     OWN_OPTIONS(autoreject_epochs_options),
     .params = {tess_autoreject_global_params, tess_autoreject_epochs_params},
     .summary = "one threshold per channel type, for MNE's reject=",
     .examples = "tessera autoreject global subject-epo.fif --json\n",
     .run = cmd_autoreject_global},
    {.name = "autoreject validation-curve",
     .operands = "INPUT",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_ENGINE,
     OWN_OPTIONS(autoreject_curve_options),
     .params = {tess_autoreject_global_params, tess_autoreject_epochs_params},
     .summary = "scores of given global thresholds by cross-validation",
     .examples = "tessera autoreject validation-curve subject-epo.fif --thresholds "
                 "40e-6,80e-6,160e-6\n",
     .run = cmd_autoreject_validation_curve},
    {.name = "autoreject ransac",
     .operands = "INPUT",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
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
     .operand_roles = {PATH_READ},
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
     .operand_roles = {PATH_READ},
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
};

const cli_command_list cli_autoreject_commands = {commands, COUNT(commands)};
