// Builds option lists from tables and parses argv with them.

#include "opt.h"

#include "console.h"
#include "text.h"

#include <assert.h>
#include <string.h>

const char *opt_role_name(path_role role)
{
    static const char *const names[] = {
        [PATH_UNSAID] = NULL,     [PATH_NONE] = NULL,         [PATH_READ] = "read",
        [PATH_WRITE] = "write",   [PATH_REPLACE] = "replace", [PATH_APPEND] = "append",
        [PATH_RESULT] = "result", [PATH_INTO] = "into",       [PATH_OWN] = "own"};
    return names[role];
}

static opt_item *append(opt_list *list, const char *group, const char *name)
{
    assert(list->n_item < OPT_CAPACITY);
    opt_item *item = &list->items[list->n_item++];
    memset(item, 0, sizeof *item);
    item->group = group;
    snprintf(item->name, sizeof item->name, "%s", name);
    return item;
}

const char *opt_path_metavar(path_role role)
{
    return role == PATH_INTO || role == PATH_OWN ? "DIR" : "FILE";
}

static const char *def_metavar(const opt_def *def)
{
    if (def->role != PATH_UNSAID) {
        return opt_path_metavar(def->role);
    }
    if (def->kind == OPT_MAYBE_TEXT && !def->choices && !def->metavar) {
        return "LIST";
    }
    return def->choices ? def->choices : (def->metavar ? def->metavar : "");
}

void opt_add_defs(opt_list *list, const char *group, const opt_def *defs, int64_t n_def, void *base)
{
    for (int64_t i = 0; i < n_def; i++) {
        opt_item *item = append(list, group, defs[i].name);
        item->letter = defs[i].letter;
        item->kind = defs[i].kind;
        item->target = (char *)base + defs[i].offset;
        item->choices = defs[i].choices;
        snprintf(item->metavar, sizeof item->metavar, "%s", def_metavar(&defs[i]));
        snprintf(item->help, sizeof item->help, "%s", defs[i].help);
        item->role = defs[i].role;
        item->endings = defs[i].endings;
        item->hints = defs[i].hints;
    }
}

// "exact|bounded:X": a choice that ends in a colon takes a number.
static void choices_metavar(const char *choices, char *text, size_t capacity)
{
    size_t used = 0;
    for (const char *c = choices; *c && used + 2 < capacity; c++) {
        text[used++] = *c;
        if (*c == ':') {
            text[used++] = 'X';
        }
    }
    text[used] = '\0';
}

static const char *param_metavar(const tess_param *param)
{
    switch (param->type) {
    case TESS_PARAM_BYTES:
        return "BYTES";
    case TESS_PARAM_REAL:
        return "X";
    case TESS_PARAM_FLAG:
        return "yes|no";
    default:
        return "N";
    }
}

// A maximum from here on only keeps arithmetic safe; it would tell a reader nothing.
static const double UNBOUNDED = 1e9;

// "sentence (epochs, 0 to 1000, default 0)": the table is the only place with these numbers.
static void param_help(const settings *values, int64_t index, char *text, size_t capacity)
{
    const tess_param *param = &values->table->params[index];
    char default_text[64];
    char range[96] = "";

    settings_default_text(values->table, index, default_text, sizeof default_text);
    if (param->type == TESS_PARAM_INT || param->type == TESS_PARAM_REAL) {
        const char *comma = param->unit[0] ? ", " : "";
        if (param->maximum >= UNBOUNDED) {
            snprintf(range, sizeof range, "%s%sat least %.10g, ", param->unit, comma,
                     param->minimum);
        } else {
            snprintf(range, sizeof range, "%s%s%.10g to %.10g, ", param->unit, comma,
                     param->minimum, param->maximum);
        }
    }
    if (param->type == TESS_PARAM_BYTES && param->minimum > 0) {
        char least[32];
        text_bytes(least, sizeof least, (uint64_t)param->minimum);
        snprintf(range, sizeof range, "at least %s, ", least);
    }
    if (param->type == TESS_PARAM_BYTES && param->default_value > 0) {
        text_bytes(default_text, sizeof default_text, (uint64_t)param->default_value);
    }
    snprintf(text, capacity, "%s (%sdefault %s)", param->help, range, default_text);
}

void opt_add_params(opt_list *list, const char *group, settings *values, int64_t first,
                    int64_t count)
{
    for (int64_t i = first; i < first + count; i++) {
        const tess_param *param = &values->table->params[i];
        opt_item *item = append(list, group, param->name);
        for (char *c = item->name; *c; c++) {
            *c = *c == '_' ? '-' : *c;
        }
        item->kind = param->type == TESS_PARAM_FLAG ? OPT_MAYBE_TEXT : OPT_TEXT;
        item->target = &values->flag_text[i];
        item->choices = param->choices;
        if (param->choices) {
            choices_metavar(param->choices, item->metavar, sizeof item->metavar);
        } else {
            snprintf(item->metavar, sizeof item->metavar, "%s", param_metavar(param));
        }
        param_help(values, i, item->help, sizeof item->help);
    }
}

