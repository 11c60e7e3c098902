// tessera demo: makes data, runs, writes a report, and shows how to do the same with one's own.

#include "demo.h"
#include "job.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// What there is beside "." and "..", at most two of it; -1 if it cannot be told.
static int count_entries(const char *dir)
{
    DIR *folder = opendir(dir);
    int n = folder ? -2 : -1;
    while (folder && n < 2 && readdir(folder)) {
        n++;
    }
    if (folder) {
        closedir(folder);
    }
    return n;
}

// A demo replaces the files of another, and nobody else's: its folders are marked.
static int take_directory(const char *dir)
{
    char mark[PATH_MAX];
    struct stat there;

    if (snprintf(mark, sizeof mark, "%s/.tessera-demo", dir) >= (int)sizeof mark) {
        return console_fail(2, "--dir: the name is too long");
    }
    const int is_new = mkdir(dir, 0777) == 0;
    if (!is_new && errno != EEXIST) {
        return console_fail(73, "cannot create %s: %s; choose another with --dir", dir,
                            strerror(errno));
    }
    if (!is_new && lstat(mark, &there) != 0 && count_entries(dir) != 0) {
        return console_fail(73, "%s holds files that no demo made; choose another with --dir", dir);
    }
    const int fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) {
        return console_fail(73, "cannot write into %s: %s; choose another with --dir", dir,
                            strerror(errno));
    }
    close(fd);
    return 0;
}

// One system's demo as it ran.
typedef struct demo_run {
    const demo_system *demo;
    char folder[PATH_MAX];
    char *outputs[DEMO_LINES]; // owned
    double seconds;
} demo_run;

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int run_demo(const cli *c, const char *dir, demo_run *run)
{
    const double start = seconds_now();
    const int length = snprintf(run->folder, sizeof run->folder, "%s/%s", dir, run->demo->name);

    if (length >= (int)sizeof run->folder) {
        return console_fail(2, "--dir: the name is too long");
    }
    CLI_TRY(take_directory(run->folder));
    for (int i = 0; i < DEMO_LINES; i++) {
        CLI_TRY(demo_run_line(c, run->demo, i, run->folder, &run->outputs[i]));
    }
    run->seconds = seconds_now() - start;
    return 0;
}

// The first line of the text that holds this and is no note; its length without blanks at its end,
// 0 if there is none.
static size_t find_line(const char *text, const char *wanted, const char **line)
{
    static const char note[] = "tessera: ";
    const size_t n_wanted = strlen(wanted);

    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        const char *const end = at + length;
        const char *hit = strstr(at, wanted);
        if (hit && hit + n_wanted <= end && strncmp(at, note, sizeof note - 1) != 0) {
            while (at[length - 1] == ' ') {
                length--;
            }
            *line = at;
            return length;
        }
        at = *end ? end + 1 : end;
    }
    return 0;
}

static void print_facts(const demo_run *run)
{
    for (int i = 0; i < DEMO_FACTS && run->demo->facts[i]; i++) {
        for (int k = 0; k < DEMO_LINES; k++) {
            const char *line = NULL;
            const size_t length = find_line(run->outputs[k], run->demo->facts[i], &line);
            if (length > 0) {
                printf("  %.*s\n", (int)length, line);
                break;
            }
        }
    }
}

// The command as the user called it, so that the line can be typed in the same place.
static void print_text(const cli *c, const demo_run *run)
{
    char *program = text_command_line(1, c->argv);

    printf("%s: %s (%.1f s)\n", run->demo->name, run->demo->what, run->seconds);
    print_facts(run);
    printf("  report         %s/" DEMO_REPORT "\n", run->folder);
    printf("  %-14s %s %s\n", run->demo->own_label, program ? program : "tessera", run->demo->own);
    printf("  in Python      %s\n\n", run->demo->python);
    fflush(stdout);
    free(program);
}

static int write_json(const cli *c, const demo_run *run, tess_json *json)
{
    char report[PATH_MAX];

    if (snprintf(report, sizeof report, "%s/" DEMO_REPORT, run->folder) >= (int)sizeof report) {
        return console_fail(2, "--dir: the name is too long");
    }
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "system", run->demo->name);
    tess_json_text(json, "what", run->demo->what);
    tess_json_real(json, "seconds", run->seconds);
    tess_json_text(json, "report", report);
    tess_json_text(json, "own", run->demo->own);
    tess_json_text(json, "python", run->demo->python);
    tess_json_array_begin(json, "runs");
    for (int i = 0; i < DEMO_LINES; i++) {
        char *line = demo_line_text(c, run->demo, i, run->folder);
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "command_line", line);
        tess_json_raw(json, "result", run->outputs[i]);
        tess_json_object_end(json);
        free(line);
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    return 0;
}

static int run_and_show(const cli *c, const char *dir, demo_run *run, tess_json *json)
{
    int code = run_demo(c, dir, run);

    if (code == 0 && json) {
        code = write_json(c, run, json);
    } else if (code == 0) {
        print_text(c, run);
    }
    for (int k = 0; k < DEMO_LINES; k++) {
        free(run->outputs[k]);
        run->outputs[k] = NULL;
    }
    return code;
}

// Runs those asked for; json is NULL where text is wanted. One that fails, for want of HDF5
// perhaps, leaves the others to be seen, unless a signal ended it. The exit code of the first that
// failed.
static int run_demos(const cli *c, const char *dir, const char *only, tess_json *json)
{
    demo_run *run = calloc(1, sizeof *run);
    int first_code = run ? 0 : console_fail(71, "out of memory");

    for (int i = 0; run && first_code < 128 && i < DEMO_SYSTEMS; i++) {
        if (!only || strcmp(only, demo_systems[i].name) == 0) {
            run->demo = &demo_systems[i];
            const int code = run_and_show(c, dir, run, json);
            first_code = first_code && code < 128 ? first_code : code;
        }
    }
    free(run);
    return first_code;
}

static int demo_as_json(cli *c, const char *dir, const char *only)
{
    tess_json *json = NULL;

    CLI_TRY(session_open(c, NULL));
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.demo/1");
    tess_json_array_begin(json, "demos");
    const int code = run_demos(c, dir, only, json);
    tess_json_array_end(json);
    tess_json_object_end(json);
    const int printed = job_print_json(json);
    tess_json_destroy(json);
    return code ? code : printed;
}

static int check_system(const cli *c, const char *system)
{
    for (int i = 0; system && i < DEMO_SYSTEMS; i++) {
        if (strcmp(system, demo_systems[i].name) == 0) {
            return 0;
        }
    }
    return system ? cli_usage_error(
                        c, "unknown system '%s'; there are autoreject, decode, xpcs and clifford",
                        system)
                  : 0;
}

int cmd_demo(cli *c)
{
    const char *dir = c->values.dir ? c->values.dir : "tessera-demo";
    const char *only = c->n_operand > 0 ? c->operands[0] : NULL;

    CLI_TRY(check_system(c, only));
    CLI_TRY(take_directory(dir));
    if (c->values.json) {
        return demo_as_json(c, dir, only);
    }
    CLI_TRY(run_demos(c, dir, only, NULL));
    printf("What was run, and everything it printed: %s/%s/output.txt\n", dir,
           only ? only : "SYSTEM");
    return 0;
}
