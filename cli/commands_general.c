// Commands that belong to no system, and their options.

#include "batch.h"
#include "commands.h"
#include "diff.h"

static const opt_def device_options[] = {
    FLAG("benchmark", benchmark, "measure bandwidth and floating-point ceilings"),
};
static const opt_def sysinfo_options[] = {
    FLAG("paths", paths, "include file system paths"),
};
static const opt_def show_options[] = {
    FLAG("origin", origin, "say where each value came from"),
};
static const opt_def demo_options[] = {
    PATH("dir", 0, dir, PATH_INTO, NULL, "where to write (default ./tessera-demo)"),
};
static const opt_def bench_options[] = {
    FLAG("list", list, "say what there is to time, and time nothing"),
};
static const opt_def rerun_options[] = {
    TEXT("input", moved, "OLD=NEW",
         "where an input is now, by the name it had; several are separated by commas"),
};
static const opt_def try_options[] = {
    CHOICE("only", try_script.only, "ours|original", "run one side alone"),
    TEXT("original-python", try_script.original_python, "PYTHON",
         "interpreter that has the original (default: the one that has Tessera)"),
    FLAG("twice", try_script.twice, "run the original twice, to see how far it is from itself"),
    FLAG("html", try_script.html, "print a page for a browser on stdout"),
};
// Of slurm and pbs, which call the same thing partition and queue.
#define BATCH_OPTIONS(queue)                                                                       \
    TEXT("job-name", batch.job_name, "NAME", "name of the job (default: the command's)"),          \
        TEXT("time", batch.time, "LIMIT",                                                          \
             "time limit, as HH:MM:SS, D-HH:MM:SS or minutes (default 01:00:00)"),                 \
        TEXT(queue, batch.partition, "NAME", "where to run (default: the cluster's)"),             \
        TEXT("account", batch.account, "NAME", "who pays (default: the cluster's)"),               \
        TEXT("work", batch.work, "FOLDER",                                                         \
             "folder of checkpoints, on a file system that all nodes see (default tessera-work)"), \
        TEXT("each", batch.each, "LIST",                                                           \
             "an array job: a task for each of these values, separated by commas, which {} in "    \
             "the command stands for"),                                                            \
        FLAG("per-subject", batch.per_subject,                                                     \
             "of autoreject study: an array job, a task for each subject, then the group's "       \
             "report")
static const opt_def slurm_options[] = {BATCH_OPTIONS("partition")};
static const opt_def pbs_options[] = {BATCH_OPTIONS("queue")};
static const opt_def help_options[] = {
    FLAG("all", all, "print the help of every command"),
    FLAG("markdown", markdown, "with --all: as Markdown"),
    FLAG("man", man, "print the manual page of the command, or of all together, in roff"),
};

