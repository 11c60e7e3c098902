// Keeps the table of a watched folder: lines are appended whole, and read again by the next run.

#include "watch_table.h"

#include <tessera/io.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

// Columns before the parameters, and behind them.
enum { FRONT = 8, BACK = 4, MAX_FIELD = FRONT + 2 * TESS_XPCS_MAX_PARAM + BACK };

static const char *const status_names[] = {"fitted", "failed", "renamed"};

const char *watch_status_name(watch_status status)
{
    return status_names[status];
}

void watch_row_free(watch_row *row)
{
    free(row->name);
    free(row->alarms);
    free(row->message);
    memset(row, 0, sizeof *row);
}

const watch_row *watch_table_row(const watch_table *table, int64_t k)
{
    const int64_t first = table->n_row > WATCH_SHOWN ? table->n_row - WATCH_SHOWN : 0;
    return first + k < table->n_row ? &table->shown[(first + k) % WATCH_SHOWN] : NULL;
}

static void write_head(FILE *file, const watch_table *table)
{
    fputs("file,size,mtime,inode,status,quality,converged,reduced_chi2", file);
    for (int64_t k = 0; k < table->n_param; k++) {
        fprintf(file, ",%s,%s_sd", table->params[k].name, table->params[k].name);
    }
    fputs(",alarms,seconds,fitted_at,message\n", file);
}

static void put_text(FILE *file, const char *text)
{
    if (!strpbrk(text, ",\"#")) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (const char *c = text; *c; c++) {
        fputs(*c == '"' ? "\"" : "", file);
        fputc(*c, file);
    }
    fputc('"', file);
}

// A message may have lines; a row is one.
static void put_message(FILE *file, const char *text)
{
    char line[512];
    snprintf(line, sizeof line, "%s", text);
    for (char *c = line; *c; c++) {
        *c = (unsigned char)*c < 0x20 ? ' ' : *c;
    }
    put_text(file, line);
}

static void put_real(FILE *file, double x)
{
    fputc(',', file);
    if (!isnan(x)) {
        fprintf(file, "%.9g", x);
    }
}

static void write_row(FILE *file, const watch_table *table, const watch_row *row)
{
    const int is_fitted = row->status == WATCH_FITTED;
    const double nothing = (double)NAN;

    put_text(file, row->name);
    fprintf(file, ",%lld,%lld.%09lld,%llu,%s,%s,%s", (long long)row->seen.size,
            (long long)(row->seen.mtime_ns / 1000000000),
            (long long)(row->seen.mtime_ns % 1000000000), (unsigned long long)row->seen.inode,
            status_names[row->status],
            is_fitted ? tess_xpcs_quality_name((tess_xpcs_quality)row->quality) : "",
            is_fitted ? (row->is_converged ? "yes" : "no") : "");
    put_real(file, is_fitted ? row->reduced_chi2 : nothing);
    for (int64_t k = 0; k < table->n_param; k++) {
        put_real(file, is_fitted ? row->theta[k] : nothing);
        put_real(file, is_fitted ? row->sd[k] : nothing);
    }
    fputc(',', file);
    put_text(file, row->alarms);
    put_real(file, row->seconds);
    fprintf(file, ",%s,", row->fitted_at);
    put_message(file, row->message);
    fputc('\n', file);
}

// Cuts a line into its fields, in place; how many there are, -1: it is no row.
static int split(char *line, char *fields[MAX_FIELD])
{
    int n = 0;

    for (char *at = line;; at++) {
        if (n == MAX_FIELD) {
            return -1;
        }
        char *to = at;
        fields[n++] = at;
        const int is_quoted = *at == '"';
        at += is_quoted;
        while (*at && (is_quoted ? *at != '"' || at[1] == '"' : *at != ',')) {
            at += is_quoted && *at == '"';
            *to++ = *at++;
        }
        if (is_quoted && *at++ != '"') {
            return -1;
        }
        const char end = *at;
        *to = '\0';
        if (end != ',') {
            return end == '\0' ? n : -1;
        }
    }
}

static int find_name(const char *text, const char *const *names, int n)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static double real_of(const char *text)
{
    return text[0] ? strtod(text, NULL) : (double)NAN;
}

