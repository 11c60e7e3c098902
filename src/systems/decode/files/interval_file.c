// Tables of intervals in files: CSV, .npz, HDF5, NWB.
#include "base/file.h"
#include "base/status.h"
#include "runtime/bundle.h"
#include "runtime/context.h"
#include "systems/decode/files/intervals.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A table of text larger than this is no table of intervals.
static const uint64_t MOST_BYTES = 1ULL << 30;

struct tess_decode_interval_table {
    tess_heap *heap;
    tess_blocks blocks;
    tess_decode_intervals intervals;
};

// Names of the two columns, as various programs write them.
static const char *const NAMES[][2] = {
    {"start", "end"}, {"start_time", "stop_time"}, {"start_time", "end_time"}, {"start", "stop"}};
enum { N_NAMES = 4 };

static bool is_separator(char c)
{
    return c == ',' || c == ';' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
}

// Field k of a line, without spaces and quotes around it.
static bool find_field(const char *line, int64_t k, const char **field, size_t *length)
{
    for (; k > 0; k--) {
        while (!is_separator(*line)) {
            line++;
        }
        if (*line == '\0' || *line == '\n' || *line == '\r') {
            return false;
        }
        line++;
    }
    while (*line == ' ' || *line == '"') {
        line++;
    }
    size_t n = 0;
    while (!is_separator(line[n])) {
        n++;
    }
    while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '"')) {
        n--;
    }
    *field = line;
    *length = n;
    return true;
}

static int64_t column_named(const char *line, const char *name)
{
    const char *field = NULL;
    size_t length = 0;
    for (int64_t k = 0; find_field(line, k, &field, &length); k++) {
        if (length == strlen(name) && strncmp(field, name, length) == 0) {
            return k;
        }
    }
    return -1;
}

