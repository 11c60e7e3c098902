// Runs the lines of a demo with what they print kept in a file, so that a screen is enough for all.

#include "demo.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The words of a line as cli_execute() takes them, with room for "tessera", --json, -q and the end.
typedef struct line_words {
    char *words[DEMO_WORDS + 4];
    int n_word;
} line_words;

static void free_words(line_words *line)
{
    for (int i = 0; i < line->n_word; i++) {
        free(line->words[i]);
    }
    line->n_word = 0;
}

static int add_word(line_words *line, const char *folder, const char *word)
{
    const size_t here = sizeof DEMO_HERE - 1;
    const int is_path = strncmp(word, DEMO_HERE, here) == 0;
    const size_t bytes = strlen(folder) + strlen(word) + 2;
    char *copy = malloc(bytes);

    if (!copy) {
        return 0;
    }
    snprintf(copy, bytes, "%s%s%s", is_path ? folder : "", is_path ? "/" : "",
             is_path ? word + here : word);
    line->words[line->n_word++] = copy;
    return 1;
}

// With --json every line gets it too: their objects go into the demo's.
static int make_words(const cli *c, const demo_system *demo, int index, const char *folder,
                      line_words *line)
{
    memset(line, 0, sizeof *line);
    int ok = add_word(line, folder, "tessera");
    for (int i = 0; ok && i < DEMO_WORDS && demo->lines[index][i]; i++) {
        ok = add_word(line, folder, demo->lines[index][i]);
    }
    if (c->values.json) {
        ok = ok && add_word(line, folder, "--json") && add_word(line, folder, "-q");
    }
    if (!ok) {
        free_words(line);
    }
    return ok;
}

char *demo_line_text(const cli *c, const demo_system *demo, int index, const char *folder)
{
    line_words line;

    if (!make_words(c, demo, index, folder, &line)) {
        return NULL;
    }
    char *text = text_command_line(line.n_word, line.words);
    free_words(&line);
    return text;
}

// The bytes of a file from an offset on, to be freed.
static int read_from(int fd, off_t begin, char **text)
{
    struct stat now;

    if (fstat(fd, &now) != 0 || now.st_size < begin) {
        return console_fail(74, "cannot read back what the demo printed: %s", strerror(errno));
    }
    const size_t bytes = (size_t)(now.st_size - begin);
    *text = malloc(bytes + 1);
    if (!*text) {
        return console_fail(71, "out of memory");
    }
    if (pread(fd, *text, bytes, begin) != (ssize_t)bytes) {
        return console_fail(74, "cannot read back what the demo printed");
    }
    (*text)[bytes] = '\0';
    return 0;
}

// Executes the words with stdout in fd, which is at its end, and stderr too unless JSON is wanted:
// notes of plans and files belong to the output, and to the screen only where the line fails.
static int execute_into(const cli *c, int fd, line_words *line)
{
    fflush(stdout);
    const int screen[] = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    int code = 0;

    if (screen[0] < 0 || screen[1] < 0 || dup2(fd, STDOUT_FILENO) < 0 ||
        (!c->values.json && dup2(fd, STDERR_FILENO) < 0)) {
        code = console_fail(71, "cannot redirect the output: %s", strerror(errno));
    } else {
        code = cli_execute(line->n_word, line->words);
        fflush(stdout);
    }
    for (int i = 0; i < 2; i++) {
        if (screen[i] >= 0) {
            dup2(screen[i], STDOUT_FILENO + i);
            close(screen[i]);
        }
    }
    console_set_quiet(c->values.quiet);
    return code;
}

static int run_words(const cli *c, const char *log, line_words *line, int is_first, char **text)
{
    char *shown = text_command_line(line->n_word, line->words);
    const int fd = open(
        log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (is_first ? O_TRUNC : 0), 0666);
    int code = 0;

    if (!shown) {
        code = console_fail(71, "out of memory");
    } else if (fd < 0) {
        code = console_fail(73, "cannot write %s: %s; choose another folder with --dir", log,
                            strerror(errno));
    } else if (dprintf(fd, "$ %s\n", shown) < 0) {
        code = console_fail(74, "cannot write %s: %s", log, strerror(errno));
    }
    free(shown);
    const off_t begin = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    if (code == 0) {
        const int failed = execute_into(c, fd, line);
        code = read_from(fd, begin, text);
        if (failed && code == 0 && !c->values.json) {
            fputs(*text, stderr);
        }
        code = failed ? failed : code;
    }
    if (fd >= 0) {
        close(fd);
    }
    return code;
}

int demo_run_line(const cli *c, const demo_system *demo, int index, const char *folder, char **text)
{
    char log[PATH_MAX];
    line_words line;

    *text = NULL;
    if (snprintf(log, sizeof log, "%s/output.txt", folder) >= (int)sizeof log) {
        return console_fail(2, "--dir: the name is too long");
    }
    if (!make_words(c, demo, index, folder, &line)) {
        return console_fail(71, "out of memory");
    }
    const int code = run_words(c, log, &line, index == 0, text);
    free_words(&line);
    return code;
}
