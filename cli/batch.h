// Scripts for batch systems: what a job runs, how often, and in how much memory.
#ifndef TESSERA_CLI_BATCH_H
#define TESSERA_CLI_BATCH_H

#include "cli.h"

typedef struct batch_config {
    uint64_t mem;
    int64_t cpus_per_task;
    int64_t ntasks;
    int64_t nodes;
    int64_t gpus_per_task;
    int64_t stop_before;
    int64_t restarts;
    int64_t shards;
    int64_t at_a_time;
} batch_config;

const tess_param_table *batch_params(void);

typedef enum batch_system { BATCH_SLURM, BATCH_PBS } batch_system;

// A word of the job's command; in one that takes a value, {} stands for the task's.
typedef struct batch_word {
    char *text;
    int takes_value;
} batch_word;

typedef struct batch_words {
    batch_word *words; // owned, as their texts; the first two or three name the command
    int n_word;
    int no_memory;
} batch_words;

typedef struct batch_job {
    cli *c;        // of 'slurm' or 'pbs'
    cli *inner;    // of the command that the job runs, parsed with the first task's value
    char **parsed; // the words it was parsed from
    batch_system system;
    batch_config config;
    batch_words run;  // what the job, or each of its tasks, runs
    batch_words join; // what a last job runs when the tasks are done; empty: nothing
    int join_anyway;  // also if a task failed
    int gathers;      // what the tasks wrote is put together first
    char **values;    // of the tasks, owned; NULL: one job, or parts by number
    int64_t n_task;   // 0: no array
    char name[64];
    char work[PATH_MAX]; // folder of the checkpoints
    int keeps;           // the command can be stopped and goes on
    uint64_t mem_bytes;
    int64_t seconds;       // of the time limit
    int64_t gpus_per_node; // of a list that the ranks of a machine divide; 0: by task
} batch_job;

// Appends a word; whether it takes the task's value. Failure shows in no_memory.
void batch_add(batch_words *words, const char *text, int takes_value);
// The words with a value in place of {}; NULL behind the last, batch_free_line() them. NULL: no
// memory.
char **batch_line(const batch_words *words, const char *value);
void batch_free_line(char **line);
void batch_free_words(batch_words *words);
// As elements of an array of bash, safe for any text.
void batch_print_words(FILE *file, const batch_words *words, const char *indent);

// The value of a task, for plans; "" where there is no array.
void batch_value(const batch_job *job, int64_t task, char *text, size_t capacity);

// Takes the values of --each and marks the words they go into; then, when the command is parsed,
// the other kinds of tasks, and whether any tasks keep apart. Exit codes.
int batch_take_values(batch_job *job);
int batch_make_tasks(batch_job *job);

// Finds mem_bytes, asking the command for its plan where nobody says, and adds the memory limit.
int batch_plan_memory(batch_job *job);
// The subjects of a study, from its plan, as the values of tasks. Exit code.
int batch_find_subjects(batch_job *job);

// The lines both scripts share: the folder of work, and the words of a step with its own part of
// it.
void batch_print_work(FILE *file, const batch_job *job);
void batch_print_step(FILE *file, const batch_job *job);

void batch_print_slurm(FILE *file, const batch_job *job);
void batch_print_pbs(FILE *file, const batch_job *job);

#endif
