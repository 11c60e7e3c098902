// What a command says of its command line.

#include "cli.h"
#include "console.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_usage_error(const cli *c, const char *format, ...)
{
    char *message = NULL;
    va_list arguments;

    va_start(arguments, format);
    const int n = vasprintf(&message, format, arguments);
    va_end(arguments);
    console_fail(2, "%s (see 'tessera %s --help')", n < 0 ? format : message, c->command->name);
    free(n < 0 ? NULL : message);
    return 2;
}

int cli_operand_place(const cli_command *command, int index)
{
    const int is_alike =
        command->max_operand == CLI_ANY_OPERAND && command->operand_roles[1] == PATH_UNSAID;

    return is_alike ? 0 : index < 2 ? index : -1;
}

void cli_operand_word(const cli_command *command, int index, char word[CLI_WORD_BYTES])
{
    const char *at = command->operands;
    for (int i = 0; i < index && *at; i++) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    at += strspn(at, "[");
    snprintf(word, CLI_WORD_BYTES, "%.*s", (int)strcspn(at, " ]."), at);
}
