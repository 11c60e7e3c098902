// What the completion scripts of all shells are made from: words of the tables.
#ifndef TESSERA_CLI_COMPLETION_H
#define TESSERA_CLI_COMPLETION_H

#include "cli.h"

// Topics of 'tessera help' besides commands.
#define COMPLETION_TOPICS "environment|exit-codes|warnings"

// "a b c:" of "a|b|c:".
void completion_print_joined(FILE *file, const char *joined);

// Calls visit once for every first word, or for those that verbs follow.
void completion_for_each_word(FILE *file, void (*visit)(FILE *file, const char *word),
                              int groups_only);

// Every first word, and 'profile'.
void completion_print_words(FILE *file);

// The verbs of a group that are in this version.
void completion_print_verbs(FILE *file, const char *group);

// What the first operand may be, joined by '|'; NULL: nothing to offer. c->options are built.
const char *completion_operands(const cli *c, const cli_command *command);

// Values to offer for an option, joined by '|'; NULL: none.
const char *completion_values(const opt_item *item);

// The script of a shell: zsh runs that of bash.
void completion_bash(FILE *file, cli *c);
void completion_fish(FILE *file, cli *c);

#endif
