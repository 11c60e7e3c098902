// The commands of xpcs and their options.

#include "commands.h"

static const cli_command commands[] = {
    {.name = "xpcs", .summary = "homodyne fits of two-time X-ray correlations"},
};

const cli_command_list cli_xpcs_commands = {commands, COUNT(commands)};
