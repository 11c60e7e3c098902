// Manual pages in roff, with the macros of man(7), from the tables that --help is made of.

#include "help.h"

#include <tessera/base.h>

#include <ctype.h>
#include <string.h>

// One character beyond ASCII by its number, which every formatter knows. Returns its last byte.
static const char *print_letter(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    unsigned code = at[0] >= 0xe0 ? at[0] & 0x0fu : at[0] & 0x1fu;

    for (at++; (*at & 0xc0) == 0x80; at++) {
        code = code << 6 | (*at & 0x3fu);
    }
    printf("\\[u%04X]", code);
    return (const char *)at - 1;
}

// Whatever the text: a backslash, a dash that may be copied, a line that must not be a request.
static void print_text(const char *text)
{
    if (*text == '.' || *text == '\'') {
        fputs("\\&", stdout);
    }
    for (; *text; text++) {
        if (*text == '\\') {
            fputs("\\e", stdout);
        } else if (*text == '-') {
            fputs("\\-", stdout);
        } else if (*text == '\'') {
            fputs("\\(aq", stdout);
        } else if ((unsigned char)*text >= 0xc0) {
            text = print_letter(text);
        } else {
            putchar(*text);
        }
    }
}

static void print_bold(const char *text)
{
    fputs("\\fB", stdout);
    print_text(text);
    fputs("\\fR", stdout);
}

// Lines of a file may be long; what formats them fills paragraphs anyway.
static void print_paragraph(const char *phrase)
{
    const char first[2] = {(char)toupper((unsigned char)phrase[0]), '\0'};
    print_text(first);
    print_text(phrase + 1);
    puts(".");
}

// "tessera-decode-run" of "decode run".
static void print_page_name(const char *command)
{
    fputs("tessera", stdout);
    if (command) {
        fputs("\\-", stdout);
        for (; *command; command++) {
            fputs(*command == ' ' || *command == '-' ? "\\-" : (char[2]){*command, '\0'}, stdout);
        }
    }
}

static void print_head(const char *command, const char *summary)
{
    fputs(".TH \"", stdout);
    print_page_name(command);
    printf("\" \"1\" \"\" \"Tessera %s\" \"Tessera\"\n.ad l\n.SH NAME\n", tess_version());
    print_page_name(command);
    fputs(" \\- ", stdout);
    print_text(summary);
    fputs("\n.SH SYNOPSIS\n.nh\n", stdout);
}

static void print_options(const opt_list *list)
{
    const char *group = "";

    for (int64_t i = 0; i < list->n_item; i++) {
        const opt_item *item = &list->items[i];
        char letter[4] = "";
        char name[64];
        if (strcmp(group, item->group) != 0) {
            group = item->group;
            printf(".SS \"%s\"\n", group);
        }
        puts(".TP");
        if (item->letter) {
            snprintf(letter, sizeof letter, "-%c", item->letter);
            print_bold(letter);
            fputs(", ", stdout);
        }
        snprintf(name, sizeof name, "--%s", item->name);
        print_bold(name);
        if (item->kind == OPT_TEXT || item->kind == OPT_MAYBE_TEXT) {
            fputs(item->kind == OPT_TEXT ? " \\fI" : "[=\\fI", stdout);
            print_text(item->metavar);
            fputs(item->kind == OPT_TEXT ? "\\fR" : "\\fR]", stdout);
        }
        putchar('\n');
        print_text(item->help);
        putchar('\n');
    }
}

static void print_rows(const char *title, help_list list)
{
    printf(".SH \"%s\"\n", title);
    for (int64_t i = 0; i < list.n_row; i++) {
        puts(".TP");
        print_bold(list.rows[i].name);
        putchar('\n');
        print_text(list.rows[i].text);
        putchar('\n');
    }
}

static void print_examples(const char *examples)
{
    puts(".SH EXAMPLES\n.nf");
    while (*examples) {
        char line[256];
        const size_t length = strcspn(examples, "\n");
        snprintf(line, sizeof line, "%.*s", (int)length, examples);
        print_text(line);
        putchar('\n');
        examples += length + (examples[length] == '\n');
    }
    puts(".fi");
}

static void print_command(cli *c, const cli_command *command)
{
    print_head(command->name, command->summary);
    print_bold("tessera ");
    print_bold(command->name);
    fputs(command->passes_words ? " [options] " : " ", stdout);
    if (command->operands) {
        fputs("\\fI", stdout);
        print_text(command->operands);
        fputs("\\fR ", stdout);
    }
    puts(command->passes_words ? "\n.hy\n.SH DESCRIPTION" : "[options]\n.hy\n.SH DESCRIPTION");
    print_paragraph(command->summary);
    print_examples(command->examples);
    puts(".SH OPTIONS");
    cli_build_options(c, command);
    print_options(&c->options);
    print_rows("EXIT STATUS", help_exit_codes());
    print_rows("ENVIRONMENT", help_environment());
    puts(".SH SEE ALSO\n.BR tessera (1)");
}

static void print_overview(void)
{
    int64_t n_command = 0;
    const cli_command *commands = cli_commands(&n_command);

    print_head(NULL, "scientific workloads on one native engine");
    puts("\\fBtessera\\fR \\fICOMMAND\\fR [options]\n.hy\n.SH DESCRIPTION\n"
         "Each command has a page of its own, such as\n.BR tessera\\-decode\\-run (1).\n"
         ".SH COMMANDS");
    for (int64_t i = 0; i < n_command; i++) {
        if (commands[i].run) {
            puts(".TP");
            print_bold(commands[i].name);
            putchar('\n');
            print_text(commands[i].summary);
            putchar('\n');
        }
    }
    print_rows("EXIT STATUS", help_exit_codes());
    print_rows("ENVIRONMENT", help_environment());
}

int help_print_manual(cli *c, const char *name)
{
    const cli_command *command = name ? cli_find_command(name) : NULL;

    if (!name) {
        print_overview();
        return 0;
    }
    if (!command || !command->run) {
        return console_fail(2, "no manual page of '%s'; 'tessera help' lists the commands", name);
    }
    print_command(c, command);
    return 0;
}
