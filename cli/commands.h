// Tables of commands, one per system, and what their rows are written with.
#ifndef TESSERA_CLI_COMMANDS_H
#define TESSERA_CLI_COMMANDS_H

#include "cli.h"

#define AT(field) offsetof(cli_values, field)
#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))
#define OWN_OPTIONS(array) .options = (array), .n_option = COUNT(array)

typedef struct cli_command_list {
    const cli_command *commands;
    int64_t n_command;
} cli_command_list;

extern const cli_command_list cli_autoreject_commands;
extern const cli_command_list cli_clifford_commands;
extern const cli_command_list cli_decode_commands;
extern const cli_command_list cli_general_commands;
extern const cli_command_list cli_xpcs_commands;

#endif
