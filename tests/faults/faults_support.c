#include "faults_support.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void work_in(const char *folder)
{
    remove_folder(folder);
    CHECK(mkdir(folder, 0777) == 0 && chdir(folder) == 0);
}

void make_input(const char *path, tess_dtype dtype)
{
    tess_context *ctx = NULL;
    tess_plan *plan = NULL;
    tess_sink *sink = NULL;
    tess_run *run = NULL;
    tess_autoreject_simulate_config config;
    tess_autoreject_simulate_config_init(&config, sizeof config);
    config.n_epoch = N_EPOCH;
    config.n_chan = N_CHAN;
    config.n_time = N_TIME;
    config.dtype_index = dtype == TESS_F64;
    const int64_t shape[3] = {N_EPOCH, N_CHAN, N_TIME};
    CHECK(tess_context_create(NULL, &ctx) == TESS_OK);
    CHECK(tess_autoreject_simulate_plan_create(ctx, &config, &plan) == TESS_OK);
    CHECK(tess_sink_create(ctx, path, NULL, dtype, 3, shape, &sink) == TESS_OK);
    CHECK(tess_run_create(ctx, plan, NULL, sink, NULL, &run) == TESS_OK);
    CHECK(tess_run_execute(run) == TESS_OK);
    tess_run_destroy(run);
    tess_sink_close(sink);
    tess_plan_destroy(plan);
    tess_context_destroy(ctx);
}

void run_options_init(run_options *options, const char *input, const char *output)
{
    memset(options, 0, sizeof *options);
    tess_context_config_init(&options->context, sizeof options->context);
    tess_run_config_init(&options->run, sizeof options->run);
    options->context.n_thread = 2;
    options->tile_epochs = 1;
    options->input = input;
    options->output = output;
}

typedef struct parts {
    tess_context *ctx;
    tess_source *source;
    tess_plan *plan;
    tess_sink *sink;
    tess_run *run;
    double memory[N_EPOCH * N_CHAN];
} parts;

static tess_status open_sink(const run_options *options, parts *p)
{
    const tess_source_info *info = tess_source_get_info(p->source);
    const tess_dtype dtype = (tess_dtype)info->dtype;
    if (options->output) {
        return tess_sink_create(p->ctx, options->output, NULL, dtype, 2, info->shape, &p->sink);
    }
    tess_array out;
    const tess_status status = tess_array_init(&out, p->memory, dtype, 2, info->shape);
    return status == TESS_OK ? tess_sink_from_array(p->ctx, &out, &p->sink) : status;
}

static tess_status go_through(const run_options *options, parts *p)
{
    tess_autoreject_ptp_config config;
    tess_autoreject_ptp_config_init(&config, sizeof config);
    config.tile_epochs = options->tile_epochs;
    tess_status status = tess_context_create(&options->context, &p->ctx);
    if (status == TESS_OK) {
        status = tess_source_open(p->ctx, options->input, NULL, &p->source);
    }
    if (status == TESS_OK) {
        status = tess_autoreject_ptp_plan_create(p->ctx, p->source, &config, &p->plan);
    }
    if (status == TESS_OK) {
        status = open_sink(options, p);
    }
    if (status == TESS_OK) {
        status = tess_run_create(p->ctx, p->plan, p->source, p->sink, &options->run, &p->run);
    }
    return status == TESS_OK ? tess_run_execute(p->run) : status;
}

tess_status run_once(const run_options *options, int64_t *done)
{
    parts p = {0};
    const tess_status status = go_through(options, &p);
    char message[1024];
    snprintf(message, sizeof message, "%s", tess_last_error());
    CHECK(status == TESS_OK || message[0] != '\0');
    tess_run_report report = {0};
    if (p.run) {
        CHECK(tess_run_get_report(p.run, &report, sizeof report) == TESS_OK);
    }
    *done = report.items_done;
    tess_run_destroy(p.run);
    tess_sink_close(p.sink);
    tess_plan_destroy(p.plan);
    tess_source_close(p.source);
    tess_context_destroy(p.ctx);
    return status;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static uint64_t read_values(tess_context *ctx, const char *path, double *values, uint64_t capacity)
{
    tess_source *source = NULL;
    if (tess_source_open(ctx, path, NULL, &source) != TESS_OK) {
        return 0;
    }
    const tess_source_info *info = tess_source_get_info(source);
    uint64_t bytes = (uint64_t)info->item_bytes;
    for (int32_t i = 0; i < info->rank; i++) {
        bytes *= (uint64_t)info->shape[i];
    }
    CHECK(bytes <= capacity);
    CHECK(tess_source_read(source, 0, info->shape[0], values, bytes) == TESS_OK);
    tess_source_close(source);
    return bytes;
}

bool same_values(const char *a, const char *b)
{
    double left[N_EPOCH * N_CHAN];
    double right[N_EPOCH * N_CHAN];
    tess_context *ctx = NULL;
    CHECK(tess_context_create(NULL, &ctx) == TESS_OK);
    const uint64_t bytes = read_values(ctx, a, left, sizeof left);
    const uint64_t other = read_values(ctx, b, right, sizeof right);
    tess_context_destroy(ctx);
    return bytes > 0 && bytes == other && memcmp(left, right, bytes) == 0;
}

int count_named(const char *folder, const char *text)
{
    int n = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries)) != NULL;) {
        n += strstr(entry->d_name, text) != NULL;
    }
    if (entries) {
        closedir(entries);
    }
    return n;
}

void remove_folder(const char *folder)
{
    char path[4096];
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        struct stat info;
        if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
            remove_folder(path);
        } else {
            unlink(path);
        }
    }
    if (entries) {
        closedir(entries);
    }
    rmdir(folder);
}
