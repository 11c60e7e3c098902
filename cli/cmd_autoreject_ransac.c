// tessera autoreject ransac.

#include "autoreject.h"
#include "job.h"

#include <math.h>
#include <stdlib.h>

typedef struct ransac_arrays {
    uint8_t *bad;
    uint8_t *bad_log;
    double *correlations;
} ransac_arrays;

static int print_ransac(cli *c, autoreject_job *j, const ransac_arrays *a)
{
    const tess_autoreject_epochs_info *info = tess_autoreject_epochs_get_info(j->epochs);
    tess_json *json = NULL;

    if (c->values.json) {
        CLI_CALL(tess_json_create(c->ctx, 2, &json));
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "schema", "tessera.autoreject.ransac/1");
        autoreject_write_epochs(json, j);
        tess_json_array_begin(json, "ransac");
    }
    for (int64_t k = 0; k < j->n_pick; k++) {
        const char *name = info->sensors->channels[j->picks[k]].name;
        int64_t n_bad = 0;
        int64_t n_flat = 0;
        for (int64_t e = 0; e < info->n_epoch; e++) {
            n_bad += a->bad_log[e * j->n_pick + k];
            n_flat += isnan(a->correlations[e * j->n_pick + k]) != 0;
        }
        if (json) {
            tess_json_object_begin(json, NULL);
            tess_json_text(json, "name", name);
            tess_json_bool(json, "bad", a->bad[k]);
            tess_json_int(json, "n_bad_epoch", n_bad);
            tess_json_int(json, "n_flat_epoch", n_flat);
            tess_json_object_end(json);
        } else {
            autoreject_print_name(name, 20);
            printf(" %s, badly predicted in %lld of %lld epochs%s\n", a->bad[k] ? "BAD " : "good",
                   (long long)n_bad, (long long)info->n_epoch,
                   n_flat == info->n_epoch ? ", flat" : "");
        }
    }
    if (!json) {
        return 0;
    }
    tess_json_array_end(json);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

static int run_ransac(cli *c, autoreject_job *j, ransac_arrays *a)
{
    CLI_TRY(autoreject_open_session(c, j));
    CLI_TRY(autoreject_open_epochs(c, j, c->operands[0]));
    const int64_t n = tess_autoreject_epochs_get_info(j->epochs)->n_epoch * j->n_pick;
    a->bad = calloc((size_t)j->n_pick + 1, 1);
    a->bad_log = calloc((size_t)n + 1, 1);
    a->correlations = calloc((size_t)n + 1, sizeof *a->correlations);
    if (!a->bad || !a->bad_log || !a->correlations) {
        return console_fail(71, "no memory for %lld correlations", (long long)n);
    }
    tess_autoreject_ransac_result result = {.struct_size = sizeof result,
                                            .correlations = a->correlations,
                                            .bad_log = a->bad_log,
                                            .bad = a->bad};
    CLI_TRY(job_status(c, tess_autoreject_ransac(c->ctx, j->epochs, j->picks, j->n_pick,
                                                 &j->ransac_config, &result)));
    return print_ransac(c, j, a);
}

int cmd_autoreject_ransac(cli *c)
{
    autoreject_job j = {0};
    ransac_arrays a = {0};
    const int code = run_ransac(c, &j, &a);
    free(a.bad);
    free(a.bad_log);
    free(a.correlations);
    autoreject_close(&j);
    return code;
}
