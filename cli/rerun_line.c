// Makes the command line of a rerun: the words of the provenance, inputs where they are now,
// outputs in a folder of their own.

#include "rerun.h"

#include "member.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct maker {
    cli *c;
    const cli_command *command;
    cli *scratch; // of the command that is run again, for its options
    const tess_document_node *provenance;
    const tess_document_node *beside; // of the file beside, which knows what was typed; or NULL
    const char *path;
    const char *folder;
    rerun_line *line;
} maker;

static int add_word(maker *m, const char *word)
{
    rerun_line *line = m->line;

    if (line->n_word + 1 >= RERUN_MAX_WORD) {
        return console_fail(65, "%s: its provenance names more than %d words", m->path,
                            RERUN_MAX_WORD);
    }
    line->words[line->n_word] = strdup(word);
    return line->words[line->n_word++] ? 0 : console_fail(71, "out of memory");
}

static int add_pair(maker *m, const char *name, const char *value)
{
    char *word = NULL;
    int code = asprintf(&word, "--%s=%s", name, value) < 0 ? console_fail(71, "out of memory") : 0;

    code = code ? code : add_word(m, word);
    free(word);
    return code;
}

void rerun_free_line(rerun_line *line)
{
    for (int i = 0; i < line->n_word; i++) {
        free(line->words[i]);
    }
    line->n_word = 0;
}

// What the provenance knows of an input of this name; NULL: nothing.
static const tess_document_node *input_of(const maker *m, const char *name)
{
    const tess_document_node *inputs = document_member(m->provenance, "inputs");

    for (const tess_document_entry *e = inputs && inputs->kind == TESS_DOCUMENT_LIST ? inputs->first
                                                                                     : NULL;
         e; e = e->next) {
        const tess_document_node *found = document_member(e->value, "name");
        if (found && strcmp(found->text, name) == 0) {
            return e->value;
        }
    }
    return NULL;
}

// "--input OLD=NEW,OLD2=NEW2": 1 if it names this one.
static int find_moved(const maker *m, const char *name, char found[PATH_MAX])
{
    const size_t n = strlen(name);

    for (const char *at = m->c->values.moved ? m->c->values.moved : ""; *at;) {
        const size_t length = strcspn(at, ",");
        if (strncmp(at, name, n) == 0 && at[n] == '=' && n < length) {
            snprintf(found, PATH_MAX, "%.*s", (int)(length - n - 1), at + n + 1);
            return 1;
        }
        at += length + (at[length] == ',');
    }
    return 0;
}

// A word of the command line as typed that ends in this name, if it is still there.
static int find_typed(const maker *m, const char *name, char found[PATH_MAX])
{
    const tess_document_node *here = document_member(m->provenance, "command_line");
    const tess_document_node *typed = here ? here : document_member(m->beside, "command_line");
    const size_t n = strlen(name);
    struct stat there;

    for (const char *at = typed ? typed->text : ""; *at;) {
        const size_t length = strcspn(at, " =");
        if (length > n && strncmp(at + length - n, name, n) == 0 && at[length - n - 1] == '/') {
            snprintf(found, PATH_MAX, "%.*s", (int)length, at);
            if (stat(found, &there) == 0) {
                return 1;
            }
        }
        at += length + (at[length] != '\0');
    }
    return 0;
}

static int find_beside(const maker *m, const char *name, char found[PATH_MAX])
{
    const char *slash = strrchr(m->path, '/');
    struct stat there;

    snprintf(found, PATH_MAX, "%.*s%s", slash ? (int)(slash + 1 - m->path) : 0, m->path, name);
    return stat(found, &there) == 0;
}

static int check_size(const maker *m, const char *name, const char *found)
{
    const tess_document_node *input = input_of(m, name);
    const tess_document_node *bytes = input ? document_member(input, "bytes") : NULL;
    struct stat there;

    if (bytes && stat(found, &there) == 0 && S_ISREG(there.st_mode) &&
        strtoll(bytes->text, NULL, 10) != (long long)there.st_size) {
        return console_fail(65,
                            "%s has changed: %lld bytes, and %s were read when %s was made; name "
                            "the file of then with --input %s=PATH",
                            found, (long long)there.st_size, bytes->text, m->path, name);
    }
    return 0;
}

// Where the input of this name is now.
static int find_input(const maker *m, const char *name, char found[PATH_MAX])
{
    struct stat there;

    if (find_moved(m, name, found)) {
        return check_size(m, name, found);
    }
    snprintf(found, PATH_MAX, "%s", name);
    if (stat(found, &there) == 0 || find_typed(m, name, found) || find_beside(m, name, found)) {
        return check_size(m, name, found);
    }
    if (!input_of(m, name) && !text_has_suffix(name)) {
        snprintf(found, PATH_MAX, "%s", name); // a word that is no file, such as a montage's
        return 0;
    }
    return console_fail(66,
                        "%s, from which %s was made, is neither here nor beside it; say where it "
                        "is with --input %s=PATH",
                        name, m->path, name);
}

