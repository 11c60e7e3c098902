// Tables of commands, one per system, and what their rows are written with.
#ifndef TESSERA_CLI_COMMANDS_H
#define TESSERA_CLI_COMMANDS_H

#include "cli.h"

#define AT(field) offsetof(cli_values, field)
// Rows of options. One that names a file or folder is a PATH, which cannot go without a role.
#define OPTION(name, letter, kind, field, choices, help)                                           \
    {                                                                                              \
        name, letter, kind, AT(field), NULL, choices, help, PATH_UNSAID, NULL, NULL                \
    }
#define FLAG(name, field, help) OPTION(name, 0, OPT_FLAG, field, NULL, help)
#define CHOICE(name, field, choices, help) OPTION(name, 0, OPT_TEXT, field, choices, help)
#define HINTED(name, field, metavar, hints, help)                                                  \
    {                                                                                              \
        name, 0, OPT_TEXT, AT(field), metavar, NULL, help, PATH_UNSAID, NULL, hints                \
    }
#define TEXT(name, field, metavar, help) HINTED(name, field, metavar, NULL, help)
#define PATH(name, letter, field, role, endings, help)                                             \
    {                                                                                              \
        name, letter, OPT_TEXT, AT(field), NULL, NULL, help, role, endings, NULL                   \
    }

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))
// Names of files of arrays; those that hold several.
#define CLI_BUNDLE_ENDINGS ".npz|.h5|.hdf5|.hdf|.nc"
#define CLI_ARRAY_ENDINGS ".npy|" CLI_BUNDLE_ENDINGS
#define CLI_SYSTEMS "autoreject|decode|xpcs|clifford"
// Where any name is right.
#define CLI_ANY_ENDING ""

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
