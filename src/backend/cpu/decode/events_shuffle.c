// Shuffles of events: random numbers by counter, and rows of log intensities moved about.
#include "backend/cpu/decode/events.h"
#include "base/rng.h"

#include <string.h>

void tess_cpu_events_draw(events_room *room, const tess_events_event *event, int64_t shuffle,
                          int64_t n)
{
    const tess_stage_decode_events *a = room->args;
    const uint32_t key[2] = {(uint32_t)a->seed, (uint32_t)(a->seed >> 32)};
    for (int64_t i = 0; i < n; i += 4) {
        const uint32_t counter[4] = {(uint32_t)(i / 4), (uint32_t)shuffle, event->key,
                                     (uint32_t)a->kind};
        uint32_t words[4];
        tess_philox(counter, key, words);
        memcpy(room->draws + i, words, (size_t)(n - i < 4 ? n - i : 4) * sizeof *words);
    }
}

static int64_t below(uint32_t word, int64_t m)
{
    return (int64_t)(((uint64_t)word * (uint64_t)m) >> 32);
}

void tess_cpu_events_permute(events_room *room, int64_t first, int64_t n)
{
    int64_t *order = room->order + first;
    for (int64_t i = 0; i < n; i++) {
        order[i] = first + i;
    }
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = below(room->draws[first + i], i + 1);
        const int64_t item = order[i];
        order[i] = order[j];
        order[j] = item;
    }
}

// out[(p + shift) mod n] += by * in[p]
static void add_rotated(const events_room *room, const double *in, double by, int64_t shift,
                        double *out)
{
    const int64_t n = room->args->track->n_place;
    const tess_kernels *kernels = room->device->kernels;
    kernels->hmm_add_scaled(by, in, (size_t)(n - shift), out + shift);
    kernels->hmm_add_scaled(by, in + (n - shift), (size_t)shift, out);
}

static void rotate_fields(events_room *room, const tess_events_event *event, double *ll)
{
    const tess_stage_decode_events *a = room->args;
    const int64_t n_place = a->track->n_place;
    memset(room->place, 0, (size_t)n_place * sizeof *room->place);
    for (int64_t e = 0; e < a->n_electrode; e++) {
        add_rotated(room, a->ground + e * n_place, -a->scale, below(room->draws[e], n_place),
                    room->place);
    }
    for (int64_t t = 0; t < event->n_time; t++) {
        memcpy(ll + t * n_place, room->place, (size_t)n_place * sizeof *ll);
    }
    for (int64_t s = 0; s < event->n_spike; s++) {
        add_rotated(room, a->rows + event->row[s] * n_place, 1,
                    below(room->draws[event->electrode[s]], n_place), ll + event->bin[s] * n_place);
    }
}

// Marks change places among the spikes of each electrode, which are neighbours in the list.
static void permute_marks(events_room *room, const tess_events_event *event)
{
    for (int64_t first = 0; first < event->n_spike;) {
        int64_t end = first + 1;
        while (end < event->n_spike && event->electrode[end] == event->electrode[first]) {
            end++;
        }
        tess_cpu_events_permute(room, first, end - first);
        first = end;
    }
}

// Which row of log intensities spike s has.
static int64_t row_of(const events_room *room, const tess_events_event *event, int64_t s)
{
    switch (room->args->kind) {
    case TESS_EVENTS_MARKS:
    case TESS_EVENTS_SPIKES:
        return event->row[room->order[s]];
    case TESS_EVENTS_UNITS:
        return room->order[event->electrode[s]]; // a row is a unit's
    default:
        return event->row[s];
    }
}

void tess_cpu_events_likelihood(events_room *room, const tess_events_event *event, int64_t shuffle,
                                double *ll)
{
    const tess_stage_decode_events *a = room->args;
    const int64_t n_place = a->track->n_place;
    const int64_t n_unit = a->n_electrode;
    switch (a->kind) {
    case TESS_EVENTS_FIELD:
        tess_cpu_events_draw(room, event, shuffle, n_unit);
        rotate_fields(room, event, ll);
        return;
    case TESS_EVENTS_MARKS:
        tess_cpu_events_draw(room, event, shuffle, event->n_spike);
        permute_marks(room, event);
        break;
    case TESS_EVENTS_SPIKES:
        tess_cpu_events_draw(room, event, shuffle, event->n_spike);
        tess_cpu_events_permute(room, 0, event->n_spike);
        break;
    case TESS_EVENTS_UNITS:
        tess_cpu_events_draw(room, event, shuffle, n_unit);
        tess_cpu_events_permute(room, 0, n_unit);
        break;
    default:
        break;
    }
    for (int64_t t = 0; t < event->n_time; t++) {
        for (int64_t p = 0; p < n_place; p++) {
            ll[t * n_place + p] = -a->scale * a->summed[p];
        }
    }
    for (int64_t s = 0; s < event->n_spike; s++) {
        room->device->kernels->hmm_add_scaled(1, a->rows + row_of(room, event, s) * n_place,
                                              (size_t)n_place, ll + event->bin[s] * n_place);
    }
}

void tess_cpu_events_rotate(events_room *room, const tess_events_event *event, int64_t shuffle,
                            const double *in, double *out)
{
    const int64_t n = room->args->track->n_place;
    tess_cpu_events_draw(room, event, shuffle, event->n_time);
    for (int64_t t = 0; t < event->n_time; t++) {
        const int64_t shift = below(room->draws[t], n);
        memcpy(out + t * n + shift, in + t * n, (size_t)(n - shift) * sizeof *out);
        memcpy(out + t * n, in + t * n + (n - shift), (size_t)shift * sizeof *out);
    }
}
