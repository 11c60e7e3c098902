// tessera clifford table and check.

#include "clifford.h"
#include "job.h"

#include <tessera/sys/clifford_check.h>

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    tess_clifford_product product;
} products[] = {
    {"geometric", TESS_CLIFFORD_GEOMETRIC},   {"outer", TESS_CLIFFORD_OUTER},
    {"left", TESS_CLIFFORD_LEFT_CONTRACTION}, {"right", TESS_CLIFFORD_RIGHT_CONTRACTION},
    {"inner", TESS_CLIFFORD_INNER},           {"scalar", TESS_CLIFFORD_SCALAR},
    {"commutator", TESS_CLIFFORD_COMMUTATOR}};

static uint64_t wanted_paths(const cli *c, const tess_clifford_algebra *algebra)
{
    const char *name = c->values.clifford.product;
    for (size_t i = 0; name && i < sizeof products / sizeof *products; i++) {
        if (strcmp(products[i].name, name) == 0) {
            return tess_clifford_product_paths(algebra, products[i].product);
        }
    }
    return tess_clifford_product_paths(algebra, TESS_CLIFFORD_GEOMETRIC);
}

static void print_components(const tess_clifford_algebra *algebra)
{
    printf("\n%-4s %-8s %5s %7s %10s %9s %4s  %s\n", "k", "blade", "grade", "reverse", "involution",
           "conjugate", "eta", "right complement");
    for (int k = 0; k < algebra->n_component; k++) {
        char name[16];
        char complement[16];
        clifford_blade_name(algebra, k, name);
        clifford_blade_name(algebra, algebra->complement[k], complement);
        printf("%-4d %-8s %5d %+7d %+10d %+9d %+4d  %c%s\n", k, name, algebra->grade[k],
               algebra->reverse[k], algebra->involution[k], algebra->conjugate[k], algebra->eta[k],
               algebra->complement_sign[k] > 0 ? '+' : '-', complement);
    }
}

static void print_paths(const tess_clifford_algebra *algebra, uint64_t paths)
{
    printf("\nweights, left x right -> output grade\n");
    int n_printed = 0;
    for (int p = 0; p < algebra->n_path; p++) {
        if (paths >> p & 1) {
            printf("w%-3d %dx%d->%d%s", p, algebra->path_left[p], algebra->path_right[p],
                   algebra->path_out[p], ++n_printed % 5 == 0 ? "\n" : "    ");
        }
    }
    printf("%s", n_printed % 5 == 0 ? "" : "\n");
}

// o1 = w1[+x0y1] w5[+x1y0] ..., terms of a path together.
static void print_row(const tess_clifford_algebra *algebra, uint64_t paths, int k)
{
    char name[16];
    clifford_blade_name(algebra, k, name);
    printf("o%-3d %-7s", k, name);
    for (int p = 0; p < algebra->n_path; p++) {
        int n_term = 0;
        for (int t = 0; t < algebra->n_term; t++) {
            const tess_clifford_term *term = &algebra->terms[t];
            if (term->k == k && term->path == p && (paths >> p & 1)) {
                if (n_term++ == 0) {
                    printf(" w%d[", p);
                } else {
                    putchar(' ');
                }
                printf("%cx%dy%d", term->sign > 0 ? '+' : '-', term->i, term->j);
            }
        }
        printf("%s", n_term > 0 ? "]" : "");
    }
    putchar('\n');
}

static void print_terms(const tess_clifford_algebra *algebra, uint64_t paths)
{
    printf("\n%4s %4s %4s %4s %4s\n", "k", "i", "j", "sign", "path");
    for (int t = 0; t < algebra->n_term; t++) {
        const tess_clifford_term *term = &algebra->terms[t];
        if (paths >> term->path & 1) {
            printf("%4d %4d %4d %+4d %4d\n", term->k, term->i, term->j, term->sign, term->path);
        }
    }
}

