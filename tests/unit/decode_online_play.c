#include "decode_online_play.h"

#include <stdlib.h>
#include <string.h>

static int by_time(const void *a, const void *b)
{
    const online_event *x = a, *y = b;
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return (x->electrode > y->electrode) - (x->electrode < y->electrode);
}

// The golden edges are rounded each on its own; the online decoder multiplies. Some spikes lie
// exactly on an edge, so both take the product here.
static void multiply_edges(golden_model *m)
{
    const int64_t last = m->observation.n_time - 1;
    const double start = m->time[0];
    const double width = (m->time[last] - start) / (double)last;
    for (int64_t k = 0; k <= last; k++) {
        m->time[k] = start + (double)k * width;
    }
}

void online_open_model(golden_model *m, tess_context *with, const char *file)
{
    golden_model_open(m, with, file, TESS_DECODE_FAST);
    multiply_edges(m);
}

online_event *online_events(const golden_model *m, int64_t *n)
{
    online_event *events = calloc(100000, sizeof *events);
    assert_non_null(events);
    const int64_t last = m->observation.n_time - 1;
    *n = 0;
    for (int64_t e = 0; e < GOLDEN_ELECTRODES; e++) {
        for (int64_t i = 0; i < m->n_spike[e]; i++) {
            if (m->times[e][i] < m->time[0] || m->times[e][i] >= m->time[last]) {
                continue;
            }
            online_event *to = &events[(*n)++];
            *to = (online_event){
                .time = m->times[e][i], .electrode = e, .n_feature = m->n_feature[e]};
            for (int64_t f = 0; f < to->n_feature; f++) {
                to->mark[f] = (float)m->marks[e][i * to->n_feature + f];
            }
        }
    }
    qsort(events, (size_t)*n, sizeof *events, by_time);
    return events;
}

tess_decode_online *online_open(tess_context *with, const golden_model *m, double delay_s)
{
    const int64_t last = m->observation.n_time - 1;
    tess_decode_online_config config;
    tess_decode_online_config_init(&config, sizeof config);
    config.bin_width_s = (m->time[last] - m->time[0]) / (double)last;
    config.start_s = m->time[0];
    config.delay_s = delay_s;
    config.n_history = 1000;
    tess_decode_online *online = NULL;
    assert_ok(tess_decode_online_create(with, m->detector, &config, &online));
    return online;
}

void online_push(tess_decode_online *online, const online_event *e)
{
    assert_ok(tess_decode_online_push_spike(online, e->time, e->electrode, e->mark, e->n_feature));
}

void online_play(tess_decode_online *online, const golden_model *m, const online_event *events,
                 int64_t n, int64_t burst)
{
    int64_t n_bin = 0;
    for (int64_t i = 0; i < n; i++) {
        online_push(online, &events[i]);
        if (i % burst == burst - 1) {
            assert_ok(tess_decode_online_advance(online, events[i].time, &n_bin));
        }
    }
    const double end = m->time[m->observation.n_time - 1] + online->config.delay_s + 1e-9;
    assert_ok(tess_decode_online_advance(online, end, &n_bin));
    assert_int_equal(online->n_bin, m->observation.n_time - 1);
}

void online_check_same(const tess_decode_online *a, const tess_decode_online *b)
{
    assert_int_equal(a->n_bin, b->n_bin);
    const tess_decode_detector_info *info = tess_decode_detector_get_info(a->detector);
    for (int64_t k = 0; k < a->n_bin; k++) {
        tess_decode_online_bin x, y;
        assert_ok(tess_decode_online_get(a, k, &x, sizeof x));
        assert_ok(tess_decode_online_get(b, k, &y, sizeof y));
        assert_memory_equal(x.posterior, y.posterior, (size_t)info->n_state_bin * 8);
        assert_memory_equal(x.state_probabilities, y.state_probabilities,
                            (size_t)info->n_state * 8);
        assert_memory_equal(x.log_likelihood, y.log_likelihood, (size_t)info->n_ll * 4);
        assert_memory_equal(&x.log_norm, &y.log_norm, 8);
        assert_int_equal(x.n_spike, y.n_spike);
        assert_int_equal(x.best_bin, y.best_bin);
        assert_int_equal(x.credible_size, y.credible_size);
        assert_int_equal(x.n_electrode_active, y.n_electrode_active);
    }
}
