// What 'tessera help' knows besides the tables of commands, for screen, Markdown and manual pages.
#ifndef TESSERA_CLI_HELP_H
#define TESSERA_CLI_HELP_H

#include "cli.h"

typedef struct help_row {
    const char *name;
    const char *text; // no full stop
} help_row;

typedef struct help_list {
    const help_row *rows;
    int64_t n_row;
} help_list;

help_list help_environment(void);
help_list help_exit_codes(void);

// The ids of warnings on screen, or as Markdown.
void help_print_warnings(int markdown);

// The lines, each behind the indent.
void help_print_examples(FILE *file, const char *examples, const char *indent);

// The manual page of a command, or of all together (NULL), in roff. Exit code.
int help_print_manual(cli *c, const char *name);

#endif