static void print_table(const cli *c, const tess_clifford_algebra *algebra, uint64_t paths)
{
    char signs[TESS_CLIFFORD_MAX_SYMBOLS + 1];
    int n_minus = 0;
    for (int t = 0; t < algebra->n_term; t++) {
        n_minus += algebra->terms[t].sign < 0;
    }
    tess_clifford_metric_text(&algebra->metric, signs, sizeof signs);
    printf("metric %s: %d components, %d grades, %d terms (%d/%d), %d paths, %d pairs, crc32 "
           "%08x\n",
           signs, algebra->n_component, algebra->n_grade, algebra->n_term,
           algebra->n_term - n_minus, n_minus, algebra->n_path, algebra->n_pair, algebra->crc32);
    print_components(algebra);
    print_paths(algebra, paths);
    if (c->values.clifford.terms) {
        print_terms(algebra, paths);
        return;
    }
    putchar('\n');
    for (int k = 0; k < algebra->n_component; k++) {
        print_row(algebra, paths, k);
    }
}

static void write_components(tess_json *json, const tess_clifford_algebra *algebra)
{
    tess_json_array_begin(json, "components");
    for (int k = 0; k < algebra->n_component; k++) {
        char name[16];
        clifford_blade_name(algebra, k, name);
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "blade", name);
        tess_json_int(json, "mask", algebra->mask[k]);
        tess_json_int(json, "grade", algebra->grade[k]);
        tess_json_int(json, "reverse", algebra->reverse[k]);
        tess_json_int(json, "involution", algebra->involution[k]);
        tess_json_int(json, "conjugate", algebra->conjugate[k]);
        tess_json_int(json, "eta", algebra->eta[k]);
        tess_json_int(json, "complement", algebra->complement[k]);
        tess_json_int(json, "complement_sign", algebra->complement_sign[k]);
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
}

static void write_product(tess_json *json, const tess_clifford_algebra *algebra, uint64_t paths)
{
    tess_json_array_begin(json, "paths");
    for (int p = 0; p < algebra->n_path; p++) {
        tess_json_object_begin(json, NULL);
        tess_json_int(json, "left", algebra->path_left[p]);
        tess_json_int(json, "output", algebra->path_out[p]);
        tess_json_int(json, "right", algebra->path_right[p]);
        tess_json_bool(json, "is_in_product", (int)(paths >> p & 1));
        tess_json_object_end(json);
    }
    tess_json_array_end(json);
    tess_json_array_begin(json, "terms");
    for (int t = 0; t < algebra->n_term; t++) {
        const tess_clifford_term *term = &algebra->terms[t];
        if (paths >> term->path & 1) {
            tess_json_array_begin(json, NULL);
            tess_json_int(json, NULL, term->k);
            tess_json_int(json, NULL, term->i);
            tess_json_int(json, NULL, term->j);
            tess_json_int(json, NULL, term->sign);
            tess_json_int(json, NULL, term->path);
            tess_json_array_end(json);
        }
    }
    tess_json_array_end(json);
}

static int print_table_json(cli *c, const tess_clifford_algebra *algebra, uint64_t paths)
{
    char signs[TESS_CLIFFORD_MAX_SYMBOLS + 1];
    char crc[16];
    tess_json *json = NULL;

    tess_clifford_metric_text(&algebra->metric, signs, sizeof signs);
    snprintf(crc, sizeof crc, "%08x", algebra->crc32);
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.clifford.table/1");
    tess_json_text(json, "metric", signs);
    tess_json_text(json, "crc32", crc);
    tess_json_int(json, "n_component", algebra->n_component);
    tess_json_int(json, "n_grade", algebra->n_grade);
    tess_json_int(json, "n_path", algebra->n_path);
    tess_json_int(json, "n_pair", algebra->n_pair);
    tess_json_int(json, "n_term", algebra->n_term);
    write_components(json, algebra);
    write_product(json, algebra, paths);
    tess_json_object_end(json);
    const int code = job_print_json(json);
    tess_json_destroy(json);
    return code;
}

int cmd_clifford_table(cli *c)
{
    tess_clifford_algebra algebra;

    CLI_TRY(clifford_read_algebra(c, 0, NULL, &algebra));
    const uint64_t paths = wanted_paths(c, &algebra);
    if (!c->values.json) {
        print_table(c, &algebra, paths);
        return 0;
    }
    CLI_TRY(session_open(c, NULL));
    return print_table_json(c, &algebra, paths);
}

// ---- check --------------------------------------------------------------------------------------

enum { MAX_FINDING = 512 };

