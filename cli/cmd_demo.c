// tessera demo: makes data, runs, writes a report, and shows how to do the same by hand.

#include "cli.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_WORD = 20 };

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

// Files of a demo: data, result, report.
typedef struct demo_paths {
    char data[PATH_MAX];
    char result[PATH_MAX];
    char report[PATH_MAX];
} demo_paths;

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

// A demo replaces the files of another, and nobody else's: its folder is marked.
static int take_directory(const char *dir)
{
    char mark[PATH_MAX];
    struct stat there;

    snprintf(mark, sizeof mark, "%.*s/.tessera-demo", PATH_MAX - 32, dir);
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

static int make_directory(const char *dir, const char *data, const char *result, demo_paths *paths)
{
    if (strlen(dir) + 32 > sizeof paths->data) {
        return console_fail(2, "--dir: the name is too long");
    }
    CLI_TRY(take_directory(dir));
    snprintf(paths->data, sizeof paths->data, "%.*s/%s", PATH_MAX - 32, dir, data);
    snprintf(paths->result, sizeof paths->result, "%.*s/%s", PATH_MAX - 32, dir, result);
    snprintf(paths->report, sizeof paths->report, "%.*s/report.html", PATH_MAX - 32, dir);
    return 0;
}

// Words of a command line that may be changed by nobody, as cli_execute() wants them.
#define WORD(text) ((char[]){text})

static int demo_autoreject(const cli *c, const char *dir, demo_paths *paths)
{
    char montage[PATH_MAX];
    char *make[MAX_WORD] = {WORD("tessera"), WORD("autoreject"), WORD("simulate"),
                            WORD("-o"),      paths->data,        WORD("--positions"),
                            montage,         WORD("--overwrite")};
    char *run[MAX_WORD] = {WORD("tessera"),       WORD("autoreject"), WORD("fit-transform"),
                           paths->data,           WORD("--montage"),  montage,
                           WORD("--sampling-hz"), WORD("250"),        WORD("-o"),
                           paths->result,         WORD("--report"),   paths->report,
                           WORD("--overwrite")};

    CLI_TRY(make_directory(dir, "epochs.npy", "clean-epo.fif", paths));
    snprintf(montage, sizeof montage, "%.*s/electrodes.csv", PATH_MAX - 32, dir);
    CLI_TRY(run_line(c, make));
    CLI_TRY(run_line(c, run));
    printf("\nThe report is %s\n\n"
           "On your own file, from the shell:\n"
           "  tessera autoreject fit-transform %s --montage %s -o %s --report %s\n\n"
           "and on MNE epochs in Python:\n"
           "  from tessera.autoreject import AutoReject\n"
           "  clean = AutoReject(random_state=0).fit_transform(epochs)\n",
           paths->report, paths->data, montage, paths->result, paths->report);
    return 0;
}

static int demo_decode(const cli *c, const char *dir, demo_paths *paths)
{
    char *make[MAX_WORD] = {WORD("tessera"),
                            WORD("decode"),
                            WORD("simulate"),
                            WORD("day-1d"),
                            WORD("-o"),
                            paths->data,
                            WORD("--electrodes"),
                            WORD("16"),
                            WORD("--time-bins"),
                            WORD("20000"),
                            WORD("--encoding-spikes"),
                            WORD("60000"),
                            WORD("--decoding-spikes"),
                            WORD("20000"),
                            WORD("--overwrite")};
    char *run[MAX_WORD] = {WORD("tessera"),  WORD("decode"), WORD("run"),
                           paths->data,      WORD("-o"),     paths->result,
                           WORD("--report"), paths->report,  WORD("--overwrite")};

    CLI_TRY(make_directory(dir, "recording.npz", "decoded.h5", paths));
    CLI_TRY(run_line(c, make));
    CLI_TRY(run_line(c, run));
    printf("\nThe report is %s\n\n"
           "On your own recording, from the shell:\n"
           "  tessera decode run %s -o %s --report %s\n\n"
           "What a recording must hold: tessera info %s\n",
           paths->report, paths->data, paths->result, paths->report, paths->data);
    return 0;
}

static int demo_xpcs(const cli *c, const char *dir, demo_paths *paths)
{
    char *make[MAX_WORD] = {WORD("tessera"), WORD("xpcs"),       WORD("simulate"),
                            WORD("-o"),      paths->data,        WORD("--n-angle"),
                            WORD("8"),       WORD("--n-frame"),  WORD("300"),
                            WORD("--sigma"), WORD("0.02"),       WORD("--contrast-scatter"),
                            WORD("0.1"),     WORD("--overwrite")};
    char *look[MAX_WORD] = {WORD("tessera"), WORD("xpcs"), WORD("inspect"), paths->data};
    char *run[MAX_WORD] = {
        WORD("tessera"),  WORD("xpcs"),         WORD("fit"),        paths->data, WORD("--gap"),
        WORD("2e6"),      WORD("--sigma-mode"), WORD("estimate"),   WORD("-o"),  paths->result,
        WORD("--report"), paths->report,        WORD("--overwrite")};

    CLI_TRY(make_directory(dir, "correlations.hdf", "results", paths));
    CLI_TRY(run_line(c, make));
    CLI_TRY(run_line(c, look));
    CLI_TRY(run_line(c, run));
    printf("\nThe report is %s\n\n"
           "On your own file, from the shell:\n"
           "  tessera xpcs fit %s --gap 2e6 -o %s --report %s\n\n"
           "with a configuration of homodyne:\n"
           "  tessera xpcs fit --config homodyne_config.yaml\n\n"
           "and in Python:\n"
           "  from tessera import xpcs\n"
           "  result = xpcs.fit(xpcs.load(\"%s\", gap=2e6))\n",
           paths->report, paths->data, paths->result, paths->report, paths->data);
    return 0;
}

static int demo_clifford(const cli *c, const char *dir, demo_paths *paths)
{
    char *table[MAX_WORD] = {WORD("tessera"), WORD("clifford"), WORD("table"), WORD("+++")};
    char *check[MAX_WORD] = {WORD("tessera"), WORD("clifford"), WORD("check"), WORD("+++")};
    char *bench[MAX_WORD] = {WORD("tessera"),    WORD("clifford"),   WORD("bench"),
                             WORD("+++"),        WORD("--batch"),    WORD("256,1024,4096"),
                             WORD("--features"), WORD("28,128,512"), WORD("--seconds"),
                             WORD("0.1"),        WORD("--report"),   paths->report,
                             WORD("--overwrite")};

    CLI_TRY(make_directory(dir, "unused", "unused", paths));
    CLI_TRY(run_line(c, table));
    CLI_TRY(run_line(c, check));
    CLI_TRY(run_line(c, bench));
    printf(
        "\nThe report is %s\n\n"
        "In a network of PyTorch:\n"
        "  from tessera.clifford import Layer\n"
        "  layer = Layer(n_features=128, dims=3)\n"
        "  z = layer(x)    # x: (8, batch, 128), components 1, e1, e2, e3, e12, e13, e23, e123\n",
        paths->report);
    return 0;
}

int cmd_demo(cli *c)
{
    static const struct {
        const char *name;
        int (*run)(const cli *c, const char *dir, demo_paths *paths);
    } demos[] = {{"autoreject", demo_autoreject},
                 {"decode", demo_decode},
                 {"xpcs", demo_xpcs},
                 {"clifford", demo_clifford}};
    const char *dir = c->values.dir ? c->values.dir : "tessera-demo";
    const char *system = c->n_operand > 0 ? c->operands[0] : "autoreject";
    const cli_command *command = cli_find_command(system);

    if (command && !command->run) {
        return console_fail(69, "%s is not in this version (%s) yet: %s", system, tess_version(),
                            command->summary);
    }
    for (size_t i = 0; i < sizeof demos / sizeof *demos; i++) {
        if (strcmp(system, demos[i].name) == 0) {
            demo_paths *paths = calloc(1, sizeof *paths);
            if (!paths) {
                return console_fail(71, "out of memory");
            }
            const int code = demos[i].run(c, dir, paths);
            free(paths);
            return code;
        }
    }
    return cli_usage_error(
        c, "unknown system '%s'; there are autoreject, decode, xpcs and clifford", system);
}
