// Movement models as dense matrices over all bins, rows from, columns to.
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/places/environment.h"
#include "tessera/decode/detector.h"

#include <math.h>
#include <string.h>

static const double DEFAULT_VARIANCE = 6;
// Sums of distances within this share of each other are equal: they differ by rounding only.
static const double SAME_SUM = 1e-12;

void tess_decode_movement_init(tess_decode_movement *movement, size_t struct_size)
{
    const tess_decode_movement defaults = {.variance = DEFAULT_VARIANCE};
    tess_struct_init(movement, struct_size, &defaults, sizeof defaults);
}

static int64_t bins_of(const tess_decode_environment *env)
{
    return env ? env->info.n_bin : 1;
}

static int is_interior(const tess_decode_environment *env, int64_t bin)
{
    return !env || env->info.is_interior[bin];
}

static void normalize_rows(double *matrix, int64_t n_row, int64_t n_column)
{
    for (int64_t a = 0; a < n_row; a++) {
        double *row = matrix + a * n_column;
        double sum = 0;
        for (int64_t b = 0; b < n_column; b++) {
            sum += row[b];
        }
        for (int64_t b = 0; b < n_column && sum > 0; b++) {
            row[b] /= sum;
        }
    }
}

static void fill_uniform(const tess_decode_environment *from, const tess_decode_environment *to,
                         double *out)
{
    for (int64_t a = 0; a < bins_of(from); a++) {
        for (int64_t b = 0; b < bins_of(to); b++) {
            out[a * bins_of(to) + b] = is_interior(from, a) && is_interior(to, b);
        }
    }
    normalize_rows(out, bins_of(from), bins_of(to));
}

static void fill_identity(const tess_decode_environment *env, double *out)
{
    const int64_t n = env->info.n_bin;
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    for (int64_t p = 0; p < env->info.n_interior; p++) {
        out[env->info.interior_bin[p] * (n + 1)] = 1;
    }
}

// Gaussian of the step between centres.
static void fill_straight(const tess_decode_movement *movement, const tess_decode_environment *env,
                          double *out)
{
    const tess_decode_environment_info *info = &env->info;
    const int64_t d = info->n_place_dim;
    for (int64_t p = 0; p < info->n_interior; p++) {
        double *row = out + info->interior_bin[p] * info->n_bin;
        for (int64_t q = 0; q < info->n_interior; q++) {
            double square = 0;
            for (int64_t i = 0; i < d; i++) {
                const double step = info->interior_centers[q * d + i] -
                                    info->interior_centers[p * d + i] - movement->mean[i];
                square += step * step;
            }
            row[info->interior_bin[q]] = exp(-0.5 * square / movement->variance);
        }
    }
}

// The bin with the largest closeness, reached^2 / (sum of distances), the lowest on ties.
static int64_t most_central(const double *distances, int64_t n)
{
    int64_t best = 0;
    double best_closeness = 0;
    for (int64_t p = 0; p < n; p++) {
        double sum = 0;
        double n_reached = 0;
        for (int64_t q = 0; q < n; q++) {
            const double way = distances[p * n + q];
            if (q != p && isfinite(way)) {
                sum += way;
                n_reached++;
            }
        }
        const double closeness = sum > 0 ? n_reached * n_reached / sum : 0;
        if (closeness > best_closeness * (1 + SAME_SUM)) {
            best_closeness = closeness;
            best = p;
        }
    }
    return best;
}

// Gaussian of the way along the environment; with a direction only towards or away from its centre.
static tess_status fill_along(tess_context *ctx, const tess_decode_movement *movement,
                              tess_decode_environment *env, double *out)
{
    const tess_decode_environment_info *info = &env->info;
    const int64_t n = info->n_interior;
    const double *distances = NULL;
    TESS_TRY(tess_decode_distances(ctx, env, &distances));
    const int directed = movement->direction != 0 && !info->is_track;
    const double *center = directed ? distances + most_central(distances, n) * n : NULL;
    for (int64_t p = 0; p < n; p++) {
        double *row = out + info->interior_bin[p] * info->n_bin;
        for (int64_t q = 0; q < n; q++) {
            const double step = distances[p * n + q] - movement->mean[0];
            const int allowed = !directed || (movement->direction == 1 ? center[p] >= center[q]
                                                                       : center[p] <= center[q]);
            row[info->interior_bin[q]] = allowed ? exp(-0.5 * step * step / movement->variance) : 0;
        }
    }
    return TESS_OK;
}

static tess_status fill_walk(tess_context *ctx, const tess_decode_movement *movement,
                             tess_decode_environment *env, double *out)
{
    const int64_t n = env->info.n_bin;
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    if (env->info.is_track || movement->use_manifold) {
        TESS_TRY(fill_along(ctx, movement, env, out));
    } else {
        fill_straight(movement, env, out);
    }
    normalize_rows(out, n, n);
    return TESS_OK;
}

