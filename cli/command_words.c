// The words of a command line that decide its result, for the provenance of what it writes.
//
// Two runs of the same computation must leave the same bytes: where things lie, how long it may
// take and what is said do not count, options stand in the order of the table, and of paths the
// last name alone is kept. What a configuration file says stands as the option that it sets.

#include "cli.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void put_word(FILE *file, int *n_word, const char *word)
{
    fputs((*n_word)++ > 0 ? ", " : "", file);
    text_print_json(file, word);
}

// How a computation is cut and watched, not what it finds; by the names of their options.
static const char without_effect[] =
    "|strategy|fast|chunk-tiles|checkpoint-iterations|max-retries|tile-epochs|chunks|verify|strict|"
    "force-cpu|no-jit|pattern|once|poll|settle|patience|alarm|";

int cli_option_decides(const cli *c, const opt_item *item)
{
    char name[64];

    snprintf(name, sizeof name, "|%s|", item->name);
    if (item->role == PATH_READ) {
        return 1;
    }
    return item->role == PATH_UNSAID && item->target != (const void *)&c->values.overwrite &&
           strcmp(item->group, CLI_GROUP_ENGINE) != 0 && strcmp(item->group, CLI_GROUP_RUN) != 0 &&
           strcmp(item->group, CLI_GROUP_GENERAL) != 0 && !strstr(without_effect, name);
}

// 1 if the option gives a parameter the value that it has anyway, and nothing else would.
static int is_default(const cli *c, const opt_item *item)
{
    char name[64];
    char text[64];

    snprintf(name, sizeof name, "|%s|", item->name);
    if (c->command->typed && strstr(c->command->typed, name)) {
        return 0;
    }
    for (int k = 0; k < CLI_MAX_TABLE && c->system[k].table; k++) {
        const settings *values = &c->system[k];
        for (int64_t i = 0; i < values->table->n_param; i++) {
            if (item->target == (const void *)&values->flag_text[i] && values->flag_text[i]) {
                settings_default_text(values->table, i, text, sizeof text);
                return strcmp(text, values->flag_text[i]) == 0 &&
                       !settings_file_text(values->table, i, c->files.file, name, sizeof name) &&
                       !settings_file_text(values->table, i, c->files.user, name, sizeof name);
            }
        }
    }
    return 0;
}

static void put_pair(FILE *file, int *n_word, const char *name, const char *value)
{
    char *word = NULL;
    if (asprintf(&word, "--%s%s%s", name, value && value[0] ? "=" : "", value ? value : "") >= 0) {
        put_word(file, n_word, word);
        free(word);
    }
}

static void put_option(FILE *file, int *n_word, const opt_item *item)
{
    const int has_value = item->kind == OPT_TEXT || item->kind == OPT_MAYBE_TEXT;
    const char *value = has_value ? *(const char *const *)item->target : NULL;
    const int is_set = has_value ? value != NULL : *(const int *)item->target != 0;

    if (is_set) {
        put_pair(file, n_word, item->name,
                 value && item->role == PATH_READ ? last_name(value) : value);
    }
}

// What a configuration file of Tessera says of an option that was not typed.
static void put_from_files(const cli *c, FILE *file, int *n_word, const opt_item *item)
{
    const tess_config *configs[] = {c->files.file, c->files.user};

    for (int k = 0; !c->values.xpcs.has_config && k < CLI_MAX_TABLE && c->system[k].table; k++) {
        const settings *values = &c->system[k];
        for (int64_t i = 0; i < values->table->n_param; i++) {
            if (item->target != (const void *)&values->flag_text[i] || values->flag_text[i]) {
                continue;
            }
            for (size_t f = 0; f < sizeof configs / sizeof *configs; f++) {
                char text[64];
                if (settings_file_text(values->table, i, configs[f], text, sizeof text)) {
                    put_pair(file, n_word, item->name, text);
                    break;
                }
            }
        }
    }
}

char *cli_command_words(const cli *c)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    char name[CLI_WORD_BYTES];
    int n_word = 0;

    if (!file) {
        return NULL;
    }
    fputc('[', file);
    for (const char *at = c->command->name; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        put_word(file, &n_word, name);
        at += length;
    }
    // An operand that stands for an option is listed as that.
    for (int i = c->command->operand_option != NULL; i < c->n_operand; i++) {
        const int place = cli_operand_place(c->command, i);
        const int is_path = place >= 0 && c->command->operand_roles[place] == PATH_READ;
        put_word(file, &n_word, is_path ? last_name(c->operands[i]) : c->operands[i]);
    }
    for (int64_t i = 0; i < c->options.n_item; i++) {
        // What a configuration says is listed, not its name: the file may change.
        int is_said = c->options.items[i].target == (const void *)&c->values.config;
        for (int64_t k = 0; k < i; k++) {
            is_said |= c->options.items[k].target == c->options.items[i].target;
        }
        if (!is_said && cli_option_decides(c, &c->options.items[i])) {
            if (!is_default(c, &c->options.items[i])) {
                put_option(file, &n_word, &c->options.items[i]);
            }
            put_from_files(c, file, &n_word, &c->options.items[i]);
        }
    }
    fputc(']', file);
    if (fclose(file) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
