#include "systems/xpcs/files/filter.h"

#include "base/status.h"

#include <inttypes.h>
#include <math.h>

static const double LEAST_FINITE = 0.9;

typedef enum verdict { NOT_ASKED = -1, FAILS = 0, PASSES = 1 } verdict;

static verdict between(double value, double low, double high)
{
    if (isnan(low) && isnan(high)) {
        return NOT_ASKED;
    }
    return (isnan(low) || value >= low) && (isnan(high) || value <= high) ? PASSES : FAILS;
}

// phi lies in -180..180; ends of a whole range are turned likewise.
static verdict angle_between(double phi, double low, double high)
{
    if (isnan(low) || isnan(high)) {
        return between(phi, low, high);
    }
    const tess_xpcs_angle_range range = {low, high};
    return tess_xp_in_ranges(phi, &range, 1) ? PASSES : FAILS;
}

static double item(const void *matrix, tess_dtype dtype, int64_t at)
{
    return dtype == TESS_F32 ? (double)((const float *)matrix)[at] : ((const double *)matrix)[at];
}

// Of the symmetric matrix, whose upper triangle is there: what is off the diagonal counts twice.
double tess_xp_quality(const void *matrix, tess_dtype dtype, int64_t n)
{
    double sum = 0;
    int64_t n_finite = 0;
    for (int64_t i = 0; i < n; i++) {
        double row = 0;
        int64_t n_row = 0;
        for (int64_t j = i + 1; j < n; j++) {
            const double value = item(matrix, dtype, i * n + j);
            if (isfinite(value)) {
                row += value;
                n_row++;
            }
        }
        const double middle = item(matrix, dtype, i * n + i);
        sum += 2 * row + (isfinite(middle) ? middle : 0);
        n_finite += 2 * n_row + (isfinite(middle) ? 1 : 0);
    }
    const double share = (double)n_finite / ((double)n * (double)n);
    if (share < LEAST_FINITE) {
        return 0;
    }
    const double first = item(matrix, dtype, 0);
    const double mean = sum / (double)n_finite;
    return 0.4 * share + 0.3 * (first >= 0.5 && first <= 2 ? 1 : 0.5) + 0.2 +
           0.1 * (mean >= 0.1 && mean <= 5 ? 1 : 0.5);
}

static tess_status judge_quality(struct tess_xpcs_file *file, const tess_xpcs_data_filter *filter,
                                 int64_t bin, void *matrix, verdict *found)
{
    *found = NOT_ASKED;
    if (isnan(filter->quality_min)) {
        return TESS_OK;
    }
    TESS_TRY(file->read(file, bin, matrix));
    const double quality =
        tess_xp_quality(matrix, (tess_dtype)file->info.dtype, file->bins[bin].n_frame);
    *found = quality >= filter->quality_min ? PASSES : FAILS;
    return TESS_OK;
}

static bool combine(const verdict *verdicts, int32_t n, bool any)
{
    bool asked = false;
    bool passes = !any;
    for (int32_t i = 0; i < n; i++) {
        if (verdicts[i] != NOT_ASKED) {
            asked = true;
            passes = any ? passes || verdicts[i] == PASSES : passes && verdicts[i] == PASSES;
        }
    }
    return passes || !asked;
}

static tess_status nothing_left(const struct tess_xpcs_file *file, const tess_xp_selection *s)
{
    double low = s->phi[0];
    double high = s->phi[0];
    for (int64_t k = 1; k < s->n; k++) {
        low = fmin(low, s->phi[k]);
        high = fmax(high, s->phi[k]);
    }
    TESS_FAIL(TESS_E_FORMAT,
              "%s: data_filtering leaves none of %" PRId64 " matrices (q %.6g 1/Å, angles %g to %g "
              "degrees); widen it, or take all with data_filtering.fallback_on_empty",
              file->path, s->n, s->q[0], low, high);
}

tess_status tess_xp_filter(struct tess_xpcs_file *file, const tess_xpcs_data_filter *filter,
                           int64_t min_angles, void *matrix, tess_xp_selection *s, tess_text *notes)
{
    int64_t *index = tess_blocks_alloc(&s->memory, s->n, sizeof *index, "a selection");
    double *q = tess_blocks_alloc(&s->memory, s->n, sizeof *q, "a selection");
    double *phi = tess_blocks_alloc(&s->memory, s->n, sizeof *phi, "a selection");
    int64_t n = 0;
    if (!index || !q || !phi) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < s->n; k++) {
        verdict verdicts[3] = {between(s->q[k], filter->q_min, filter->q_max),
                               angle_between(s->phi[k], filter->phi_min, filter->phi_max)};
        TESS_TRY(judge_quality(file, filter, s->index[k], matrix, &verdicts[2]));
        if (combine(verdicts, 3, filter->any)) {
            index[n] = s->index[k];
            q[n] = s->q[k];
            phi[n++] = s->phi[k];
        }
    }
    if (n == 0 && filter->fallback_all) {
        tess_text_printf(
            notes, "data_filtering leaves nothing: all %" PRId64 " matrices are taken\n", s->n);
        return TESS_OK;
    }
    if (n == 0) {
        return nothing_left(file, s);
    }
    if (n < min_angles) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: data_filtering leaves %" PRId64 " angles; min_angles wants %" PRId64,
                  file->path, n, min_angles);
    }
    if (n < s->n) {
        tess_text_printf(notes, "data_filtering takes %" PRId64 " of %" PRId64 " matrices\n", n,
                         s->n);
    }
    s->n = n;
    s->index = index;
    s->q = q;
    s->phi = phi;
    return TESS_OK;
}
