// tessera try: hands a script of an original to the Python that has Tessera, which compares.

#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Only a Python that has Tessera can say so; the folder it starts in is not to be searched.
static const char bootstrap[] =
    "import sys\n"
    "sys.path[:] = [folder for folder in sys.path if folder]\n"
    "try:\n"
    "    from tessera.compat._main import main\n"
    "except ImportError as error:\n"
    "    print(f'tessera: {sys.executable} has no Tessera ({error}); install it there, or name a "
    "'\n"
    "          'Python that has it: TESSERA_PYTHON=/path/to/python', file=sys.stderr)\n"
    "    sys.exit(69)\n"
    "main()\n";

enum { MAX_OPTION = 16 };

typedef struct try_config {
    double tolerance;
    double time_limit;
    int64_t seed;
} try_config;

const tess_param_table *try_params(void)
{
    static const tess_param params[] = {
        {"tolerance", TESS_PARAM_REAL, offsetof(try_config, tolerance), 1e-4, 0, 1e9, NULL, "",
         "numbers count as the same if they differ by at most this share of the original's "
         "largest"},
        {"time_limit", TESS_PARAM_REAL, offsetof(try_config, time_limit), 0, 0, 1e9, NULL, "s",
         "stop a side after this time; 0: never"},
        {"seed", TESS_PARAM_INT, offsetof(try_config, seed), 0, 0, 4294967295.0, NULL, "",
         "of random numbers that the script leaves unseeded"},
    };
    static const tess_param_table table = {"try", params, sizeof params / sizeof params[0]};
    return &table;
}

typedef struct python_line {
    char **words; // owned, as their texts
    int n_word;
    int no_memory;
} python_line;

static void set(python_line *line, int at, const char *word)
{
    free(line->words[at]);
    line->words[at] = strdup(word);
    line->no_memory |= !line->words[at];
}

static void add(python_line *line, const char *word)
{
    set(line, line->n_word++, word);
}

static void add_value(python_line *line, const char *name, const char *value)
{
    if (value) {
        add(line, name);
        add(line, value);
    }
}

static void add_flag(python_line *line, const char *name, int is_set)
{
    if (is_set) {
        add(line, name);
    }
}

// Numbers were checked by the table, and go on as they were typed; Python has the same defaults.
static void add_params(python_line *line, const settings *numbers)
{
    static const char *const names[] = {"--tolerance", "--time-limit", "--seed"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        add_value(line, names[i], numbers->flag_text[i]);
    }
}

static void add_options(python_line *line, const cli_values *values)
{
    const cli_try_values *own = &values->try_script;

    add_value(line, "--only", own->only);
    add_value(line, "--original-python", own->original_python);
    add_flag(line, "--twice", own->twice);
    add_flag(line, "--html", own->html);
    add_flag(line, "--json", values->json);
    add_flag(line, "--verbose", values->verbose);
    add_flag(line, "--quiet", values->quiet);
}

// The Python beside the command, as in an environment of Python's; 0 if there is none.
static int python_beside(char path[PATH_MAX])
{
    char real[PATH_MAX];

    if (!realpath("/proc/self/exe", real)) {
        return 0;
    }
    char *slash = strrchr(real, '/');
    if (!slash) {
        return 0;
    }
    *slash = '\0';
    const int length = snprintf(path, PATH_MAX, "%s/python3", real);
    return length < PATH_MAX && access(path, X_OK) == 0;
}

// Comes back only where it failed. A Python finds what is installed for it by its own name.
static void execute(python_line *line, const char *python)
{
    set(line, 0, python);
    if (!line->no_memory) {
        execvp(python, line->words);
    }
}

static int start(python_line *line)
{
    const char *asked = getenv("TESSERA_PYTHON");
    char beside[PATH_MAX];

    fflush(stdout);
    if (asked && asked[0]) {
        execute(line, asked);
        return console_fail(69, "TESSERA_PYTHON %s: %s", asked, strerror(errno));
    }
    if (python_beside(beside)) {
        execute(line, beside);
    }
    execute(line, "python3");
    execute(line, "python");
    return console_fail(69,
                        "'try' needs Python, and there is no python3: %s; name one that has "
                        "Tessera: TESSERA_PYTHON=/path/to/python",
                        strerror(errno));
}

int cmd_try(cli *c)
{
    const size_t n_most = (size_t)c->n_operand + 2 * MAX_OPTION;
    python_line line = {.words = calloc(n_most, sizeof *line.words)};
    char script[PATH_MAX];
    int code = 0;

    if (!line.words) {
        return console_fail(71, "out of memory");
    }
    add(&line, "python3");
    add(&line, "-c");
    add(&line, bootstrap);
    add_options(&line, &c->values);
    add_params(&line, &c->system[0]);
    // A name that begins with a dash is no option.
    const int length = snprintf(script, sizeof script, "%s%s", c->operands[0][0] == '-' ? "./" : "",
                                c->operands[0]);
    add(&line, script);
    for (int i = 1; i < c->n_operand; i++) {
        add(&line, c->operands[i]);
    }
    if (length >= (int)sizeof script) {
        code = console_fail(66, "SCRIPT: the name is too long");
    } else {
        code = line.no_memory ? console_fail(71, "out of memory") : start(&line);
    }
    for (int i = 0; i < line.n_word; i++) {
        free(line.words[i]);
    }
    free(line.words);
    return code;
}
