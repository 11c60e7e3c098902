// The script for SLURM.

#include "batch.h"

static void print_head(FILE *file, const batch_job *job)
{
    const cli_batch_values *own = &job->c->values.batch;
    const long long hours = (long long)(job->seconds / 3600);

    fprintf(file,
            "#!/bin/bash\n"
            "# Printed by 'tessera slurm' %s. Submit it with: %s FILE\n"
            "#SBATCH --job-name=%s\n"
            "#SBATCH --nodes=1\n"
            "#SBATCH --ntasks=1\n"
            "#SBATCH --cpus-per-task=%lld\n"
            "#SBATCH --mem=%lluM\n"
            "#SBATCH --time=%lld-%02lld:%02d:%02d\n",
            tess_version(), job->join.n_word > 0 ? "bash" : "sbatch", job->name,
            (long long)job->config.cpus_per_task, (unsigned long long)(job->mem_bytes >> 20),
            hours / 24, hours % 24, (int)(job->seconds / 60 % 60), (int)(job->seconds % 60));
    if (job->config.gpus_per_task > 0) {
        fprintf(file, "#SBATCH --gpus-per-task=%lld\n", (long long)job->config.gpus_per_task);
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
    "trap 'heard=yes; stopped=yes; [ -z \"$run\" ] || kill -TERM \"$run\"' USR1\n"
    "trap 'heard=yes' TERM # the run is told, too, and what comes then is SLURM's to say\n"
    "\n"
    "\"${command[@]}\" &\n"
    "run=$!\n"
    "[ \"$stopped\" = no ] || kill -TERM \"$run\"\n"
    "while\n"
    "    heard=no\n"
    "    wait \"$run\"\n"
    "    code=$?\n"
    "    [ \"$heard\" = yes ]\n"
    "do :; done\n"
    "\n"
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

void batch_print_slurm(FILE *file, const batch_job *job)
{
    const int has_join = job->join.n_word > 0;

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
    if (job->keeps && !job->inner->values.checkpoint) {
        batch_print_work(file, job);
    }
    if (job->keeps) {
        fprintf(file, "restarts=%lld\n", (long long)job->config.restarts);
    }
    batch_print_step(file, job);
    fputc('\n', file);
    fputs(job->keeps ? run_and_keep : "exec \"${command[@]}\"\n", file);
}
