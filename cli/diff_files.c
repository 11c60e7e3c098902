// Compares two files by what they are, or two folders file by file.

#include "diff.h"

#include "info.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEEPEST = 8 };

static int is_folder(const char *path)
{
    struct stat there;
    return stat(path, &there) == 0 && S_ISDIR(there.st_mode);
}

// Where a tiled file says what made it; see docs/formats.md.
enum { TXC2_ORIGIN = 168, TXC2_HEADER = 4096 };

// Texts begin with a line that says what made them.
static void skip_origin(FILE *file)
{
    static const char start[] = "# tessera_provenance ";
    char head[sizeof start - 1];
    const size_t n = fread(head, 1, sizeof head, file);
    int letter = 0;

    if (n == sizeof head && memcmp(head, start, n) == 0) {
        while (letter != EOF && letter != '\n') {
            letter = getc(file);
        }
    } else {
        rewind(file);
    }
}

static int compare_streams(diff_row *row, FILE *a, FILE *b, int is_txc2)
{
    int64_t at = 0;
    int left = 0;
    int right = 0;

    for (; left != EOF && row->status == DIFF_SAME; at++) {
        left = getc(a);
        right = getc(b);
        const int is_origin = is_txc2 && at >= TXC2_ORIGIN && at < TXC2_HEADER;
        if (left != right && !is_origin) {
            row->status = DIFF_DIFFERENT;
            snprintf(row->first, sizeof row->first, "byte %lld", (long long)at);
            snprintf(row->detail, sizeof row->detail, "bytes differ from number %lld on",
                     (long long)at);
        }
    }
    return ferror(a) || ferror(b) ? console_fail(74, "%s: %s", row->name, strerror(errno)) : 0;
}

static int compare_bytes(diff *d, const char *prefix, const char *a, const char *b, int is_txc2)
{
    diff_row *row = diff_add_row(d, prefix, "");
    FILE *left = text_open_file(a);
    FILE *right = text_open_file(b);
    int code = 0;

    if (!row) {
        code = console_fail(71, "out of memory");
    } else if (!left || !right) {
        code = console_fail(66, "%s: cannot be read: %s", left ? b : a, strerror(errno));
    } else {
        skip_origin(left);
        skip_origin(right);
        code = compare_streams(row, left, right, is_txc2);
    }
    if (left) {
        fclose(left);
    }
    if (right) {
        fclose(right);
    }
    return code;
}

static int is_epochs(const char *kind)
{
    return strcmp(kind, "fif") == 0 || strcmp(kind, "fif.gz") == 0;
}

static int compare_files(diff *d, const char *prefix, const char *a, const char *b)
{
    const char *kind = info_kind(a);
    const char *other = info_kind(b);
    const int is_one_kind = kind && other && strcmp(kind, other) == 0;

    const int is_json = kind && strcmp(kind, "json") == 0;
    const int other_is_json = other && strcmp(other, "json") == 0;

    if (!kind && !other) {
        return diff_arrays(d, prefix, a, b);
    }
    if ((is_json || other_is_json) && (is_json || !kind) && (other_is_json || !other) &&
        diff_logs(d, prefix, a, b)) {
        return 0;
    }
    if (is_one_kind && strcmp(kind, "json") == 0) {
        return diff_documents(d, prefix, a, b);
    }
    if (kind && other && is_epochs(kind) && is_epochs(other)) {
        return diff_epochs(d, prefix, a, b);
    }
    return compare_bytes(d, prefix, a, b, is_one_kind && strcmp(kind, "txc2") == 0);
}

// What differs from run to run, or is made from the rest: pages, and where the result comes from.
static int is_left_out(const char *name)
{
    return text_ends_with(name, ".html") || strcmp(name, "provenance.json") == 0 || name[0] == '.';
}

static int join(char path[PATH_MAX], const char *folder, const char *name)
{
    return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX
               ? 0
               : console_fail(66, "%s/%s: the name is too long", folder, name);
}

