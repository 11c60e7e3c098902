// tessera demo: makes data, runs, writes a report, and shows how to do the same by hand.

#include "cli.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_WORD = 16 };

// Runs exactly the command line it shows, so that the demo cannot say one thing and do another.
static int run_line(const cli *c, char **words)
{
    int n_word = 0;
    while (words[n_word]) {
        n_word++;
    }
    char *line = text_command_line(n_word, words);
    if (!line) {
        return console_fail(71, "out of memory");
    }
    printf("$ %s\n", line);
    fflush(stdout);
    free(line);
    if (c->values.quiet) {
        static char quiet[] = "-q";
        words[n_word++] = quiet;
    }
    const int code = cli_execute(n_word, words);
    fflush(stdout);
    return code;
}

typedef struct demo_paths {
    char epochs[PATH_MAX];
    char ptp[PATH_MAX];
    char report[PATH_MAX];
} demo_paths;

static int make_directory(const char *dir, demo_paths *paths)
{
    if (strlen(dir) + 32 > sizeof paths->epochs) {
        return console_fail(2, "--dir: the name is too long");
    }
    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        return console_fail(73, "cannot create %s: %s; choose another with --dir", dir,
                            strerror(errno));
    }
    snprintf(paths->epochs, sizeof paths->epochs, "%.*s/epochs.npy", PATH_MAX - 32, dir);
    snprintf(paths->ptp, sizeof paths->ptp, "%.*s/ptp.npy", PATH_MAX - 32, dir);
    snprintf(paths->report, sizeof paths->report, "%.*s/report.html", PATH_MAX - 32, dir);
    return 0;
}

static void print_by_hand(const demo_paths *paths)
{
    printf("\nThe report is %s\n\n"
           "On your own file, from the shell:\n"
           "  tessera autoreject ptp %s -o %s --report %s\n\n"
           "and from Python:\n"
           "  import numpy as np\n"
           "  import tessera.autoreject\n"
           "  epochs = np.load(\"%s\", mmap_mode=\"r\")\n"
           "  ptp = tessera.autoreject.ptp(epochs)\n"
           "  print(ptp.shape, np.median(ptp))\n",
           paths->report, paths->epochs, paths->ptp, paths->report, paths->epochs);
}

static int demo_autoreject(const cli *c, demo_paths *paths)
{
    char tessera[] = "tessera";
    char autoreject[] = "autoreject";
    char simulate[] = "simulate";
    char ptp[] = "ptp";
    char output[] = "-o";
    char report[] = "--report";
    char overwrite[] = "--overwrite";
    char *make[MAX_WORD] = {tessera, autoreject, simulate, output, paths->epochs, overwrite};
    char *run[MAX_WORD] = {tessera,    autoreject, ptp,           paths->epochs, output,
                           paths->ptp, report,     paths->report, overwrite};

    CLI_TRY(run_line(c, make));
    CLI_TRY(run_line(c, run));
    print_by_hand(paths);
    return 0;
}

int cmd_demo(cli *c)
{
    const char *dir = c->values.dir ? c->values.dir : "tessera-demo";
    const char *system = c->n_operand > 0 ? c->operands[0] : "autoreject";
    const cli_command *command = cli_find_command(system);

    if (command && !command->run) {
        return console_fail(69, "%s is not in this version (%s) yet: %s", system, tess_version(),
                            command->summary);
    }
    if (strcmp(system, "autoreject") != 0) {
        return cli_usage_error(c, "unknown system '%s'; there is autoreject", system);
    }
    demo_paths *paths = calloc(1, sizeof *paths);
    if (!paths) {
        return console_fail(71, "out of memory");
    }
    int code = make_directory(dir, paths);
    code = code ? code : demo_autoreject(c, paths);
    free(paths);
    return code;
}
