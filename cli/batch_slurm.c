// The script for SLURM.

#include "batch.h"

// SLURM counts memory by machine or by core: ranks may be on any number of machines.
static void print_machines(FILE *file, const batch_job *job)
{
    const long long cpus = (long long)job->config.cpus_per_task;
    const unsigned long long mem = (unsigned long long)(job->mem_bytes >> 20);

    if (job->config.ntasks == 1) {
        fprintf(file,
                "#SBATCH --nodes=1\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=%lld\n"
                "#SBATCH --mem=%lluM\n",
                cpus, mem);
        return;
    }
    fprintf(file, "#SBATCH --ntasks=%lld\n", (long long)job->config.ntasks);
    if (job->config.nodes > 0) {
        fprintf(file, "#SBATCH --nodes=%lld\n#SBATCH --ntasks-per-node=%lld\n",
                (long long)job->config.nodes, (long long)(job->config.ntasks / job->config.nodes));
    }
    fprintf(file, "#SBATCH --cpus-per-task=%lld\n#SBATCH --mem-per-cpu=%lluM\n", cpus,
            (mem + (unsigned long long)cpus - 1) / (unsigned long long)cpus);
}

static void print_head(FILE *file, const batch_job *job)
{
    const cli_batch_values *own = &job->c->values.batch;
    const long long hours = (long long)(job->seconds / 3600);

    fprintf(file,
            "#!/bin/bash\n"
            "# Printed by 'tessera slurm' %s. Submit it with: %s FILE\n"
            "#SBATCH --job-name=%s\n",
            tess_version(), job->join.n_word > 0 ? "bash" : "sbatch", job->name);
    print_machines(file, job);
    fprintf(file, "#SBATCH --time=%lld-%02lld:%02d:%02d\n", hours / 24, hours % 24,
            (int)(job->seconds / 60 % 60), (int)(job->seconds % 60));
    if (job->config.gpus_per_task > 0) {
        fprintf(file, "#SBATCH --gpus-per-task=%lld\n", (long long)job->config.gpus_per_task);
    }
    if (job->gpus_per_node > 0) { // by task each rank would see its own alone, as cuda:0
        fprintf(file, "#SBATCH --gpus-per-node=%lld\n", (long long)job->gpus_per_node);
    }
    if (own->partition) {
        fprintf(file, "#SBATCH --partition=%s\n", own->partition);
    }
    if (own->account) {
        fprintf(file, "#SBATCH --account=%s\n", own->account);
    }
    fprintf(file, "#SBATCH --output=%%x-%s.log\n#SBATCH --open-mode=append\n",
            job->n_task > 0 ? "%A_%a" : "%j");
    if (job->keeps) {
        fprintf(file, "#SBATCH --signal=B:USR1@%lld\n#SBATCH --requeue\n",
                (long long)job->config.stop_before);
    }
}

static void print_array(FILE *file, const batch_job *job)
{
    const long long first = job->values ? 0 : 1; // parts count from one

    fprintf(file, "--array=%lld-%lld", first, first + (long long)job->n_task - 1);
    if (job->config.at_a_time > 0) {
        fprintf(file, "%%%lld", (long long)job->config.at_a_time);
    }
}

// On the login node: the tasks, and a job that waits for them.
static void print_submit(FILE *file, const batch_job *job)
{
    fputs("step=${1:-submit}\n"
          "if [ \"$step\" = submit ]; then # the tasks, and what comes when they are done\n"
          "    tasks=$(sbatch --parsable ",
          file);
    print_array(file, job);
    fprintf(file,
            " \"$0\" part) || exit\n"
            "    exec sbatch --dependency=%s:\"${tasks%%%%;*}\" --kill-on-invalid-dep=yes \\\n"
            "        --output=%%x-%%j.log \"$0\" join\n"
            "fi\n\n",
            job->join_anyway ? "afterany" : "afterok");
}

