// The completion script of fish.

#include "completion.h"

#include <string.h>

// Two commands may share a verb, such as "fit": every line asks for all words of its command.
static const char head[] =
    "function __tessera_words\n"
    "    set -l words (commandline -opc)\n"
    "    set -e words[1]\n"
    "    if test (count $words) -gt 0; and test \"$words[1]\" = profile\n"
    "        set -e words[1]\n"
    "    end\n"
    "    test (count $words) -gt 0; and printf '%s\\n' $words\n"
    "end\n"
    "function __tessera_begins\n"
    "    set -l words (__tessera_words)\n"
    "    test (count $words) -ge (count $argv); or return 1\n"
    "    for i in (seq (count $argv))\n"
    "        test \"$words[$i]\" = \"$argv[$i]\"; or return 1\n"
    "    end\n"
    "end\n"
    "function __tessera_is\n"
    "    test (count (__tessera_words)) -eq (count $argv); and __tessera_begins $argv\n"
    "end\n";

static void print_quoted(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') {
            fputc('\\', file);
        }
        fputc(*text, file);
    }
}

static void print_option(FILE *file, const cli_command *command, const opt_item *item)
{
    const char *values = completion_values(item);

    fprintf(file, "complete -c tessera -n '__tessera_begins %s' -l %s", command->name, item->name);
    if (item->letter) {
        fprintf(file, " -s %c", item->letter);
    }
    if (item->kind == OPT_TEXT) {
        fprintf(file, "%s", item->role == PATH_UNSAID ? " -x" : " -r -F");
    }
    if (item->kind == OPT_TEXT && values) {
        fprintf(file, " -a '");
        completion_print_joined(file, values);
        fputc('\'', file);
    }
    fprintf(file, " -d '");
    print_quoted(file, item->help);
    fprintf(file, "'\n");
}

static void print_operands(FILE *file, const cli *c, const cli_command *command)
{
    const char *operands = completion_operands(c, command);
    const int takes_file =
        command->max_operand > 0 && opt_role_name(command->operand_roles[0]) != NULL;

    if (!takes_file) { // no files where no file is meant
        fprintf(file, "complete -c tessera -n '__tessera_is %s' -f", command->name);
        if (operands) {
            fprintf(file, " -a '");
            completion_print_joined(file, operands);
            fputc('\'', file);
        }
        fputc('\n', file);
    }
}

static void print_command(FILE *file, cli *c, const cli_command *command)
{
    const size_t first = strcspn(command->name, " ");
    const char *second = command->name[first] ? command->name + first + 1 : NULL;

    if (second) {
        fprintf(file, "complete -c tessera -n '__tessera_is %.*s' -f -a %s -d '", (int)first,
                command->name, second);
    } else {
        fprintf(file, "complete -c tessera -n __tessera_is -f -a %s -d '", command->name);
    }
    print_quoted(file, command->summary);
    fprintf(file, "'\n");
    cli_build_options(c, command);
    for (int64_t i = 0; i < c->options.n_item; i++) {
        print_option(file, command, &c->options.items[i]);
    }
    print_operands(file, c, command);
}

static void print_group(FILE *file, const char *group)
{
    fprintf(file, "complete -c tessera -n __tessera_is -f -a %s -d '", group);
    completion_print_verbs(file, group);
    fprintf(file, "'\ncomplete -c tessera -n '__tessera_is help %s' -f -a '", group);
    completion_print_verbs(file, group);
    fprintf(file, "'\n");
}

void completion_fish(FILE *file, cli *c)
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);

    fputs(head, file);
    completion_for_each_word(file, print_group, 1);
    fprintf(file, "complete -c tessera -n __tessera_is -f -a profile "
                  "-d 'any command with --profile and --trace'\n"
                  "complete -c tessera -n '__tessera_is help' -f -a '");
    completion_print_words(file);
    fputc(' ', file);
    completion_print_joined(file, COMPLETION_TOPICS);
    fprintf(file, "'\n");
    for (int64_t i = 0; i < n_command; i++) {
        if (commands[i].run) {
            print_command(file, c, &commands[i]);
        }
    }
}
