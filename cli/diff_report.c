// Collects what differs, and says it.

#include "diff.h"

#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const status_names[DIFF_N_STATUS] = {
    "same", "close", "different", "only_a", "only_b", "not_compared", "partly_compared"};

const tess_param_table *diff_params(void)
{
    static const tess_param params[] = {
        {"rtol", TESS_PARAM_REAL, offsetof(diff_config, rtol), 0, 0, 1e9, NULL, "",
         "numbers count as the same if they differ by at most atol + rtol times the second"},
        {"atol", TESS_PARAM_REAL, offsetof(diff_config, atol), 0, 0, 1e300, NULL, "",
         "see --rtol, in the unit of the numbers"},
    };
    static const tess_param_table table = {"diff", params, sizeof params / sizeof params[0]};
    return &table;
}

// Room for one more; NULL without memory.
static void *grow(diff *d, void *items, int64_t n, size_t item_bytes)
{
    void *grown = n % 64 == 0 ? realloc(items, ((size_t)n + 64) * item_bytes) : items;
    d->no_memory |= !grown;
    return grown;
}

diff_row *diff_add_row(diff *d, const char *prefix, const char *name)
{
    diff_row *grown = grow(d, d->rows, d->n_row, sizeof *grown);
    char *whole = NULL;

    if (!grown) {
        return NULL;
    }
    d->rows = grown;
    if (asprintf(&whole, "%s%s%s", prefix, prefix[0] && name[0] ? ":" : "", name) < 0) {
        d->no_memory = 1;
        return NULL;
    }
    diff_row *row = &d->rows[d->n_row++];
    memset(row, 0, sizeof *row);
    row->name = whole;
    return row;
}

void diff_add_setting(diff *d, const char *name, const char *a, const char *b)
{
    diff_setting *grown = grow(d, d->settings, d->n_setting, sizeof *grown);

    if (grown) {
        d->settings = grown;
        d->settings[d->n_setting++] = (diff_setting){strdup(name), strdup(a), strdup(b)};
    }
}

void diff_free(diff *d)
{
    for (int64_t i = 0; i < d->n_row; i++) {
        free(d->rows[i].name);
    }
    for (int64_t i = 0; i < d->n_setting; i++) {
        free(d->settings[i].name);
        free(d->settings[i].a);
        free(d->settings[i].b);
    }
    free(d->rows);
    free(d->settings);
    d->rows = NULL;
    d->settings = NULL;
    d->n_row = 0;
    d->n_setting = 0;
}

void diff_take(const diff *d, diff_row *row, double a, double b, const char *index)
{
    const int is_nan = isnan(a) && isnan(b);
    const double distance = is_nan || a == b ? 0 : fabs(a - b);
    const double relative = distance == 0 ? 0 : distance / fmax(fabs(a), fabs(b));

    row->n_value++;
    // A NaN on one side is a difference without a size.
    if (distance > row->max_abs) {
        row->max_abs = distance;
    }
    if (relative > row->max_rel) {
        row->max_rel = relative;
    }
    if (distance == 0 && !is_nan && signbit(a) == signbit(b)) {
        return;
    }
    if (is_nan || distance <= d->config.atol + d->config.rtol * fabs(b)) {
        row->status = row->status == DIFF_SAME && !is_nan ? DIFF_CLOSE : row->status;
        return;
    }
    if (row->n_different++ == 0) {
        snprintf(row->first, sizeof row->first, "%s", index);
        snprintf(row->detail, sizeof row->detail, "%.17g -> %.17g", a, b);
    }
    row->status = DIFF_DIFFERENT;
}

diff_status diff_outcome(const diff *d)
{
    diff_status worst = d->n_row > 0 ? DIFF_NOT_COMPARED : DIFF_SAME;
    int64_t n_skipped = 0;

    for (int64_t i = 0; i < d->n_row; i++) {
        const diff_status status = d->rows[i].status;
        if (status == DIFF_DIFFERENT || status == DIFF_ONLY_A || status == DIFF_ONLY_B) {
            return DIFF_DIFFERENT;
        }
        n_skipped += status == DIFF_NOT_COMPARED;
        if (status == DIFF_CLOSE || (status == DIFF_SAME && worst == DIFF_NOT_COMPARED)) {
            worst = status;
        }
    }
    return n_skipped > 0 && n_skipped < d->n_row ? DIFF_PARTLY : worst;
}

