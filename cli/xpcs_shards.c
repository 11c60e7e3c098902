// Parts of the data sampled one by one, as jobs of a cluster, and joined.

#include "xpcs.h"

#include "job.h"

#include <tessera/io.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_SHARD = 100000 };

int xpcs_take_shard(const cli *c, xpcs_job *j)
{
    const cli_xpcs_values *v = &c->values.xpcs;
    char *end = NULL;
    const long k = v->shard ? strtol(v->shard, &end, 10) : 0;
    const long n = v->shard && *end == '/' ? strtol(end + 1, &end, 10) : 0;

    if (v->shard && v->combine) {
        return cli_usage_error(c, "--shard and --combine exclude each other");
    }
    if (v->shard && (*end || k < 1 || n < k || n > MAX_SHARD)) {
        return cli_usage_error(c, "--shard: '%s' is no part; write K/N, such as 3/8", v->shard);
    }
    if ((v->shard || v->combine) && j->method == XPCS_NLSQ) {
        return cli_usage_error(c, "--%s is of sampling; use tessera xpcs mcmc",
                               v->shard ? "shard" : "combine");
    }
    const int is_consensus = j->sample_config.method == TESS_XPCS_METHOD_CONSENSUS;
    if (v->shard && is_consensus && j->sample_config.n_shard > 0 && j->sample_config.n_shard != n) {
        return cli_usage_error(c, "--shard %s: the data are cut into %lld parts (num_shards)",
                               v->shard, (long long)j->sample_config.n_shard);
    }
    if (is_consensus && (v->shard || v->combine)) { // a part of it, or its end
        j->sample_config.method = TESS_XPCS_METHOD_NUTS;
        j->sample_config.n_shard = 0;
    }
    j->sample_config.shard = k;
    j->sample_config.n_shard = n > 0 ? n : j->sample_config.n_shard;
    return 0;
}

static int make_folder(const char *path)
{
    return mkdir(path, 0777) != 0 && errno != EEXIST
               ? console_fail(73, "%s: cannot create the folder: %s", path, strerror(errno))
               : 0;
}

static int write_bytes(cli *c, const char *path, const void *bytes, size_t n)
{
    const int64_t shape = (int64_t)n;
    tess_sink_config config;
    tess_sink *sink = NULL;

    tess_sink_config_init(&config, sizeof config);
    config.overwrite = c->values.overwrite || c->values.resume;
    tess_status status = tess_sink_create(c->ctx, path, &config, TESS_U8, 1, &shape, &sink);
    if (status == TESS_OK) {
        status = tess_sink_write(sink, 0, shape, bytes, n);
    }
    if (status == TESS_OK) {
        status = tess_sink_commit(sink);
    }
    tess_sink_close(sink);
    return job_status(c, status);
}

int xpcs_save_shard(cli *c, const xpcs_job *j, const char *folder)
{
    char path[PATH_MAX];
    const size_t n = tess_xpcs_posterior_pack(j->posterior, NULL, 0);
    void *bytes = malloc(n);

    if (!bytes) {
        return console_fail(71, "no memory for %zu bytes of draws", n);
    }
    tess_xpcs_posterior_pack(j->posterior, bytes, n);
    snprintf(path, sizeof path, "%.3000s", folder);
    int code = make_folder(path);
    snprintf(path, sizeof path, "%.3000s/cmc", folder);
    code = code ? code : make_folder(path);
    snprintf(path, sizeof path, "%.3000s/cmc/shard_%05lld_of_%05lld.npy", folder,
             (long long)j->sample_config.shard, (long long)j->sample_config.n_shard);
    code = code ? code : write_bytes(c, path, bytes, n);
    free(bytes);
    if (code == 0) {
        console_note("part %lld of %lld written to %s", (long long)j->sample_config.shard,
                     (long long)j->sample_config.n_shard, path);
    }
    return code;
}

