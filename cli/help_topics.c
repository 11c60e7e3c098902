// What holds for every command: the environment it looks at, the codes it ends with.

#include "help.h"

static const help_row environment[] = {
    {"TESSERA_NUM_THREADS", "threads, as --threads; then OMP_NUM_THREADS, JAX_NUM_THREADS, "
                            "SLURM_CPUS_PER_TASK"},
    {"TESSERA_MEMORY_LIMIT", "memory budget, as --memory-limit"},
    {"HOMODYNE_MEMORY_LIMIT", "the same for xpcs, in GiB; NLSQ_MEMORY_FRACTION as a share of all"},
    {"TESSERA_DEVICE", "device, as --device"},
    {"TESSERA_DEVICE_MEMORY_LIMIT", "budget of a GPU's memory, as --device-memory-limit"},
    {"TESSERA_DEVICE_CACHE", "0 gives memory of a GPU back to the driver at once"},
    {"TESSERA_CUDA_GENERIC", "1: clifford runs the kernels that every GPU has, also on one of 9.0"},
    {"TESSERA_ISA", "instruction set, as --isa"},
    {"TESSERA_PLUGIN_PATH", "directories searched for modules before the installed ones"},
    {"TESSERA_CUDA_PLUGIN", "the CUDA module; TESSERA_HDF5_PLUGIN the HDF5 helper, "
                            "TESSERA_MPI_PLUGIN the MPI module"},
    {"TESSERA_COMM", "mpi: processes are ranks of one job; none: they are not; else as mpirun or "
                     "srun says"},
    {"TESSERA_SCRATCH", "folder for what does not fit into memory, as --scratch; then TMPDIR, "
                        "/var/tmp"},
    {"TESSERA_CONFIG", "configuration file, as --config"},
    {"TESSERA_PROGRESS", "auto, bar, plain, json or none, as --progress"},
    {"TESSERA_LOG_JSON", "log of JSON lines to append to, as --log-json"},
    {"TESSERA_TRACE", "Chrome trace to write, as --trace"},
    {"TESSERA_BACKEND", "Python: cpu, cuda or auto, what device=\"auto\" means in autoreject"},
    {"TESSERA_AUTOREJECT_ALIAS",
     "Python: 1: importing tessera.autoreject makes 'import autoreject' find it"},
    {"TESSERA_PYTHON", "the Python that has Tessera, for 'try' (default python3)"},
    {"XDG_CONFIG_HOME", "the user's file is tessera/config.yaml in it (default ~/.config)"},
    {"SOURCE_DATE_EPOCH", "time written into outputs instead of the clock's"},
    {"NO_COLOR", "set: no bold text on a terminal"},
    {"TERM", "dumb: no progress bar"},
    {"COLUMNS", "width of help and progress bar"},
};

static const help_row exit_codes[] = {
    {"0", "success"},
    {"1", "differences found (diff, config diff, rerun, try), a self test failed, a warning of "
          "--werror, or recordings of autoreject study failed"},
    {"2", "usage error, such as a file that is both read and written; or not all could be compared "
          "(diff, rerun, try)"},
    {"5", "autoreject: every epoch is bad; what was asked for is written"},
    {"65", "input invalid, corrupt or truncated; checkpoint of another run"},
    {"66", "input missing or unreadable"},
    {"69", "device, module or system not available"},
    {"70", "internal error"},
    {"71", "out of memory, or the memory limit is too small"},
    {"73", "output exists or cannot be created"},
    {"74", "input/output error such as a full disk"},
    {"75",
     "try again later: the checkpoint is in use by another run, or the time limit was reached and "
     "--resume goes on"},
    {"78", "configuration invalid"},
    {"130", "stopped by Ctrl-C; with --checkpoint the work is kept"},
    {"141", "the reader of the output went away"},
    {"143", "stopped by SIGTERM; with --checkpoint the work is kept"},
};

enum { WARNING_COLUMN = 33 };

#define LIST(array) ((help_list){(array), (int64_t)(sizeof(array) / sizeof((array)[0]))})

help_list help_environment(void)
{
    return LIST(environment);
}

help_list help_exit_codes(void)
{
    return LIST(exit_codes);
}

void help_print_warnings(int markdown)
{
    int64_t n_warning = 0;
    const tess_warning_info *warnings = tess_warnings(&n_warning);

    printf(markdown ? "## Warnings\n\n| id | what | remedy |\n|---|---|---|\n"
                    : "Warnings, for --werror and --no-warn; 'xpcs' means all that begin so:\n");
    for (int64_t i = 0; i < n_warning; i++) {
        if (markdown) {
            printf("| `%s` | %s | %s |\n", warnings[i].id, warnings[i].text, warnings[i].remedy);
            continue;
        }
        char text[512];
        snprintf(text, sizeof text, "%s: %s", warnings[i].text, warnings[i].remedy);
        printf("  %-*s", WARNING_COLUMN - 2, warnings[i].id);
        opt_print_wrapped(stdout, text, WARNING_COLUMN, WARNING_COLUMN, console_width());
    }
    printf(markdown ? "\n" : "");
}
