// Calls the user wants as soon as a bin says something.
#include "base/clock.h"
#include "base/status.h"
#include "base/struct_read.h"
#include "systems/decode/online/online.h"

#include <math.h>
#include <string.h>

void tess_decode_online_trigger_init(tess_decode_online_trigger *trigger, size_t struct_size)
{
    const tess_decode_online_trigger defaults = {.state = -1, .n_average = 1, .threshold = 0.5};
    tess_struct_init(trigger, struct_size, &defaults, sizeof defaults);
}

static tess_status check_number(int32_t number)
{
    if (number < 0 || number >= TESS_DECODE_ONLINE_TRIGGERS) {
        TESS_FAIL(TESS_E_RANGE, "trigger: there are numbers 0 to %d, not %d",
                  TESS_DECODE_ONLINE_TRIGGERS - 1, number);
    }
    return TESS_OK;
}

static tess_status check_trigger(const tess_decode_online *online,
                                 const tess_decode_online_trigger *t)
{
    const tess_decode_detector_info *info = &online->detector->info;
    if (!t->call) {
        TESS_FAIL(TESS_E_ARGUMENT, "trigger: has no function to call");
    }
    if (t->state < -1 || t->state >= info->n_state) {
        TESS_FAIL(TESS_E_RANGE, "trigger: state %d is not one of the model's %lld", t->state,
                  (long long)info->n_state);
    }
    if ((t->state >= 0) == (t->n_bin > 0)) {
        TESS_FAIL(TESS_E_ARGUMENT, "trigger: give either a state or state bins, %s",
                  t->n_bin > 0 ? "not both" : "there is neither");
    }
    for (int64_t i = 0; i < t->n_bin; i++) {
        if (t->bins[i] < 0 || t->bins[i] >= info->n_state_bin ||
            (i > 0 && t->bins[i] <= t->bins[i - 1])) {
            TESS_FAIL(TESS_E_RANGE,
                      "trigger: state bin %lld (number %lld of the list) is none of the model's "
                      "%lld, or does not come after the one before",
                      (long long)t->bins[i], (long long)i, (long long)info->n_state_bin);
        }
    }
    if (!(t->threshold >= 0 && t->threshold < 1)) {
        TESS_FAIL(TESS_E_RANGE, "trigger: threshold %g is no probability below 1", t->threshold);
    }
    if (t->n_average < 1 || t->n_average > ONLINE_MOST_AVERAGE) {
        TESS_FAIL(TESS_E_RANGE, "trigger: n_average is 1 to %d bins, not %lld", ONLINE_MOST_AVERAGE,
                  (long long)t->n_average);
    }
    if (!(t->lockout_s >= 0) || t->min_electrodes < 0) {
        TESS_FAIL(TESS_E_RANGE, "trigger: lockout %g s and %d electrodes cannot be negative",
                  t->lockout_s, t->min_electrodes);
    }
    return TESS_OK;
}

void tess_de_online_rewind_triggers(tess_decode_online *online)
{
    for (int32_t k = 0; k < TESS_DECODE_ONLINE_TRIGGERS; k++) {
        online->triggers[k].n_mass = 0;
        online->triggers[k].quiet_until_s = -(double)INFINITY;
    }
}

tess_status tess_decode_online_set_trigger(tess_decode_online *online, int32_t number,
                                           const tess_decode_online_trigger *given)
{
    tess_error_clear();
    tess_decode_online_trigger t;
    tess_decode_online_trigger_init(&t, sizeof t);
    TESS_TRY(check_number(number));
    if (given) {
        TESS_TRY(tess_struct_read(given, &t, sizeof t, "trigger"));
        TESS_TRY(check_trigger(online, &t));
    }
    online_trigger *to = &online->triggers[number];
    for (int64_t i = 0; i < t.n_bin; i++) {
        to->bins[i] = t.bins[i];
    }
    to->settings = t;
    to->settings.bins = to->bins;
    to->n_mass = 0;
    to->quiet_until_s = -(double)INFINITY;
    to->stats = (tess_decode_online_trigger_stats){.struct_size = sizeof to->stats};
    return TESS_OK;
}

static double mass_of(const online_trigger *t, const online_slot *slot)
{
    if (t->settings.state >= 0) {
        return slot->states[t->settings.state];
    }
    double mass = 0;
    for (int64_t i = 0; i < t->settings.n_bin; i++) {
        mass += slot->posterior[t->bins[i]];
    }
    return mass;
}

static void fire(online_trigger *t, int32_t number, const online_slot *slot, double mean,
                 double lag_s, int64_t begin_ns)
{
    const double seconds = 1e-9 * (double)(tess_now_ns() - begin_ns);
    const tess_decode_online_event event = {.struct_size = sizeof event,
                                            .trigger = number,
                                            .bin = slot->bin.bin,
                                            .start_s = slot->bin.start_s,
                                            .mass = mean,
                                            .latency_s = seconds,
                                            .lag_s = lag_s};
    t->stats.n_fired++;
    t->stats.latency_max_s = fmax(t->stats.latency_max_s, seconds);
    t->stats.latency[tess_de_latency_bin(seconds)]++;
    t->settings.call(t->settings.payload, &event);
}

void tess_de_online_trigger(tess_decode_online *online, const online_slot *slot, double now,
                            int64_t begin_ns)
{
    const double right_s = slot->bin.start_s + online->config.bin_width_s;
    for (int32_t k = 0; k < TESS_DECODE_ONLINE_TRIGGERS; k++) {
        online_trigger *t = &online->triggers[k];
        if (!t->settings.call) {
            continue;
        }
        const int64_t n = t->settings.n_average;
        t->mass[t->n_mass++ % n] = mass_of(t, slot);
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += t->mass[i];
        }
        const double mean = sum / (double)n;
        if (t->n_mass < n || !(mean > t->settings.threshold) ||
            slot->bin.n_electrode_active < t->settings.min_electrodes) {
            continue;
        }
        if (slot->bin.start_s < t->quiet_until_s) {
            t->stats.n_locked++;
            continue;
        }
        t->quiet_until_s = slot->bin.start_s + t->settings.lockout_s;
        fire(t, k, slot, mean, now - right_s, begin_ns);
    }
}

tess_status tess_decode_online_get_trigger_stats(const tess_decode_online *online, int32_t number,
                                                 tess_decode_online_trigger_stats *stats,
                                                 size_t struct_size)
{
    tess_error_clear();
    TESS_TRY(check_number(number));
    const tess_decode_online_trigger_stats *found = &online->triggers[number].stats;
    memset(stats, 0, struct_size);
    memcpy(stats, found, struct_size < sizeof *found ? struct_size : sizeof *found);
    stats->struct_size = (uint32_t)struct_size;
    return TESS_OK;
}
