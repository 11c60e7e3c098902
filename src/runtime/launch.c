// Who started this process, and as one of how many: what launchers leave in the environment.
#include "tessera/sys/comm.h"

#include <stdlib.h>
#include <string.h>

// The batch shell of a job has SLURM_NTASKS too, where nothing was launched: srun alone sets that
// of the step.
static const struct {
    const char *size;
    const char *rank;
} launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, // Open MPI
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},   // MVAPICH
    {"PMI_SIZE", "PMI_RANK"},                         // MPICH, Intel
    {"PALS_SIZE", "PALS_RANKID"},                     // Cray
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},         // srun
};

static int32_t number_of(const char *text)
{
    char *end = NULL;
    const long value = text ? strtol(text, &end, 10) : -1;
    return text && end != text && *end == '\0' && value >= 0 && value <= INT32_MAX ? (int32_t)value
                                                                                   : -1;
}

const char *tess_comm_launch(int32_t *rank, int32_t *n_rank)
{
    const char *wish = getenv("TESSERA_COMM");
    *rank = 0;
    *n_rank = 1;
    if (wish && strcmp(wish, "none") == 0) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const int32_t size = number_of(getenv(launchers[i].size));
        const int32_t own = number_of(getenv(launchers[i].rank));
        if (size > 1 && own >= 0 && own < size) {
            *rank = own;
            *n_rank = size;
            return launchers[i].size;
        }
        if (size == 1) { // one process: another launcher around it is not ours
            return NULL;
        }
    }
    const int32_t own = number_of(getenv("PMIX_RANK"));
    if (own >= 0) {
        *rank = own;
        *n_rank = 0;
        return "PMIX_RANK";
    }
    return NULL;
}