// A number, or NaN for an empty field and "nan"; false for anything else.
static bool read_number(const char *line, int64_t k, double *value)
{
    const char *field = NULL;
    size_t length = 0;
    char text[64];
    char *end = NULL;
    *value = (double)NAN;
    if (!find_field(line, k, &field, &length) || length >= sizeof text) {
        return false;
    }
    memcpy(text, field, length);
    text[length] = '\0';
    if (length == 0) {
        return true;
    }
    *value = strtod(text, &end);
    return *end == '\0';
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

static bool is_blank(const char *line)
{
    while (*line == ' ' || *line == '\t' || *line == '\r') {
        line++;
    }
    return *line == '\0' || *line == '\n' || *line == '#';
}

// Which columns hold the intervals, by the first line that says something.
static tess_status find_columns(const char *path, const char *line, int64_t number,
                                int64_t column[2], bool *is_header)
{
    double value = 0;
    column[0] = 0;
    column[1] = 1;
    if (read_number(line, 0, &value) && read_number(line, 1, &value)) {
        return TESS_OK;
    }
    *is_header = true;
    for (int i = 0; i < N_NAMES; i++) {
        column[0] = column_named(line, NAMES[i][0]);
        column[1] = column_named(line, NAMES[i][1]);
        if (column[0] >= 0 && column[1] >= 0) {
            return TESS_OK;
        }
    }
    TESS_FAIL(TESS_E_FORMAT,
              "%s: line %lld has neither two numbers nor columns start and end (or start_time and "
              "stop_time)",
              path, (long long)number);
}

static tess_status parse_text(const char *path, const char *text, tess_decode_interval_table *t)
{
    int64_t n_line = 1;
    for (const char *at = text; *at; at = next_line(at)) {
        n_line++;
    }
    double *start = tess_blocks_alloc(&t->blocks, n_line, sizeof *start, "intervals");
    double *end = tess_blocks_alloc(&t->blocks, n_line, sizeof *end, "intervals");
    if (!start || !end) {
        return TESS_E_MEMORY;
    }
    int64_t column[2] = {-1, -1};
    int64_t number = 1;
    int64_t n = 0;
    static const char mark[] = "\xef\xbb\xbf"; // that spreadsheets put before the first word
    text += strncmp(text, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
    for (const char *line = text; *line; line = next_line(line), number++) {
        if (is_blank(line)) {
            continue;
        }
        if (column[0] < 0) {
            bool is_header = false;
            TESS_TRY(find_columns(path, line, number, column, &is_header));
            if (is_header) {
                continue;
            }
        }
        if (!read_number(line, column[0], &start[n]) || !read_number(line, column[1], &end[n])) {
            TESS_FAIL(TESS_E_FORMAT, "%s: line %lld: columns %lld and %lld are not both numbers",
                      path, (long long)number, (long long)column[0] + 1, (long long)column[1] + 1);
        }
        n++;
    }
    t->intervals.n = n;
    t->intervals.start = start;
    t->intervals.end = end;
    return TESS_OK;
}

static tess_status read_text(tess_context *ctx, const char *path, tess_decode_interval_table *t)
{
    int fd = -1;
    uint64_t bytes = 0;
    TESS_TRY(tess_file_open_read(path, &fd, &bytes, NULL));
    tess_status status = TESS_OK;
    char *text = NULL;
    tess_blocks scratch;
    tess_blocks_init(&scratch, &ctx->heap);
    if (bytes > MOST_BYTES) {
        status =
            tess_error_set(TESS_E_FORMAT, "%s: %llu bytes are too many for a table of intervals",
                           path, (unsigned long long)bytes);
    } else {
        text = tess_blocks_alloc(&scratch, (int64_t)bytes + 1, 1, "table of intervals");
        status = text ? tess_file_read_at(fd, path, text, (size_t)bytes, 0) : TESS_E_MEMORY;
    }
    close(fd);
    if (status == TESS_OK) {
        status = parse_text(path, text, t);
    }
    tess_blocks_free(&scratch);
    return status;
}

// A data set of that name, in the group where one is given, else wherever it is the only one.
static tess_status find_set(const tess_bundle *bundle, const char *group, const char *name,
                            const tess_bundle_entry **out)
{
    *out = NULL;
    for (int64_t i = 0; i < bundle->n_entry; i++) {
        const char *full = bundle->entries[i].name;
        const char *slash = strrchr(full, '/');
        const char *last = slash ? slash + 1 : full;
        char folder[512] = "";
        if (slash) {
            snprintf(folder, sizeof folder, "%.*s", (int)(slash - full), full);
        }
        const char *tail = strrchr(folder, '/');
        if (strcmp(last, name) != 0 ||
            (group && strcmp(folder, group) != 0 && strcmp(tail ? tail + 1 : folder, group) != 0)) {
            continue;
        }
        if (*out) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: %s and %s are both tables of intervals; name one (--intervals-name, the "
                      "group it is in)",
                      bundle->path, (*out)->name, full);
        }
        *out = &bundle->entries[i];
    }
    return TESS_OK;
}

static tess_status read_bundle(tess_context *ctx, const char *path, const char *group,
                               tess_decode_interval_table *t, const tess_bundle *bundle)
{
    (void)ctx;
    for (int i = 0; i < N_NAMES; i++) {
        const tess_bundle_entry *set[2];
        TESS_TRY(find_set(bundle, group, NAMES[i][0], &set[0]));
        TESS_TRY(find_set(bundle, group, NAMES[i][1], &set[1]));
        if (!set[0] || !set[1]) {
            continue;
        }
        if (set[0]->n_item != set[1]->n_item) {
            TESS_FAIL(TESS_E_SHAPE, "%s: %s has %lld items, %s %lld", path, set[0]->name,
                      (long long)set[0]->n_item, set[1]->name, (long long)set[1]->n_item);
        }
        double *values[2];
        for (int k = 0; k < 2; k++) {
            values[k] =
                tess_blocks_alloc(&t->blocks, set[k]->n_item, sizeof *values[k], "intervals");
            if (!values[k]) {
                return TESS_E_MEMORY;
            }
            TESS_TRY(tess_bundle_read_f64(bundle, set[k], values[k]));
        }
        t->intervals.n = set[0]->n_item;
        t->intervals.start = values[0];
        t->intervals.end = values[1];
        return TESS_OK;
    }
    TESS_FAIL(TESS_E_FORMAT, "%s: no data sets start and end (or start_time and stop_time)%s%s",
              path, group ? " in " : "", group ? group : "");
}

// Text unless the file begins as an archive or HDF5 file does.
static tess_status is_binary(const char *path, bool *binary)
{
    int fd = -1;
    uint64_t bytes = 0;
    unsigned char head[4] = {0};
    TESS_TRY(tess_file_open_read(path, &fd, &bytes, NULL));
    const tess_status status =
        tess_file_read_at(fd, path, head, bytes < sizeof head ? (size_t)bytes : sizeof head, 0);
    close(fd);
    *binary = memcmp(head, "PK\003\004", 4) == 0 || memcmp(head, "\211HDF", 4) == 0;
    return status;
}

static tess_status open_table(tess_context *ctx, const char *path, const char *name,
                              tess_decode_interval_table *t)
{
    bool binary = false;
    tess_bundle bundle = {0};
    TESS_TRY(is_binary(path, &binary));
    if (!binary) {
        if (name) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "%s: is text, one table without a name: %s is none (--intervals-name)", path,
                      name);
        }
        return read_text(ctx, path, t);
    }
    tess_status status = tess_bundle_open(ctx, path, &bundle);
    if (status == TESS_OK) {
        status = read_bundle(ctx, path, name, t, &bundle);
    }
    tess_bundle_close(&bundle);
    return status;
}

tess_status tess_decode_interval_table_open(tess_context *ctx, const char *path, const char *name,
                                            tess_decode_interval_table **out)
{
    tess_error_clear();
    *out = NULL;
    tess_decode_interval_table *table =
        tess_heap_alloc_zero(&ctx->heap, sizeof *table, TESS_TAG_RESULT, "intervals");
    if (!table) {
        return TESS_E_MEMORY;
    }
    table->heap = &ctx->heap;
    tess_blocks_init(&table->blocks, &ctx->heap);
    tess_decode_intervals_init(&table->intervals, sizeof table->intervals);
    const tess_status status = open_table(ctx, path, name, table);
    if (status != TESS_OK) {
        tess_decode_interval_table_close(table);
        return status;
    }
    *out = table;
    return TESS_OK;
}

const tess_decode_intervals *tess_decode_interval_table_get(const tess_decode_interval_table *table)
{
    return &table->intervals;
}

void tess_decode_interval_table_close(tess_decode_interval_table *table)
{
    if (!table) {
        return;
    }
    tess_blocks_free(&table->blocks);
    tess_heap_free(table->heap, table, sizeof *table, TESS_TAG_RESULT);
}
