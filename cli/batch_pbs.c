// The script for PBS.
//
// PBS lets no user put a job back into the queue: one that was stopped in time submits a copy of
// the script, which lies in the folder of work. A task of an array does so for itself alone, and
// who is the last to be done submits what joins them.

#include "batch.h"

// A chunk for each rank, or for the ranks of each machine.
static void print_machines(FILE *file, const batch_job *job)
{
    const batch_config *own = &job->config;
    const int64_t n_chunk = own->nodes > 0 ? own->nodes : own->ntasks;
    const int64_t n_rank = own->ntasks / n_chunk;

    fprintf(file, "#PBS -l select=%lld:ncpus=%lld", (long long)n_chunk,
            (long long)(n_rank * own->cpus_per_task));
    if (own->ntasks > 1) {
        fprintf(file, ":mpiprocs=%lld", (long long)n_rank);
    }
    fprintf(file, ":mem=%llumb", (unsigned long long)(job->mem_bytes >> 20) * (uint64_t)n_rank);
    if (own->gpus_per_task > 0 || job->gpus_per_node > 0) {
        fprintf(
            file, ":ngpus=%lld",
            (long long)(job->gpus_per_node > 0 ? job->gpus_per_node : n_rank * own->gpus_per_task));
    }
    fputs(n_chunk > 1 && own->nodes > 0 ? "\n#PBS -l place=scatter\n" : "\n", file);
}

static void print_head(FILE *file, const batch_job *job)
{
    const cli_batch_values *own = &job->c->values.batch;

    fprintf(file,
            "#!/bin/bash\n"
            "# Printed by 'tessera pbs' %s. Submit it with: %s FILE\n"
            "#PBS -N %s\n",
            tess_version(), job->n_task > 0 ? "bash" : "qsub", job->name);
    print_machines(file, job);
    fprintf(file,
            "#PBS -l walltime=%02lld:%02d:%02d\n"
            "#PBS -j oe\n",
            (long long)(job->seconds / 3600), (int)(job->seconds / 60 % 60),
            (int)(job->seconds % 60));
    if (own->partition) {
        fprintf(file, "#PBS -q %s\n", own->partition);
    }
    if (own->account) {
        fprintf(file, "#PBS -A %s\n", own->account);
    }
    fputs(job->keeps ? "#PBS -r y\n\n" : "\n", file);
}

// On the login node. An array of one is none to PBS.
static void print_submit(FILE *file, const batch_job *job)
{
    const long long first = job->values ? 0 : 1; // parts count from one

    fputs("step=${TESSERA_STEP:-submit}\n"
          "if [ \"$step\" = submit ]; then\n"
          "    rm -rf -- \"$work\"/done-* \"$work/joining\"\n"
          "    cp -- \"$0\" \"$script\" || exit 73\n"
          "    exec qsub -v TESSERA_STEP=part",
          file);
    if (job->n_task == 1) {
        fprintf(file, ",TESSERA_TASK=%lld", first);
    } else {
        fprintf(file, " -J %lld-%lld", first, first + (long long)job->n_task - 1);
        if (job->config.at_a_time > 0) {
            fprintf(file, "%%%lld", (long long)job->config.at_a_time);
        }
    }
    fputs(" \"$script\"\n"
          "fi\n"
          "task=${TESSERA_TASK:-${PBS_ARRAY_INDEX:-}}\n\n",
          file);
}

static void print_again(FILE *file, const batch_job *job)
{
    fprintf(file,
            "if [ \"$code\" = 75 ] && [ \"${TESSERA_RESTART:-0}\" -lt %lld ]; then\n"
            "    echo \"stopped in time; going on in a further job\" >&2\n"
            "    qsub -v \"TESSERA_RESTART=$((${TESSERA_RESTART:-0} + 1))%s\" \"$script\"\n"
            "    exit 75\n"
            "fi\n",
            (long long)job->config.restarts,
            job->n_task > 0 ? ",TESSERA_STEP=$step,TESSERA_TASK=$task" : "");
}

static void print_join(FILE *file, const batch_job *job)
{
    fprintf(file,
            "if [ \"$step\" = part ]%s; then\n"
            "    : >\"$work/done-$task\"\n"
            "    finished=(\"$work\"/done-*)\n"
            "    if [ \"${#finished[@]}\" -eq %lld ] && mkdir \"$work/joining\" 2>/dev/null; then\n"
            "        qsub -v TESSERA_STEP=join \"$script\"\n"
            "    fi\n"
            "fi\n",
            job->join_anyway ? "" : " && [ \"$code\" = 0 ]", (long long)job->n_task);
}

void batch_print_pbs(FILE *file, const batch_job *job)
{
    print_head(file, job);
    fputs("cd \"${PBS_O_WORKDIR:-.}\" || exit 73\n", file);
    if (job->keeps || job->n_task > 0) {
        batch_print_work(file, job);
        fputs("script=$work/job.sh\n"
              "mkdir -p -- \"$work\" || exit 73\n",
              file);
    }
    if (job->n_task > 0) {
        print_submit(file, job);
    } else if (job->keeps) {
        fputs("[ \"$0\" -ef \"$script\" ] || cp -- \"$0\" \"$script\" || exit 73\n", file);
    }
    batch_print_step(file, job);
    if (job->config.ntasks > 1) {
        fprintf(file, "command=(mpirun -n %lld \"${command[@]}\")\n",
                (long long)job->config.ntasks);
    }
    fputs("\n\"${command[@]}\"\ncode=$?\n", file);
    if (job->keeps) {
        print_again(file, job);
    }
    if (job->join.n_word > 0) {
        print_join(file, job);
    }
    fputs("exit \"$code\"\n", file);
}
