// Scores of one posterior; which bins count is known.
#include "backend/cpu/decode/events.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

// Places within this share of the largest probability are as likely, and routes of as much mass.
static const double TIE = 1e-9;
// Variances below this share of the squared length are nothing but rounding.
static const double NO_VARIANCE = 1e-28;

static double distance_of(const tess_events_track *track, int64_t p, int64_t q)
{
    return track->centre ? fabs(track->centre[p] - track->centre[q])
                         : track->distance[p * track->n_place + q];
}

// Most likely places, and how sure they are on average.
static double find_best(events_room *room, int64_t n)
{
    const int64_t n_place = room->args->track->n_place;
    double sum = 0;
    for (int64_t a = 0; a < n; a++) {
        double most = 0;
        room->device->kernels->hmm_max_f64(room->row[a], (size_t)n_place, &most);
        int64_t p = 0;
        while (p < n_place - 1 && !(room->row[a][p] >= (1 - TIE) * most)) {
            p++;
        }
        room->best[a] = p;
        sum += most;
    }
    return sum / (double)n;
}

static double farthest(const events_room *room, int64_t n)
{
    const tess_events_track *track = room->args->track;
    double most = 0;
    if (track->centre) {
        double low = (double)INFINITY;
        double high = -(double)INFINITY;
        for (int64_t a = 0; a < n; a++) {
            const double x = track->centre[room->best[a]];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        return high - low;
    }
    for (int64_t a = 0; a < n; a++) {
        for (int64_t b = a + 1; b < n; b++) {
            const double d = distance_of(track, room->best[a], room->best[b]);
            most = d > most ? d : most;
        }
    }
    return most;
}

static void score_places(events_room *room, int64_t n, double *scores)
{
    const tess_events_track *track = room->args->track;
    double distance = 0;
    double jump = 0;
    scores[TESS_EVENTS_SHARPNESS] = find_best(room, n);
    for (int64_t a = 1; a < n; a++) {
        const double d = distance_of(track, room->best[a - 1], room->best[a]);
        distance += d;
        jump = d > jump ? d : jump;
    }
    const double duration = (double)(room->time[n - 1] - room->time[0]) * room->args->bin_s;
    scores[TESS_EVENTS_DISTANCE] = distance;
    scores[TESS_EVENTS_MAX_JUMP] = jump;
    scores[TESS_EVENTS_NET_DISTANCE] = distance_of(track, room->best[0], room->best[n - 1]);
    scores[TESS_EVENTS_COVERAGE] =
        track->extent > 0 ? farthest(room, n) / track->extent : (double)NAN;
    scores[TESS_EVENTS_SPEED] = duration > 0 ? distance / duration : (double)NAN;
}

// Mass of a route in all counted bins.
static double route_mass(const events_room *room, const tess_events_route *route, int64_t n)
{
    double mass = 0;
    for (int64_t a = 0; a < n; a++) {
        for (int64_t q = 0; q < route->n_bin; q++) {
            mass += room->row[a][route->bin[q]];
        }
    }
    return mass;
}

static const tess_events_route *heaviest(const events_room *room, int64_t n)
{
    const tess_events_track *track = room->args->track;
    if (track->n_route == 1) {
        return track->routes;
    }
    double most = 0;
    for (int64_t r = 0; r < track->n_route; r++) {
        const double mass = route_mass(room, &track->routes[r], n);
        most = mass > most ? mass : most;
    }
    int64_t r = 0;
    while (r < track->n_route - 1 &&
           !(route_mass(room, &track->routes[r], n) >= (1 - TIE) * most)) {
        r++;
    }
    return &track->routes[r];
}

// sum_q row[q] u[q]^2 of four rows of n, or of fewer: an addition waits for the one before, but not
// for those of other rows.
static void second_moments(const double *rows, const double *u, size_t n, size_t n_row,
                           double *moments)
{
    double sum[4] = {0};
    for (size_t q = 0; n_row == 4 && q < n; q++) {
        for (size_t i = 0; i < 4; i++) {
            sum[i] += rows[i * n + q] * u[q] * u[q];
        }
    }
    for (size_t i = 0; n_row < 4 && i < n_row; i++) {
        for (size_t q = 0; q < n; q++) {
            sum[i] += rows[i * n + q] * u[q] * u[q];
        }
    }
    memcpy(moments, sum, sizeof sum);
}

// Pearson's correlation of time and place, weighted by probability; in bins and cm.
static double correlation(events_room *room, int64_t n)
{
    const tess_kernels *kernels = room->device->kernels;
    const tess_events_route *route = heaviest(room, n);
    const size_t n_bin = (size_t)route->n_bin;
    double *u = room->route_place;
    double mass = 0;
    double mean_time = 0;
    double mean_place = 0;
    tess_cpu_events_gather(room, route, n);
    for (int64_t a = 0; a < n; a++) {
        const double *row = room->route_rows + a * route->n_bin;
        double part = 0;
        kernels->hmm_multiply_f64(row, route->u, n_bin, u, &part);
        kernels->hmm_take_f64(row, n_bin, u, &room->sums[a]);
        mass += room->sums[a];
        mean_time += room->sums[a] * (double)room->time[a];
        mean_place += part;
    }
    if (!(mass > 0)) {
        return (double)NAN;
    }
    mean_time /= mass;
    mean_place /= mass;
    for (size_t q = 0; q < n_bin; q++) {
        u[q] = route->u[q] - mean_place;
    }
    double both = 0;
    double in_time = 0;
    double in_place = 0;
    double second[4] = {0};
    for (int64_t a = 0; a < n; a++) {
        const double t = (double)room->time[a] - mean_time;
        const double *row = room->route_rows + a * route->n_bin;
        double first = 0;
        kernels->hmm_multiply_f64(row, u, n_bin, room->place, &first);
        if (a % 4 == 0) {
            second_moments(row, u, n_bin, n - a < 4 ? (size_t)(n - a) : 4, second);
        }
        both += t * first;
        in_time += room->sums[a] * t * t;
        in_place += second[a % 4];
    }
    const double no_time = NO_VARIANCE * mass * mean_time * mean_time;
    const double no_place = NO_VARIANCE * mass * route->length * route->length;
    return in_time > no_time && in_place > no_place ? both / sqrt(in_time * in_place) : (double)NAN;
}

tess_status tess_cpu_events_score(events_room *room, const tess_events_event *event, int64_t n,
                                  double *scores, tess_events_line *line)
{
    for (int i = 0; i < TESS_EVENTS_N_SCORE; i++) {
        scores[i] = (double)NAN;
    }
    if (line) {
        *line = (tess_events_line){.route = -1};
    }
    if (n < room->args->min_bins || n < 1) {
        return TESS_OK;
    }
    score_places(room, n, scores);
    if (room->args->track->n_route == 0) {
        return TESS_OK;
    }
    scores[TESS_EVENTS_CORRELATION] = correlation(room, n);
    return tess_cpu_events_line(room, event->n_time, n, &scores[TESS_EVENTS_LINE_FIT], line);
}
