// Options that need another one, and change nothing without it.
#ifndef TESSERA_CLI_UNUSED_H
#define TESSERA_CLI_UNUSED_H

#include "cli.h"

#include <stddef.h>

typedef struct unused_rule {
    const char *param; // of a table of the command
    int is_used;
    const char *why; // what follows "changes nothing"
} unused_rule;

// Whether the command has this table.
int unused_has_table(const cli *c, const tess_param_table *table);

// Whether the command line has this parameter of one of the command's tables.
int unused_is_given(const cli *c, const char *param);

// Says which of those that are given are not used. "--floor-nats" is the option of "floor_nats".
void unused_warn(const cli *c, const unused_rule *rules, size_t n);

// The option of a parameter, without dashes before it.
void unused_option(const char *param, char option[64]);

#endif