static int read_part(cli *c, const char *path, tess_xpcs_posterior **out)
{
    tess_source *source = NULL;
    void *bytes = NULL;

    CLI_CALL(tess_source_open(c->ctx, path, NULL, &source));
    const tess_source_info *info = tess_source_get_info(source);
    const size_t n = (size_t)info->shape[0];
    const int is_ours = info->rank == 1 && info->dtype == TESS_U8 && (bytes = malloc(n)) != NULL;
    tess_status status = is_ours ? tess_source_read(source, 0, (int64_t)n, bytes, n) : TESS_OK;
    if (is_ours && status == TESS_OK) {
        status = tess_xpcs_posterior_unpack(c->ctx, bytes, n, out);
    }
    tess_source_close(source);
    free(bytes);
    if (!is_ours) {
        return console_fail(65, "%s: holds no draws of a part", path);
    }
    return job_status(c, status);
}

// How many parts there are, from their names: the least and the largest count, 0 where there is
// none.
static void find_count(const char *folder, long *least, long *most)
{
    DIR *directory = opendir(folder);

    *least = *most = 0;
    for (struct dirent *e = NULL; directory && (e = readdir(directory)) != NULL;) {
        long k = 0;
        long n = 0;
        int used = 0;
        if (sscanf(e->d_name, "shard_%5ld_of_%5ld.npy%n", &k, &n, &used) != 2 ||
            e->d_name[used] != '\0' || n < 1) {
            continue;
        }
        *least = *least == 0 || n < *least ? n : *least;
        *most = n > *most ? n : *most;
    }
    if (directory) {
        closedir(directory);
    }
}

// Whether a part began from the fit of the data at hand. Fits of the same data on another machine
// differ by rounding, of other data by about their errors.
static int is_of_fit(const tess_xpcs_posterior *part, const tess_xpcs_result *result)
{
    const tess_xpcs_posterior_info *draws = tess_xpcs_posterior_get_info(part);
    const tess_xpcs_result_info *fit = tess_xpcs_result_get_info(result);
    int is_same = draws->model_mode == fit->mode && draws->n_param == fit->n_param &&
                  draws->n_angle == fit->n_angle && draws->n_frame == fit->n_frame;

    for (int64_t k = 0; is_same && k < fit->n_param; k++) {
        const double away = fabs(draws->fit_theta[k] - fit->theta[k]);
        is_same = !(away > 1e-3 * fit->sd[k]);
    }
    return is_same;
}

static int read_all(cli *c, const char *folder, long n, tess_xpcs_posterior **parts)
{
    for (long k = 0; k < n; k++) {
        char path[PATH_MAX];
        struct stat there;
        snprintf(path, sizeof path, "%.3000s/shard_%05ld_of_%05ld.npy", folder, k + 1, n);
        if (stat(path, &there) != 0) {
            return console_fail(66, "%s is missing: run --shard %ld/%ld", path, k + 1, n);
        }
        CLI_TRY(read_part(c, path, &parts[k]));
    }
    return 0;
}

int xpcs_combine_shards(cli *c, xpcs_job *j)
{
    char folder[PATH_MAX];

    snprintf(folder, sizeof folder, "%.3000s/cmc", c->values.xpcs.combine);
    long n = 0;
    long most = 0;
    find_count(folder, &n, &most);
    if (n != most) {
        return console_fail(65, "%s: has parts of %ld and of %ld; leave one set there", folder, n,
                            most);
    }
    tess_xpcs_posterior **parts = n > 0 ? calloc((size_t)n, sizeof *parts) : NULL;
    if (n == 0) {
        return console_fail(66, "%s: has no shard_*.npy; sample with --shard 1/N first", folder);
    }
    if (!parts) {
        return console_fail(71, "no memory for %ld parts", n);
    }
    int code = read_all(c, folder, n, parts);
    if (code == 0 && !is_of_fit(parts[0], j->result)) {
        code = console_fail(65,
                            "%s: parts of other data, another fit or other options than those "
                            "given here; combine with those of --shard",
                            folder);
    }
    if (code == 0) {
        tess_xpcs_combine_config config;
        xpcs_combine_config(j, &config);
        code = job_status(c, tess_xpcs_combine(c->ctx, (const tess_xpcs_posterior *const *)parts, n,
                                               &config, &j->posterior));
    }
    for (long k = 0; k < n; k++) {
        tess_xpcs_posterior_destroy(parts[k]);
    }
    free(parts);
    return code;
}
