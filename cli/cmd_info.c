// tessera info: what a file holds and how it came to be.

#include "cli.h"
#include "decode.h"
#include "info.h"
#include "job.h"
#include "outline.h"
#include "text.h"

#include <tessera/device.h>
#include <tessera/io.h>
#include <tessera/run.h>

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Result files carry their checkpoint nature in the first bytes.
static int is_checkpoint(const char *path)
{
    char head[8] = {0};
    FILE *file = text_open_file(path);

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
    int has_position; // signs of a recording
    int has_spikes;
    int has_posterior; // sign of a decoded result
    int has_settings;  // sign of a model
} listing;

// Data sets by which recordings and results of decode are known.
static void notice(listing *l, const char *name)
{
    const char *plain = name[0] == '/' ? name + 1 : name;
    const int is_nwb = strcmp(plain, "units/spike_times") == 0;

    l->has_position |= is_nwb || strcmp(plain, "position_time") == 0;
    l->has_spikes |= is_nwb || strcmp(plain, "spike_times") == 0 || strcmp(plain, "e0_times") == 0;
    l->has_posterior |= strcmp(plain, "acausal_posterior") == 0;
    l->has_settings |= strcmp(plain, "setting_names") == 0;
}

static int visit_dataset(void *user, const tess_dataset_info *info)
{
    listing *l = user;
    char shape[160];

    l->n_dataset++;
    notice(l, info->name);
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

// What a recording holds. A file that only looks like one is no failure of the listing.
static void show_recording(cli *c, const listing *l, const char *path)
{
    tess_decode_recording *recording = NULL;

    if (tess_decode_recording_open(c->ctx, path, &recording) != TESS_OK) {
        console_note("not a recording that decode reads: %s", tess_last_error());
        return;
    }
    const tess_decode_recording_info *info = tess_decode_recording_get_info(recording);
    if (l->json) {
        decode_write_recording(l->json, info);
    } else {
        decode_print_recording(info);
    }
    tess_decode_recording_close(recording);
}

static void show_result(cli *c, const listing *l, const char *path)
{
    tess_decode_score score;

    if (tess_decode_score_result(c->ctx, path, NULL, &score, sizeof score) != TESS_OK) {
        console_note("not a result of decode: %s", tess_last_error());
        return;
    }
    if (l->json) {
        decode_write_score(l->json, &score);
    } else {
        decode_print_score(&score);
    }
}

static void show_meaning(cli *c, const listing *l, const char *path)
{
    if (l->has_settings) {
        if (!l->json) {
            printf("model of decode, for 'tessera decode predict --model-file'\n");
        }
    } else if (l->has_posterior) {
        show_result(c, l, path);
    } else if (l->has_position && l->has_spikes) {
        show_recording(c, l, path);
    }
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
    show_meaning(c, &l, path);
    CLI_CALL(info_provenance(c, path, &provenance));
    info_print_provenance(provenance);
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
        show_meaning(c, &l, path);
        status = info_provenance(c, path, &provenance);
    }
    tess_json_raw(l.json, "provenance", provenance);
    tess_json_object_end(l.json);
    const int code = status == TESS_OK ? job_print_json(l.json) : console_status(status);
    tess_text_free(provenance);
    tess_json_destroy(l.json);
    return code;
}

tess_status info_provenance(cli *c, const char *path, char **text)
{
    const tess_status status = tess_file_provenance(c->ctx, path, text);

    if (status == TESS_OK && *text && !json_is_valid(*text)) {
        console_note("the provenance stored with %s is not JSON and is left out", path);
        tess_text_free(*text);
        *text = NULL;
    }
    return status;
}

void info_print_provenance(const char *text)
{
    if (text) {
        printf("provenance\n");
        outline_print(stdout, text);
    } else {
        printf("no provenance\n");
    }
}

static int write_other(cli *c, const char *path, const char *format, const char *provenance)
{
    tess_json *json = NULL;

    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.info/1");
    tess_json_text(json, "path", path);
    tess_json_text(json, "format", format);
    info_write_kind(c, json, format, path);
    tess_json_raw(json, "provenance", provenance);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

// Files that are no arrays. *is_known 0: nor anything else that is known here.
static int show_other(cli *c, const char *path, int *is_known)
{
    const char *kind = info_kind(path);
    char *provenance = NULL;
    int code = 0;

    *is_known = 0;
    if (!kind) {
        return 0;
    }
    CLI_CALL(info_provenance(c, path, &provenance));
    *is_known = provenance || strcmp(kind, "text") != 0;
    if (*is_known && c->values.json) {
        code = write_other(c, path, kind, provenance);
    } else if (*is_known) {
        printf("%s: %s\n", path, kind);
        info_print_kind(c, kind, path);
        info_print_provenance(provenance);
    }
    tess_text_free(provenance);
    return code;
}

static int show_file(cli *c, const char *path)
{
    int is_known = 0;

    if (is_checkpoint(path)) {
        return show_checkpoint(c, path);
    }
    CLI_TRY(show_other(c, path, &is_known));
    if (is_known) {
        return 0;
    }
    return c->values.json ? show_json(c, path) : show_text(c, path);
}

// A folder of .npy files that decode wrote.
static int show_result_folder(cli *c, const char *path, const tess_decode_score *score)
{
    tess_json *json = NULL;
    char *provenance = NULL;

    CLI_CALL(info_provenance(c, path, &provenance));
    if (!c->values.json) {
        printf("%s: folder, %lld time bins decoded\n", path, (long long)score->n_time);
        decode_print_score(score);
        info_print_provenance(provenance);
        tess_text_free(provenance);
        return 0;
    }
    const tess_status status = tess_json_create(c->ctx, 2, &json);
    if (status == TESS_OK) {
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "schema", "tessera.info/1");
        tess_json_text(json, "path", path);
        tess_json_text(json, "format", "folder");
        decode_write_score(json, score);
        tess_json_raw(json, "provenance", provenance);
        tess_json_object_end(json);
    }
    const int code = status == TESS_OK ? job_print_json(json) : console_status(status);
    tess_text_free(provenance);
    tess_json_destroy(json);
    return code;
}

// The file that says what a folder is: the newest checkpoint, or the summary of a fit.
static int find_speaker(const char *path, char speaker[PATH_MAX])
{
    static const char fit[] = "nlsq/analysis_results_nlsq.json";
    char newest[256] = "";
    DIR *folder = opendir(path);

    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        if (text_ends_with(entry->d_name, ".ckpt") && strcmp(entry->d_name, newest) > 0) {
            snprintf(newest, sizeof newest, "%s", entry->d_name);
        }
    }
    if (folder) {
        closedir(folder);
    }
    snprintf(speaker, PATH_MAX, "%.3800s/%s", path, newest[0] ? newest : fit);
    return access(speaker, R_OK) == 0;
}

static int show_folder(cli *c, const char *path)
{
    tess_decode_score score;
    char speaker[PATH_MAX];

    if (tess_decode_score_result(c->ctx, path, NULL, &score, sizeof score) == TESS_OK) {
        return show_result_folder(c, path, &score);
    }
    if (find_speaker(path, speaker)) {
        return show_file(c, speaker);
    }
    return console_fail(66, "%s: is a folder, and neither a result nor a checkpoint", path);
}

static int is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

int cmd_info(cli *c)
{
    const char *path = c->operands[0];

    CLI_TRY(session_context(c, NULL, NULL, &c->ctx));
    return is_folder(path) ? show_folder(c, path) : show_file(c, path);
}
