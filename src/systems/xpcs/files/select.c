#include "systems/xpcs/files/select.h"

#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LISTED = 24, LIST_CHARS = 360, MIN_FRAMES = 3, MIN_RADIAN_ANGLES = 4 };

static const double FULL_TURN = 360;
static const double TWO_PI = 6.283185307179586;
static const double Q_EXACT = 1e-10;    // bins of a grid differ by rounding only
static const double Q_UNCHANGED = 1e-6; // relative deviations below are not worth a note
// In 1/Å. Wider is another unit or a number of something else; what X-rays correlate is narrower.
static const double Q_LEAST = 1e-6, Q_MOST = 10;
static const double Q_USUAL_LEAST = 1e-4, Q_USUAL_MOST = 1;

tess_status tess_xp_check_config(const tess_xpcs_data_config *config)
{
    TESS_TRY(tess_params_check(tess_xpcs_data_params(), config));
    if (!(config->dt_s >= 0) || !isfinite(config->dt_s)) {
        TESS_FAIL(TESS_E_CONFIG, "dt: got %g; expected seconds between frames, above 0",
                  config->dt_s);
    }
    if (!(config->gap_angstrom >= 0) || !isfinite(config->gap_angstrom)) {
        TESS_FAIL(TESS_E_CONFIG, "gap: got %g; expected the shear cell's gap in Å, above 0",
                  config->gap_angstrom);
    }
    if ((config->n_phi_range > 0 && !config->phi_ranges) ||
        (config->n_bad_frame > 0 && !config->bad_frames) || (config->n_phi > 0 && !config->phi)) {
        TESS_FAIL(TESS_E_ARGUMENT, "config: a list is NULL although it has items");
    }
    return TESS_OK;
}

double tess_xp_normal_phi(double phi)
{
    double x = fmod(phi, FULL_TURN);
    x = x < 0 ? x + FULL_TURN : x;
    return x > FULL_TURN / 2 ? x - FULL_TURN : x;
}

bool tess_xp_in_ranges(double phi, const tess_xpcs_angle_range *ranges, int64_t n_range)
{
    for (int64_t r = 0; r < n_range; r++) {
        const double low = tess_xp_normal_phi(ranges[r].minimum);
        const double high = tess_xp_normal_phi(ranges[r].maximum);
        const bool is_inside = low <= high ? phi >= low && phi <= high : phi >= low || phi <= high;
        if (is_inside || ranges[r].maximum - ranges[r].minimum >= FULL_TURN) {
            return true;
        }
    }
    return false;
}

bool tess_xp_shear_warning(const double *phi, int64_t n_angle, double phi0,
                           char text[TESS_XP_SHEAR_CHARS])
{
    // Both conditions of the warning are one: without an angle near the flow none is seen.
    double nearest = 90;
    for (int64_t a = 0; a < n_angle; a++) {
        const double between = fabs(tess_xp_normal_phi(phi[a] - phi0));
        const double to_flow = between > 90 ? 180 - between : between;
        nearest = to_flow < nearest ? to_flow : nearest;
    }
    if (nearest <= 30) {
        return false;
    }
    snprintf(text, TESS_XP_SHEAR_CHARS,
             "shear not identifiable: the angle nearest to the flow (%g degrees) is %.1f degrees "
             "from it, and only angles within 30 degrees show shear well; take more angles or fit "
             "static_anisotropic",
             phi0, nearest);
    return true;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

// "0.0045, 0.0054": the distinct values of those that count.
static void list_values(double *values, int64_t n, char text[LIST_CHARS])
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    size_t used = 0;
    int64_t n_listed = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && values[i] == values[i - 1]) {
            continue;
        }
        if (n_listed++ == MAX_LISTED || used + 32 > LIST_CHARS) {
            snprintf(text + used, LIST_CHARS - used, ", ...");
            return;
        }
        used +=
            (size_t)snprintf(text + used, LIST_CHARS - used, "%s%.6g", used ? ", " : "", values[i]);
    }
}

typedef struct choice {
    const tess_xpcs_data_config *config;
    const tess_xp_candidates *all;
    tess_xp_selection *out;
    int64_t *index; // [all->n]; out->n are taken
    double *q;
    double *phi;
    double *scratch; // [all->n]
} choice;