typedef struct parser {
    const opt_list *list;
    int argc;
    char **argv;
    int at;
    const char *help_hint;
} parser;

static const opt_item *find_name(const opt_list *list, const char *name, size_t length)
{
    for (int64_t i = 0; i < list->n_item; i++) {
        if (strlen(list->items[i].name) == length &&
            strncmp(list->items[i].name, name, length) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

static const opt_item *find_letter(const opt_list *list, char letter)
{
    for (int64_t i = 0; i < list->n_item; i++) {
        if (list->items[i].letter == letter) {
            return &list->items[i];
        }
    }
    return NULL;
}

// "bounded:" among the choices is met by "bounded" and by "bounded:1e-6"; the number is judged
// later, by the parameter it belongs to.
static int choice_is_known(const char *choices, const char *text)
{
    const size_t length = strcspn(text, ":");
    for (const char *at = choices; at; at = strchr(at, '|'), at = at ? at + 1 : NULL) {
        if (length > 0 && strcspn(at, "|:") == length && strncmp(at, text, length) == 0 &&
            (text[length] == '\0' || at[length] == ':')) {
            return 1;
        }
    }
    return 0;
}

static int store(const parser *p, const opt_item *item, const char *value)
{
    if (value && value[0] && item->choices && !choice_is_known(item->choices, value)) {
        return console_fail(2, "option '--%s': '%s' is none of %s (see '%s --help')", item->name,
                            value, item->metavar, p->help_hint);
    }
    // A file that is read would be left out without a word; of others the last one wins.
    const char *before = item->role == PATH_READ ? *(const char *const *)item->target : NULL;
    if (before && value && strcmp(before, value) != 0) {
        return console_fail(2, "option '--%s' is given twice, with '%s' and '%s': one is taken",
                            item->name, before, value);
    }
    if (item->kind == OPT_FLAG) {
        *(int *)item->target = 1;
    } else if (item->kind == OPT_COUNT) {
        *(int *)item->target += 1;
    } else {
        *(const char **)item->target = value;
    }
    return 0;
}

// Text options take the rest of the word or the next word as their value.
static int take_value(parser *p, const opt_item *item, const char *attached)
{
    if (attached) {
        return store(p, item, attached);
    }
    if (p->at + 1 >= p->argc) {
        return console_fail(2, "option '--%s' needs a value: --%s %s (see '%s --help')", item->name,
                            item->name, item->metavar, p->help_hint);
    }
    return store(p, item, p->argv[++p->at]);
}

static int unknown_option(const parser *p, const char *name, size_t length)
{
    const char *names[OPT_CAPACITY];
    char wanted[64];

    snprintf(wanted, sizeof wanted, "%.*s", (int)length, name);
    for (int64_t i = 0; i < p->list->n_item; i++) {
        names[i] = p->list->items[i].name;
    }
    const char *nearest = suggest_nearest(wanted, names, p->list->n_item);
    if (nearest) {
        return console_fail(2, "unknown option '--%s'; did you mean '--%s'? (see '%s --help')",
                            wanted, nearest, p->help_hint);
    }
    return console_fail(2, "unknown option '--%s' (see '%s --help')", wanted, p->help_hint);
}

static int parse_long(parser *p)
{
    const char *name = p->argv[p->at] + 2;
    const char *equals = strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const opt_item *item = find_name(p->list, name, length);

    if (!item) {
        return unknown_option(p, name, length);
    }
    if (item->kind == OPT_TEXT) {
        return take_value(p, item, equals ? equals + 1 : NULL);
    }
    if (item->kind == OPT_MAYBE_TEXT) {
        return store(p, item, equals ? equals + 1 : "");
    }
    if (equals) {
        return console_fail(2, "option '--%s' takes no value, got '%s' (see '%s --help')",
                            item->name, equals + 1, p->help_hint);
    }
    return store(p, item, NULL);
}

static int parse_letters(parser *p)
{
    for (const char *letter = p->argv[p->at] + 1; *letter; letter++) {
        const opt_item *item = find_letter(p->list, *letter);
        if (!item) {
            return console_fail(2, "unknown option '-%c' (see '%s --help')", *letter, p->help_hint);
        }
        if (item->kind == OPT_TEXT) {
            return take_value(p, item, letter[1] ? letter + 1 : NULL);
        }
        const int code = store(p, item, "");
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

int opt_parse(const opt_list *list, int argc, char **argv, const char *help_hint, char **operands,
              int *n_operand)
{
    parser p = {.list = list, .argc = argc, .argv = argv, .help_hint = help_hint};
    int options_ended = 0;

    *n_operand = 0;
    for (p.at = 0; p.at < argc; p.at++) {
        const char *word = argv[p.at];
        int code = 0;
        if (options_ended || word[0] != '-' || word[1] == '\0') {
            operands[(*n_operand)++] = argv[p.at];
            options_ended = options_ended || list->passes_words;
        } else if (strcmp(word, "--") == 0) {
            options_ended = 1;
        } else if (word[1] == '-') {
            code = parse_long(&p);
        } else {
            code = parse_letters(&p);
        }
        if (code != 0) {
            return code;
        }
    }
    return 0;
}