static const cli_command commands[] = {
    {.name = "demo",
     .operands = "[SYSTEM]",
     .max_operand = 1,
     .operand_roles = {PATH_NONE},
     .operand_choices = CLI_SYSTEMS,
     OWN_OPTIONS(demo_options),
     .summary = "make data, run, write HTML reports; offline, under a minute",
     .examples = "tessera demo\ntessera demo decode --dir my-demo\n",
     .run = cmd_demo},
    {.name = "bench",
     .operands = "[CASE...]",
     .max_operand = CLI_ANY_OPERAND,
     .operand_roles = {PATH_NONE, PATH_NONE},
     .groups = CLI_ENGINE,
     OWN_OPTIONS(bench_options),
     .summary = "time kernels and whole systems, with share of the machine's ceilings",
     .examples = "tessera bench\n"
                 "tessera bench --list\n"
                 "tessera bench decode sgp3\n"
                 "tessera bench ptp-f32-long --threads 1 --json\n",
     .run = cmd_bench},
    {.name = "device",
     .groups = CLI_ENGINE,
     OWN_OPTIONS(device_options),
     .summary = "what hardware was found, what was chosen and why",
     .examples = "tessera device\ntessera device --benchmark\n",
     .run = cmd_device},
    {.name = "sysinfo",
     .groups = CLI_ENGINE | CLI_RANKS,
     OWN_OPTIONS(sysinfo_options),
     .summary = "everything a bug report needs",
     .examples = "tessera sysinfo\n",
     .run = cmd_sysinfo},
    {.name = "selftest",
     .groups = CLI_ENGINE,
     .summary = "small cases on every device and instruction set, against stored numbers",
     .examples = "tessera selftest\n",
     .run = cmd_selftest},
    {.name = "info",
     .operands = "FILE",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .summary = "data sets and provenance of a file, or what a checkpoint holds",
     .examples = "tessera info ptp.npy\n",
     .run = cmd_info},
    {.name = "diff",
     .operands = "A B",
     .min_operand = 2,
     .max_operand = 2,
     .operand_roles = {PATH_READ, PATH_READ},
     .params = {diff_params},
     .summary = "compare two results: what differs, by how much, and which settings; exit 1 if "
                "they differ",
     .examples = "tessera diff run1.h5 run2.h5\n"
                 "tessera diff fit1 fit2 --rtol 1e-6\n"
                 "tessera diff model.json other.json --json\n",
     .run = cmd_diff},
    {.name = "rerun",
     .operands = "FILE",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .groups = CLI_OUTPUT,
     OWN_OPTIONS(rerun_options),
     .params = {diff_params},
     .summary = "do again what made a result, and compare; exit 1 if they differ",
     .output = "keep the new result here",
     .output_endings = CLI_ANY_ENDING,
     .examples = "tessera rerun result.h5\n"
                 "tessera rerun model.json --input epochs.npz=/data/epochs.npz -o again.json\n",
     .run = cmd_rerun},
    {.name = "try",
     .operands = "SCRIPT [ARGUMENT...]",
     .min_operand = 1,
     .max_operand = CLI_ANY_OPERAND,
     .passes_words = 1,
     .operand_roles = {PATH_READ, PATH_NONE},
     OWN_OPTIONS(try_options),
     .params = {try_params},
     .summary = "run a script of an original unchanged, with Tessera and with the original, and "
                "compare; exit 1 if they differ",
     .examples = "tessera try fit.py\n"
                 "tessera try --original-python ~/old/bin/python decode.py --day 3\n"
                 "tessera try --only ours --time-limit 600 notebook.ipynb\n"
                 "tessera try --html clean.py > clean.html\n",
     .run = cmd_try},
    {.name = "slurm",
     .operands = "COMMAND [ARGUMENT...]",
     .min_operand = 1,
     .max_operand = CLI_ANY_OPERAND,
     .passes_words = 1,
     .operand_roles = {PATH_NONE, PATH_NONE},
     .groups = CLI_OUTPUT,
     OWN_OPTIONS(slurm_options),
     .params = {batch_params},
     .summary =
         "print a SLURM script that runs a command, keeps its work before the time limit and goes "
         "on",
     .output = "write the script here instead",
     .output_endings = CLI_ANY_ENDING,
     .examples =
         "tessera slurm --time 04:00:00 xpcs fit big.txc2 --gap 2e6 -o big > job.sh && sbatch "
         "job.sh\n"
         "tessera slurm --shards 8 -o job.sh xpcs mcmc big.txc2 --gap 2e6 -o draws\n"
         "tessera slurm --each a,b,c decode run {}.npz -o {}.h5\n",
     .run = cmd_slurm},
    {.name = "pbs",
     .operands = "COMMAND [ARGUMENT...]",
     .min_operand = 1,
     .max_operand = CLI_ANY_OPERAND,
     .passes_words = 1,
     .operand_roles = {PATH_NONE, PATH_NONE},
     .groups = CLI_OUTPUT,
     OWN_OPTIONS(pbs_options),
     .params = {batch_params},
     .summary =
         "print a PBS script that runs a command, keeps its work before the time limit and goes on",
     .output = "write the script here instead",
     .output_endings = CLI_ANY_ENDING,
     .examples =
         "tessera pbs --time 04:00:00 decode run day.nwb -o day.h5 > job.sh && qsub job.sh\n"
         "tessera pbs --per-subject -o job.sh autoreject study bids -o clean && bash "
         "job.sh\n",
     .run = cmd_pbs},
    {.name = "config init",
     .groups = CLI_OUTPUT,
     .summary = "print a configuration file with every setting and its default",
     .output = "write here instead",
     .output_endings = CLI_ANY_ENDING,
     .examples = "tessera config init -o run.yaml\n",
     .run = cmd_config_init},
    {.name = "config validate",
     .operands = "FILE",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_READ},
     .summary = "check a configuration file",
     .examples = "tessera config validate run.yaml\n",
     .run = cmd_config_validate},
    {.name = "config show",
     .groups = CLI_ENGINE,
     OWN_OPTIONS(show_options),
     .summary = "print the settings in force",
     .examples = "tessera config show --config run.yaml --origin\n",
     .run = cmd_config_show},
    {.name = "config diff",
     .operands = "A [B]",
     .min_operand = 1,
     .max_operand = 2,
     .operand_roles = {PATH_READ, PATH_READ},
     .summary = "compare two files, or one with the defaults; exit 1 if they differ",
     .examples = "tessera config diff run.yaml\n",
     .run = cmd_config_diff},
    {.name = "completion",
     .operands = "bash|zsh|fish",
     .min_operand = 1,
     .max_operand = 1,
     .operand_roles = {PATH_NONE},
     .operand_choices = "bash|zsh|fish",
     .summary = "print a shell completion script",
     .examples = "source <(tessera completion bash)\n",
     .run = cmd_completion},
    {.name = "cite",
     .operands = "[SYSTEM]",
     .max_operand = 1,
     .operand_roles = {PATH_NONE},
     .operand_choices = CLI_SYSTEMS,
     .summary = "BibTeX entries of Tessera and of the methods",
     .examples = "tessera cite autoreject >> paper.bib\n",
     .run = cmd_cite},
    {.name = "help",
     .operands = "[TOPIC]",
     .max_operand = 2,
     .operand_roles = {PATH_NONE, PATH_NONE},
     OWN_OPTIONS(help_options),
     .summary = "help on a command, 'environment', 'exit-codes' or 'warnings'",
     .examples = "tessera help autoreject ptp\n"
                 "tessera help environment\n"
                 "tessera help decode run --man | man -l -\n",
     .run = cmd_help},
};

const cli_command_list cli_general_commands = {commands, COUNT(commands)};
