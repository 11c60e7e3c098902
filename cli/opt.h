// Options: one list per command feeds parsing, --help, shell completion and the manual.
#ifndef TESSERA_CLI_OPT_H
#define TESSERA_CLI_OPT_H

#include "settings.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// What is done with the file or folder that a value names. Every option and operand that names one
// says so: the command looks at all of them before it opens any.
typedef enum path_role {
    PATH_UNSAID,  // of an option: no path
    PATH_NONE,    // of an operand: no path
    PATH_READ,    // a file, or a folder of arrays
    PATH_WRITE,   // a file, replaced only if the user allows it
    PATH_REPLACE, // a file, replaced if it is of the same kind
    PATH_APPEND,  // a file that grows
    PATH_RESULT,  // a file, or where the name has no suffix a folder that is the result
    PATH_INTO,    // a folder that files are put into, among others
    PATH_OWN      // a folder of the run alone
} path_role;

typedef enum opt_kind {
    OPT_FLAG,      // target is int, set to 1
    OPT_COUNT,     // target is int, counted up
    OPT_TEXT,      // target is const char *, takes a value
    OPT_MAYBE_TEXT // target is const char *; the value may only follow '=', else "" is stored
} opt_kind;

// An option of the command itself, stored in a struct.
typedef struct opt_def {
    const char *name; // without dashes
    char letter;      // 0: none
    opt_kind kind;
    size_t offset;       // of the target in the struct
    const char *metavar; // "LIST"; NULL for flags, choices and paths
    const char *choices; // "a|b|c" or NULL; "c:" takes a number
    const char *help;    // no full stop
    path_role role;
    const char *endings; // ".npz|.h5": how the name of a file that is written may end; NULL: any
    const char *hints;   // "a|b|c": values worth offering where others are right too; NULL: none
} opt_def;

// One option as parser, help and completion see it, whichever table it came from.
typedef struct opt_item {
    char name[48];
    char letter;
    opt_kind kind;
    void *target;
    const char *group; // heading in the help
    char metavar[96];
    const char *choices;
    char help[320];
    path_role role;
    const char *endings;
    const char *hints;
} opt_item;

enum { OPT_CAPACITY = 160 };

typedef struct opt_list {
    opt_item items[OPT_CAPACITY];
    int64_t n_item;
    int passes_words; // options end at the first operand
} opt_list;

// Appends the defs; their targets lie in *base.
void opt_add_defs(opt_list *list, const char *group, const opt_def *defs, int64_t n_def,
                  void *base);

// Appends one option for each of the count parameters from first on; texts go to the settings.
void opt_add_params(opt_list *list, const char *group, settings *values, int64_t first,
                    int64_t count);

// Parses argv[0..argc) by the GNU rules: operands and options in any order, "--" ends options,
// "--name=value" or "--name value", letters may be bundled, no abbreviations. operands has room
// for argc entries. Returns 0, or 2 after printing what is wrong. help_hint names the command.
int opt_parse(const opt_list *list, int argc, char **argv, const char *help_hint, char **operands,
              int *n_operand);

// "read", "write" ...; NULL where there is no path.
const char *opt_role_name(path_role role);

// "FILE" or "DIR".
const char *opt_path_metavar(path_role role);

// "--name METAVAR" as --help shows it.
void opt_spelling(const opt_item *item, char *text, size_t capacity);

// Every option under its group's heading, wrapped to the width.
void opt_print_help(FILE *file, const opt_list *list, int width);

// Writes text from column `column` on, wrapped at the width and indented by `indent`.
void opt_print_wrapped(FILE *file, const char *text, int column, int indent, int width);

// The candidate nearest to word, or NULL if none is near enough to be a slip.
const char *suggest_nearest(const char *word, const char *const *candidates, int64_t n_candidate);

#endif
