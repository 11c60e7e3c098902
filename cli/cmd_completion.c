// tessera completion: scripts for bash, zsh and fish, from the same tables as the parser.

#include "completion.h"
#include "job.h"

#include <stdlib.h>
#include <string.h>

void completion_print_joined(FILE *file, const char *joined)
{
    for (; *joined; joined++) {
        fputc(*joined == '|' ? ' ' : *joined, file);
    }
}

void completion_for_each_word(FILE *file, void (*visit)(FILE *file, const char *word),
                              int groups_only)
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);
    char last[CLI_WORD_BYTES] = "";

    // The commands of a group stand together in the table.
    for (int64_t i = 0; i < n_command; i++) {
        char word[CLI_WORD_BYTES];
        cli_first_word(&commands[i], word);
        if (commands[i].run && strcmp(word, last) != 0 && (!groups_only || cli_is_group(word))) {
            visit(file, word);
        }
        memcpy(last, word, sizeof last);
    }
}

static void print_word(FILE *file, const char *word)
{
    fprintf(file, "%s ", word);
}

void completion_print_words(FILE *file)
{
    completion_for_each_word(file, print_word, 0);
    fprintf(file, "profile");
}

void completion_print_verbs(FILE *file, const char *group)
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);
    const size_t length = strlen(group);
    const char *gap = "";

    for (int64_t i = 0; i < n_command; i++) {
        if (commands[i].run && strncmp(commands[i].name, group, length) == 0 &&
            commands[i].name[length] == ' ') {
            fprintf(file, "%s%s", gap, commands[i].name + length + 1);
            gap = " ";
        }
    }
}

const char *completion_values(const opt_item *item)
{
    return item->choices ? item->choices : item->hints;
}

const char *completion_operands(const cli *c, const cli_command *command)
{
    for (int64_t i = 0; command->operand_option && i < c->options.n_item; i++) {
        if (strcmp(c->options.items[i].name, command->operand_option) == 0) {
            return completion_values(&c->options.items[i]);
        }
    }
    return command->operand_choices ? command->operand_choices : command->operand_hints;
}

static int print_json(cli *c, const char *shell, const char *text)
{
    tess_json *json = NULL;

    CLI_TRY(session_context(c, NULL, NULL, &c->ctx));
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.completion/1");
    tess_json_text(json, "shell", shell);
    tess_json_text(json, "text", text);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

int cmd_completion(cli *c)
{
    const char *shell = c->operands[0];
    const int is_zsh = strcmp(shell, "zsh") == 0;
    const int is_fish = strcmp(shell, "fish") == 0;
    char *text = NULL;
    size_t bytes = 0;

    if (!is_zsh && !is_fish && strcmp(shell, "bash") != 0) {
        return cli_usage_error(c, "unknown shell '%s'; there are bash, zsh and fish", shell);
    }
    FILE *file = open_memstream(&text, &bytes);
    if (!file) {
        return console_fail(71, "out of memory");
    }
    if (is_fish) {
        completion_fish(file, c);
    } else {
        fprintf(file, "%s",
                is_zsh ? "#compdef tessera\nautoload -U +X bashcompinit && bashcompinit\n" : "");
        completion_bash(file, c);
    }
    int code = fclose(file) == 0 ? 0 : console_fail(71, "out of memory");
    if (code == 0 && c->values.json) {
        code = print_json(c, shell, text);
    } else if (code == 0) {
        fputs(text, stdout);
    }
    free(text);
    return code;
}