int diff_exit_code(const diff *d)
{
    const diff_status outcome = diff_outcome(d);
    return outcome == DIFF_DIFFERENT ? 1 : outcome == DIFF_SAME || outcome == DIFF_CLOSE ? 0 : 2;
}

static void print_safe(const char *text)
{
    for (; *text; text++) {
        text_print_char(stdout, *text);
    }
}

static void print_row(const diff *d, const diff_row *row)
{
    if (row->status == DIFF_SAME) {
        return;
    }
    print_safe(row->name[0] ? row->name : "(array)");
    fputs(": ", stdout);
    if (row->status == DIFF_ONLY_A || row->status == DIFF_ONLY_B) {
        printf("only in %s\n", row->status == DIFF_ONLY_A ? d->path_a : d->path_b);
        return;
    }
    if (row->status == DIFF_CLOSE) {
        printf("within the tolerance, at most %.3g, relative %.3g\n", row->max_abs, row->max_rel);
        return;
    }
    if (row->n_different > 0) {
        printf("%lld of %lld differ, at most by %.3g, relative %.3g; first at %s: ",
               (long long)row->n_different, (long long)row->n_value, row->max_abs, row->max_rel,
               row->first);
    } else if (row->status == DIFF_NOT_COMPARED) {
        fputs("not compared, ", stdout);
    }
    print_safe(row->detail);
    putchar('\n');
}

void diff_print(const diff *d)
{
    int64_t n_same = 0;
    int64_t n_skipped = 0;

    for (int64_t i = 0; i < d->n_row; i++) {
        n_same += d->rows[i].status == DIFF_SAME;
        n_skipped += d->rows[i].status == DIFF_NOT_COMPARED;
        print_row(d, &d->rows[i]);
    }
    for (int64_t i = 0; i < d->n_setting; i++) {
        print_safe(d->settings[i].name ? d->settings[i].name : "?");
        fputs(": ", stdout);
        print_safe(d->settings[i].a ? d->settings[i].a : "?");
        fputs(" -> ", stdout);
        print_safe(d->settings[i].b ? d->settings[i].b : "?");
        putchar('\n');
    }
    const long long n = (long long)(d->n_row - n_skipped);
    if (n_skipped > 0) {
        printf("not compared: %lld\n", (long long)n_skipped);
    }
    switch (diff_outcome(d)) {
    case DIFF_SAME:
        printf("same bits: %lld of %lld\n", (long long)n_same, n);
        break;
    case DIFF_CLOSE:
        printf("same within the tolerance: %lld of %lld, %lld to the bit\n", n, n,
               (long long)n_same);
        break;
    case DIFF_PARTLY:
        printf("partly compared: no difference in %lld of %lld\n", n, (long long)d->n_row);
        break;
    case DIFF_NOT_COMPARED:
        printf("nothing could be compared\n");
        break;
    default:
        printf("different: %lld of %lld are the same to the bit\n", (long long)n_same, n);
    }
}

static void write_row(const diff_row *row, tess_json *json)
{
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "name", row->name);
    tess_json_text(json, "status", status_names[row->status]);
    tess_json_int(json, "n_value", row->n_value);
    tess_json_int(json, "n_different", row->n_different);
    tess_json_real(json, "max_abs", row->max_abs);
    tess_json_real(json, "max_rel", row->max_rel);
    tess_json_text(json, "first", row->first[0] ? row->first : NULL);
    tess_json_text(json, "detail", row->detail[0] ? row->detail : NULL);
    tess_json_object_end(json);
}

void diff_write_json(const diff *d, tess_json *json)
{
    tess_json_text(json, "a", d->path_a);
    tess_json_text(json, "b", d->path_b);
    tess_json_real(json, "rtol", d->config.rtol);
    tess_json_real(json, "atol", d->config.atol);
    tess_json_text(json, "outcome", status_names[diff_outcome(d)]);
    tess_json_array_begin(json, "items");
    for (int64_t i = 0; i < d->n_row; i++) {
        write_row(&d->rows[i], json);
    }
    tess_json_array_end(json);
    tess_json_array_begin(json, "settings");
    for (int64_t i = 0; i < d->n_setting; i++) {
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "name", d->settings[i].name);
        tess_json_text(json, "a", d->settings[i].a);
        tess_json_text(json, "b", d->settings[i].b);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}
