// Two results side by side: what differs, by how much, and which settings do.
#ifndef TESSERA_CLI_DIFF_H
#define TESSERA_CLI_DIFF_H

#include "cli.h"

#include <tessera/sys/document.h>
#include <tessera/sys/json.h>

typedef enum diff_status {
    DIFF_SAME,         // bit for bit
    DIFF_CLOSE,        // within the tolerance
    DIFF_DIFFERENT,    // beyond it, or of another type, shape or text
    DIFF_ONLY_A,       // missing in the second
    DIFF_ONLY_B,       // missing in the first
    DIFF_NOT_COMPARED, // of a type that is not read here
    DIFF_PARTLY,       // an outcome: the rest is the same, and some could not be compared
    DIFF_N_STATUS
} diff_status;

// One data set, member of a document, or file.
typedef struct diff_row {
    char *name; // owned
    diff_status status;
    int64_t n_value;     // numbers compared; 0: no numbers
    int64_t n_different; // of them beyond the tolerance
    double max_abs;
    double max_rel;
    char first[96];   // index of the first that differs
    char detail[224]; // in words: "f32 [10] -> f64 [10]"
} diff_row;

// A setting or another fact of the provenance that differs.
typedef struct diff_setting {
    char *name; // owned, as the texts
    char *a;
    char *b;
} diff_setting;

typedef struct diff_config {
    double rtol;
    double atol;
} diff_config;

typedef struct diff {
    cli *c;
    diff_config config;
    const char *path_a;
    const char *path_b;
    diff_row *rows; // owned
    int64_t n_row;
    diff_setting *settings; // owned
    int64_t n_setting;
    int no_memory;
} diff;

const tess_param_table *diff_params(void);

// Compares two files or two folders into d, whose c and config are set. Exit code; 0 says nothing
// of the outcome.
int diff_paths(diff *d, const char *a, const char *b);
void diff_free(diff *d);

// What all rows together say: the worst of them; DIFF_NOT_COMPARED only where nothing could be,
// DIFF_PARTLY where no difference was found in what could.
diff_status diff_outcome(const diff *d);

// 0 the same or close, 1 different, 2 not all or nothing could be compared.
int diff_exit_code(const diff *d);

// Rows that differ, settings, and the outcome, on stdout.
void diff_print(const diff *d);
void diff_write_json(const diff *d, tess_json *json);

// For the parts. The row is zeroed but its name and lives until the next; NULL without memory.
diff_row *diff_add_row(diff *d, const char *prefix, const char *name);
void diff_add_setting(diff *d, const char *name, const char *a, const char *b);

// Adds a number to what a row knows; index is used where it is the first that differs.
void diff_take(const diff *d, diff_row *row, double a, double b, const char *index);

int diff_arrays(diff *d, const char *prefix, const char *a, const char *b);
int diff_epochs(diff *d, const char *prefix, const char *a, const char *b);
int diff_documents(diff *d, const char *prefix, const char *a, const char *b);
// Two documents in memory, such as the record in a file of arrays. 0 if they are none: nothing was
// done.
int diff_texts(diff *d, const char *prefix, const char *a, const char *b);
// 1 if both are reject logs, which were compared; else nothing was done.
int diff_logs(diff *d, const char *prefix, const char *a, const char *b);

// The channels that the items of a list are of: their numbers, and the names of all.
typedef struct diff_names {
    const tess_document_node *channels;
    const tess_document_node *names;
} diff_names;

int diff_is_number(const tess_document_node *node, double *value);
// 1 if the list, or every list in it, holds numbers and null alone.
int diff_is_array(const tess_document_node *node);
// Two such lists into one row; names may be NULL.
void diff_array(const diff *d, diff_row *row, const tess_document_node *a,
                const tess_document_node *b, const char *prefix, const diff_names *names);
// The words of a list that the other does not hold; "nothing" if there are none.
void diff_other_words(const tess_document_node *list, const tess_document_node *other, char *text,
                      size_t capacity);

// The provenance of the two, as far as it decides results.
int diff_provenance(diff *d, const char *a, const char *b);

#endif
