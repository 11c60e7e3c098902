// The table of a watched folder: one line per fitted file, which a stop at any moment leaves whole.
#ifndef TESSERA_CLI_WATCH_TABLE_H
#define TESSERA_CLI_WATCH_TABLE_H

#include "cli.h"
#include "watch.h"

#include <tessera/xpcs.h>

typedef enum watch_status { WATCH_FITTED, WATCH_FAILED, WATCH_RENAMED } watch_status;

typedef struct watch_row {
    char *name; // owned, as the other texts
    watch_identity seen;
    watch_status status;
    int quality; // tess_xpcs_quality; -1: not fitted
    int is_converged;
    double reduced_chi2;
    double theta[TESS_XPCS_MAX_PARAM];
    double sd[TESS_XPCS_MAX_PARAM];
    char *alarms; // "" if none
    double seconds;
    char fitted_at[32]; // UTC
    char *message;      // why it was not fitted, or what it was known as; "" else
} watch_row;

// Rows that are kept for the page.
enum { WATCH_SHOWN = 2000 };

typedef struct watch_table {
    const char *path;
    const tess_xpcs_param_info *params;
    int64_t n_param;
    int fd;
    watch_row *shown; // owned; the last WATCH_SHOWN, a ring
    int64_t n_row;    // since the beginning
    int64_t n_status[3];
    int64_t n_alarm;
    double last[TESS_XPCS_MAX_PARAM]; // of the last fit that was accepted
    int has_last;
} watch_table;

const char *watch_status_name(watch_status status);

// Opens or begins the table and tells the files what has its row. One that another watch writes, or
// of another mode, is refused. Exit code.
int watch_table_open(cli *c, watch_table *table, watch_files *files);
// Appends the row and keeps it; the table owns its texts, whatever comes back. Exit code.
int watch_table_add(watch_table *table, watch_row *row);
// A shown row, 0 the oldest; NULL behind the last.
const watch_row *watch_table_row(const watch_table *table, int64_t k);
void watch_row_free(watch_row *row);
void watch_table_close(watch_table *table);

#endif
