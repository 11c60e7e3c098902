// Transitions that depend on covariates, of the time bins of events.
#include "systems/decode/events/model.h"

#include "base/status.h"

#include <math.h>

static tess_status check_times(const tess_decode_events_config *c)
{
    for (int64_t i = 0; i < c->n_covariate_time; i++) {
        const bool rises = i == 0 || c->covariate_time[i] > c->covariate_time[i - 1];
        if (!isfinite(c->covariate_time[i]) || !rises) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "covariate_time[%lld] = %.17g: times must be finite and rise", (long long)i,
                      c->covariate_time[i]);
        }
    }
    return TESS_OK;
}

tess_status tess_de_events_check_covariates(const tess_de_events_model *model)
{
    const tess_decode_events_config *c = &model->in->config;
    const int64_t n = model->detector->info.n_coefficient;
    if (n == 0) {
        return TESS_OK;
    }
    if (!c->design || !c->covariate_time || c->n_covariate_time < 1) {
        TESS_FAIL(TESS_E_ARGUMENT,
                  "design: is missing, but the model's transitions depend on covariates; give them "
                  "with their times, or take decoder memoryless");
    }
    for (int64_t i = 0; i < c->n_covariate_time * n; i++) {
        if (!isfinite(c->design[i])) {
            TESS_FAIL(TESS_E_NUMERIC, "design: row %lld holds %g; finite numbers expected",
                      (long long)(i / n), c->design[i]);
        }
    }
    return check_times(c);
}

// The row of the recording's time bin that a time is in.
static int64_t row_at(const tess_decode_events_config *c, double time)
{
    int64_t low = 0;
    int64_t high = c->n_covariate_time;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (c->covariate_time[middle] <= time) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

tess_status tess_de_events_transitions(tess_de_events_model *model, const tess_decode_event *table,
                                       tess_de_events_batch *batch)
{
    const tess_decode_detector *d = model->detector;
    const tess_decode_events_config *c = &model->in->config;
    const int64_t n_pair = (int64_t)d->info.n_state * d->info.n_state;
    if (d->info.n_coefficient == 0) {
        return TESS_OK;
    }
    double *rows =
        tess_blocks_alloc(&batch->blocks, batch->n_time * n_pair, sizeof *rows, "transitions");
    if (!rows) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < batch->n_event; i++) {
        const tess_events_event *event = &batch->events[i];
        const double start = table[batch->index[i]].start;
        for (int64_t t = 0; t < event->n_time; t++) {
            // Its middle: edges of events and of the recording's bins differ in their last digits.
            const double middle = start + ((double)t + 0.5) * model->width;
            tess_de_transition_rows(d, c->design, row_at(c, middle), 1,
                                    rows + (event->first_time + t) * n_pair);
        }
    }
    model->states.transition = rows;
    model->states.transition_stride = n_pair;
    return TESS_OK;
}

void tess_de_events_fingerprint(const tess_de_events_input *in,
                                const tess_decode_detector *detector, tess_de_fingerprint *out)
{
    const bool has_design = detector->info.n_coefficient > 0 && in->config.design &&
                            in->config.decoder == TESS_DECODE_EVENT_STATES;
    tess_decode_observation o;
    tess_decode_observation_init(&o, sizeof o);
    o.spikes = in->spikes;
    o.position = in->position;
    o.n_time = has_design ? in->config.n_covariate_time : 0;
    o.time = in->config.covariate_time;
    tess_de_fingerprint_make(detector, &o, has_design ? in->config.design : NULL, out);
}