static tess_status prepare(tess_context *ctx, choice *c)
{
    tess_xp_selection *out = c->out;
    const int64_t n = c->all->n;
    *out = (tess_xp_selection){0};
    tess_blocks_init(&out->memory, &ctx->heap);
    tess_text_init(&out->text, &ctx->heap);
    c->index = tess_blocks_alloc(&out->memory, n, sizeof *c->index, "a selection");
    c->q = tess_blocks_alloc(&out->memory, n, sizeof *c->q, "a selection");
    c->phi = tess_blocks_alloc(&out->memory, n, sizeof *c->phi, "a selection");
    c->scratch = tess_blocks_alloc(&out->memory, n, sizeof *c->scratch, "a selection");
    if (!c->index || !c->q || !c->phi || !c->scratch) {
        return TESS_E_MEMORY;
    }
    out->index = c->index;
    out->q = c->q;
    out->phi = c->phi;
    return TESS_OK;
}

static bool counts(const tess_xp_candidates *all, int64_t i)
{
    return (!all->is_valid || all->is_valid[i]) && isfinite(all->phi[i]);
}

static tess_status nearest_q(const choice *c, double *nearest)
{
    const tess_xp_candidates *all = c->all;
    const double wanted = c->config->q;
    int64_t n = 0;
    if (!(wanted > 0)) {
        TESS_FAIL(TESS_E_CONFIG, "q: got %g; expected the scattering vector in 1/Å, above 0",
                  wanted);
    }
    *nearest = (double)NAN;
    for (int64_t i = 0; i < all->n; i++) {
        if (counts(all, i) && isfinite(all->q[i])) {
            c->scratch[n++] = all->q[i];
            if (!(fabs(all->q[i] - wanted) >= fabs(*nearest - wanted))) {
                *nearest = all->q[i];
            }
        }
    }
    if (n == 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: none of its %" PRId64 " bins has a q and an angle", all->name,
                  all->n);
    }
    const double deviation = fabs(*nearest - wanted) / wanted;
    if (!(deviation <= c->config->q_max_deviation)) {
        char list[LIST_CHARS];
        list_values(c->scratch, n, list);
        TESS_FAIL(
            TESS_E_FORMAT,
            "%s: no q within %g %% of %g 1/Å; the nearest is %.6g (%.3g %% off), the file has "
            "%s; give another q (--q), or allow more (--q-max-deviation, q_max_deviation)",
            all->name, 100 * c->config->q_max_deviation, wanted, *nearest, 100 * deviation, list);
    }
    return TESS_OK;
}

static void note_q(const choice *c)
{
    tess_xp_selection *out = c->out;
    const double deviation = fabs(out->q_nearest - c->config->q) / c->config->q;
    if (deviation > Q_UNCHANGED) {
        tess_text_printf(&out->text,
                         "q %g 1/Å was asked for; the nearest bin has %.6g (%.3g %% off)\n",
                         c->config->q, out->q_nearest, 100 * deviation);
    }
    double low = c->q[0];
    double high = c->q[0];
    for (int64_t k = 1; k < out->n; k++) {
        low = c->q[k] < low ? c->q[k] : low;
        high = c->q[k] > high ? c->q[k] : high;
    }
    if (high - low > Q_EXACT) {
        tess_text_printf(&out->text,
                         "%" PRId64 " matrices with q from %.6g to %.6g 1/Å count as one ring; "
                         "each is fitted with its own q\n",
                         out->n, low, high);
    }
}

// Matrices that belong nowhere are left out, but not without a word.
static void note_lost(const choice *c)
{
    const tess_xp_candidates *all = c->all;
    const bool by_q = all->q_tolerance >= 0;
    int64_t n = 0;
    for (int64_t i = 0; i < all->n; i++) {
        const bool is_valid = !all->is_valid || all->is_valid[i];
        n += is_valid && (!isfinite(all->phi[i]) || (by_q && !isfinite(all->q[i])));
    }
    if (n > 0) {
        tess_text_printf(&c->out->text,
                         "%" PRId64 " of %" PRId64 " matrices have no finite q or angle and are "
                         "left out\n",
                         n, all->n);
    }
}

static tess_status select_q(choice *c)
{
    const tess_xp_candidates *all = c->all;
    const bool by_q = all->q_tolerance >= 0;
    double tolerance = (double)INFINITY;
    if (by_q) {
        TESS_TRY(nearest_q(c, &c->out->q_nearest));
        const double fraction =
            c->config->q_tolerance >= 0 ? c->config->q_tolerance : all->q_tolerance;
        tolerance = fmax(fraction * c->out->q_nearest, Q_EXACT);
    }
    for (int64_t i = 0; i < all->n; i++) {
        if (counts(all, i) && (!by_q || fabs(all->q[i] - c->out->q_nearest) <= tolerance)) {
            c->index[c->out->n] = i;
            c->q[c->out->n] = all->q[i];
            c->phi[c->out->n++] = all->phi[i];
        }
    }
    if (c->out->n == 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: none of its %" PRId64 " angles is finite", all->name, all->n);
    }
    note_lost(c);
    if (by_q) {
        note_q(c);
    }
    return TESS_OK;
}

