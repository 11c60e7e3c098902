// --verify: a sample of the rows again, in float64 with every pair.

#include "decode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Rows come in short runs spread over the recording: one call each.
enum { RUN_ROWS = 16 };

int decode_parse_share(const cli *c, const char *text, double *share)
{
    char *end = NULL;
    *share = strtod(text, &end);
    if (end != text && strcmp(end, "%") == 0) {
        *share /= 100;
        end++;
    }
    if (end == text || *end || !(*share > 0) || *share > 1) {
        return cli_usage_error(c, "--verify: '%s' is no share of the rows; write 1%% or 0.01",
                               text);
    }
    return 0;
}

typedef struct check {
    const tess_decode_encoding *fast;
    tess_decode_encoding *exact; // owned
    double *rows;                // owned: two blocks of RUN_ROWS x n_bin
    int64_t n_bin;
} check;

static int compare_run(cli *c, const check *v, const tess_decode_observation *seen, int64_t first,
                       int64_t n_row, double *largest)
{
    const int64_t shape[] = {n_row, v->n_bin};
    double *other = v->rows + RUN_ROWS * v->n_bin;
    tess_array a;
    tess_array b;

    CLI_CALL(tess_array_init(&a, v->rows, TESS_F64, 2, shape));
    CLI_CALL(tess_array_init(&b, other, TESS_F64, 2, shape));
    tess_decode_likelihood_report counts = {.struct_size = sizeof counts};
    CLI_CALL(tess_decode_log_likelihood(c->ctx, v->fast, seen, first, n_row, &a, &counts));
    CLI_CALL(tess_decode_log_likelihood(c->ctx, v->exact, seen, first, n_row, &b, &counts));
    for (int64_t i = 0; i < n_row * v->n_bin; i++) {
        const double difference = fabs(v->rows[i] - other[i]);
        *largest = difference > *largest ? difference : *largest;
    }
    return 0;
}

// The recording's row that is row k of those decoded, and how many follow it without a gap.
static int64_t decoded_row(const decode_job *j, int64_t n_time, int64_t k, int64_t *left)
{
    const int64_t n = j->table ? tess_decode_interval_table_get(j->table)->n : 0;

    for (int64_t i = 0; i < n; i++) {
        if (k < j->rows[n + i]) {
            *left = j->rows[n + i] - k;
            return j->rows[i] + k;
        }
        k -= j->rows[n + i];
    }
    *left = n_time - k;
    return k;
}

static int compare(cli *c, decode_job *j, check *v, double share)
{
    const tess_decode_recording_info *info = tess_decode_recording_get_info(j->recording);
    const tess_decode_observation *seen = &info->observation;
    tess_decode_encoding_config config = tess_decode_model_settings(j->model)->encoding;

    config.mode = TESS_DECODE_EXACT;
    CLI_CALL(tess_decode_encoding_create(c->ctx, tess_decode_model_environment(j->model),
                                         &info->training, &config, &v->exact));
    v->fast = tess_decode_model_encoding(j->model);
    v->n_bin = tess_decode_encoding_get_info(v->fast)->n_interior;
    v->rows = calloc((size_t)(2 * RUN_ROWS * v->n_bin) + 1, sizeof *v->rows);
    if (!v->rows) {
        return console_fail(71, "no memory for --verify");
    }
    const int64_t n_time = j->report.n_row;
    const int64_t n_run = (int64_t)ceil(share * (double)n_time / RUN_ROWS);
    double largest = 0;
    for (int64_t k = 0; k < n_run; k++) {
        int64_t left = 0;
        const int64_t first = decoded_row(j, seen->n_time, n_time * k / n_run, &left);
        const int64_t n_row = left < RUN_ROWS ? left : RUN_ROWS;
        CLI_TRY(compare_run(c, v, seen, first, n_row, &largest));
        j->verify_rows += n_row;
    }
    j->verify_difference = largest;
    return 0;
}

int decode_verify(cli *c, decode_job *j, double share)
{
    check v = {0};
    const int code = compare(c, j, &v, share);
    tess_decode_encoding_destroy(v.exact);
    free(v.rows);
    return code;
}
