// tessera help: overview, one command, the environment, exit codes, and all of it as Markdown.

#include "cli.h"
#include "help.h"

#include <ctype.h>
#include <string.h>

static void print_rows(help_list list, int column)
{
    for (int64_t i = 0; i < list.n_row; i++) {
        printf("  %-*s", column - 2, list.rows[i].name);
        opt_print_wrapped(stdout, list.rows[i].text, column, column, console_width());
    }
}

static void print_markdown_rows(const char *title, help_list list)
{
    printf("## %s\n\n| | |\n|---|---|\n", title);
    for (int64_t i = 0; i < list.n_row; i++) {
        printf("| `%s` | %s |\n", list.rows[i].name, list.rows[i].text);
    }
    putchar('\n');
}

enum { NAME_COLUMN = 30 };

// Those that are (or are not) in this version and whose name starts with group.
static void print_commands(FILE *file, const char *group, int present)
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);

    for (int64_t i = 0; i < n_command; i++) {
        if ((commands[i].run != NULL) == present &&
            strncmp(commands[i].name, group, strlen(group)) == 0) {
            fprintf(file, "  %-*s", NAME_COLUMN - 2, commands[i].name);
            opt_print_wrapped(file, commands[i].summary, NAME_COLUMN, NAME_COLUMN, console_width());
        }
    }
}

void cli_print_group_help(FILE *file, const char *group)
{
    fprintf(file, "Usage: tessera %s VERB [options]\n\nCommands:\n", group);
    print_commands(file, group, 1);
}

void cli_print_overview(FILE *file)
{
    fprintf(file, "Usage: tessera COMMAND [options]\n\nCommands:\n");
    print_commands(file, "", 1);
    fprintf(file, "  %-*s%s\n", NAME_COLUMN - 2, "profile COMMAND",
            "any command with --profile and --trace");
    fprintf(file, "\nNot in this version:\n");
    print_commands(file, "", 0);
    fprintf(file, "\n'tessera COMMAND --help' lists options; 'tessera --version' the version.\n");
}

void help_print_examples(FILE *file, const char *examples, const char *indent)
{
    for (const char *line = examples; *line;) {
        const size_t length = strcspn(line, "\n");
        fprintf(file, "%s%.*s\n", indent, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

// Summaries are phrases for lists; alone they read better as sentences.
static void print_sentence(FILE *file, const char *phrase)
{
    fprintf(file, "%c%s.", toupper((unsigned char)phrase[0]), phrase + 1);
}

static void print_usage(FILE *file, const cli_command *command)
{
    fprintf(file, "tessera %s%s%s%s%s", command->name, command->passes_words ? " [options]" : "",
            command->operands ? " " : "", command->operands ? command->operands : "",
            command->passes_words ? "" : " [options]");
}

void cli_print_command_help(FILE *file, cli *c, const cli_command *command)
{
    fprintf(file, "Usage: ");
    print_usage(file, command);
    fprintf(file, "\n\n");
    print_sentence(file, command->summary);
    fprintf(file, "\n\nExamples:\n");
    help_print_examples(file, command->examples, "  ");
    cli_build_options(c, command);
    opt_print_help(file, &c->options, console_width());
}

// A bar inside a table cell must be escaped, also in code.
static void print_cell(const char *text)
{
    for (; *text; text++) {
        fputs(*text == '|' ? "\\|" : (char[2]){*text, '\0'}, stdout);
    }
}

static void print_command_markdown(cli *c, const cli_command *command)
{
    printf("## tessera %s\n\n", command->name);
    if (!command->run) {
        printf("Not in this version: %s.\n\n", command->summary);
        return;
    }
    printf("```\n");
    print_usage(stdout, command);
    printf("\n```\n\n");
    print_sentence(stdout, command->summary);
    printf("\n\n");
    printf("```\n");
    help_print_examples(stdout, command->examples, "");
    printf("```\n\n");
    printf("| option | meaning |\n|---|---|\n");
    cli_build_options(c, command);
    for (int64_t i = 0; i < c->options.n_item; i++) {
        char spelling[160];
        opt_spelling(&c->options.items[i], spelling, sizeof spelling);
        printf("| `");
        print_cell(spelling + strspn(spelling, " "));
        printf("` | ");
        print_cell(c->options.items[i].help);
        printf(" |\n");
    }
    putchar('\n');
}

static int print_all(cli *c, int markdown)
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);

    if (markdown) {
        printf("# The command\n\n");
    }
    for (int64_t i = 0; i < n_command; i++) {
        if (markdown) {
            print_command_markdown(c, &commands[i]);
        } else if (commands[i].run) {
            cli_print_command_help(stdout, c, &commands[i]);
            putchar('\n');
        }
    }
    if (markdown) {
        print_markdown_rows("Environment", help_environment());
        print_markdown_rows("Exit codes", help_exit_codes());
        help_print_warnings(1);
    }
    return 0;
}

static int print_topic(cli *c, const char *topic)
{
    const cli_command *command = cli_find_command(topic);

    if (strcmp(topic, "environment") == 0) {
        printf("Environment variables (a flag on the command line wins):\n");
        print_rows(help_environment(), 31);
        return 0;
    }
    if (strcmp(topic, "exit-codes") == 0) {
        printf("Exit codes:\n");
        print_rows(help_exit_codes(), 8);
        return 0;
    }
    if (strcmp(topic, "warnings") == 0) {
        help_print_warnings(0);
        return 0;
    }
    if (cli_is_group(topic)) {
        cli_print_group_help(stdout, topic);
        return 0;
    }
    if (!command) {
        return console_fail(2, "no help on '%s'; 'tessera help' lists the commands", topic);
    }
    if (!command->run) {
        printf("tessera %s is not in this version yet: %s.\n", topic, command->summary);
        return 0;
    }
    cli_print_command_help(stdout, c, command);
    return 0;
}

int cmd_help(cli *c)
{
    char topic[96];

    if (c->values.json) {
        return cli_print_table(c);
    }
    if (c->values.man && c->n_operand == 0) {
        return help_print_manual(c, NULL);
    }
    if (c->values.all) {
        return print_all(c, c->values.markdown);
    }
    if (c->n_operand == 0) {
        cli_print_overview(stdout);
        return 0;
    }
    snprintf(topic, sizeof topic, c->n_operand == 2 ? "%s %s" : "%s", c->operands[0],
             c->n_operand == 2 ? c->operands[1] : "");
    return c->values.man ? help_print_manual(c, topic) : print_topic(c, topic);
}
