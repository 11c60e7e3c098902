#include "systems/autoreject/interpolation/positions.h"

#include "base/status.h"
#include "systems/autoreject/epochs/epochs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Directions closer than this (radians) are one place.
static const double SAME_PLACE = 1e-6;
enum { NAMES_SHOWN = 8 };

static const double *position(const tess_autoreject_sensors *sensors, int64_t channel)
{
    return sensors->channels[channel].loc;
}

static bool is_known(const double *p)
{
    return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
}

static bool is_zero(const double *p)
{
    return p[0] == 0 && p[1] == 0 && p[2] == 0;
}

tess_status tess_ar_check_channels(const tess_autoreject_sensors *sensors, const int64_t *channels,
                                   int64_t n, const char *name)
{
    for (int64_t i = 0; i < n; i++) {
        if (channels[i] < 0 || channels[i] >= sensors->n_chan) {
            TESS_FAIL(TESS_E_RANGE, "%s[%lld] is %lld; the sensors have channels 0 to %lld", name,
                      (long long)i, (long long)channels[i], (long long)sensors->n_chan - 1);
        }
    }
    return TESS_OK;
}

tess_status tess_ar_places_are_known(const tess_autoreject_sensors *sensors,
                                     const int64_t *channels, int64_t n)
{
    TESS_TRY(tess_ar_check_positions(sensors, channels, n));
    char names[512] = "";
    size_t used = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const tess_autoreject_channel *channel = &sensors->channels[channels[i]];
        if (!is_zero(channel->loc)) {
            continue;
        }
        if (count++ < NAMES_SHOWN && used < sizeof names) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.40s",
                                     count > 1 ? ", " : "", channel->name);
        }
    }
    if (count > 1) { // one electrode may be at the origin
        TESS_FAIL(TESS_E_NUMERIC,
                  "Could not extract channel positions for %lld channels: %s%s; give positions "
                  "(--montage), or search thresholds without augmentation",
                  (long long)count, names, count > NAMES_SHOWN ? " and more" : "");
    }
    return TESS_OK;
}

tess_status tess_ar_origin(const tess_autoreject_sensors *sensors,
                           const tess_autoreject_interpolation_config *config, double origin[3])
{
    memset(origin, 0, 3 * sizeof *origin);
    if (config->fitted_origin) {
        double radius = 0;
        return tess_autoreject_fit_sphere(sensors, origin, &radius);
    }
    if (config->eeg_origin) {
        if (!is_known(config->eeg_origin)) {
            TESS_FAIL(TESS_E_ARGUMENT, "eeg_origin: (%g, %g, %g) is not a point",
                      config->eeg_origin[0], config->eeg_origin[1], config->eeg_origin[2]);
        }
        memcpy(origin, config->eeg_origin, 3 * sizeof *origin);
    }
    return TESS_OK;
}

void tess_ar_directions(const double *positions, int64_t n, const double origin[3], double *out)
{
    for (int64_t i = 0; i < n; i++) {
        double p[3];
        double square = 0;
        for (int k = 0; k < 3; k++) {
            p[k] = positions[3 * i + k] - origin[k];
            square += p[k] * p[k];
        }
        // Squares overflow before lengths do; the direction does not depend on the unit.
        const double length = isfinite(square) ? sqrt(square) : hypot(hypot(p[0], p[1]), p[2]);
        for (int k = 0; k < 3; k++) {
            out[3 * i + k] = length > 0 ? p[k] / length : 0;
        }
    }
}

// One electrode at (0, 0, 0) is allowed; most often its position was never set.
static void warn_of_origin(tess_context *ctx, const tess_autoreject_sensors *sensors,
                           const int64_t *channels, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (is_zero(position(sensors, channels[i]))) {
            tess_log_warn(&ctx->log, TESS_W_AUTOREJECT_POSITION,
                          "electrode %s is at (0, 0, 0), as if its position were not known; give "
                          "a montage, or mark it bad",
                          sensors->channels[channels[i]].name);
        }
    }
}

static void tell_of_neighbours(tess_context *ctx, const tess_autoreject_sensors *sensors,
                               const int64_t *channels, int64_t n, const double *u)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            double square = 0;
            for (int k = 0; k < 3; k++) {
                const double d = u[3 * i + k] - u[3 * j + k];
                square += d * d;
            }
            if (square < SAME_PLACE * SAME_PLACE) {
                tess_log_write(&ctx->log, TESS_LOG_INFO,
                               "electrodes %s and %s are at the same place; each is predicted "
                               "mostly from the other",
                               sensors->channels[channels[j]].name,
                               sensors->channels[channels[i]].name);
                return;
            }
        }
    }
}

tess_status tess_ar_electrode_directions(tess_context *ctx, const tess_autoreject_sensors *sensors,
                                         const int64_t *channels, int64_t n,
                                         const tess_autoreject_interpolation_config *config,
                                         double *out)
{
    TESS_TRY(tess_ar_places_are_known(sensors, channels, n));
    double origin[3];
    TESS_TRY(tess_ar_origin(sensors, config, origin));
    warn_of_origin(ctx, sensors, channels, n);
    for (int64_t i = 0; i < n; i++) {
        memcpy(out + 3 * i, position(sensors, channels[i]), 3 * sizeof *out);
    }
    tess_ar_directions(out, n, origin, out);
    tell_of_neighbours(ctx, sensors, channels, n, out);
    return TESS_OK;
}
