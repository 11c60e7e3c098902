// tessera info: what a file holds and how it came to be.

#include "cli.h"
#include "job.h"
#include "outline.h"
#include "text.h"

#include <tessera/device.h>
#include <tessera/io.h>
#include <tessera/run.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Result files carry their checkpoint nature in the first bytes.
static int is_checkpoint(const char *path)
{
    char head[8] = {0};
    FILE *file = fopen(path, "rbe");

    if (!file) {
        return 0;
    }
    const size_t n = fread(head, 1, sizeof head, file);
    fclose(file);
    return n == sizeof head && memcmp(head, "TESSCKPT", sizeof head) == 0;
}

static int show_checkpoint(cli *c, const char *path)
{
    char *text = NULL;

    CLI_CALL(tess_checkpoint_describe(c->ctx, path, &text));
    if (c->values.json) {
        puts(text);
    } else {
        printf("%s: checkpoint\n", path);
        outline_print(stdout, text);
    }
    tess_text_free(text);
    return 0;
}

typedef struct listing {
    tess_json *json; // NULL: print lines
    int64_t n_dataset;
} listing;

static int visit_dataset(void *user, const tess_dataset_info *info)
{
    listing *l = user;
    char shape[160];

    l->n_dataset++;
    if (!l->json) {
        text_shape(shape, sizeof shape, info->rank, info->shape);
        const char *name = info->name[0] ? info->name : "(array)";
        printf("  ");
        for (const char *letter = name; *letter; letter++) {
            text_print_char(stdout, *letter);
        }
        const int width = (int)strlen(name);
        printf("%*s %s %s%s\n", width < 20 ? 20 - width : 0, "", info->type_text, shape,
               info->dtype == 0 ? " (not readable by Tessera)" : "");
        return 0;
    }
    tess_json_object_begin(l->json, NULL);
    tess_json_text(l->json, "name", info->name);
    tess_json_text(l->json, "type", info->type_text);
    tess_json_text(l->json, "dtype", info->dtype ? tess_dtype_name((tess_dtype)info->dtype) : NULL);
    tess_json_array_begin(l->json, "shape");
    for (int32_t i = 0; i < info->rank; i++) {
        tess_json_int(l->json, NULL, info->shape[i]);
    }
    tess_json_array_end(l->json);
    tess_json_object_end(l->json);
    return 0;
}

static int count_dataset(void *user, const tess_dataset_info *info)
{
    (void)info;
    ++*(int64_t *)user;
    return 0;
}

// What was stored with the file, or NULL; something that is not JSON is left out.
static tess_status read_provenance(cli *c, const char *path, char **text)
{
    const tess_status status = tess_file_provenance(c->ctx, path, text);

    if (status == TESS_OK && *text && !json_is_valid(*text)) {
        console_note("the provenance stored with %s is not JSON and is left out", path);
        tess_text_free(*text);
        *text = NULL;
    }
    return status;
}

static int show_text(cli *c, const char *path)
{
    listing l = {0};
    const char *format = NULL;
    char *provenance = NULL;

    // The first listing tells the format, which heads the second.
    CLI_CALL(tess_file_list(c->ctx, path, &format, count_dataset, &l.n_dataset));
    printf("%s: %s, %lld data set%s\n", path, format, (long long)l.n_dataset,
           l.n_dataset == 1 ? "" : "s");
    CLI_CALL(tess_file_list(c->ctx, path, &format, visit_dataset, &l));
    CLI_CALL(read_provenance(c, path, &provenance));
    if (provenance) {
        printf("provenance\n");
        outline_print(stdout, provenance);
    } else {
        printf("no provenance\n");
    }
    tess_text_free(provenance);
    return 0;
}

static int show_json(cli *c, const char *path)
{
    listing l = {0};
    const char *format = NULL;
    char *provenance = NULL;

    CLI_CALL(tess_json_create(c->ctx, 2, &l.json));
    tess_json_object_begin(l.json, NULL);
    tess_json_text(l.json, "schema", "tessera.info/1");
    tess_json_text(l.json, "path", path);
    tess_json_array_begin(l.json, "datasets");
    tess_status status = tess_file_list(c->ctx, path, &format, visit_dataset, &l);
    tess_json_array_end(l.json);
    tess_json_text(l.json, "format", format);
    if (status == TESS_OK) {
        status = read_provenance(c, path, &provenance);
    }
    tess_json_raw(l.json, "provenance", provenance);
    tess_json_object_end(l.json);
    const int code = status == TESS_OK ? job_print_json(l.json) : console_status(status);
    tess_text_free(provenance);
    tess_json_destroy(l.json);
    return code;
}

int cmd_info(cli *c)
{
    const char *path = c->operands[0];

    CLI_TRY(session_context(c, NULL, NULL, &c->ctx));
    if (is_checkpoint(path)) {
        return show_checkpoint(c, path);
    }
    return c->values.json ? show_json(c, path) : show_text(c, path);
}
