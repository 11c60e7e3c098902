// Pages, pictures, models, recordings and texts: what they are, by their first bytes.

#include "info.h"

#include "autoreject.h"
#include "text.h"
#include "xpcs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 64 };

typedef struct kind {
    const char *name;
    const char *start;
    size_t n_start;
    void (*print)(cli *c, const char *path);
} kind;

// The whole of a text file, for free(); "" if it cannot be read.
static char *read_text(const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *from = text_open_file(path);
    FILE *to = open_memstream(&text, &bytes);
    char piece[4096];

    for (size_t n; from && to && (n = fread(piece, 1, sizeof piece, from)) > 0;) {
        fwrite(piece, 1, n, to);
    }
    if (from) {
        fclose(from);
    }
    if (to) {
        fclose(to);
    }
    return text ? text : strdup("");
}

static void print_page(cli *c, const char *path)
{
    char *text = read_text(path);
    const char *begin = text ? strstr(text, "<title>") : NULL;
    (void)c;

    if (begin) {
        printf("page           ");
        for (const char *at = begin + 7; *at && *at != '<'; at++) {
            text_print_char(stdout, *at);
        }
        puts("");
    }
    free(text);
}

static void print_picture(cli *c, const char *path)
{
    unsigned char head[24] = {0};
    FILE *file = text_open_file(path);
    const size_t n = file ? fread(head, 1, sizeof head, file) : 0;
    (void)c;

    if (file) {
        fclose(file);
    }
    if (n == sizeof head) {
        printf("picture        %d x %d pixels\n", head[18] << 8 | head[19],
               head[22] << 8 | head[23]);
    }
}

static void print_lines(cli *c, const char *path)
{
    char *text = read_text(path);
    long long n = 0;
    (void)c;

    for (const char *at = text ? text : ""; (at = strchr(at, '\n')) != NULL; at++) {
        n++;
    }
    printf("text           %lld lines\n", n);
    free(text);
}

// What a JSON file calls itself: {"schema": "..."}.
static void print_document(cli *c, const char *path)
{
    char *text = read_text(path);
    const char *first = text ? text + 1 + strspn(text + 1, " \n") : "";
    tess_autoreject_model *model = NULL;

    if (strncmp(first, "\"schema\": \"", 11) == 0) {
        printf("schema         ");
        for (const char *at = first + 11; *at && *at != '"'; at++) {
            text_print_char(stdout, *at);
        }
        puts("");
    }
    if (strncmp(first, "\"schema\": \"tessera.autoreject.model/", 36) == 0) {
        if (tess_autoreject_model_load(c->ctx, path, &model) == TESS_OK) {
            const tess_autoreject_model_info *info = tess_autoreject_model_get_info(model);
            printf("model          of %lld epochs x %lld channels, for 'tessera autoreject "
                   "transform -m'\n",
                   (long long)info->n_epoch, (long long)info->n_pick);
            autoreject_print_types(info);
        } else {
            console_note("%s", tess_last_error());
        }
    }
    tess_autoreject_model_destroy(model);
    free(text);
}

// Epochs and recordings; json NULL: as lines. Other files of these formats (averages, covariances,
// events) have nothing more to say here than their kind, which is no failure.
static void show_recording(cli *c, tess_json *json, const char *path)
{
    autoreject_job j = {0};
    tess_autoreject_epochs_config_init(&j.epochs_config, sizeof j.epochs_config);
    if (tess_autoreject_epochs_open(c->ctx, path, &j.epochs_config, &j.epochs) != TESS_OK) {
        console_note("no epochs to describe: %s", tess_last_error());
    } else if (autoreject_pick(c, &j) == 0) {
        if (json) {
            autoreject_write_epochs(json, &j);
        } else {
            autoreject_print_epochs(&j);
        }
    }
    autoreject_close(&j);
}

static void print_recording(cli *c, const char *path)
{
    show_recording(c, NULL, path);
}

static void print_tiles(cli *c, const char *path)
{
    tess_xpcs_file *file = NULL;
    if (tess_xpcs_file_inspect(c->ctx, path, &file) == TESS_OK) {
        (void)xpcs_print_file(c, path, tess_xpcs_file_get_info(file));
    } else {
        console_note("%s", tess_last_error());
    }
    tess_xpcs_file_close(file);
}

#define START(text) text, sizeof(text) - 1

static const kind kinds[] = {
    {"html", START("<!DOCTYPE html"), print_page},
    {"png", START("\x89PNG\r\n\x1a\n"), print_picture},
    {"txc2", START("TESSTXC2"), print_tiles},
    {"fif", START("\0\0\0\x64\0\0\0\x1f"), print_recording},
    {"fif.gz", START("\x1f\x8b"), print_recording},
    {"edf", START("0       "), print_recording},
    {"bdf",
     START("\xff"
           "BIOSEMI"),
     print_recording},
    {"brainvision", START("Brain Vision"), print_recording},
    {"brainvision", START("BrainVision"), print_recording},
    {"eeglab", START("MATLAB 5.0 MAT-file"), print_recording},
    {"eeglab", START("MATLAB 7.3 MAT-file"), print_recording},
    {"json", START("{"), print_document},
    {"text", NULL, 0, print_lines},
};

static int is_text(const char *head, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!isprint((unsigned char)head[i]) && !strchr("\t\r\n", head[i])) {
            return 0;
        }
    }
    return n > 0;
}

const char *info_kind(const char *path)
{
    char head[HEAD] = "";
    FILE *file = text_open_file(path);
    const size_t n = file ? fread(head, 1, sizeof head, file) : 0;

    if (file) {
        fclose(file);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const kind *k = &kinds[i];
        if (k->start ? n >= k->n_start && memcmp(head, k->start, k->n_start) == 0
                     : is_text(head, n)) {
            return k->name;
        }
    }
    return NULL;
}

void info_print_kind(cli *c, const char *name, const char *path)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            kinds[i].print(c, path);
            return;
        }
    }
}

void info_write_kind(cli *c, tess_json *json, const char *name, const char *path)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, name) == 0 && kinds[i].print == print_recording) {
            show_recording(c, json, path);
            return;
        }
    }
}
