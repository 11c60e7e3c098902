// Golden sets as the structs of decode's interface, and a context that remembers what it was told.
#ifndef TESS_TESTS_DECODE_SET_H
#define TESS_TESTS_DECODE_SET_H

#include "decode_golden.h"

#include <stdbool.h>
#include <string.h>

typedef struct log_lines {
    char text[8192];
    int n;
} log_lines;

static inline void note_line(void *user, tess_log_level level, const char *line)
{
    log_lines *lines = user;
    if (level == TESS_LOG_WARNING) {
        const size_t used = strlen(lines->text);
        snprintf(lines->text + used, sizeof lines->text - used, "%s\n", line);
        lines->n++;
    }
}

static inline tess_context *talking_context(log_lines *lines)
{
    memset(lines, 0, sizeof *lines);
    tess_context_config config;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 2;
    config.log = note_line;
    config.log_user = lines;
    tess_context *ctx = NULL;
    assert_ok(tess_context_create(&config, &ctx));
    return ctx;
}

// A golden set as the structs of the interface.
typedef struct set {
    const char *file;
    golden_array position_time;
    golden_array position;
    golden_array time;
    golden_array nodes;
    golden_array edges;
    golden_array order;
    golden_array spacing;
    int64_t edge_ids[64];
    int64_t order_ids[64];
    golden_spikes encoding_spikes;
    golden_spikes decoding_spikes;
    tess_decode_environment *env;
    tess_decode_training training;
    tess_decode_observation observation;
    tess_decode_encoding_config config;
} set;

// Scalars of the files: bin size, bandwidths.
typedef struct settings {
    const char *file;
    double place_bin_size;
    double position_std;
} settings;

static inline settings settings_of(const char *file)
{
    static const settings all[] = {{"01_linear_1d.npz", 2, 6},
                                   {"02_local_nospike.npz", 2, 3.5355339059327378},
                                   {"03_open_field_2d.npz", 3, 6},
                                   {"04_track_graph.npz", 2.5, 5},
                                   {"05_edge_cases.npz", 3, 4}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (strcmp(file, all[i].file) == 0) {
            return all[i];
        }
    }
    fail_msg("%s: unknown settings", file);
    return all[0];
}

static inline void make_environment(tess_context *ctx, set *s)
{
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    config.place_bin_size = settings_of(s->file).place_bin_size;
    tess_decode_track track;
    s->nodes = golden_try(ctx, s->file, "node_positions");
    if (s->nodes.n > 0) {
        tess_decode_track_init(&track, sizeof track);
        s->edges = golden(ctx, s->file, "graph_edges");
        s->order = golden(ctx, s->file, "edge_order");
        s->spacing = golden(ctx, s->file, "edge_spacing");
        for (int64_t i = 0; i < s->edges.n; i++) {
            s->edge_ids[i] = (int64_t)s->edges.data[i];
            s->order_ids[i] = (int64_t)s->order.data[i];
        }
        track.n_node = s->nodes.shape[0];
        track.node_position = s->nodes.data;
        track.n_edge = s->edges.shape[0];
        track.edges = s->edge_ids;
        track.n_order = s->order.shape[0];
        track.edge_order = s->order_ids;
        track.n_spacing = s->spacing.n;
        track.edge_spacing = s->spacing.data;
        config.track = &track;
    }
    assert_ok(tess_decode_environment_create(ctx, &config, s->position.data, s->position.shape[0],
                                             s->position.shape[1], &s->env));
}

static inline void open_set(tess_context *ctx, const char *file, set *s)
{
    memset(s, 0, sizeof *s);
    s->file = file;
    s->position_time = golden(ctx, file, "position_time");
    s->position = golden(ctx, file, "position");
    s->time = golden(ctx, file, "time");
    golden_read_spikes(ctx, file, "", &s->encoding_spikes);
    golden_read_spikes(ctx, file, "dec_", &s->decoding_spikes);
    make_environment(ctx, s);
    tess_decode_training_init(&s->training, sizeof s->training);
    s->training.spikes = s->encoding_spikes.spikes;
    s->training.position.n_sample = s->position.shape[0];
    s->training.position.n_dim = s->position.shape[1];
    s->training.position.time = s->position_time.data;
    s->training.position.position = s->position.data;
    tess_decode_observation_init(&s->observation, sizeof s->observation);
    s->observation.n_time = s->time.n;
    s->observation.time = s->time.data;
    s->observation.spikes = s->decoding_spikes.spikes;
    tess_decode_encoding_config_init(&s->config, sizeof s->config);
    s->config.mode = TESS_DECODE_EXACT;
    s->config.floor = TESS_DECODE_FLOOR_ABSOLUTE;
    s->config.position_std = settings_of(file).position_std;
    s->config.waveform_std = 24;
}

static inline void close_set(set *s)
{
    tess_decode_environment_destroy(s->env);
    golden_free_spikes(&s->encoding_spikes);
    golden_free_spikes(&s->decoding_spikes);
    free(s->position_time.data);
    free(s->position.data);
    free(s->time.data);
    free(s->nodes.data);
    free(s->edges.data);
    free(s->order.data);
    free(s->spacing.data);
}

static inline tess_decode_encoding *encode(tess_context *ctx, set *s)
{
    tess_decode_encoding *encoding = NULL;
    assert_ok(tess_decode_encoding_create(ctx, s->env, &s->training, &s->config, &encoding));
    return encoding;
}

static inline void check_golden(tess_context *ctx, const char *file, const char *name,
                                const double *got, int64_t n, double absolute, double relative)
{
    golden_array want = golden(ctx, file, name);
    assert_int_equal(want.n, n);
    const double worst = golden_worst(got, want.data, n, absolute, relative);
    if (worst > 1) {
        fail_msg("%s: %s is off by %g tolerances", file, name, worst);
    }
    free(want.data);
}

static inline double *likelihood(tess_context *ctx, const tess_decode_encoding *encoding,
                                 const tess_decode_observation *o, int64_t first, int64_t n_row,
                                 tess_decode_likelihood_report *report)
{
    const int64_t shape[] = {n_row, tess_decode_encoding_get_info(encoding)->n_interior};
    double *values = malloc((size_t)(shape[0] * shape[1]) * sizeof *values + 8);
    tess_array out;
    assert_ok(tess_array_init(&out, values, TESS_F64, 2, shape));
    assert_ok(tess_decode_log_likelihood(ctx, encoding, o, first, n_row, &out, report));
    return values;
}

#endif
