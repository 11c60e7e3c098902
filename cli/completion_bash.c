// The completion script of bash; zsh runs the same function through its emulation.

#include "completion.h"

#include <string.h>

static void print_group(FILE *file, const char *group)
{
    fprintf(file,
            "    elif (( COMP_CWORD == first + 1 )) && [[ $one == %s ]]; then\n"
            "        words=\"",
            group);
    completion_print_verbs(file, group);
    fprintf(file,
            "\"\n"
            "    elif (( COMP_CWORD == first + 2 )) && [[ $one == help && $two == %s ]]; then\n"
            "        words=\"",
            group);
    completion_print_verbs(file, group);
    fprintf(file, "\"\n");
}

static void print_option_names(FILE *file, const opt_item *item)
{
    fprintf(file, " --%s", item->name);
    if (item->letter) {
        fprintf(file, " -%c", item->letter);
    }
}

// The options of a command that take a file, and those that take anything else.
static void print_takers(FILE *file, const opt_list *list, int paths)
{
    for (int64_t i = 0; i < list->n_item; i++) {
        const opt_item *item = &list->items[i];
        if (item->kind == OPT_TEXT && (item->role != PATH_UNSAID) == paths) {
            print_option_names(file, item);
        }
    }
}

// One branch of "case $one $two": its options, what its operands may be, whether they are files.
static void print_command(FILE *file, cli *c, const cli_command *command)
{
    cli_build_options(c, command);
    const char *operands = completion_operands(c, command);
    const int takes_file =
        command->max_operand > 0 && opt_role_name(command->operand_roles[0]) != NULL;

    fprintf(file, strchr(command->name, ' ') ? "        \"%s\")\n" : "        \"%s \"*)\n",
            command->name);
    fprintf(file, "            options=\"");
    for (int64_t i = 0; i < c->options.n_item; i++) {
        fprintf(file, "%s--%s", i == 0 ? "" : " ", c->options.items[i].name);
    }
    fprintf(file, "\"\n            paths=\"");
    print_takers(file, &c->options, 1);
    fprintf(file, " \"\n            values=\"");
    print_takers(file, &c->options, 0);
    fprintf(file, " \"\n            operands=\"");
    if (strcmp(command->name, "help") == 0) {
        completion_print_words(file);
        fputc(' ', file);
        completion_print_joined(file, COMPLETION_TOPICS);
    } else {
        completion_print_joined(file, operands ? operands : "");
    }
    fprintf(file, "\"\n            files=%d ;;\n", takes_file);
}

static void print_values(FILE *file, cli *c, const cli_command *command)
{
    const char *any = strchr(command->name, ' ') ? "" : " \"*\"";

    cli_build_options(c, command);
    for (int64_t i = 0; i < c->options.n_item; i++) {
        const opt_item *item = &c->options.items[i];
        const char *values = completion_values(item);
        if (!values) {
            continue;
        }
        fprintf(file, "        ");
        if (item->kind == OPT_TEXT) { // the value may be a word of its own
            fprintf(file, "\"%s%s --%s\"|", command->name, any, item->name);
        }
        fprintf(file, "\"%s%s --%s=\") words=\"", command->name, any, item->name);
        completion_print_joined(file, values);
        fprintf(file, "\" ;;\n");
    }
}

static void print_cases(FILE *file, cli *c, void (*print)(FILE *, cli *, const cli_command *))
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);

    for (int64_t i = 0; i < n_command; i++) {
        if (commands[i].run) {
            print(file, c, &commands[i]);
        }
    }
}

// The shell breaks "--name=value" into three words.
static const char head[] =
    "_tessera() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} equals= words=\n"
    "    local first=1 options= paths= values= operands= files=0\n"
    "    [[ ${COMP_WORDS[1]} == profile ]] && first=2\n"
    "    local one=${COMP_WORDS[first]} two=${COMP_WORDS[first+1]}\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur= equals==\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD-2]} equals==\n"
    "    fi\n"
    "    COMPREPLY=()\n"
    "    if (( COMP_CWORD == first )); then\n"
    "        words=\"";

// What follows an option that takes a file, or stands where an operand is a file, is left to the
// shell, which offers files.
static const char tail[] = "        esac\n"
                           "        if [[ -n $words ]]; then\n"
                           "            :\n"
                           "        elif [[ $paths == *\" $prev \"* ]]; then\n"
                           "            return 0\n"
                           "        elif [[ -n $equals || $values == *\" $prev \"* ]]; then\n"
                           "            compopt +o default 2>/dev/null\n"
                           "            return 0\n"
                           "        elif [[ $cur == -* ]]; then\n"
                           "            words=$options\n"
                           "        elif [[ -n $operands ]]; then\n"
                           "            words=$operands\n"
                           "        elif (( files )); then\n"
                           "            return 0\n"
                           "        else\n"
                           "            words=$options\n"
                           "        fi\n"
                           "    fi\n"
                           "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                           "    [[ ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2>/dev/null\n"
                           "    return 0\n"
                           "}\n"
                           "complete -o default -F _tessera tessera\n";

void completion_bash(FILE *file, cli *c)
{
    fputs(head, file);
    completion_print_words(file);
    fprintf(file, "\"\n");
    completion_for_each_word(file, print_group, 1);
    fprintf(file, "    else\n        case \"$one $two\" in\n");
    print_cases(file, c, print_command);
    fprintf(file, "        esac\n        case \"$one $two $prev$equals\" in\n");
    print_cases(file, c, print_values);
    fputs(tail, file);
}