// A walk that never goes to a lower bin (sign 1) or never to a higher one (sign -1).
static tess_status fill_one_way(tess_context *ctx, const tess_decode_movement *movement,
                                tess_decode_environment *env, int sign, double *out)
{
    const int64_t n = env->info.n_bin;
    tess_decode_movement plain;
    tess_decode_movement_init(&plain, sizeof plain);
    plain.variance = movement->variance;
    TESS_TRY(fill_walk(ctx, &plain, env, out));
    for (int64_t a = 0; a < n; a++) {
        for (int64_t b = 0; b < n; b++) {
            if (sign * (b - a) < 0) {
                out[a * n + b] = 0;
            }
        }
    }
    normalize_rows(out, n, n);
    return TESS_OK;
}

static tess_status copy_matrix(const tess_decode_movement *movement, int64_t n_from, int64_t n_to,
                               double *out)
{
    if (!movement->matrix) {
        TESS_FAIL(TESS_E_ARGUMENT, "movement: has no matrix; an empirical one is counted by "
                                   "tess_decode_empirical_movement()");
    }
    for (int64_t a = 0; a < n_from; a++) {
        for (int64_t b = 0; b < n_to; b++) {
            const double x = movement->matrix[a * n_to + b];
            if (!isfinite(x) || x < 0) {
                TESS_FAIL(
                    TESS_E_NUMERIC,
                    "movement: matrix has %g at row %lld, column %lld; expected probabilities", x,
                    (long long)a, (long long)b);
            }
            out[a * n_to + b] = x;
        }
    }
    return TESS_OK;
}

static tess_status check_movement(const tess_decode_movement *movement,
                                  const tess_decode_environment *from,
                                  const tess_decode_environment *to)
{
    if (movement->kind < TESS_DECODE_DISCRETE || movement->kind > TESS_DECODE_MATRIX) {
        TESS_FAIL(TESS_E_ARGUMENT, "movement: kind %d is unknown; expected 0 to %d", movement->kind,
                  TESS_DECODE_MATRIX);
    }
    if (movement->kind == TESS_DECODE_DISCRETE && from && to) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "movement: discrete movement needs a state of one bin on one side; use uniform "
                  "between two spatial states");
    }
    const int walks = movement->kind == TESS_DECODE_RANDOM_WALK ||
                      movement->kind == TESS_DECODE_RANDOM_WALK_DIRECTION1 ||
                      movement->kind == TESS_DECODE_RANDOM_WALK_DIRECTION2;
    if ((walks || movement->kind == TESS_DECODE_IDENTITY) && from && to && from != to) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "movement: from environment '%s' to '%s' only uniform movement or a matrix can "
                  "lead",
                  from->info.name, to->info.name);
    }
    if (walks && (!(movement->variance > 0) || !isfinite(movement->variance))) {
        TESS_FAIL(TESS_E_ARGUMENT, "movement: variance is %g; expected more than 0 cm^2",
                  movement->variance);
    }
    if (movement->direction < 0 || movement->direction > 2) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "movement: direction is %d; expected 0 (any), 1 (inward) or 2 (outward)",
                  movement->direction);
    }
    for (int i = 0; i < TESS_DECODE_MAX_DIM; i++) {
        if (!isfinite(movement->mean[i])) {
            TESS_FAIL(TESS_E_ARGUMENT, "movement: mean is %g in dimension %d", movement->mean[i],
                      i);
        }
    }
    return TESS_OK;
}

tess_status tess_decode_movement_matrix(tess_context *ctx, const tess_decode_movement *given,
                                        tess_decode_environment *from, tess_decode_environment *to,
                                        double *out)
{
    tess_error_clear();
    tess_decode_movement movement;
    tess_decode_movement_init(&movement, sizeof movement);
    TESS_TRY(tess_struct_read(given, &movement, sizeof movement, "movement"));
    TESS_TRY(check_movement(&movement, from, to));
    if (movement.kind == TESS_DECODE_EMPIRICAL || movement.kind == TESS_DECODE_MATRIX) {
        return copy_matrix(&movement, bins_of(from), bins_of(to), out);
    }
    if (!from || !to || movement.kind == TESS_DECODE_UNIFORM) {
        fill_uniform(from, to, out);
        return TESS_OK;
    }
    switch ((tess_decode_movement_kind)movement.kind) {
    case TESS_DECODE_IDENTITY:
        fill_identity(from, out);
        return TESS_OK;
    case TESS_DECODE_RANDOM_WALK_DIRECTION1:
        return fill_one_way(ctx, &movement, from, 1, out);
    case TESS_DECODE_RANDOM_WALK_DIRECTION2:
        return fill_one_way(ctx, &movement, from, -1, out);
    default:
        return fill_walk(ctx, &movement, from, out);
    }
}
