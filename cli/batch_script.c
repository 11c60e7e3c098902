// What scripts of both batch systems share: where the work is kept, and what is run.

#include "batch.h"

#include "text.h"

#include <string.h>

// Dollars, quotes and commas in the user's words are meant as they are.
static void print_pardon(FILE *file, const char *indent, int is_needed)
{
    if (is_needed) {
        fprintf(file, "%s# shellcheck disable=SC1003,SC1112,SC2016,SC2026,SC2054\n", indent);
    }
}

static int is_odd(const char *text)
{
    int is_ascii = 1;

    for (const char *at = text; *at; at++) {
        is_ascii &= (unsigned char)*at < 0x80;
    }
    return !is_ascii || strpbrk(text, "$`'\"\\,") != NULL;
}

void batch_print_work(FILE *file, const batch_job *job)
{
    print_pardon(file, "", is_odd(job->work));
    fputs("work=", file);
    text_print_word(file, job->work);
    fputc('\n', file);
}

static void print_command(FILE *file, const batch_words *words, const char *indent)
{
    int n_odd = 0;

    for (int i = 0; i < words->n_word; i++) {
        n_odd += is_odd(words->words[i].text);
    }
    print_pardon(file, indent, n_odd > 0);
    fprintf(file, "%scommand=(", indent);
    batch_print_words(file, words, indent);
    fputs(")\n", file);
}

static void print_values(FILE *file, const batch_job *job, const char *indent)
{
    int n_odd = 0;

    if (!job->values) {
        fprintf(file, "%svalue=$task/%lld\n", indent, (long long)job->n_task);
        return;
    }
    for (int64_t i = 0; i < job->n_task; i++) {
        n_odd += is_odd(job->values[i]);
    }
    print_pardon(file, indent, n_odd > 0);
    fprintf(file, "%svalues=(", indent);
    for (int64_t i = 0; i < job->n_task; i++) {
        fprintf(file, "%s%s", i > 0 ? "\n    " : "", i > 0 ? indent : "");
        text_print_word(file, job->values[i]);
    }
    fprintf(file, ")\n%svalue=${values[$task]}\n", indent);
}

// The same names for all tasks are of the group, and made anew.
static void print_gather(FILE *file, const batch_job *job)
{
    if (job->gathers) {
        fputs("    out=", file);
        text_print_word(file, job->inner->values.output);
        fputs("\n"
              "    mkdir -p -- \"$out\" && cp -a -- \"$work\"/parts/*/. \"$out\"/ || exit 73\n"
              "    rm -rf -- \"$work/parts\"\n",
              file);
    }
}

// A folder for each process: they run at the same time.
void batch_print_step(FILE *file, const batch_job *job)
{
    const cli_values *v = &job->inner->values;
    const int has_join = job->join.n_word > 0;
    const int has_folder = job->keeps && !v->checkpoint;
    const char *indent = has_join ? "    " : "";

    if (has_join) {
        fputs("if [ \"$step\" = join ]; then\n", file);
        fputs(has_folder ? "    own=$work/join\n" : "", file);
        print_gather(file, job);
        print_command(file, &job->join, indent);
        fputs("else\n", file);
    }
    if (job->n_task > 0) {
        print_values(file, job, indent);
    }
    if (has_folder) {
        fprintf(file, "%sown=$work/%s\n", indent, job->n_task > 0 ? "$task" : "run");
    }
    print_command(file, &job->run, indent);
    fputs(has_join ? "fi\n" : "", file);
    if (has_folder) {
        fputs("mkdir -p -- \"$own\" || exit 73\n"
              "command+=(--checkpoint=\"$own\" --resume)\n",
              file);
    } else if (job->keeps && !v->resume) {
        fputs("command+=(--resume)\n", file);
    }
}
