// The group's pictures: shares by recording, thresholds on the head and by recording and sensor.
#include "base/status.h"
#include "page/figure.h"
#include "systems/autoreject/report/head_picture.h"
#include "systems/autoreject/report/page.h"
#include "systems/autoreject/study/cohort.h"

#include <math.h>
#include <stdio.h>

static const char WHAT[] = "the page of the group";

// The recordings that are done, which figures number from 1.
typedef struct shown {
    int64_t n;
    int64_t *rows;
    const char **names;
    double *epochs; // percent
    double *channels;
    double *both; // [n][2] for the strip
    tess_figure_mark *marks;
    int64_t n_mark;
} shown;

static tess_status gather(tess_ar_cohort *c, shown *s)
{
    const int64_t n = c->n_done;
    *s = (shown){.rows = tess_blocks_alloc(c->memory, n, sizeof *s->rows, WHAT),
                 .names = tess_blocks_alloc(c->memory, n, sizeof *s->names, WHAT),
                 .epochs = tess_blocks_alloc(c->memory, n, sizeof(double), WHAT),
                 .channels = tess_blocks_alloc(c->memory, n, sizeof(double), WHAT),
                 .both = tess_blocks_alloc(c->memory, n, 2 * sizeof(double), WHAT),
                 .marks = tess_blocks_alloc(c->memory, n, sizeof *s->marks, WHAT)};
    if (!s->rows || !s->names || !s->epochs || !s->channels || !s->both || !s->marks) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < c->n_row; i++) {
        const tess_ar_cohort_row *row = &c->rows[i];
        if (!row->is_done) {
            continue;
        }
        const int64_t k = s->n++;
        s->rows[k] = i;
        s->names[k] = row->label;
        s->both[2 * k] = s->epochs[k] = 100 * row->bad_epochs.value;
        s->both[2 * k + 1] = s->channels[k] = 100 * row->bad_channels.value;
        if (row->is_outlier) {
            s->marks[s->n_mark++] =
                (tess_figure_mark){(double)k + 0.5, (double)k + 1.5, row->label};
        }
    }
    return TESS_OK;
}

static void draw_bars(tess_html *html, const shown *s, const char *title, const double *values,
                      int colour)
{
    const tess_figure_series bars = {
        .name = title, .y = values, .n = s->n, .style = TESS_FIGURE_BARS, .colour = colour};
    tess_figure_draw(html, &(tess_figure){.title = title,
                                          .group = "recordings",
                                          .x = {"recording", "", 0.5, (double)s->n + 0.5, false},
                                          .x_is_whole = true,
                                          .y = {"share", "%", 0, 0, false},
                                          .height = 170,
                                          .series = &bars,
                                          .n_series = 1,
                                          .marks = s->marks,
                                          .n_mark = s->n_mark});
}

tess_status tess_ar_cohort_draw_shares(tess_ar_cohort *c, tess_html *html)
{
    static const char *const rows[] = {"epochs", "channels"};
    shown s;
    double most = 1;
    TESS_TRY(gather(c, &s));
    tess_html_heading(html, "Shares by recording");
    if (s.n == 0) {
        tess_html_paragraph(html, "No recording is done.");
        return TESS_OK;
    }
    tess_html_paragraph(
        html, "How much of each recording is bad: epochs that were left out, and channels "
              "that are bad in single epochs, repaired or not. Shaded: outliers by the "
              "rule below. On the strip the pointer tells names.");
    for (int64_t i = 0; i < s.n; i++) {
        most = fmax(most, fmax(s.epochs[i], s.channels[i]));
    }
    draw_bars(html, &s, "Bad epochs", s.epochs, 0);
    draw_bars(html, &s, "Bad channels in single epochs", s.channels, 1);
    const tess_figure_map strip = {.values = s.both,
                                   .n_column = s.n,
                                   .n_row = 2,
                                   .label = "share",
                                   .unit = "%",
                                   .low = 0,
                                   .high = most,
                                   .columns = s.names,
                                   .rows = rows};
    tess_figure_draw(html, &(tess_figure){.title = "Recordings",
                                          .group = "recordings",
                                          .x = {"recording", "", 0.5, (double)s.n + 0.5, false},
                                          .x_is_whole = true,
                                          .y = {"", "", 1.5, -0.5, false},
                                          .height = 60,
                                          .map = &strip});
    return TESS_OK;
}

// The sensors of one type.
typedef struct sensors {
    int64_t n;
    int64_t *numbers;
    const char **names;
    double *positions;
    double *thresholds; // in the unit shown
    double *bad;        // percent
    double *spread;     // percent
} sensors;