// SLURM itself tells all processes of a job that it ends, and starts it again after preemption;
// somebody's scancel is an end. The signal ahead of the time limit goes to the script alone.
static const char run_and_keep[] =
    "stopped=no\n"
    "run=\n"
    "# Before the time limit: the run keeps its work, and ends with 143.\n"
    "trap 'heard=yes; stopped=yes; [ -z \"$run\" ] || stop' USR1\n"
    "trap 'heard=yes' TERM # the run is told, too, and what comes then is SLURM's to say\n"
    "\n"
    "\"${command[@]}\" &\n"
    "run=$!\n"
    "[ \"$stopped\" = no ] || stop\n"
    "while\n"
    "    heard=no\n"
    "    wait \"$run\"\n"
    "    code=$?\n"
    "    [ \"$heard\" = yes ]\n"
    "do :; done\n"
    "\n";

// srun of SLURM 22.05 says nothing is wrong when it could start nothing, as happens when a step of
// the same number left a folder of PMIx behind: every rank leaves a line when it begins.
static const char check_began[] = "if [ \"$code\" = 0 ] && [ ! -s \"$began\" ]; then\n"
                                  "    echo \"srun has started nothing\" >&2\n"
                                  "    code=75\n"
                                  "fi\n"
                                  "rm -f -- \"$began\"\n";

static const char go_on[] =
    "if [ \"$code\" = 75 ] || { [ \"$code\" = 143 ] && [ \"$stopped\" = yes ]; }; then\n"
    "    if [ \"${SLURM_RESTART_COUNT:-0}\" -lt \"$restarts\" ]; then\n"
    "        echo \"stopped in time; going on in a further job\" >&2\n"
    "        # SLURM ends this script; by itself it would look like a job that failed.\n"
    "        scontrol requeue \"$SLURM_JOB_ID\" && sleep 300\n"
    "    else\n"
    "        echo \"not done after $restarts restarts; the work is kept: submit it again\" >&2\n"
    "    fi\n"
    "fi\n"
    "exit \"$code\"\n";

// srun that is told to end kills the ranks, which therefore are told themselves: stop().
static void print_ranks(FILE *file, const batch_job *job)
{
    if (job->config.ntasks == 1) {
        return;
    }
    if (job->keeps) {
        fputs("began=$work/began-$SLURM_JOB_ID\n"
              "mkdir -p -- \"$work\" && rm -f -- \"$began\" || exit 73\n"
              "# shellcheck disable=SC2016 # the words are the rank's\n"
              "command=(bash -c 'echo \"$SLURM_PROCID\" >>\"$0\"; exec \"$@\"' \"$began\" "
              "\"${command[@]}\")\n",
              file);
    }
    fputs("command=(srun --mpi=\"${SLURM_MPI_TYPE:-pmix}\" --kill-on-bad-exit=1\n"
          "    --cpus-per-task=\"$SLURM_CPUS_PER_TASK\" \"${command[@]}\")\n",
          file);
}

void batch_print_slurm(FILE *file, const batch_job *job)
{
    const int has_join = job->join.n_word > 0;
    const int has_ranks = job->config.ntasks > 1;

    print_head(file, job);
    if (job->n_task > 0 && !has_join) {
        fputs("#SBATCH ", file);
        print_array(file, job);
        fputc('\n', file);
    }
    fputc('\n', file);
    if (has_join) {
        print_submit(file, job);
    }
    if (job->n_task > 0) {
        fputs("task=${SLURM_ARRAY_TASK_ID:-}\n", file);
    }
    if (job->keeps && (has_ranks || !job->inner->values.checkpoint)) {
        batch_print_work(file, job);
    }
    if (job->keeps) {
        fprintf(file, "restarts=%lld\n", (long long)job->config.restarts);
    }
    batch_print_step(file, job);
    print_ranks(file, job);
    fputc('\n', file);
    if (!job->keeps) {
        fputs("exec \"${command[@]}\"\n", file);
        return;
    }
    fputs(has_ranks ? "stop() { scancel --signal=TERM \"$SLURM_JOB_ID\"; }\n"
                    : "stop() { kill -TERM \"$run\"; }\n",
          file);
    fputs(run_and_keep, file);
    fputs(has_ranks ? check_began : "", file);
    fputs(go_on, file);
}
