// Prints option lists for people: two columns, wrapped to the terminal.

#include "opt.h"

#include <string.h>

enum { HELP_COLUMN = 30 };

void opt_spelling(const opt_item *item, char *text, size_t capacity)
{
    const int optional = item->kind == OPT_MAYBE_TEXT;
    const int takes_value = optional || item->kind == OPT_TEXT;
    char letter[8] = "    ";

    if (item->letter) {
        snprintf(letter, sizeof letter, "-%c, ", item->letter);
    }
    if (!takes_value) {
        snprintf(text, capacity, "%s--%s", letter, item->name);
    } else {
        snprintf(text, capacity, optional ? "%s--%s[=%s]" : "%s--%s %s", letter, item->name,
                 item->metavar);
    }
}

void opt_print_wrapped(FILE *file, const char *text, int column, int indent, int width)
{
    while (*text) {
        const char *end = text + strcspn(text, " \n");
        const int length = (int)(end - text);
        if (column > indent && column + 1 + length > width) {
            fprintf(file, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', file);
            column++;
        }
        fprintf(file, "%.*s", length, text);
        column += length;
        text = end + strspn(end, " \n");
    }
    fputc('\n', file);
}

void opt_print_help(FILE *file, const opt_list *list, int width)
{
    const char *group = NULL;

    for (int64_t i = 0; i < list->n_item; i++) {
        const opt_item *item = &list->items[i];
        char spelling[160];
        if (!group || strcmp(group, item->group) != 0) {
            group = item->group;
            fprintf(file, "\n%s:\n", group);
        }
        opt_spelling(item, spelling, sizeof spelling);
        int column = fprintf(file, "  %s", spelling);
        if (column > HELP_COLUMN - 2) {
            fputc('\n', file);
            column = 0;
        }
        fprintf(file, "%*s", HELP_COLUMN - column, "");
        opt_print_wrapped(file, item->help, HELP_COLUMN, HELP_COLUMN, width);
    }
}
