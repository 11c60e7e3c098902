// The sensors of a study, by name and type, and their thresholds in every recording.
#include "base/select.h"
#include "base/status.h"
#include "systems/autoreject/study/cohort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A channel of a recording on its way into the list of sensors.
typedef struct entry {
    const tess_ar_record_channel *channel;
    int64_t row;
    int64_t order; // of appearance
} entry;

static int by_name(const void *a, const void *b)
{
    const entry *x = a;
    const entry *y = b;
    const int type = (x->channel->type > y->channel->type) - (x->channel->type < y->channel->type);
    const int name = type ? type : strcmp(x->channel->name, y->channel->name);
    return name ? name : (x->order > y->order) - (x->order < y->order);
}

// Sensors stand in the order of the recordings, which is that of the head.
typedef struct place {
    int64_t first; // among the entries
    int64_t n;
    int64_t order;
    int32_t type;
} place;

static int by_order(const void *a, const void *b)
{
    const place *x = a;
    const place *y = b;
    if (x->type != y->type) {
        return x->type < y->type ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

static tess_status list_entries(tess_ar_cohort *c, tess_blocks *scratch, entry **out, int64_t *n)
{
    int64_t total = 0;
    for (int64_t i = 0; i < c->n_row; i++) {
        total += c->rows[i].is_done ? c->rows[i].item->record.n_channel : 0;
    }
    entry *entries = tess_blocks_alloc(scratch, total, sizeof *entries, "sensors of the group");
    if (!entries) {
        return TESS_E_MEMORY;
    }
    *n = 0;
    for (int64_t i = 0; i < c->n_row; i++) {
        const tess_ar_record *r = &c->rows[i].item->record;
        for (int64_t k = 0; c->rows[i].is_done && k < r->n_channel; k++) {
            entries[*n] = (entry){&r->channels[k], i, *n};
            ++*n;
        }
    }
    qsort(entries, (size_t)*n, sizeof *entries, by_name);
    *out = entries;
    return TESS_OK;
}

static void fill_sensor(tess_ar_cohort *c, const entry *entries, const place *p, double *buffer,
                        tess_ar_cohort_sensor *sensor)
{
    const int64_t number = sensor - c->sensors;
    double *row = c->thresholds + number * c->n_row;
    int64_t n_position = 0;
    double sum = 0;
    *sensor = (tess_ar_cohort_sensor){.name = entries[p->first].channel->name,
                                      .type = p->type,
                                      .n = p->n,
                                      .low = (double)INFINITY,
                                      .worst_of = "",
                                      .worst = -1};
    for (int64_t k = 0; k < p->n; k++) {
        const entry *e = &entries[p->first + k];
        const double *position = e->channel->position;
        row[e->row] = buffer[k] = e->channel->threshold;
        sensor->low = fmin(sensor->low, e->channel->threshold);
        sensor->high = fmax(sensor->high, e->channel->threshold);
        sum += e->channel->bad;
        if (e->channel->bad > sensor->worst) {
            sensor->worst = e->channel->bad;
            sensor->worst_of = c->rows[e->row].label;
        }
        if (isfinite(position[0]) && isfinite(position[1]) && isfinite(position[2])) {
            for (int i = 0; i < 3; i++) {
                sensor->position[i] += position[i];
            }
            n_position++;
        }
    }
    for (int i = 0; i < 3; i++) {
        sensor->position[i] =
            n_position > 0 ? sensor->position[i] / (double)n_position : (double)NAN;
    }
    sensor->bad.value = sum / (double)p->n;
    sensor->threshold.value = tess_median(buffer, p->n);
    for (int64_t k = 0; k < p->n; k++) {
        buffer[k] = fabs(entries[p->first + k].channel->threshold - sensor->threshold.value);
    }
    sensor->spread = sensor->threshold.value > 0
                         ? 1.4826 * tess_median(buffer, p->n) / sensor->threshold.value
                         : 0;
}

static tess_status fill(tess_ar_cohort *c, tess_blocks *scratch)
{
    entry *entries = NULL;
    int64_t n = 0;
    TESS_TRY(list_entries(c, scratch, &entries, &n));
    place *places = tess_blocks_alloc(scratch, n, sizeof *places, "sensors of the group");
    double *buffer = tess_blocks_alloc(scratch, c->n_row + 1, sizeof *buffer, "the group");
    if (!places || !buffer) {
        return TESS_E_MEMORY;
    }
    for (int64_t k = 0; k < n; k++) {
        place *last = c->n_sensor > 0 ? &places[c->n_sensor - 1] : NULL;
        const tess_ar_record_channel *channel = entries[k].channel;
        const bool is_new = !last || last->type != channel->type ||
                            strcmp(entries[last->first].channel->name, channel->name) != 0;
        // A name that a recording has twice counts once.
        if (is_new) {
            places[c->n_sensor++] = (place){k, 1, entries[k].order, channel->type};
        } else if (entries[k].row != entries[last->first + last->n - 1].row) {
            last->n++;
        }
    }
    qsort(places, (size_t)c->n_sensor, sizeof *places, by_order);
    c->sensors = tess_blocks_alloc(c->memory, c->n_sensor, sizeof *c->sensors, "the group");
    c->thresholds =
        tess_blocks_alloc(c->memory, c->n_sensor * c->n_row, sizeof(double), "the group");
    if (!c->sensors || !c->thresholds) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < c->n_sensor * c->n_row; i++) {
        c->thresholds[i] = (double)NAN;
    }
    for (int64_t i = 0; i < c->n_sensor; i++) {
        fill_sensor(c, entries, &places[i], buffer, &c->sensors[i]);
        c->has_type[places[i].type] = true;
    }
    return TESS_OK;
}

tess_status tess_ar_cohort_sensors(tess_ar_cohort *c)
{
    tess_blocks scratch;
    tess_blocks_init(&scratch, c->memory->heap);
    const tess_status status = fill(c, &scratch);
    tess_blocks_free(&scratch);
    return status;
}
