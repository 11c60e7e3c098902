// An event through filter and smoother.
#include "backend/cpu/decode/events.h"
#include "base/status.h"

#include <string.h>

// Rows of log likelihoods of all states.
static void spread_likelihood(events_room *room, const tess_events_event *event, const double *ll,
                              const int64_t *moved)
{
    const tess_events_states *states = room->args->states;
    const int64_t n_ll = states->model->n_ll;
    const int64_t n_place = room->args->track->n_place;
    for (int64_t t = 0; t < event->n_time; t++) {
        const int64_t from = moved ? moved[t] : t;
        double *out = room->state_likelihood + t * n_ll;
        memcpy(out, states->added + (event->first_time + from) * n_ll, (size_t)n_ll * sizeof *out);
        for (int64_t b = 0; b < states->n_block; b++) {
            room->device->kernels->hmm_add_scaled(1, ll + from * n_place, (size_t)n_place,
                                                  out + states->block_first[b]);
        }
    }
}

static tess_status filter_and_smooth(events_room *room, const tess_events_event *event)
{
    const int64_t n_time = event->n_time;
    const tess_events_states *states = room->args->states;
    const tess_hmm_model *m = states->model;
    const double *transition = states->transition + event->first_time * states->transition_stride;
    memcpy(room->predicted, states->initial, (size_t)m->n_bin * sizeof *room->predicted);
    const tess_stage_decode_hmm_filter filter = {.model = m,
                                                 .scratch = room->scratch,
                                                 .n_row = n_time,
                                                 .ll = room->state_likelihood,
                                                 .ll_dtype = TESS_F64,
                                                 .dtype = TESS_F64,
                                                 .transition = transition,
                                                 .transition_stride = states->transition_stride,
                                                 .predicted = room->predicted,
                                                 .filtered = room->smoothed,
                                                 .log_norm = room->log_norm};
    TESS_TRY(tess_cpu_decode_hmm_filter(room->device, &filter));
    room->log_evidence = 0;
    for (int64_t t = 0; t < n_time; t++) {
        room->log_evidence += room->log_norm[t];
    }
    const tess_stage_decode_hmm_smooth smooth = {.model = m,
                                                 .scratch = room->scratch,
                                                 .n_row = n_time,
                                                 .dtype = TESS_F64,
                                                 .is_last = 1,
                                                 .transition = transition,
                                                 .transition_stride = states->transition_stride,
                                                 .filtered = room->smoothed,
                                                 .next = room->predicted,
                                                 .acausal_states = room->state_rows,
                                                 .ahead = room->ahead,
                                                 .lanes = room->lanes,
                                                 .n_lane = TESS_HMM_LANES};
    return tess_cpu_decode_hmm_smooth(room->device, &smooth);
}

// The states with places of bin t, added up; returns what they hold.
static double sum_places(const events_room *room, int64_t t, double *place)
{
    const tess_hmm_model *m = room->args->states->model;
    const int64_t n_place = room->args->track->n_place;
    const tess_kernels *kernels = room->device->kernels;
    double mass = 0;
    memset(place, 0, (size_t)n_place * sizeof *place);
    for (int32_t s = 0; s < m->n_state; s++) {
        if (m->first[s + 1] - m->first[s] == n_place) {
            kernels->hmm_add_scaled(1, room->smoothed + t * m->n_bin + m->first[s], (size_t)n_place,
                                    place);
        }
    }
    kernels->hmm_take_f64(place, (size_t)n_place, room->place, &mass);
    return mass;
}

tess_status tess_cpu_events_states(events_room *room, const tess_events_event *event,
                                   const double *ll, const int64_t *moved, int64_t *n_counted)
{
    const int64_t n_place = room->args->track->n_place;
    spread_likelihood(room, event, ll, moved);
    TESS_TRY(filter_and_smooth(room, event));
    *n_counted = 0;
    for (int64_t t = 0; t < event->n_time; t++) {
        double *place = room->posterior + t * n_place;
        const double mass = sum_places(room, t, place);
        double sum = 0;
        if (mass > 0) {
            room->device->kernels->hmm_keep_f64(room->place, (size_t)n_place, 1 / mass, place, NULL,
                                                &sum);
        }
        if (mass >= 0.5) {
            room->time[*n_counted] = t;
            room->row[(*n_counted)++] = place;
        }
    }
    return TESS_OK;
}