// Whatever was selected, and from where.
static tess_status check_q(const choice *c)
{
    for (int64_t k = 0; k < c->out->n; k++) {
        const double q = c->q[k];
        if (!(q >= Q_LEAST && q <= Q_MOST)) {
            TESS_FAIL(TESS_E_NUMERIC,
                      "%s: q of matrix %" PRId64 " (counted from 0) is %g 1/Å; expected %g to %g: "
                      "is it in another unit? (1 1/nm is 0.1 1/Å)",
                      c->all->name, c->index[k], q, Q_LEAST, Q_MOST);
        }
    }
    for (int64_t k = 0; k < c->out->n; k++) {
        const double q = c->q[k];
        if (!(q >= Q_USUAL_LEAST && q <= Q_USUAL_MOST)) {
            tess_text_printf(&c->out->text,
                             "q %g 1/Å is outside %g to %g; check its unit (1 1/nm is 0.1 1/Å)\n",
                             q, Q_USUAL_LEAST, Q_USUAL_MOST);
            break;
        }
    }
    return TESS_OK;
}

// The same angle twice at one q: repeated measurements, or a mistake in a list.
static void note_twins(const choice *c)
{
    int64_t n_twin = 0;
    double phi = 0;
    for (int64_t k = 1; k < c->out->n; k++) {
        bool is_twin = false;
        for (int64_t j = 0; j < k && !is_twin; j++) {
            is_twin = c->phi[j] == c->phi[k] && c->q[j] == c->q[k];
        }
        phi = is_twin && n_twin == 0 ? c->phi[k] : phi;
        n_twin += is_twin;
    }
    if (n_twin > 0) {
        tess_text_printf(&c->out->text,
                         "%" PRId64 " matrices have an angle and q that another has (the first "
                         "%g degrees); each gets its own contrast and offset\n",
                         n_twin, phi);
    }
}

static void normalise(const choice *c)
{
    tess_xp_selection *out = c->out;
    double largest = 0;
    for (int64_t k = 0; k < out->n; k++) {
        largest = fmax(largest, fabs(c->phi[k]));
        c->phi[k] = tess_xp_normal_phi(c->phi[k]);
    }
    if (largest > FULL_TURN) {
        tess_text_printf(
            &out->text,
            "an angle of %g degrees is more than a turn; are radians and degrees mixed "
            "up?\n",
            largest);
    }
    if (out->n >= MIN_RADIAN_ANGLES && largest > 0 && largest <= TWO_PI) {
        tess_text_printf(&out->text,
                         "the %" PRId64
                         " angles look like radians (the largest is %g); degrees are "
                         "expected\n",
                         out->n, largest);
    }
}

static tess_status no_angle(const choice *c)
{
    const tess_xpcs_data_config *config = c->config;
    char ranges[LIST_CHARS] = "";
    char angles[LIST_CHARS];
    size_t used = 0;
    for (int64_t r = 0; r < config->n_phi_range && used + 64 < sizeof ranges; r++) {
        used += (size_t)snprintf(ranges + used, sizeof ranges - used, "%s%g..%g", used ? ", " : "",
                                 config->phi_ranges[r].minimum, config->phi_ranges[r].maximum);
    }
    memcpy(c->scratch, c->phi, (size_t)c->out->n * sizeof *c->phi);
    list_values(c->scratch, c->out->n, angles);
    TESS_FAIL(TESS_E_FORMAT,
              "%s: no angle lies in %s degrees; there are %s; change phi_ranges, or set "
              "fallback_all to take all",
              c->all->name, ranges, angles);
}

static tess_status select_phi(const choice *c)
{
    const tess_xpcs_data_config *config = c->config;
    tess_xp_selection *out = c->out;
    int64_t n_inside = 0;
    for (int64_t r = 0; r < config->n_phi_range; r++) {
        if (!isfinite(config->phi_ranges[r].minimum) || !isfinite(config->phi_ranges[r].maximum)) {
            TESS_FAIL(TESS_E_CONFIG, "phi_ranges[%" PRId64 "]: its ends must be finite degrees", r);
        }
    }
    for (int64_t k = 0; k < out->n; k++) {
        n_inside += tess_xp_in_ranges(c->phi[k], config->phi_ranges, config->n_phi_range);
    }
    const bool is_fallback = config->n_phi_range > 0 && n_inside == 0 && config->fallback_all;
    if (is_fallback) {
        tess_text_printf(&out->text,
                         "no angle lies in the ranges asked for; all %" PRId64 " are taken\n",
                         out->n);
    }
    if (config->n_phi_range > 0 && !is_fallback) {
        if (n_inside == 0) {
            return no_angle(c);
        }
        int64_t n = 0;
        for (int64_t k = 0; k < out->n; k++) {
            if (tess_xp_in_ranges(c->phi[k], config->phi_ranges, config->n_phi_range)) {
                c->index[n] = c->index[k];
                c->q[n] = c->q[k];
                c->phi[n++] = c->phi[k];
            }
        }
        out->n = n;
    }
    if (out->n < config->min_angles) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: the selection has %" PRId64 " angles; min_angles wants %" PRId64
                  "; widen phi_ranges or lower min_angles",
                  c->all->name, out->n, config->min_angles);
    }
    return TESS_OK;
}