static void print_findings(const char *signs, const tess_clifford_finding *findings, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const tess_clifford_finding *f = &findings[i];
        printf("%-6s %-44s %-5s %10.2e %s %-9.1e %s\n", signs, f->name, f->dtype, f->error,
               f->is_control ? "must exceed" : "allowed    ", f->allowed,
               f->passed ? "ok" : "FAILED");
    }
}

static void write_findings(tess_json *json, const char *signs,
                           const tess_clifford_finding *findings, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const tess_clifford_finding *f = &findings[i];
        tess_json_object_begin(json, NULL);
        tess_json_text(json, "metric", signs);
        tess_json_text(json, "name", f->name);
        tess_json_text(json, "dtype", f->dtype);
        tess_json_real(json, "error", f->error);
        tess_json_real(json, "allowed", f->allowed);
        tess_json_bool(json, "is_control", f->is_control);
        tess_json_bool(json, "passed", f->passed);
        tess_json_object_end(json);
    }
}

// Adds to the counts; json NULL: prints.
static int check_one(cli *c, const char *signature, const tess_clifford_check_config *config,
                     tess_json *json, int64_t *n_total, int64_t *n_failed)
{
    tess_clifford_finding *findings = malloc(MAX_FINDING * sizeof *findings);
    tess_clifford_metric metric;
    char signs[TESS_CLIFFORD_MAX_SYMBOLS + 1];
    int64_t n = 0;

    if (!findings) {
        return console_fail(71, "no memory for the findings");
    }
    tess_status status = tess_clifford_metric_parse(signature, &metric);
    if (status == TESS_OK) {
        status = tess_clifford_check(c->ctx, &metric, config, findings, MAX_FINDING, &n);
    }
    if (status == TESS_OK) {
        n = n < MAX_FINDING ? n : MAX_FINDING;
        tess_clifford_metric_text(&metric, signs, sizeof signs);
        if (json) {
            write_findings(json, signs, findings, n);
        } else if (!c->values.quiet) {
            print_findings(signs, findings, n);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        *n_failed += !findings[i].passed;
    }
    *n_total += n;
    free(findings);
    return job_status(c, status);
}

static int check_all(cli *c, const tess_clifford_check_config *config, tess_json *json,
                     int64_t *n_total, int64_t *n_failed)
{
    static const char *const usual[] = {"++", "+++", "0+++", "+---", "++++-"};
    const char *asked = c->values.clifford.signature;

    if (asked) {
        CLI_TRY(check_one(c, asked, config, json, n_total, n_failed));
    }
    for (int i = 0; i < c->n_operand; i++) {
        CLI_TRY(check_one(c, c->operands[i], config, json, n_total, n_failed));
    }
    for (size_t i = 0; !asked && c->n_operand == 0 && i < sizeof usual / sizeof *usual; i++) {
        CLI_TRY(check_one(c, usual[i], config, json, n_total, n_failed));
    }
    return 0;
}

int cmd_clifford_check(cli *c)
{
    tess_clifford_check_config config;
    tess_json *json = NULL;
    int64_t n_total = 0;
    int64_t n_failed = 0;

    tess_clifford_check_config_init(&config, sizeof config);
    CLI_TRY(session_open(c, (void *const[]){&config}));
    if (!c->values.json) {
        CLI_TRY(check_all(c, &config, NULL, &n_total, &n_failed));
        if (!c->values.quiet) {
            printf("%lld checks, %lld failed\n", (long long)n_total, (long long)n_failed);
        } else if (n_failed > 0) {
            console_fail(1, "%lld of %lld checks failed", (long long)n_failed, (long long)n_total);
        }
        return n_failed > 0 ? 1 : 0;
    }
    CLI_CALL(tess_json_create(c->ctx, 2, &json));
    tess_json_object_begin(json, NULL);
    tess_json_text(json, "schema", "tessera.clifford.check/1");
    tess_json_array_begin(json, "findings");
    int code = check_all(c, &config, json, &n_total, &n_failed);
    tess_json_array_end(json);
    tess_json_int(json, "n_failed", n_failed);
    tess_json_object_end(json);
    code = code != 0 ? code : job_print_json(json);
    tess_json_destroy(json);
    return code != 0 ? code : n_failed > 0 ? 1 : 0;
}
