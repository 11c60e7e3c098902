// The sphere through the head-shape points.
#include "base/status.h"
#include "numerics/cholesky.h"
#include "tessera/autoreject/interpolation.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { DIG_EEG = 3, DIG_EXTRA = 4, FEWEST = 4 };

// The face, which is no part of a sphere, is in front of and below the origin of head coordinates.
static bool is_usable(const double *p)
{
    const bool is_finite = isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
    return is_finite && !(p[1] > 1e-6 && p[2] < -1e-6);
}

// What is summed over the points, once for the mean and once about it.
typedef struct sphere_sums {
    int64_t n;
    double mean[3];
    double square[9]; // lower triangle of the sums of p p^T
    double right[3];  // sums of p |p|^2
    double norm;      // sum of |p|^2
    bool has_mean;
} sphere_sums;

static void add_point(sphere_sums *sums, const double *position)
{
    if (!is_usable(position)) {
        return;
    }
    if (!sums->has_mean) {
        sums->n++;
        for (int i = 0; i < 3; i++) {
            sums->mean[i] += position[i];
        }
        return;
    }
    double p[3];
    double norm = 0;
    for (int i = 0; i < 3; i++) {
        p[i] = position[i] - sums->mean[i];
        norm += p[i] * p[i];
    }
    sums->norm += norm;
    for (int i = 0; i < 3; i++) {
        sums->right[i] += p[i] * norm;
        for (int j = 0; j <= i; j++) {
            sums->square[3 * i + j] += p[i] * p[j];
        }
    }
}

// Head-shape points, and with_eeg electrodes: those digitised, or the channels' where none are.
static void add_points(sphere_sums *sums, const tess_autoreject_sensors *sensors, bool with_eeg)
{
    bool has_digitised = false;
    for (int64_t i = 0; i < sensors->n_point; i++) {
        const tess_autoreject_point *point = &sensors->points[i];
        has_digitised = has_digitised || point->kind == DIG_EEG;
        if (point->kind == DIG_EXTRA || (with_eeg && point->kind == DIG_EEG)) {
            add_point(sums, point->position);
        }
    }
    for (int64_t c = 0; with_eeg && !has_digitised && c < sensors->n_chan; c++) {
        if (sensors->channels[c].type == TESS_AUTOREJECT_EEG) {
            add_point(sums, sensors->channels[c].loc);
        }
    }
}

tess_status tess_autoreject_fit_sphere(const tess_autoreject_sensors *sensors, double origin[3],
                                       double *radius)
{
    tess_error_clear();
    sphere_sums sums = {0};
    add_points(&sums, sensors, false);
    const bool with_eeg = sums.n < FEWEST;
    if (with_eeg) {
        sums = (sphere_sums){0};
        add_points(&sums, sensors, true);
    }
    if (sums.n < FEWEST) {
        TESS_FAIL(TESS_E_FORMAT,
                  "a sphere takes at least %d digitised points outside the face, there are %lld; "
                  "give an origin instead of fitting one",
                  FEWEST, (long long)sums.n);
    }
    for (int i = 0; i < 3; i++) {
        sums.mean[i] /= (double)sums.n;
    }
    sums.has_mean = true;
    add_points(&sums, sensors, with_eeg);
    // About the mean, |p|^2 = 2 p.c + k falls apart into 2 (sum p p^T) c = sum p |p|^2 and k.
    double c[3] = {sums.right[0] / 2, sums.right[1] / 2, sums.right[2] / 2};
    const double size = sums.square[0] + sums.square[4] + sums.square[8];
    if (!tess_cholesky(sums.square, 3) || !(sums.square[8] * sums.square[8] > 1e-12 * size)) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "the %lld digitised points lie in a plane, which is on no particular sphere; "
                  "give an origin instead of fitting one",
                  (long long)sums.n);
    }
    tess_cholesky_solve(sums.square, 3, c);
    double square = sums.norm / (double)sums.n;
    for (int i = 0; i < 3; i++) {
        square += c[i] * c[i];
        origin[i] = sums.mean[i] + c[i];
    }
    *radius = sqrt(square);
    return TESS_OK;
}