static tess_status select_frames(const choice *c)
{
    const tess_xpcs_data_config *config = c->config;
    tess_xp_selection *out = c->out;
    const int64_t n_frame = c->all->n_frame;
    out->start_frame = config->start_frame;
    out->end_frame = config->end_frame == -1 ? n_frame : config->end_frame;
    if (out->start_frame < 1 || out->end_frame > n_frame || out->end_frame < 1) {
        if (!config->lenient) {
            TESS_FAIL(TESS_E_SHAPE,
                      "%s: frames %" PRId64 " to %" PRId64 " were asked for, 1 to %" PRId64
                      " are there; change start_frame and end_frame, or clamp them with lenient",
                      c->all->name, config->start_frame, config->end_frame, n_frame);
        }
        out->start_frame = out->start_frame < 1 ? 1 : out->start_frame;
        out->end_frame = out->end_frame > n_frame || out->end_frame < 1 ? n_frame : out->end_frame;
        tess_text_printf(&out->text,
                         "frames %" PRId64 " to %" PRId64 " were asked for; %" PRId64 " to %" PRId64
                         " are taken\n",
                         config->start_frame, config->end_frame, out->start_frame, out->end_frame);
    }
    out->first = config->keep_t0 ? 0 : 1;
    out->n_frame = out->end_frame - out->start_frame + 1;
    if (out->n_frame - out->first < MIN_FRAMES) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%s: frames %" PRId64 " to %" PRId64 " leave %" PRId64
                  " after frame 0 is dropped or kept as asked; at least %d are needed",
                  c->all->name, out->start_frame, out->end_frame,
                  out->n_frame > out->first ? out->n_frame - out->first : 0, (int)MIN_FRAMES);
    }
    return TESS_OK;
}

static tess_status mark_bad_frames(const choice *c)
{
    const tess_xpcs_data_config *config = c->config;
    tess_xp_selection *out = c->out;
    if (config->n_bad_frame == 0) {
        return TESS_OK;
    }
    uint8_t *is_bad = tess_blocks_alloc(&out->memory, out->n_frame, 1, "bad frames");
    if (!is_bad) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < config->n_bad_frame; i++) {
        const int64_t frame = config->bad_frames[i];
        if (frame < 1 || frame > c->all->n_frame) {
            TESS_FAIL(TESS_E_SHAPE,
                      "%s: bad frame %" PRId64 " is not among its frames 1 to %" PRId64
                      "; count from 1",
                      c->all->name, frame, c->all->n_frame);
        }
        if (frame >= out->start_frame && frame <= out->end_frame) {
            is_bad[frame - out->start_frame] = 1;
        }
    }
    out->is_bad = is_bad;
    return TESS_OK;
}

tess_status tess_xp_select(tess_context *ctx, const tess_xpcs_data_config *config,
                           const tess_xp_candidates *candidates, tess_xp_selection *out)
{
    choice c = {.config = config, .all = candidates, .out = out};
    tess_status status = prepare(ctx, &c);
    if (status == TESS_OK) {
        status = select_q(&c);
    }
    if (status == TESS_OK) {
        normalise(&c);
        status = select_phi(&c);
    }
    if (status == TESS_OK) {
        note_twins(&c);
        status = check_q(&c);
    }
    if (status == TESS_OK) {
        status = select_frames(&c);
    }
    if (status == TESS_OK) {
        status = mark_bad_frames(&c);
    }
    if (status == TESS_OK) {
        status = tess_text_finish(&out->text, &out->notes);
    }
    if (status != TESS_OK) {
        tess_xp_selection_destroy(out);
    }
    return status;
}

void tess_xp_selection_destroy(tess_xp_selection *selection)
{
    if (selection->memory.heap) {
        tess_text_destroy(&selection->text);
        tess_blocks_free(&selection->memory);
    }
    *selection = (tess_xp_selection){0};
}
