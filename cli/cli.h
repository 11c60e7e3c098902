// What all commands share: the command table, what the user asked for, and the session.
#ifndef TESSERA_CLI_H
#define TESSERA_CLI_H

#include "console.h"
#include "opt.h"
#include "progress.h"
#include "settings.h"
#include "values.h"

#include <tessera/context.h>

#include <stdio.h>

// Groups of common options a command takes.
enum {
    CLI_ENGINE = 1,     // threads, memory, device, isa, trace, configuration
    CLI_RUN = 2,        // checkpoint, resume, progress, dry run
    CLI_OUTPUT = 4,     // -o, --overwrite
    CLI_INPUT = 8,      // data set, truncated files
    CLI_REPORT = 16,    // --report
    CLI_TEXT_ONLY = 32, // no --json: the output is a format of its own
    CLI_RANKS = 64,     // may be started by mpirun: ranks share the work
    CLI_ANY_OPERAND = 1000
};

// Parameter tables of one command, at most.
enum { CLI_MAX_TABLE = 6 };

typedef struct cli cli;

typedef struct cli_command {
    const char *name;     // one word, or two for a system's verb
    const char *operands; // "INPUT" for the usage line; NULL: none
    int min_operand;
    int max_operand;
    int passes_words; // what follows the first operand is that operand's, options too
    unsigned groups;
    const opt_def *options; // of this command alone; may be NULL
    int64_t n_option;
    const tess_param_table *(*params[CLI_MAX_TABLE])(void); // system options, then NULLs
    const char *summary;                                    // one line without full stop
    path_role operand_roles[2];
    const char *operand_choices; // "a|b|c": what the first operand may be; NULL: anything
    const char *operand_hints;   // the same where other words are right too
    const char *operand_option;  // the first operand is another spelling of this option; or NULL
    const char *output;          // help of -o; NULL: an array
    path_role output_role;       // of -o; PATH_UNSAID: a file
    const char *output_endings;  // of -o, as in opt_def; "" among them: no suffix
    const char *output_names;    // "a|b": what appears in the folder -o names
    const char *typed;           // "|a|b|": options that count when typed, even as the default
    const char *examples;        // lines; NULL only where run is
    int (*run)(cli *c);          // NULL: not in this version
} cli_command;

struct cli {
    const cli_command *command;
    int argc; // as typed: for provenance and the resume line
    char **argv;
    int forced_profile;  // "tessera profile ..."
    int opens_meanwhile; // the command begins on the CPU, and a GPU has time until
                         // tess_device_use()
    cli_values values;
    char **operands;
    int n_operand;
    settings run;                   // table "run"
    settings system[CLI_MAX_TABLE]; // the command's tables; table is NULL behind the last
    run_settings run_values;
    settings_files files;
    opt_list options;
    tess_context *ctx;
    progress bar;
    FILE *log_file;
};

// Finds the command in argv, parses its options, runs it. argv[0] is the program. Exit code.
int cli_execute(int argc, char **argv);

// The longest match of one or two leading words; *n_word says how many it took. NULL: none.
const cli_command *cli_match_command(int argc, char **argv, int *n_word);

// Fills the values and operands of c->command from the words behind its name, each checked by
// itself; c->operands has room for argc. Exit code.
int cli_parse(cli *c, int argc, char **argv);

// Every command, in the order of the help.
const cli_command *cli_commands(int64_t *n_command);

// NULL if there is none of exactly this name.
const cli_command *cli_find_command(const char *name);

// Fills c->options for the command, with targets in c.
void cli_build_options(cli *c, const cli_command *command);

enum { CLI_MAX_COMMAND = 64, CLI_WORD_BYTES = 32 };

// "config" of "config show".
void cli_first_word(const cli_command *command, char word[CLI_WORD_BYTES]);

// What the help calls an operand: "B" is number 1 of "A [B]".
void cli_operand_word(const cli_command *command, int index, char word[CLI_WORD_BYTES]);

// Which entry of operand_roles an operand has: all those of "FILE..." have the first. -1: none.
int cli_operand_place(const cli_command *command, int index);

// 1 if the word is the first of two-word commands, such as "config".
int cli_is_group(const char *word);