// 0: the line is no row of this table.
static int parse_row(const watch_table *table, char *line, watch_row *row)
{
    const char *const qualities[] = {tess_xpcs_quality_name(TESS_XPCS_GOOD),
                                     tess_xpcs_quality_name(TESS_XPCS_MARGINAL),
                                     tess_xpcs_quality_name(TESS_XPCS_POOR)};
    char *fields[MAX_FIELD];
    const int n_back = FRONT + 2 * (int)table->n_param;
    const int n = split(line, fields);
    const int status = n == n_back + BACK ? find_name(fields[4], status_names, 3) : -1;
    char *end = NULL;

    if (status < 0 || strlen(fields[n_back + 2]) >= sizeof row->fitted_at) {
        return 0;
    }
    *row =
        (watch_row){.status = (watch_status)status, .quality = find_name(fields[5], qualities, 3)};
    row->seen.size = strtoll(fields[1], NULL, 10);
    row->seen.mtime_ns = strtoll(fields[2], &end, 10) * 1000000000;
    row->seen.mtime_ns += *end == '.' ? strtoll(end + 1, NULL, 10) : 0;
    row->seen.inode = strtoull(fields[3], NULL, 10);
    row->is_converged = strcmp(fields[6], "yes") == 0;
    row->reduced_chi2 = real_of(fields[7]);
    for (int64_t k = 0; k < table->n_param; k++) {
        row->theta[k] = real_of(fields[FRONT + 2 * k]);
        row->sd[k] = real_of(fields[FRONT + 2 * k + 1]);
    }
    row->name = strdup(fields[0]);
    row->alarms = strdup(fields[n_back]);
    row->seconds = real_of(fields[n_back + 1]);
    memcpy(row->fitted_at, fields[n_back + 2], strlen(fields[n_back + 2]) + 1);
    row->message = strdup(fields[n_back + 3]);
    return 1;
}

// Counts the row and keeps it for the page. The table owns it from here on.
static int keep_row(watch_table *table, const watch_row *row)
{
    watch_row *slot = &table->shown[table->n_row % WATCH_SHOWN];

    watch_row_free(slot);
    *slot = *row;
    table->n_row++;
    table->n_status[row->status]++;
    if (!row->name || !row->alarms || !row->message) {
        return console_fail(71, "no memory for the table %s", table->path);
    }
    table->n_alarm += row->alarms[0] != '\0';
    if (row->status == WATCH_FITTED && row->is_converged && row->quality != TESS_XPCS_POOR) {
        memcpy(table->last, row->theta, sizeof table->last);
        table->has_last = 1;
    }
    return 0;
}

// What has its row is not fitted again; what could not be fitted is tried once more.
static int mark(watch_files *files, const watch_row *row)
{
    int64_t file = watch_files_find(files, row->name);

    file = file == WATCH_NONE ? watch_files_add(files, row->name) : file;
    if (file == WATCH_NONE) {
        return console_fail(71, "no memory for the names of the table");
    }
    files->files[file].seen = row->seen;
    files->files[file].changed = (double)-INFINITY;
    files->files[file].is_done = 0;
    files->files[file].is_failed = row->status == WATCH_FAILED;
    return row->status == WATCH_FAILED || watch_files_done(files, file)
               ? 0
               : console_fail(71, "no memory for the names of the table");
}

// Reads the rows; *end is where the last whole line ends.
static int read_rows(watch_table *table, watch_files *files, FILE *file, off_t *end)
{
    char *line = NULL;
    size_t capacity = 0;
    int64_t n_bad = 0;
    int code = 0;

    for (ssize_t n = 0; code == 0 && (n = getline(&line, &capacity, file)) > 0;) {
        watch_row row;
        if (line[n - 1] != '\n') {
            console_note("%s: its last line is not whole, and is left out", table->path);
            break;
        }
        *end = ftello(file);
        line[n - 1] = '\0';
        if (!parse_row(table, line, &row)) {
            n_bad++;
            continue;
        }
        code = keep_row(table, &row);
        code = code ? code : mark(files, &row);
    }
    if (n_bad > 0) {
        console_fail(0, "%s: %lld lines are no rows of a watch: their files are fitted again",
                     table->path, (long long)n_bad);
    }
    free(line);
    return code;
}

