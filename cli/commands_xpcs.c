// The commands of xpcs and their options.

#include "commands.h"

static const opt_def config_options[] = {
    {"mode", 0, OPT_TEXT, AT(xpcs.mode), NULL,
     "static|static_isotropic|static_anisotropic|laminar_flow",
     "generate: for this analysis_mode (default laminar_flow)"},
    {"output", 'o', OPT_TEXT, AT(output), "FILE", NULL, "generate: write here"},
    {"force", 0, OPT_FLAG, AT(xpcs.force), NULL, NULL, "generate: replace the file if it exists"},
    {"minimal", 0, OPT_FLAG, AT(xpcs.minimal), NULL, NULL,
     "generate: only what every configuration needs"},
    {"lenient", 0, OPT_FLAG, AT(xpcs.lenient), NULL, NULL,
     "validate, show: unknown keys are warnings instead of errors"},
};

static const cli_command commands[] = {
    {.name = "xpcs config",
     .operands = "generate|validate|show [FILE]",
     .min_operand = 1,
     .max_operand = 2,
     OWN_OPTIONS(config_options),
     .summary = "write, check or show a configuration in the schema of homodyne",
     .examples = "tessera xpcs config generate --mode laminar_flow -o run42.yaml\n"
                 "tessera xpcs config validate run42.yaml\n"
                 "tessera xpcs config show run42.yaml\n",
     .run = cmd_xpcs_config},
    {.name = "xpcs", .summary = "homodyne fits of two-time X-ray correlations"},
};

const cli_command_list cli_xpcs_commands = {commands, COUNT(commands)};