static int compare_folders(diff *d, const char *prefix, const char *a, const char *b, int depth);

static int compare_entry(diff *d, const char *prefix, const char *a, const char *b,
                         const char *name, int depth)
{
    char left[PATH_MAX];
    char right[PATH_MAX];
    char inner[PATH_MAX];
    struct stat there;

    CLI_TRY(join(left, a, name));
    CLI_TRY(join(right, b, name));
    snprintf(inner, sizeof inner, "%.2000s%s%.1000s", prefix, prefix[0] ? "/" : "", name);
    if (stat(right, &there) != 0) {
        diff_row *row = diff_add_row(d, inner, "");
        if (row) {
            row->status = DIFF_ONLY_A;
        }
        return 0;
    }
    return is_folder(left) ? compare_folders(d, inner, left, right, depth + 1)
                           : compare_files(d, inner, left, right);
}

// Names that only the second folder has.
static int add_missing(diff *d, const char *prefix, const char *a, const char *b)
{
    struct dirent **entries = NULL;
    const int n = scandir(b, &entries, NULL, alphasort);
    int code = n < 0 ? console_fail(66, "%s: %s", b, strerror(errno)) : 0;

    for (int i = 0; i < n; i++) {
        char left[PATH_MAX];
        char inner[PATH_MAX];
        struct stat there;
        if (!is_left_out(entries[i]->d_name) && code == 0) {
            code = join(left, a, entries[i]->d_name);
            if (code == 0 && stat(left, &there) != 0) {
                snprintf(inner, sizeof inner, "%.2000s%s%.1000s", prefix, prefix[0] ? "/" : "",
                         entries[i]->d_name);
                diff_row *row = diff_add_row(d, inner, "");
                if (row) {
                    row->status = DIFF_ONLY_B;
                }
            }
        }
        free(entries[i]);
    }
    free(entries);
    return code;
}

static int compare_folders(diff *d, const char *prefix, const char *a, const char *b, int depth)
{
    struct dirent **entries = NULL;
    const int n = depth < DEEPEST ? scandir(a, &entries, NULL, alphasort) : -1;
    int code = n < 0 ? console_fail(66, "%s: %s", a, strerror(errno)) : 0;

    for (int i = 0; i < n; i++) {
        if (!is_left_out(entries[i]->d_name) && code == 0) {
            code = compare_entry(d, prefix, a, b, entries[i]->d_name, depth);
        }
        free(entries[i]);
    }
    free(entries);
    return code ? code : add_missing(d, prefix, a, b);
}

// The file of a folder that says where the result comes from.
static const char *speaker_of(const char *path, char speaker[PATH_MAX])
{
    struct stat there;
    snprintf(speaker, PATH_MAX, "%.4000s/nlsq/analysis_results_nlsq.json", path);
    return is_folder(path) && stat(speaker, &there) == 0 ? speaker : path;
}

int diff_paths(diff *d, const char *a, const char *b)
{
    struct stat there;
    char speakers[2][PATH_MAX];

    d->path_a = a;
    d->path_b = b;
    if (stat(a, &there) != 0 || stat(b, &there) != 0) {
        const int first_is_there = stat(a, &there) == 0;
        return console_fail(66, "%s: %s", first_is_there ? b : a, strerror(errno));
    }
    if (is_folder(a) != is_folder(b)) {
        return console_fail(2, "%s is a folder and %s is none: give two files or two folders",
                            is_folder(a) ? a : b, is_folder(a) ? b : a);
    }
    CLI_TRY(is_folder(a) ? compare_folders(d, "", a, b, 0) : compare_files(d, "", a, b));
    CLI_TRY(diff_provenance(d, speaker_of(a, speakers[0]), speaker_of(b, speakers[1])));
    return d->no_memory ? console_fail(71, "no memory to compare %s and %s", a, b) : 0;
}
