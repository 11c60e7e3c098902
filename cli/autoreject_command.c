// The command that carries out a log edited in a report, with everything it needs of the one that
// wrote the report.

#include "autoreject.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WORD = 2 * OPT_CAPACITY };

typedef struct words {
    char *items[MAX_WORD]; // owned
    int n;
    int no_memory;
} words;

static void add(words *list, const char *name, const char *value)
{
    char *word = NULL;

    if (list->n + 1 >= MAX_WORD) {
        return;
    }
    if (value && asprintf(&word, "%s=%s", name, value) < 0) {
        word = NULL;
    } else if (!value) {
        word = strdup(name);
    }
    list->no_memory |= !word;
    list->items[list->n] = word;
    list->n += word != NULL;
}

// As it was typed, if it was.
static void add_option(words *list, const opt_item *item)
{
    const int has_value = item->kind == OPT_TEXT || item->kind == OPT_MAYBE_TEXT;
    const char *value = has_value ? *(const char *const *)item->target : NULL;
    char name[64];

    snprintf(name, sizeof name, "--%s", item->name);
    if (has_value ? value != NULL : *(const int *)item->target != 0) {
        add(list, name, value && value[0] ? value : NULL);
    }
}

// The table that an option's parameter is of; NULL: none.
static const tess_param_table *table_of(const cli *c, const opt_item *item)
{
    for (int k = 0; k < CLI_MAX_TABLE; k++) {
        const settings *values = &c->system[k];
        const char *const *first = values->flag_text;
        const void *end = first + SETTINGS_CAPACITY;
        if (values->table && (const void *)first <= item->target && item->target < end) {
            return values->table;
        }
    }
    return NULL;
}

// Whether what was said here concerns fit or transform; their own inputs aside.
static int concerns(const cli *c, const opt_item *item, int is_fit)
{
    static const char *const of_transform[] = {"model", "use-log"};
    static const char *const of_fit[] = {"consensus", "n-interpolate"};
    const tess_param_table *table = table_of(c, item);
    int is_foreign = 0;

    for (int i = 0; i < 2; i++) {
        is_foreign |= strcmp(item->name, of_transform[i]) == 0;
        is_foreign |= !is_fit && strcmp(item->name, of_fit[i]) == 0;
    }
    return !is_foreign &&
           (!table || table == tess_autoreject_epochs_params() ||
            table == (is_fit ? tess_autoreject_fit_params() : tess_autoreject_transform_params()));
}

// "tessera autoreject VERB INPUT" and its options; the caller adds what the verb needs.
static void begin(words *list, const cli *c, int is_fit)
{
    add(list, "tessera", NULL);
    add(list, "autoreject", NULL);
    add(list, is_fit ? "fit" : "transform", NULL);
    add(list, c->operands[0], NULL);
    for (int64_t i = 0; i < c->options.n_item; i++) {
        const opt_item *item = &c->options.items[i];
        const int decides = cli_option_decides(c, item) || strcmp(item->name, "config") == 0;
        if (decides && concerns(c, item, is_fit)) {
            add_option(list, item);
        }
    }
}

static char *finish(words *list)
{
    char *line = list->no_memory ? NULL : text_command_line(list->n, list->items);

    for (int i = 0; i < list->n; i++) {
        free(list->items[i]);
    }
    list->n = 0;
    return line;
}

// The model that was read or written; NULL: it is nowhere.
static const char *model_of(const cli *c)
{
    if (c->values.model_file) {
        return c->values.model_file;
    }
    return strcmp(c->command->name, "autoreject fit") == 0 ? c->values.output
                                                           : c->values.save_model;
}

int autoreject_use_log_command(const cli *c, char **out)
{
    const char *model = model_of(c);
    words list = {0};
    char *first = NULL;

    *out = NULL;
    if (!model) { // it is fitted again, the same
        begin(&list, c, 1);
        add(&list, "-o", NULL);
        add(&list, "model.json", NULL);
        first = finish(&list);
    }
    begin(&list, c, 0);
    add(&list, "-m", NULL);
    add(&list, model ? model : "model.json", NULL);
    add(&list, "--use-log", NULL);
    add(&list, "edited-log.json", NULL);
    add(&list, "-o", NULL);
    add(&list, "edited-epo.fif", NULL);
    char *second = finish(&list);
    if (second && (model || first) &&
        asprintf(out, "%s%s%s", first ? first : "", first ? "\n" : "", second) < 0) {
        *out = NULL;
    }
    free(first);
    free(second);
    return *out ? 0 : console_fail(71, "out of memory");
}
