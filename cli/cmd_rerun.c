// tessera rerun: does again what made a file, and compares.

#include "child.h"
#include "diff.h"
#include "info.h"
#include "job.h"
#include "rerun.h"
#include "text.h"

#include <tessera/device.h>
#include <tessera/io.h>

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALL_BAD = 5 }; // autoreject: every epoch is bad, and what was asked for is written

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

// Beside the new file, so that it needs no copy; else where temporary files are.
static int make_folder(const cli *c, char folder[PATH_MAX])
{
    const char *out = c->values.output;
    const char *slash = out ? strrchr(out, '/') : NULL;
    const char *temporary = getenv("TMPDIR");
    int n = 0;

    if (out) {
        n = snprintf(folder, PATH_MAX, "%.*s.tessera-rerun-XXXXXX",
                     slash ? (int)(slash + 1 - out) : 0, out);
    } else {
        n = snprintf(folder, PATH_MAX, "%s/tessera-rerun-XXXXXX",
                     temporary && temporary[0] ? temporary : "/tmp");
    }
    if (n >= PATH_MAX - 1024 || !mkdtemp(folder)) {
        return console_fail(73, "%s: cannot create a folder to work in: %s", folder,
                            n >= PATH_MAX - 1024 ? "the name is too long" : strerror(errno));
    }
    return 0;
}

// A process of its own: whatever happens to it, its folder is removed. What it prints about the
// result is not asked for here.
static int run_line(cli *c, const rerun_line *line)
{
    char *text = text_command_line(line->n_word, line->words);
    console_note("running: %s", text ? text : line->words[1]);
    free(text);
    char *words[RERUN_MAX_WORD + 1];
    memcpy(words, line->words, sizeof line->words);
    if (c->values.quiet) {
        static char quiet[] = "--quiet";
        words[line->n_word] = quiet;
        words[line->n_word + 1] = NULL;
    }
    return child_run(c, words, -1);
}

static int inputs_differ(const diff *d)
{
    for (int64_t i = 0; i < d->n_setting; i++) {
        if (d->settings[i].name && strncmp(d->settings[i].name, "inputs", 6) == 0) {
            return 1;
        }
    }
    return 0;
}

static int print_json(const diff *d, const rerun_line *line)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(d->c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.rerun/1");
    tess_json_text(json, "path", d->path_a);
    tess_json_text(json, "written", d->c->values.output);
    tess_json_array_begin(json, "command");
    for (int i = 0; i < line->n_word; i++) {
        tess_json_text(json, NULL, line->words[i]);
    }
    tess_json_array_end(json);
    tess_json_bool(json, "inputs_changed", inputs_differ(d));
    tess_json_object_begin(json, "diff");
    diff_write_json(d, json);
    tess_json_object_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int compare(cli *c, const rerun_line *line, const char *path)
{
    diff d = {.c = c};

    CLI_TRY(settings_resolve(&c->system[0], NULL, &d.config));
    int code = diff_paths(&d, path, line->made);
    d.path_b = "the new one";
    if (code == 0 && c->values.json) {
        code = print_json(&d, line);
    } else if (code == 0 && !c->values.quiet) {
        diff_print(&d);
    }
    if (code == 0 && inputs_differ(&d)) {
        console_note(
            "the inputs are not those of then: the lines 'inputs' say in what they differ");
    }
    code = code ? code : diff_exit_code(&d);
    diff_free(&d);
    return code;
}

// The file, and what lies beside it, under the name asked for.
static int keep(const cli *c, const rerun_line *line)
{
    char from[PATH_MAX];
    char to[PATH_MAX];
    struct stat there;

    if (!c->values.output) {
        return 0;
    }
    if (c->values.overwrite) {
        nftw(c->values.output, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
    if (rename(line->made, c->values.output) != 0) {
        return console_fail(73, "-o %s: %s", c->values.output, strerror(errno));
    }
    snprintf(from, sizeof from, "%.4000s.json", line->made);
    snprintf(to, sizeof to, "%.4000s.json", c->values.output);
    if (stat(from, &there) == 0 && rename(from, to) != 0) {
        return console_fail(73, "%s: %s", to, strerror(errno));
    }
    console_note("the new result is %s", c->values.output);
    return 0;
}

// What lies beside a result that is the same for every run: RESULT.json. NULL: nothing of ours.
static tess_document *open_beside(cli *c, const char *path)
{
    char name[PATH_MAX];
    struct stat there;
    char *text = NULL;
    tess_document *document = NULL;

    snprintf(name, sizeof name, "%.4000s.json", path);
    if (stat(name, &there) != 0 || info_provenance(c, name, &text) != TESS_OK || !text ||
        tess_document_parse(c->ctx, name, text, &document) != TESS_OK) {
        document = NULL;
    }
    tess_text_free(text);
    return document;
}

static int run_again(cli *c, const tess_document_node *provenance, const char *path,
                     const char *folder)
{
    rerun_line line = {0};
    tess_document *beside = open_beside(c, path);
    int code = rerun_make_line(c, provenance, beside ? tess_document_root(beside) : NULL, path,
                               folder, &line);
    tess_document_destroy(beside);

    code = code ? code : run_line(c, &line);
    if (code == 0 || code == ALL_BAD) {
        code = compare(c, &line, path);
        const int kept = keep(c, &line);
        code = kept ? kept : code;
    }
    rerun_free_line(&line);
    return code;
}

// The file of a fit's folder that knows where it comes from.
static const char *speaker_of(const char *path, char speaker[PATH_MAX])
{
    struct stat there;
    snprintf(speaker, PATH_MAX, "%.3800s/nlsq/analysis_results_nlsq.json", path);
    return stat(speaker, &there) == 0 ? speaker : path;
}

int cmd_rerun(cli *c)
{
    char path[PATH_MAX];
    char speaker[PATH_MAX];
    char folder[PATH_MAX];
    char *text = NULL;
    struct stat there;
    tess_document *document = NULL;

    snprintf(path, sizeof path, "%s", c->operands[0]);
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--) {
        path[n - 1] = '\0'; // of a folder
    }
    CLI_TRY(session_context(c, NULL, NULL, &c->ctx));
    CLI_CALL(info_provenance(c, speaker_of(path, speaker), &text));
    if (!text) {
        const int is_folder = stat(path, &there) == 0 && S_ISDIR(there.st_mode);
        return console_fail(is_folder ? 66 : 65,
                            "%s: it has no provenance that says how it was made", path);
    }
    const tess_status status = tess_document_parse(c->ctx, path, text, &document);
    tess_text_free(text);
    CLI_CALL(status);
    int code = make_folder(c, folder);
    if (code == 0) {
        code = run_again(c, tess_document_root(document), path, folder);
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
    tess_document_destroy(document);
    return code;
}
