// Rows of views as the kernels take them, lists of terms and factors of rows.
#include "backend/cpu/clifford/clifford.h"

#include "base/half.h"
#include "clifford/algebras.h"

#include <math.h>
#include <string.h>

enum { BLOCK_BYTES = 10 << 10 };

size_t tess_cpu_cl_stride(int64_t n_feature)
{
    return ((size_t)n_feature + TESS_CL_PAD - 1) / TESS_CL_PAD * TESS_CL_PAD + 16;
}

int tess_cpu_cl_is_f64(const tess_cl_problem *problem)
{
    return problem->dtype == TESS_F64;
}

int64_t tess_cpu_cl_block_rows(const tess_cl_problem *problem, int64_t n_feature)
{
    const size_t item = tess_cpu_cl_is_f64(problem) ? sizeof(double) : sizeof(float);
    const size_t row = (size_t)problem->algebra->n_component * tess_cpu_cl_stride(n_feature) * item;
    const int64_t fit = (int64_t)(BLOCK_BYTES / row);
    return fit < 1 ? 1 : fit > TESS_CPU_CL_ROWS ? TESS_CPU_CL_ROWS : fit;
}

size_t tess_cpu_cl_block_items(const tess_cl_problem *problem, int64_t n_feature)
{
    return (size_t)tess_cpu_cl_block_rows(problem, n_feature) *
           (size_t)problem->algebra->n_component * tess_cpu_cl_stride(n_feature);
}

int tess_cpu_cl_is_direct(const tess_cl_problem *problem, const tess_cl_view *view)
{
    return (problem->dtype == TESS_F32 || problem->dtype == TESS_F64) && view->stride[2] == 1;
}

void tess_cpu_cl_grades(const tess_cl_problem *problem, tess_cl_grades *grades)
{
    const tess_clifford_algebra *algebra = problem->algebra;
    memset(grades, 0, sizeof *grades);
    grades->n_component = algebra->n_component;
    grades->n_grade = algebra->n_grade;
    grades->metric = problem->norm_metric;
    for (int k = 0; k < algebra->n_component; k++) {
        grades->end[algebra->grade[k]] = k + 1;
        grades->eta[k] = grades->metric == TESS_CLIFFORD_NORM_EUCLID ? 1 : algebra->eta[k];
    }
}

