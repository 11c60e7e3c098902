// The command: finds its verb in the table, parses the options, runs it.

#include "cli.h"

#include "log_json.h"
#include "paths.h"
#include "ranks.h"
#include "signals.h"
#include "text.h"
#include "warnings.h"

#include <stdlib.h>
#include <string.h>

const cli_command *cli_match_command(int argc, char **argv, int *n_word)
{
    char name[96];

    *n_word = 2;
    if (argc >= 2) {
        snprintf(name, sizeof name, "%s %s", argv[0], argv[1]);
        const cli_command *command = cli_find_command(name);
        if (command) {
            return command;
        }
    }
    *n_word = 1;
    return cli_find_command(argv[0]);
}

// "autoreject" without a verb, or with an unknown one.
static int group_error(const char *group, const char *verb)
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);
    const size_t length = strlen(group);
    const char *verbs[CLI_MAX_COMMAND];
    int64_t n_verb = 0;
    char list[256] = "";

    for (int64_t i = 0; i < n_command; i++) {
        if (strncmp(commands[i].name, group, length) == 0 && commands[i].name[length] == ' ') {
            verbs[n_verb++] = commands[i].name + length + 1;
            const size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", verbs[n_verb - 1]);
        }
    }
    const char *nearest = verb ? suggest_nearest(verb, verbs, n_verb) : NULL;
    if (!verb) {
        return console_fail(2, "'%s' needs a verb: %s (see 'tessera help')", group, list);
    }
    if (nearest) {
        return console_fail(2, "unknown command '%s %s'; did you mean '%s %s'?", group, verb, group,
                            nearest);
    }
    return console_fail(2, "unknown command '%s %s'; there are: %s", group, verb, list);
}

static int unknown_command(int argc, char **argv)
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);
    static char words[CLI_MAX_COMMAND][CLI_WORD_BYTES];
    const char *names[CLI_MAX_COMMAND];

    if (cli_is_group(argv[0])) {
        if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
            cli_print_group_help(stdout, argv[0]);
            return 0;
        }
        return group_error(argv[0], argc > 1 && argv[1][0] != '-' ? argv[1] : NULL);
    }
    for (int64_t i = 0; i < n_command; i++) {
        cli_first_word(&commands[i], words[i]);
        names[i] = words[i];
    }
    const char *nearest = suggest_nearest(argv[0], names, n_command);
    if (nearest) {
        return console_fail(2, "unknown command '%s'; did you mean '%s'? (see 'tessera help')",
                            argv[0], nearest);
    }
    return console_fail(2, "unknown command '%s' (see 'tessera help')", argv[0]);
}

static int check_operands(const cli *c)
{
    const cli_command *command = c->command;

    if (c->n_operand < command->min_operand) {
        return cli_usage_error(c, "'%s' needs %s", command->name, command->operands);
    }
    if (c->n_operand > command->max_operand) {
        return cli_usage_error(c, "unexpected argument '%s'", c->operands[command->max_operand]);
    }
    return 0;
}

// The first line says whose log it is.
static int open_log(const cli *c)
{
    if (!c->values.log_json || !ranks_is_first()) {
        return 0;
    }
    const int error = log_json_open(c->values.log_json);
    if (error != 0) {
        return console_fail(73, "--log-json %s: %s", c->values.log_json, strerror(error));
    }
    char *line = text_command_line(c->argc, c->argv);
    log_json_begin(line ? line : c->command->name);
    free(line);
    return 0;
}

int cli_parse(cli *c, int argc, char **argv)
{
    char hint[128];

    snprintf(hint, sizeof hint, "tessera %s", c->command->name);
    cli_build_options(c, c->command);
    CLI_TRY(opt_parse(&c->options, argc, argv, hint, c->operands, &c->n_operand));
    if (c->values.help) {
        return 0;
    }
    CLI_TRY(settings_check_flags(&c->run));
    for (int i = 0; i < CLI_MAX_TABLE; i++) {
        CLI_TRY(settings_check_flags(&c->system[i]));
    }
    return check_operands(c);
}

static int run_command(cli *c, int argc, char **argv)
{
    const cli_command *command = c->command;

    if (!command->run) {
        return console_fail(69, "%s is not in this version (%s) yet: %s", command->name,
                            tess_version(), command->summary);
    }
    CLI_TRY(cli_parse(c, argc, argv));
    if (c->values.help) {
        cli_print_command_help(stdout, c, command);
        return 0;
    }
    console_set_quiet(c->values.quiet);
    CLI_TRY(ranks_check(c));
    CLI_TRY(warnings_init(c));
    session_paths(c);
    CLI_TRY(paths_check(c));
    CLI_TRY(open_log(c));
    int code = ranks_leave(c, command->run(c));
    const int close_code = session_close(c);
    code = warnings_finish(code != 0 ? code : close_code);
    const int is_bad = log_json_close(code);
    return is_bad && code == 0
               ? console_fail(74, "--log-json: cannot write, the log is not complete")
               : code;
}

// Options before any command: --help and --version, the latter with --json.
static int run_bare_options(int argc, char **argv)
{
    int version = 0;
    int json = 0;

    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            cli_print_overview(stdout);
            return 0;
        }
        if (strcmp(argv[i], "--version") == 0) {
            version = 1;
        } else if (strcmp(argv[i], "--json") == 0) {
            json = 1;
        } else {
            return console_fail(2, "unknown option '%s' before the command (see 'tessera help')",
                                argv[i]);
        }
    }
    if (!version) {
        return console_fail(2, "a command is missing (see 'tessera help')");
    }
    return cmd_version(json);
}

int cli_execute(int argc, char **argv)
{
    int first = 1;
    int n_word = 0;
    int profile = 0;

    if (argc > 1 && strcmp(argv[1], "profile") == 0) {
        profile = 1;
        first = 2;
    }
    if (argc <= first && profile) {
        return console_fail(2, "'profile' needs the command to watch (see 'tessera help')");
    }
    if (argc <= first) {
        cli_print_overview(stdout);
        return 0;
    }
    if (argv[first][0] == '-') {
        return run_bare_options(argc - first, argv + first);
    }
    const cli_command *command = cli_match_command(argc - first, argv + first, &n_word);
    if (!command) {
        return unknown_command(argc - first, argv + first);
    }
    cli *c = calloc(1, sizeof *c);
    char **operands = calloc((size_t)argc, sizeof *operands);
    int code = 71;
    if (c && operands) {
        c->command = command;
        c->argc = argc;
        c->argv = argv;
        c->operands = operands;
        c->forced_profile = profile;
        code = run_command(c, argc - first - n_word, argv + first + n_word);
    } else {
        console_fail(code, "out of memory");
    }
    free(operands);
    free(c);
    return code;
}

int main(int argc, char **argv)
{
    console_init();
    signals_install();
    ranks_init();
    return console_finish(ranks_finish(cli_execute(argc, argv)));
}