static const opt_item *find_option(const maker *m, const char *word)
{
    const size_t length = strcspn(word + 2, "=");

    for (int64_t i = 0; i < m->scratch->options.n_item; i++) {
        const opt_item *item = &m->scratch->options.items[i];
        if (strlen(item->name) == length && strncmp(item->name, word + 2, length) == 0) {
            return item;
        }
    }
    return NULL;
}

// A file may say anything of itself: nothing is run that writes but where this command says.
static int is_harmless(const maker *m, const char *word, const opt_item *item)
{
    if (word[0] != '-') {
        return 1;
    }
    return item && cli_option_decides(m->scratch, item);
}

static int add_stored_word(maker *m, const char *word, int index)
{
    char found[PATH_MAX];
    const opt_item *item = strncmp(word, "--", 2) == 0 ? find_option(m, word) : NULL;

    if (!is_harmless(m, word, item)) {
        return console_fail(65, "%s: its provenance names '%s', which no computation depends on",
                            m->path, word);
    }
    if (item && item->role == PATH_READ && strchr(word, '=')) {
        CLI_TRY(find_input(m, strchr(word, '=') + 1, found));
        return add_pair(m, item->name, found);
    }
    const int place = item || index < 0 ? -1 : cli_operand_place(m->command, index);
    if (place >= 0 && m->command->operand_roles[place] == PATH_READ) {
        CLI_TRY(find_input(m, word, found));
        return add_word(m, found);
    }
    return add_word(m, word);
}

// "a|b": whether the name ends in one of them; "" among them means any.
static int has_ending(const char *endings, const char *name)
{
    for (const char *at = endings; at; at = strchr(at, '|'), at = at ? at + 1 : NULL) {
        char ending[16];
        snprintf(ending, sizeof ending, "%.*s", (int)strcspn(at, "|"), at);
        if (ending[0] && text_ends_with(name, ending)) {
            return 1;
        }
    }
    return 0;
}

// Whether this option, -o aside, writes files of this name: its row says so, or its help.
static int writes_such(const opt_item *item, const char *name)
{
    if (item->role != PATH_WRITE || strcmp(item->name, "output") == 0) {
        return 0;
    }
    if (item->endings) {
        return has_ending(item->endings, name);
    }
    return (strcmp(item->name, "save-model") == 0 && text_ends_with(name, ".json")) ||
           (strcmp(item->name, "positions") == 0 && text_ends_with(name, ".csv"));
}

// A name that both take: what the file says it is decides.
static int is_log(const maker *m, const opt_item *item)
{
    const tess_document_node *stage = document_member(m->provenance, "stage");
    return strcmp(item->name, "log") == 0 && stage && strcmp(stage->text, "autoreject.log") == 0;
}

// Files that no run of a command leaves again, bit for bit.
static int refuse_pages(const maker *m)
{
    const tess_document_node *stage = document_member(m->provenance, "stage");
    const int is_page =
        text_ends_with(m->path, ".html") || (stage && text_ends_with(stage->text, ".report"));

    if (stage && strcmp(stage->text, "autoreject.report.log") == 0) {
        return console_fail(65,
                            "%s: a reader of a report made this log; rerun the epochs that "
                            "'transform --use-log' wrote by it, or compare it with the log of the "
                            "command: tessera diff LOG %s",
                            m->path, m->path);
    }
    if (is_page && !find_option(m, "--output")) {
        return console_fail(65,
                            "%s shows what 'tessera %s' measured: another run measures anew, and "
                            "nothing of it could be compared",
                            m->path, m->command->name);
    }
    if (is_page) {
        return console_fail(65,
                            "%s: a report is a page about results, with the times of its run; "
                            "rerun the results themselves",
                            m->path);
    }
    return 0;
}

// A name that -o takes where another option writes what was asked for.
static void other_output(const opt_item *output, const char *folder, char path[PATH_MAX])
{
    const char *endings = output->endings ? output->endings : "";
    char ending[16];

    snprintf(ending, sizeof ending, "%.*s", (int)strcspn(endings, "|"), endings);
    snprintf(path, PATH_MAX, "%.3000s/other%s", folder, ending);
}