tess_cl_code tess_cpu_cl_code(const tess_cl_problem *problem)
{
    const tess_clifford_algebra *algebra = problem->algebra;
    if (problem->path_mask != (UINT64_C(1) << algebra->n_path) - 1) {
        return TESS_CL_CODE_ANY;
    }
    int code = TESS_CL_CODE_ANY;
#define ALGEBRA(name, NAME)                                                                        \
    {                                                                                              \
        static const int8_t metric[] = {NAME##_METRIC};                                            \
        if (algebra->metric.n_symbol == NAME##_SYMBOLS &&                                          \
            memcmp(algebra->metric.square, metric, sizeof metric) == 0) {                          \
            code = TESS_CL_CODE_##NAME;                                                            \
        }                                                                                          \
    }
    CL_ALGEBRAS(ALGEBRA)
#undef ALGEBRA
    return (tess_cl_code)code;
}

static tess_cl_entry entry_of(const tess_clifford_term *term, tess_cl_form form)
{
    const uint8_t is_negative = term->sign < 0;
    switch (form) {
    case TESS_CL_LEFT:
        return (tess_cl_entry){term->i, term->path, term->k, term->j, is_negative, 0, 0, 0};
    case TESS_CL_RIGHT:
        return (tess_cl_entry){term->j, term->path, term->k, term->i, is_negative, 0, 0, 0};
    default:
        return (tess_cl_entry){term->k, term->path, term->i, term->j, is_negative, 0, 0, 0};
    }
}

static int key_of(const tess_clifford_algebra *algebra, const tess_cl_entry *entry,
                  tess_cl_form form)
{
    const int pair = form == TESS_CL_LEFT ? entry->path * algebra->n_component + entry->out
                                          : entry->out * algebra->n_path + entry->path;
    return 2 * pair + entry->is_negative;
}

void tess_cpu_cl_list(const tess_clifford_algebra *algebra, uint64_t path_mask, tess_cl_form form,
                      tess_cl_list *list)
{
    uint16_t place[2 * TESS_CLIFFORD_MAX_COMPONENTS * TESS_CLIFFORD_MAX_PATHS + 1] = {0};
    const int n_key = 2 * algebra->n_component * algebra->n_path;
    list->n_component = algebra->n_component;
    for (int t = 0; t < algebra->n_term; t++) {
        const tess_cl_entry entry = entry_of(&algebra->terms[t], form);
        if (path_mask >> entry.path & 1) {
            place[key_of(algebra, &entry, form) + 1]++;
        }
    }
    for (int key = 0; key < n_key; key++) {
        place[key + 1] = (uint16_t)(place[key + 1] + place[key]);
    }
    list->n_entry = place[n_key];
    for (int t = 0; t < algebra->n_term; t++) {
        const tess_cl_entry entry = entry_of(&algebra->terms[t], form);
        if (path_mask >> entry.path & 1) {
            list->entries[place[key_of(algebra, &entry, form)]++] = entry;
        }
    }
    for (int t = 0; t < list->n_entry; t++) {
        tess_cl_entry *entry = &list->entries[t];
        const tess_cl_entry *next = t + 1 < list->n_entry ? entry + 1 : NULL;
        entry->ends_path = !next || next->path != entry->path;
        entry->ends_pair = entry->ends_path || next->out != entry->out;
    }
}

// Whether the mean of squares is below eps, which then takes its place.
static int is_clamped(const tess_cl_problem *problem, double r)
{
    // r is a statistic, which may be rounded to f32, or was just computed.
    const double exact = sqrt(problem->eps), rounded = (double)(float)exact;
    const double least = tess_cpu_cl_is_f64(problem) || rounded < exact ? exact : rounded;
    return tess_cl_shares_root(problem->norm_metric) && r <= least;
}

static double root_of(const tess_cl_problem *problem, double sum)
{
    const double mean = sum / (double)problem->n_out;
    if (tess_cl_shares_root(problem->norm_metric)) {
        return sqrt(mean < problem->eps ? problem->eps : mean);
    }
    return sqrt(mean + problem->eps);
}

// The factors of a row from its moments; r is read, not written, where has_r.
static void fill_factors(const tess_cl_problem *problem, const tess_cl_moments *moments, int has_r,
                         double *r, tess_cl_factors *factors)
{
    const double n = (double)problem->n_out;
    for (int g = 0; g < problem->algebra->n_grade; g++) {
        const int from = tess_cl_shares_root(problem->norm_metric) ? 0 : g;
        if (!problem->normalize) {
            r[g] = factors->a[g] = 1;
            factors->b[g] = factors->c[g] = factors->e[g] = 0;
            continue;
        }
        if (!has_r) {
            r[g] = root_of(problem, moments->square[from]);
        }
        factors->a[g] = 1 / r[g];
        if (problem->pass == TESS_CLIFFORD_FORWARD) {
            continue; // the others are not looked at
        }
        const double by = is_clamped(problem, r[g]) ? 0 : 1 / (n * r[g] * r[g] * r[g]);
        const double go = moments->go[from], uo = moments->uo[from];
        factors->b[g] = by * (problem->pass == TESS_CLIFFORD_DOUBLE_BACKWARD ? uo : go);
        factors->c[g] = by * go;
        factors->e[g] = by * (moments->ug[from] - 3 * uo * (go / (n * r[g] * r[g])));
    }
}

double tess_cpu_cl_read(const void *data, int64_t at, int32_t dtype)
{
    switch (dtype) {
    case TESS_F64:
        return ((const double *)data)[at];
    case TESS_BF16:
        return (double)tess_f32_of_bf16(((const uint16_t *)data)[at]);
    case TESS_F16:
        return (double)tess_f32_of_f16(((const uint16_t *)data)[at]);
    default:
        return (double)((const float *)data)[at];
    }
}

void tess_cpu_cl_write(void *data, int64_t at, int32_t dtype, double value)
{
    switch (dtype) {
    case TESS_F64:
        ((double *)data)[at] = value;
        break;
    case TESS_BF16:
        ((uint16_t *)data)[at] = tess_bf16_of_f32((float)value);
        break;
    case TESS_F16:
        ((uint16_t *)data)[at] = tess_f16_of_f32((float)value);
        break;
    default:
        ((float *)data)[at] = (float)value;
        break;
    }
}

#define T_BITS 32
#include "backend/cpu/clifford/rows_body.h"

#define T_BITS 64
#include "backend/cpu/clifford/rows_body.h"