// The words that decide the result, as a JSON array; free() it. NULL without memory.
char *cli_command_words(const cli *c);

// 1 if a result may depend on the option: neither those of the machine, of long runs and of talking
// nor those that name what is written.
int cli_option_decides(const cli *c, const opt_item *item);

// Headings of the options that change no result.
#define CLI_GROUP_ENGINE "Machine"
#define CLI_GROUP_RUN "Long runs"
#define CLI_GROUP_GENERAL "General"

// Overview of all commands, of a group; help of one command.
void cli_print_overview(FILE *file);
void cli_print_group_help(FILE *file, const char *group);
void cli_print_command_help(FILE *file, cli *c, const cli_command *command);

// The whole table, for programs. Exit code.
int cli_print_table(cli *c);

// Prints the error with a pointer to the command's --help; returns 2.
int cli_usage_error(const cli *c, const char *format, ...) TESS_PRINTF(2, 3);

// Text as the result: into the file that -o names, else on stdout; with --json an object of the
// schema that holds it. stage: as of tess_text_save(). Exit code.
int cli_write_text(cli *c, const char *schema, const char *stage, const char *text);

// Numbers joined by commas; free() *out. Exit code.
int cli_parse_reals(const cli *c, const char *option, const char *text, double **out, int64_t *n);

// Completes the paths of the command line by those of the environment.
void session_paths(cli *c);

// Reads configuration, resolves the settings of the command's tables into the structs of systems
// (one per table; NULL if there is none), creates c->ctx.
int session_open(cli *c, void *const *systems);

// Another context with the session's settings, for one ISA or device (NULL: as asked).
int session_context(cli *c, const char *isa, const char *device, tess_context **out);

// Prints the profile, writes the trace, frees everything. Accepts a session never opened.
int session_close(cli *c);

int cmd_autoreject_fit(cli *c);
int cmd_autoreject_fit_transform(cli *c);
int cmd_autoreject_global(cli *c);
int cmd_autoreject_info(cli *c);
int cmd_autoreject_ptp(cli *c);
int cmd_autoreject_ransac(cli *c);
int cmd_autoreject_simulate(cli *c);
int cmd_autoreject_study(cli *c);
int cmd_autoreject_thresholds(cli *c);
int cmd_autoreject_transform(cli *c);
int cmd_autoreject_validation_curve(cli *c);
int cmd_bench(cli *c);
int cmd_cite(cli *c);
int cmd_clifford_bench(cli *c);
int cmd_clifford_check(cli *c);
int cmd_clifford_table(cli *c);
int cmd_completion(cli *c);
int cmd_config_diff(cli *c);
int cmd_config_init(cli *c);
int cmd_config_show(cli *c);
int cmd_config_validate(cli *c);
int cmd_decode_em(cli *c);
int cmd_decode_fit(cli *c);
int cmd_decode_predict(cli *c);
int cmd_decode_report(cli *c);
int cmd_decode_info(cli *c);
int cmd_decode_run(cli *c);
int cmd_decode_simulate(cli *c);
int cmd_decode_online(cli *c);
int cmd_decode_events(cli *c);
int cmd_decode_tune(cli *c);
int cmd_demo(cli *c);
int cmd_device(cli *c);
int cmd_diff(cli *c);
int cmd_help(cli *c);
int cmd_info(cli *c);
int cmd_pbs(cli *c);
int cmd_rerun(cli *c);
int cmd_selftest(cli *c);
int cmd_slurm(cli *c);
int cmd_sysinfo(cli *c);
int cmd_try(cli *c);
const tess_param_table *try_params(void);
int cmd_xpcs_config(cli *c);
int cmd_xpcs_convert(cli *c);
int cmd_xpcs_fit(cli *c);
int cmd_xpcs_g2(cli *c);
int cmd_xpcs_inspect(cli *c);
int cmd_xpcs_joint(cli *c);
int cmd_xpcs_rates(cli *c);
int cmd_xpcs_plot(cli *c);
int cmd_xpcs_compare(cli *c);
int cmd_xpcs_simulate(cli *c);
int cmd_xpcs_watch(cli *c);

// "tessera --version": one line, or the build as JSON.
int cmd_version(int json);

#endif