// The file of a result folder: where the folder itself was asked for, all of it.
static void place_in_folder(maker *m, const char *made, const char *name)
{
    struct stat there;

    snprintf(m->line->made, sizeof m->line->made, "%s", made);
    if (stat(m->path, &there) == 0 && S_ISDIR(there.st_mode)) {
        return;
    }
    const char *names = m->command->output_names ? m->command->output_names : "";
    for (const char *at = names; *at;) {
        const size_t length = strcspn(at, "|");
        char inside[PATH_MAX];
        snprintf(inside, sizeof inside, "%.*s", (int)length, at);
        const char *slash = strrchr(inside, '/');
        const size_t n_path = strlen(m->path);
        const int is_it = n_path >= length && strcmp(m->path + n_path - length, inside) == 0;
        if (strcmp(slash ? slash + 1 : inside, name) == 0) {
            snprintf(m->line->made, sizeof m->line->made, "%.3000s/%.900s", made, inside);
        }
        if (is_it) { // nlsq/parameters.json, not cmc/parameters.json
            return;
        }
        at += length + (at[length] == '|');
    }
}

static int add_outputs(maker *m)
{
    const opt_list *list = &m->scratch->options;
    const char *slash = strrchr(m->path, '/');
    const char *name = slash && slash[1] ? slash + 1 : m->path;
    const opt_item *output = NULL;
    const opt_item *chosen = NULL;
    char path[PATH_MAX];

    for (int64_t i = 0; i < list->n_item; i++) {
        const opt_item *item = &list->items[i];
        output = strcmp(item->name, "output") == 0 ? item : output;
        chosen = !chosen && writes_such(item, name) ? item : chosen;
    }
    if (!output) {
        return console_fail(65, "%s: 'tessera %s' writes no file", m->path, m->command->name);
    }
    if (chosen && (!has_ending(output->endings, name) || is_log(m, chosen))) {
        snprintf(m->line->made, sizeof m->line->made, "%.3000s/%.900s", m->folder, name);
        CLI_TRY(add_pair(m, chosen->name, m->line->made));
        other_output(output, m->folder, path);
        return add_pair(m, "output", path);
    }
    const int is_into = output->role == PATH_INTO;
    snprintf(path, sizeof path, "%.3000s/%.900s", m->folder, is_into ? "result" : name);
    if (is_into) {
        place_in_folder(m, path, name);
    } else {
        snprintf(m->line->made, sizeof m->line->made, "%s", path);
    }
    return add_pair(m, "output", path);
}

// The command by its one or two first words; *n_word says how many.
static const cli_command *find_command(const tess_document_node *words, int *n_word)
{
    const tess_document_entry *first = words->first;
    const tess_document_entry *second = first ? first->next : NULL;
    char name[96];

    *n_word = 2;
    snprintf(name, sizeof name, "%.40s %.40s", first ? first->value->text : "",
             second ? second->value->text : "");
    const cli_command *command = cli_find_command(name);
    if (!command && first) {
        *n_word = 1;
        command = cli_find_command(first->value->text);
    }
    return command && command->run ? command : NULL;
}

static int add_words(maker *m, const tess_document_node *words, int n_name)
{
    int n_operand = 0;
    int k = 0;

    CLI_TRY(add_word(m, "tessera"));
    for (const tess_document_entry *e = words->first; e; e = e->next, k++) {
        const char *word = e->value->text;
        if (k < n_name) {
            CLI_TRY(add_word(m, word));
        } else {
            const int is_operand = strncmp(word, "--", 2) != 0;
            CLI_TRY(add_stored_word(m, word, is_operand ? n_operand : -1));
            n_operand += is_operand;
        }
    }
    return add_outputs(m);
}

int rerun_make_line(cli *c, const tess_document_node *provenance, const tess_document_node *beside,
                    const char *path, const char *folder, rerun_line *line)
{
    const tess_document_node *words = document_member(provenance, "command");
    maker m = {.c = c,
               .provenance = provenance,
               .beside = beside,
               .path = path,
               .folder = folder,
               .line = line};
    int n_name = 0;

    if (!words || words->kind != TESS_DOCUMENT_LIST) {
        return console_fail(65,
                            "%s: its provenance names no command: made from Python or C, or by an "
                            "older version",
                            path);
    }
    m.command = find_command(words, &n_name);
    if (!m.command) {
        return console_fail(65,
                            "%s: its provenance names a command that this version (%s) does "
                            "not have",
                            path, tess_version());
    }
    if (strcmp(m.command->name, "xpcs watch") == 0) {
        return console_fail(65,
                            "%s: made by a watch, whose fits begin where the last one ended; fit "
                            "the file with tessera xpcs fit",
                            path);
    }
    m.scratch = calloc(1, sizeof *m.scratch);
    if (!m.scratch) {
        return console_fail(71, "out of memory");
    }
    cli_build_options(m.scratch, m.command);
    int code = refuse_pages(&m);
    code = code ? code : add_words(&m, words, n_name);
    free(m.scratch);
    return code;
}
