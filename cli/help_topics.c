// What holds for every command: the environment it looks at, the codes it ends with.

#include "help.h"

static const help_row environment[] = {
    {"TESSERA_NUM_THREADS", "threads, as --threads; then OMP_NUM_THREADS, SLURM_CPUS_PER_TASK"},
    {"TESSERA_MEMORY_LIMIT", "memory budget, as --memory-limit"},
    {"HOMODYNE_MEMORY_LIMIT", "the same for xpcs, in GiB; NLSQ_MEMORY_FRACTION as a share of all"},
    {"TESSERA_DEVICE", "device, as --device"},
    {"TESSERA_ISA", "instruction set, as --isa"},
    {"TESSERA_PLUGIN_PATH", "directories searched for modules before the installed ones"},
    {"TESSERA_CUDA_PLUGIN", "the CUDA module itself; TESSERA_HDF5_PLUGIN the HDF5 helper"},
    {"TESSERA_CONFIG", "configuration file, as --config"},
    {"TESSERA_PROGRESS", "auto, bar, plain, json or none, as --progress"},
    {"TESSERA_TRACE", "Chrome trace to write, as --trace"},
    {"XDG_CONFIG_HOME", "the user's file is tessera/config.yaml in it (default ~/.config)"},
    {"SOURCE_DATE_EPOCH", "time written into outputs instead of the clock's"},
    {"NO_COLOR", "set: no bold text on a terminal"},
    {"TERM", "dumb: no progress bar"},
    {"COLUMNS", "width of help and progress bar"},
};

static const help_row exit_codes[] = {
    {"0", "success"},
    {"1", "differences found (config diff), or a self test failed"},
    {"2", "usage error, such as a file that is both read and written"},
    {"5", "autoreject: every epoch is bad; what was asked for is written"},
    {"65", "input invalid, corrupt or truncated; checkpoint of another run"},
    {"66", "input missing or unreadable"},
    {"69", "device, module or system not available"},
    {"70", "internal error"},
    {"71", "out of memory, or the memory limit is too small"},
    {"73", "output exists or cannot be created"},
    {"74", "input/output error such as a full disk"},
    {"78", "configuration invalid"},
    {"130", "stopped by Ctrl-C; with --checkpoint the work is kept"},
    {"141", "the reader of the output went away"},
    {"143", "stopped by SIGTERM; with --checkpoint the work is kept"},
};

#define LIST(array) ((help_list){(array), (int64_t)(sizeof(array) / sizeof((array)[0]))})

help_list help_environment(void)
{
    return LIST(environment);
}

help_list help_exit_codes(void)
{
    return LIST(exit_codes);
}