// Past the comment and the head; exit code.
static int skip_head(const watch_table *table, FILE *file)
{
    char *head = NULL;
    char *line = NULL;
    size_t bytes = 0;
    size_t capacity = 0;
    FILE *text = open_memstream(&head, &bytes);

    if (text) {
        write_head(text, table);
    }
    const int is_made = text && fclose(text) == 0;
    int is_ours = 0;
    while (is_made && getline(&line, &capacity, file) > 0) {
        if (line[0] != '#') {
            is_ours = strcmp(line, head) == 0;
            break;
        }
    }
    free(line);
    free(head);
    return is_ours ? 0
                   : console_fail(73,
                                  "%s is no table of this mode's parameters; give --overwrite to "
                                  "begin anew, or another -o",
                                  table->path);
}

static int begin(cli *c, const watch_table *table)
{
    char *head = NULL;
    size_t bytes = 0;
    FILE *text = open_memstream(&head, &bytes);

    if (text) {
        write_head(text, table);
    }
    if (!text || fclose(text) != 0) {
        free(head);
        return console_fail(71, "no memory for the table %s", table->path);
    }
    const tess_status status = tess_text_save(c->ctx, table->path, "xpcs.watch", head, 1);
    free(head);
    CLI_CALL(status);
    return 0;
}

int watch_table_open(cli *c, watch_table *table, watch_files *files)
{
    table->fd = -1;
    table->shown = calloc(WATCH_SHOWN, sizeof *table->shown);
    if (!table->shown) {
        return console_fail(71, "no memory for the table %s", table->path);
    }
    if (c->values.overwrite || access(table->path, F_OK) != 0) {
        CLI_TRY(begin(c, table));
    }
    table->fd = open(table->path, O_RDWR | O_APPEND | O_CLOEXEC);
    if (table->fd < 0) {
        return console_fail(73, "%s: %s", table->path, strerror(errno));
    }
    if (flock(table->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        return console_fail(73, "%s is being written by another watch; give another -o",
                            table->path);
    }
    FILE *file = fopen(table->path, "re");
    if (!file) {
        return console_fail(73, "%s: %s", table->path, strerror(errno));
    }
    int code = skip_head(table, file);
    off_t end = ftello(file);
    code = code ? code : read_rows(table, files, file, &end);
    fclose(file);
    if (code == 0 && ftruncate(table->fd, end) != 0) {
        code = console_fail(74, "%s: %s", table->path, strerror(errno));
    }
    return code;
}

int watch_table_add(watch_table *table, watch_row *row)
{
    char *line = NULL;
    size_t bytes = 0;

    const int is_whole = row->name && row->alarms && row->message;
    FILE *text = is_whole ? open_memstream(&line, &bytes) : NULL;
    if (text) {
        write_row(text, table, row);
    }
    if (!text || fclose(text) != 0) {
        free(line);
        watch_row_free(row);
        return console_fail(71, "no memory for the table %s", table->path);
    }
    const off_t end = lseek(table->fd, 0, SEEK_END);
    const ssize_t n = write(table->fd, line, bytes);
    const int failure = n < 0 ? errno : n == (ssize_t)bytes ? 0 : ENOSPC;
    free(line);
    if (failure) { // no half of a line
        watch_row_free(row);
        return ftruncate(table->fd, end) == 0
                   ? console_fail(74, "%s: %s", table->path, strerror(failure))
                   : console_fail(74, "%s: %s; its last line is not whole", table->path,
                                  strerror(failure));
    }
    fdatasync(table->fd);
    return keep_row(table, row);
}

void watch_table_close(watch_table *table)
{
    for (int64_t i = 0; table->shown && i < WATCH_SHOWN; i++) {
        watch_row_free(&table->shown[i]);
    }
    free(table->shown);
    if (table->fd >= 0) {
        close(table->fd);
    }
    memset(table, 0, sizeof *table);
}
