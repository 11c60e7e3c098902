// All commands in one table, and the options they share.

#include "commands.h"

#include <string.h>

static const opt_def output_options[] = {
    PATH("output", 'o', output, PATH_WRITE, CLI_ARRAY_ENDINGS,
         "write the result here; the format follows the name: .npy, .npz, .h5"),
    FLAG("overwrite", overwrite, "replace files that exist"),
};

static const opt_def input_options[] = {
    TEXT("dataset", dataset, "NAME",
         "member or path inside the input file; needed when there are several"),
    FLAG("allow-truncated", allow_truncated, "use the whole epochs of a file that ends too early"),
};

static const opt_def report_options[] = {
    PATH("report", 0, report, PATH_WRITE, NULL, "write a one-file HTML report"),
};

static const opt_def engine_options[] = {
    HINTED("device", device, "NAME", "auto|cpu|cuda",
           "cpu, cuda, cuda:1, cuda:0,cuda:1, cuda:all, auto"),
    HINTED("isa", isa, "NAME", "ref|avx2|avx512|neon|sve",
           "instruction set of the CPU kernels; 'tessera sysinfo' lists them"),
    PATH("config", 0, config, PATH_READ, NULL, "read settings from a YAML or JSON file"),
    FLAG("profile", profile, "print time, bandwidth and share of the measured peak per stage"),
    PATH("trace", 0, trace, PATH_REPLACE, NULL, "write a Chrome trace"),
    PATH("log-file", 0, log_file, PATH_APPEND, NULL, "append the log to this file"),
    PATH("log-json", 0, log_json, PATH_APPEND, NULL,
         "append every message, warning and progress to this file, one JSON object per line; -: to "
         "stderr, instead of text"),
};

static const opt_def run_options[] = {
    PATH("checkpoint", 0, checkpoint, PATH_OWN, NULL,
         "keep finished work in this directory; signal USR1 keeps what there is at once"),
    FLAG("resume", resume, "continue from --checkpoint DIR if it holds this run"),
    FLAG("dry-run", dry_run, "print the plan and stop"),
    TEXT("scratch", scratch, "FOLDER",
         "folder of this machine for what does not fit into memory (default: TESSERA_SCRATCH, "
         "TMPDIR, /var/tmp)"),
    OPTION("progress", 0, OPT_MAYBE_TEXT, progress, "auto|bar|plain|json|none",
           "how to show progress on stderr; auto draws a bar on a terminal only"),
    FLAG("no-progress", no_progress, "same as --progress=none"),
};

static const opt_def json_options[] = {
    FLAG("json", json, "print one JSON object on stdout"),
};

static const opt_def talk_options[] = {
    OPTION("verbose", 'v', OPT_COUNT, verbose, NULL, "say more; -vv says everything"),
    OPTION("quiet", 'q', OPT_FLAG, quiet, NULL, "say nothing but errors"),
    OPTION("werror", 0, OPT_MAYBE_TEXT, werror, NULL,
           "exit with 1 after these warnings, or any; results are written all the same; 'tessera "
           "help warnings' lists them"),
    TEXT("no-warn", no_warn, "LIST", "do not say these warnings, such as xpcs.bound,decode"),
    OPTION("help", 'h', OPT_FLAG, help, NULL, "print this help"),
};

const cli_command *cli_commands(int64_t *n_command)
{
    static const cli_command_list *const lists[] = {&cli_autoreject_commands, &cli_decode_commands,
                                                    &cli_xpcs_commands, &cli_clifford_commands,
                                                    &cli_general_commands};
    static cli_command all[CLI_MAX_COMMAND];
    static int64_t n_all;

    if (n_all == 0) {
        for (int64_t k = 0; k < COUNT(lists); k++) {
            for (int64_t i = 0; i < lists[k]->n_command && n_all < CLI_MAX_COMMAND; i++) {
                all[n_all++] = lists[k]->commands[i];
            }
        }
    }
    *n_command = n_all;
    return all;
}

void cli_first_word(const cli_command *command, char word[CLI_WORD_BYTES])
{
    snprintf(word, CLI_WORD_BYTES, "%.*s", (int)strcspn(command->name, " "), command->name);
}

int cli_is_group(const char *word)
{
    const size_t length = strlen(word);
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);

    for (int64_t i = 0; i < n_command; i++) {
        if (strncmp(commands[i].name, word, length) == 0 && commands[i].name[length] == ' ') {
            return 1;
        }
    }
    return 0;
}

const cli_command *cli_find_command(const char *name)
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);

    name = strcmp(name, "config generate") == 0 ? "config init" : name; // as xpcs config calls it

    for (int64_t i = 0; i < n_command; i++) {
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
    } headings[] = {{"decode.model", "Model"},
                    {"decode.environment", "Position bins"},
                    {"decode.encoding", "Encoding"},
                    {"decode.detector", "States"},
                    {"decode.predict", "Prediction"},
                    {"decode.em", "Iterations"},
                    {"decode.tune", "Tuning"},
                    {"decode.simulate", "Simulation"},
                    {"autoreject.fit", "Search"},
                    {"autoreject.epochs", "Epochs"},
                    {"autoreject.transform", "Repair"},
                    {"autoreject.study", "Study"},
                    {"xpcs.model", "Model"},
                    {"xpcs.data", "Selection"},
                    {"xpcs.fit", "Fit"},
                    {"xpcs.simulate", "Simulation"},
                    {"diff", "Tolerance"},
                    {"try", "Comparison"},
                    {"batch", "Job"}};
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
    static const char engine[] = CLI_GROUP_ENGINE;
    static const char run[] = CLI_GROUP_RUN;
    static const char general[] = CLI_GROUP_GENERAL;
    opt_list *list = &c->options;

    list->n_item = 0;
    list->passes_words = command->passes_words;
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
        opt_item *output = &list->items[list->n_item - COUNT(output_options)];
        if (command->output) {
            snprintf(output->help, sizeof output->help, "%s", command->output);
        }
        if (command->output_role != PATH_UNSAID) {
            output->role = command->output_role;
            output->endings = NULL;
            snprintf(output->metavar, sizeof output->metavar, "%s", opt_path_metavar(output->role));
        }
        if (command->output_endings) {
            output->endings = command->output_endings;
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
