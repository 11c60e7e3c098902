// The commands of clifford and their options.

#include "commands.h"

#include <tessera/clifford.h>
#include <tessera/sys/clifford_check.h>

#define SIGNATURES "+|++|+++|++++|pga|sta|cga"
#define SIGNATURE_OPTION                                                                           \
    HINTED("signature", clifford.signature, "SIGNATURE", SIGNATURES,                               \
           "squares of the symbols, such as +++ or 0+++, counts such as 3,0,1, or pga, sta, cga")

static const opt_def table_options[] = {
    SIGNATURE_OPTION,
    CHOICE("product", clifford.product, "geometric|outer|left|right|inner|scalar|commutator",
           "which terms to list (default geometric)"),
    FLAG("terms", clifford.terms, "list every term k i j sign path"),
};

static const opt_def bench_options[] = {
    SIGNATURE_OPTION,
    CHOICE("op", clifford.operation, "gate|norm|sgp|fcgp|linear|layer|fc_layer",
           "what to time (default sgp)"),
    TEXT("batch", clifford.batch, "LIST", "numbers of rows (default 1024,2048,4096,8192)"),
    TEXT("features", clifford.features, "LIST", "numbers of features (default 128,256,512,1024)"),
    CHOICE("dtype", dtype, "f32|f64|bf16|f16", "element type (default f32)"),
    TEXT("seconds", clifford.seconds, "X", "time spent on each median (default 0.2)"),
    PATH("peer", 0, clifford.peer, PATH_READ, ".json",
         "times of a peer beside ours, as --json or bench/clifford_sweep.py --peer writes them"),
    FLAG("overwrite", overwrite, "replace a report that exists"),
};

static const opt_def check_options[] = {SIGNATURE_OPTION};

static const cli_command commands[] = {
    {.name = "clifford table",
     .operands = "SIGNATURE",
     .max_operand = 1,
     .operand_roles = {PATH_NONE},
     .operand_hints = SIGNATURES,
     OWN_OPTIONS(table_options),
     .summary = "components, grade paths and product of an algebra",
     .examples = "tessera clifford table +++\n"
                 "tessera clifford table 3,0,1 --product outer\n"
                 "tessera clifford table --signature=-+++ --terms\n",
     .run = cmd_clifford_table},
    {.name = "clifford bench",
     .operands = "[SIGNATURE]",
     .max_operand = 1,
     .operand_roles = {PATH_NONE},
     .operand_hints = SIGNATURES,
     .groups = CLI_ENGINE | CLI_REPORT,
     OWN_OPTIONS(bench_options),
     .params = {tess_clifford_params},
     .summary = "time an operation over batch sizes and features",
     .examples = "tessera clifford bench +++ --report sgp.html --overwrite\n"
                 "tessera clifford bench ++ --op layer --batch 4096 --features 512 --device cuda\n"
                 "tessera clifford bench --op fcgp --precision high --dtype bf16 --json\n",
     .run = cmd_clifford_bench},
    {.name = "clifford check",
     .operands = "[SIGNATURE...]",
     .max_operand = CLI_ANY_OPERAND,
     .operand_roles = {PATH_NONE, PATH_NONE},
     .operand_hints = SIGNATURES,
     .groups = CLI_ENGINE,
     OWN_OPTIONS(check_options),
     .params = {tess_clifford_check_params},
     .summary = "equivariance, gradients and repeatability on this machine",
     .examples = "tessera clifford check\n"
                 "tessera clifford check pga sta --device cuda\n"
                 "tessera clifford check +++ --rows 100 --features 96 --seed 7\n",
     .run = cmd_clifford_check},
};

const cli_command_list cli_clifford_commands = {commands, COUNT(commands)};