static tess_status gather_sensors(tess_ar_cohort *c, int32_t type, sensors *own)
{
    const double scale = tess_ar_unit_of(type).scale;
    const int64_t n = c->n_sensor;
    char *texts = tess_blocks_alloc(c->memory, n, TESS_AR_NAME, WHAT);
    *own = (sensors){.numbers = tess_blocks_alloc(c->memory, n, sizeof *own->numbers, WHAT),
                     .names = tess_blocks_alloc(c->memory, n, sizeof *own->names, WHAT),
                     .positions = tess_blocks_alloc(c->memory, n, 3 * sizeof(double), WHAT),
                     .thresholds = tess_blocks_alloc(c->memory, n, sizeof(double), WHAT),
                     .bad = tess_blocks_alloc(c->memory, n, sizeof(double), WHAT),
                     .spread = tess_blocks_alloc(c->memory, n, sizeof(double), WHAT)};
    if (!texts || !own->numbers || !own->names || !own->positions || !own->thresholds ||
        !own->bad || !own->spread) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        const tess_ar_cohort_sensor *sensor = &c->sensors[i];
        if (sensor->type != type) {
            continue;
        }
        const int64_t k = own->n++;
        tess_ar_shown_name(sensor->name, texts + k * TESS_AR_NAME);
        own->numbers[k] = i;
        own->names[k] = texts + k * TESS_AR_NAME;
        own->thresholds[k] = scale * sensor->threshold.value;
        own->bad[k] = 100 * sensor->bad.value;
        own->spread[k] = 100 * sensor->spread;
        for (int d = 0; d < 3; d++) {
            own->positions[3 * k + d] = sensor->position[d];
        }
    }
    return TESS_OK;
}

static tess_status draw_heads_of(tess_ar_cohort *c, tess_html *html, int32_t type)
{
    const char *name = tess_autoreject_type_name(type);
    char title[120];
    sensors own;
    TESS_TRY(gather_sensors(c, type, &own));
    tess_ar_head head = {.title = title,
                         .n = own.n,
                         .names = own.names,
                         .positions = own.positions,
                         .unit = tess_ar_unit_of(type).name,
                         .values = own.thresholds};
    if (tess_ar_head_count(&head) == 0) {
        snprintf(title, sizeof title, "The %s channels have no positions.", name);
        tess_html_paragraph(html, title);
        return TESS_OK;
    }
    tess_html_row_begin(html);
    snprintf(title, sizeof title, "%s: threshold, median over recordings", name);
    tess_ar_head_draw(html, &head);
    snprintf(title, sizeof title, "%s: bad epochs, mean over recordings", name);
    head.unit = "%";
    head.values = own.bad;
    head.begins_at_zero = true;
    tess_ar_head_draw(html, &head);
    tess_html_row_end(html);
    tess_html_row_begin(html);
    snprintf(title, sizeof title, "%s: spread of the threshold over recordings", name);
    head.values = own.spread;
    tess_ar_head_draw(html, &head);
    tess_html_row_end(html);
    return TESS_OK;
}

tess_status tess_ar_cohort_draw_heads(tess_ar_cohort *c, tess_html *html)
{
    tess_html_heading(html, "Sensors on the head");
    tess_html_paragraph(html,
                        "Seen from above, nose up, at the mean of a sensor's places: the median of "
                        "its thresholds over recordings, the mean share of epochs in which it is "
                        "bad, and the spread of its thresholds (1.4826 times the median absolute "
                        "deviation, of the median). Under the pointer stand name and value.");
    for (int32_t t = 0; t < TESS_AUTOREJECT_N_SOLVABLE; t++) {
        if (c->has_type[t]) {
            TESS_TRY(draw_heads_of(c, html, t));
        }
    }
    return TESS_OK;
}

// log2 of a threshold over the sensor's median; beyond one octave all look alike.
static tess_status draw_map_of(tess_ar_cohort *c, tess_html *html, int32_t type, const shown *s)
{
    char title[120];
    sensors own;
    TESS_TRY(gather_sensors(c, type, &own));
    double *values = tess_blocks_alloc(c->memory, s->n * own.n, sizeof *values, WHAT);
    if (!values) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < s->n; i++) {
        for (int64_t k = 0; k < own.n; k++) {
            const double median = c->sensors[own.numbers[k]].threshold.value;
            const double value = c->thresholds[own.numbers[k] * c->n_row + s->rows[i]];
            values[i * own.n + k] = value > 0 && median > 0 ? log2(value / median) : (double)NAN;
        }
    }
    const tess_figure_map map = {.values = values,
                                 .n_column = s->n,
                                 .n_row = own.n,
                                 .label = "log2 of threshold over the sensor's median",
                                 .low = -1,
                                 .high = 1,
                                 .colours = TESS_FIGURE_DIVERGING,
                                 .columns = s->names,
                                 .rows = own.names};
    snprintf(title, sizeof title, "%s", tess_autoreject_type_name(type));
    const int64_t height = 40 + 9 * own.n;
    tess_figure_draw(html, &(tess_figure){.title = title,
                                          .group = "recordings",
                                          .x = {"recording", "", 0.5, (double)s->n + 0.5, false},
                                          .x_is_whole = true,
                                          .y = {"", "", (double)own.n - 0.5, -0.5, false},
                                          .height = height > 640 ? 640 : (int)height,
                                          .map = &map,
                                          .note = "Grey: the recording does not have the sensor."});
    return TESS_OK;
}

tess_status tess_ar_cohort_draw_map(tess_ar_cohort *c, tess_html *html)
{
    shown s;
    TESS_TRY(gather(c, &s));
    if (s.n == 0) {
        return TESS_OK;
    }
    tess_html_heading(html, "Thresholds by recording and sensor");
    tess_html_paragraph(
        html, "Every threshold against the median of its sensor over recordings: red above "
              "it, blue below, one step of the logarithm is a factor of two.");
    for (int32_t t = 0; t < TESS_AUTOREJECT_N_SOLVABLE; t++) {
        if (c->has_type[t]) {
            TESS_TRY(draw_map_of(c, html, t, &s));
        }
    }
    return TESS_OK;
}
