// tessera completion: scripts for bash, zsh and fish, from the same tables as the parser.

#include "cli.h"

#include <string.h>

static void print_options(cli *c, const cli_command *command)
{
    cli_build_options(c, command);
    for (int64_t i = 0; i < c->options.n_item; i++) {
        printf("%s--%s", i == 0 ? "" : " ", c->options.items[i].name);
    }
}

// Calls visit once for every first word, or for those that verbs follow. The commands of a group
// stand together in the table.
static void for_each_word(void (*visit)(const char *word), int groups_only)
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);
    char last[CLI_WORD_BYTES] = "";

    for (int64_t i = 0; i < n_command; i++) {
        char word[CLI_WORD_BYTES];
        cli_first_word(&commands[i], word);
        if (commands[i].run && strcmp(word, last) != 0 && (!groups_only || cli_is_group(word))) {
            visit(word);
        }
        memcpy(last, word, sizeof last);
    }
}

static void print_word(const char *word)
{
    printf("%s ", word);
}

static void print_words(void)
{
    for_each_word(print_word, 0);
    printf("profile");
}

static void print_verbs(const char *group)
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);
    const size_t length = strlen(group);

    for (int64_t i = 0; i < n_command; i++) {
        if (strncmp(commands[i].name, group, length) == 0 && commands[i].name[length] == ' ') {
            printf("%s ", commands[i].name + length + 1);
        }
    }
}

static void print_bash_group(const char *group)
{
    printf("    elif (( COMP_CWORD == first + 1 )) && [[ $one == %s ]]; then\n        words=\"",
           group);
    print_verbs(group);
    printf("\"\n");
}

// "a b c:" of "a|b|c:".
static void print_choices(const char *choices)
{
    for (; *choices; choices++) {
        putchar(*choices == '|' ? ' ' : *choices);
    }
}

// The values of options with choices, by command and option.
static void print_bash_values(cli *c, const cli_command *command)
{
    const char *two = strchr(command->name, ' ');

    cli_build_options(c, command);
    for (int64_t i = 0; i < c->options.n_item; i++) {
        const opt_item *item = &c->options.items[i];
        if (item->choices && item->kind == OPT_TEXT) {
            printf(two ? "        \"%s --%s\") words=\"" : "        \"%s \"*\" --%s\") words=\"",
                   command->name, item->name);
            print_choices(item->choices);
            printf("\" ;;\n");
        }
    }
}

static void print_operand_words(const cli *c, const cli_command *command)
{
    if (strcmp(command->name, "completion") == 0) {
        printf(" bash zsh fish");
    } else if (strcmp(command->name, "demo") == 0 || strcmp(command->name, "cite") == 0) {
        printf(" autoreject decode");
    } else if (strcmp(command->name, "decode simulate") == 0) {
        putchar(' ');
        print_choices(c->system[0].table->params[0].choices); // SIZE
    } else if (strcmp(command->name, "help") == 0) {
        putchar(' ');
        print_words();
        printf(" environment exit-codes");
    }
}

// Both shells run the same function: zsh through its bash emulation.
static void print_bash(cli *c)
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);

    printf("_tessera() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words\n"
           "    local first=1\n"
           "    [[ ${COMP_WORDS[1]} == profile ]] && first=2\n"
           "    local one=${COMP_WORDS[first]} two=${COMP_WORDS[first+1]}\n"
           "    if (( COMP_CWORD == first )); then\n"
           "        words=\"");
    print_words();
    printf("\"\n");
    for_each_word(print_bash_group, 1);
    printf("    else\n        case \"$one $two\" in\n");
    for (int64_t i = 0; i < n_command; i++) {
        if (commands[i].run) {
            const int two_words = strchr(commands[i].name, ' ') != NULL;
            printf(two_words ? "        \"%s\") words=\"" : "        \"%s \"*) words=\"",
                   commands[i].name);
            print_options(c, &commands[i]);
            print_operand_words(c, &commands[i]);
            printf("\" ;;\n");
        }
    }
    printf("        esac\n"
           "        case \"$one $two $prev\" in\n");
    for (int64_t i = 0; i < n_command; i++) {
        if (commands[i].run) {
            print_bash_values(c, &commands[i]);
        }
    }
    printf("        esac\n"
           "    fi\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
           "    [[ ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null\n"
           "    return 0\n"
           "}\n"
           "complete -o default -F _tessera tessera\n");
}

static void print_quoted(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') {
            putchar('\\');
        }
        putchar(*text);
    }
}

static void print_fish_command(cli *c, const cli_command *command)
{
    const size_t first = strcspn(command->name, " ");
    const char *second = command->name[first] ? command->name + first + 1 : NULL;

    if (second) {
        printf("complete -c tessera -n '__fish_seen_subcommand_from %.*s' -f -a %s -d '",
               (int)first, command->name, second);
    } else {
        printf("complete -c tessera -n __fish_use_subcommand -f -a %s -d '", command->name);
    }
    print_quoted(command->summary);
    printf("'\n");
    cli_build_options(c, command);
    for (int64_t i = 0; i < c->options.n_item; i++) {
        const opt_item *item = &c->options.items[i];
        printf("complete -c tessera -n '__fish_seen_subcommand_from %s' -l %s",
               second ? second : command->name, item->name);
        if (item->letter) {
            printf(" -s %c", item->letter);
        }
        printf("%s", item->kind == OPT_TEXT ? " -r" : "");
        if (item->choices && item->kind == OPT_TEXT) {
            printf(" -f -a '");
            print_choices(item->choices);
            putchar('\'');
        }
        printf(" -d '");
        print_quoted(item->help);
        printf("'\n");
    }
}

static void print_fish(cli *c)
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);

    printf("complete -c tessera -n __fish_use_subcommand -f -a '");
    for_each_word(print_word, 1);
    printf("profile'\n");
    for (int64_t i = 0; i < n_command; i++) {
        if (commands[i].run) {
            print_fish_command(c, &commands[i]);
        }
    }
}

int cmd_completion(cli *c)
{
    const char *shell = c->operands[0];

    if (strcmp(shell, "bash") == 0) {
        print_bash(c);
    } else if (strcmp(shell, "zsh") == 0) {
        printf("#compdef tessera\nautoload -U +X bashcompinit && bashcompinit\n");
        print_bash(c);
    } else if (strcmp(shell, "fish") == 0) {
        print_fish(c);
    } else {
        return cli_usage_error(c, "unknown shell '%s'; there are bash, zsh and fish", shell);
    }
    return 0;
}
