#include "decode_hmm_dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double dense_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

static double *doubles(int64_t n)
{
    double *block = calloc((size_t)n + 1, sizeof *block);
    assert_non_null(block);
    return block;
}

enum { LINE, BLOBS, W_MAZE, BOX, TRACK, FINE_LINE };

// Which cells of a grid of n[0] x n[1] x n[2] belong to the shape.
static uint8_t *mask_of(int shape, const int64_t *n, int64_t n_bin, uint64_t *random)
{
    uint8_t *mask = calloc((size_t)n_bin, 1);
    assert_non_null(mask);
    for (int64_t b = 0; b < n_bin; b++) {
        const int64_t x = b / n[1], y = b % n[1];
        if (shape == LINE || shape == FINE_LINE) {
            mask[b] = b % 19 != 7 && b != 1;
        } else if (shape == W_MAZE) {
            const int arm = y < 4 || (y > 26 && y < 30) || y > n[1] - 4;
            mask[b] = x > 0 && y > 0 && x < n[0] - 1 && y < n[1] - 1 && (arm || x < 4);
        } else {
            mask[b] = dense_random(random) < 0.6;
        }
    }
    return mask;
}

static tess_decode_environment *new_env(tess_context *ctx, int shape, uint64_t *random)
{
    static const double nodes[] = {0, 0, 30, 0, 30, 20, 60, 0};
    static const int64_t edges[] = {0, 1, 1, 2, 1, 3};
    static const double spacing = 7;
    static const double ranges[][6] = {
        {0, 82}, {0, 42, 0, 30}, {0, 116, 0, 110}, {0, 12, 0, 10, 0, 18}, {0}, {0, 60}};
    static const int64_t dims[] = {1, 2, 2, 3, 2, 1};
    tess_decode_environment_config config;
    tess_decode_environment_config_init(&config, sizeof config);
    tess_decode_track track;
    tess_decode_track_init(&track, sizeof track);
    tess_decode_environment *env = NULL;
    if (shape == TRACK) {
        track.n_node = 4;
        track.node_position = nodes;
        track.n_edge = 3;
        track.edges = edges;
        track.n_spacing = 1;
        track.edge_spacing = &spacing;
        config.track = &track;
        assert_ok(tess_decode_environment_create(ctx, &config, NULL, 0, 2, &env));
        return env;
    }
    config.position_range = ranges[shape];
    config.place_bin_size = shape == FINE_LINE ? 0.2 : config.place_bin_size;
    config.infer_track_interior = 0;
    assert_ok(tess_decode_environment_create(ctx, &config, NULL, 0, dims[shape], &env));
    const tess_decode_environment_info *info = tess_decode_environment_get_info(env);
    const int64_t n_bin = info->n_bin;
    uint8_t *mask = mask_of(shape, info->grid_shape, n_bin, random);
    tess_decode_environment_destroy(env);
    config.is_track_interior = mask;
    config.n_is_track_interior = n_bin;
    assert_ok(tess_decode_environment_create(ctx, &config, NULL, 0, dims[shape], &env));
    free(mask);
    return env;
}

// Movements by letter: Discrete, Uniform, Identity, Walk, Far walk with a mean, Manifold, 1, 2.
static tess_decode_movement movement_of(char letter)
{
    tess_decode_movement m;
    tess_decode_movement_init(&m, sizeof m);
    static const char letters[] = "duwi12";
    const char *at = strchr(letters, letter);
    m.kind = at ? (int32_t)(at - letters) : TESS_DECODE_RANDOM_WALK;
    if (letter == 'f') {
        m.variance = 11;
        m.mean[0] = 3;
        m.mean[1] = -1.5;
        m.mean[2] = 0.75;
    }
    m.use_manifold = letter == 'm';
    return m;
}

// n_state letters of states (one of n_env environments by digit, or s: a single bin), then the
// movements row by row.
typedef struct recipe {
    const char *name;
    int shapes[2];
    int n_row;
    const char *states;
    const char *movements;
    int varies;
} recipe;

static const recipe recipes[] = {
    {"line, continuous and fragmented, silent", {LINE, LINE}, 33, "00s", "wuduudddd", 0},
    {"line with a mean", {LINE, LINE}, 33, "0", "f", 0},
    {"line of many bins", {FINE_LINE, FINE_LINE}, 17, "00", "wuuf", 0},
    {"plane with holes", {BLOBS, BLOBS}, 33, "00", "wuuu", 0},
    {"plane with a mean, transitions that vary", {BLOBS, BLOBS}, 33, "s00", "ddddfudff", 1},
    {"W maze", {W_MAZE, W_MAZE}, 5, "00", "wuuu", 0},
    {"box", {BOX, BOX}, 17, "00", "fuuw", 0},
    {"track", {TRACK, TRACK}, 33, "000", "w1uu2wuui", 0},
    {"manifold", {BLOBS, BLOBS}, 33, "00", "mwwu", 0},
    {"two environments", {LINE, BLOBS}, 33, "011", "wuuuwwuwi", 1},
};

int dense_case_count(void)
{
    return (int)ARRAY_LEN(recipes);
}

// A row-stochastic matrix that prefers to stay.
static void fill_transition(double *d, int32_t n, uint64_t *random)
{
    for (int32_t i = 0; i < n; i++) {
        double sum = 0;
        for (int32_t j = 0; j < n; j++) {
            sum += d[i * n + j] = dense_random(random) + (i == j ? 4 : 0);
        }
        for (int32_t j = 0; j < n; j++) {
            d[i * n + j] /= sum;
        }
    }
}

static void fill_numbers(dense_case *c, int varies, uint64_t *random)
{
    const int32_t n = c->desc.n_state;
    const int64_t n_bin = c->first[n];
    c->stride = varies ? n * n : 0;
    c->transition = doubles((varies ? c->n_row : 1) * n * n);
    for (int64_t t = 0; t < (varies ? c->n_row : 1); t++) {
        fill_transition(c->transition + t * n * n, n, random);
    }
    c->initial = doubles(n_bin);
    for (int32_t s = 0; s < n; s++) {
        for (int64_t i = c->first[s]; i < c->first[s + 1]; i++) {
            c->initial[i] = 1.0 / (double)n / (double)(c->first[s + 1] - c->first[s]);
        }
    }
    c->ll = doubles(c->n_row * c->desc.n_ll);
    for (int64_t i = 0; i < c->n_row * c->desc.n_ll; i++) {
        c->ll[i] = (double)(float)(-6 * dense_random(random) - 3);
    }
}

void dense_case_make(tess_context *ctx, int which, int is_exact, dense_case *out)
{
    const recipe *r = &recipes[which];
    uint64_t random = (uint64_t)which + 1;
    dense_case c = {.name = r->name, .n_row = r->n_row};
    if (unit_is_quick() && c.n_row > 17) {
        c.n_row = 17; // more than any chunk of a test
    }
    c.owned[0] = new_env(ctx, r->shapes[0], &random);
    c.owned[1] = new_env(ctx, r->shapes[1], &random);
    const int32_t n = (int32_t)strlen(r->states);
    int64_t column = 0;
    int64_t column_of_env[2] = {-1, -1};
    for (int32_t s = 0; s < n; s++) {
        const int e = r->states[s] - '0';
        const int single = r->states[s] == 's';
        c.env[s] = single ? NULL : c.owned[e];
        const int64_t width = single ? 1 : tess_decode_environment_get_info(c.env[s])->n_interior;
        c.first[s + 1] = c.first[s] + width;
        if (single || column_of_env[e] < 0) {
            c.ll_first[s] = column;
            column += width;
        } else {
            c.ll_first[s] = column_of_env[e];
        }
        if (!single) {
            column_of_env[e] = c.ll_first[s];
        }
        for (int32_t j = 0; j < n; j++) {
            c.movements[s * n + j] = movement_of(r->movements[s * n + j]);
        }
    }
    *out = c;
    out->desc = (tess_de_hmm_desc){.n_state = n,
                                   .exact = is_exact,
                                   .env = out->env,
                                   .movements = out->movements,
                                   .ll_first = out->ll_first,
                                   .n_ll = column};
    fill_numbers(out, r->varies, &random);
}

void dense_case_free(dense_case *c)
{
    tess_decode_environment_destroy(c->owned[0]);
    tess_decode_environment_destroy(c->owned[1]);
    free(c->transition);
    free(c->initial);
    free(c->ll);
}

double *dense_movement(tess_context *ctx, const dense_case *c, int32_t from, int32_t to)
{
    const int64_t n_from = c->first[from + 1] - c->first[from];
    const int64_t n_to = c->first[to + 1] - c->first[to];
    double *out = doubles(n_from * n_to);
    if (!c->env[from] || !c->env[to]) {
        for (int64_t i = 0; i < n_from * n_to; i++) {
            out[i] = 1.0 / (double)n_to;
        }
        return out;
    }
    const tess_decode_environment_info *a = tess_decode_environment_get_info(c->env[from]);
    const tess_decode_environment_info *b = tess_decode_environment_get_info(c->env[to]);
    double *all = doubles(a->n_bin * b->n_bin);
    const tess_decode_movement *m = &c->movements[from * c->desc.n_state + to];
    assert_ok(tess_decode_movement_matrix(ctx, m, c->env[from], c->env[to], all));
    for (int64_t i = 0; i < n_from; i++) {
        for (int64_t j = 0; j < n_to; j++) {
            out[i * n_to + j] = all[a->interior_bin[i] * b->n_bin + b->interior_bin[j]];
        }
    }
    free(all);
    return out;
}

// The whole matrix without the discrete transitions, and the states of its rows.
static double *movements_of(tess_context *ctx, const dense_case *c)
{
    const int32_t n = c->desc.n_state;
    const int64_t n_bin = c->first[n];
    double *whole = doubles(n_bin * n_bin);
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = 0; j < n; j++) {
            double *part = dense_movement(ctx, c, i, j);
            const int64_t n_to = c->first[j + 1] - c->first[j];
            for (int64_t a = c->first[i]; a < c->first[i + 1]; a++) {
                memcpy(whole + a * n_bin + c->first[j], part + (a - c->first[i]) * n_to,
                       (size_t)n_to * sizeof *part);
            }
            free(part);
        }
    }
    return whole;
}

typedef struct dense_model {
    const dense_case *c;
    int64_t n_bin;
    double *movement;
    int32_t *state;
    int64_t *column;
} dense_model;

static double step_of(const dense_model *m, int64_t t, int64_t a, int64_t b)
{
    const double *d = m->c->transition + t * m->c->stride;
    return d[m->state[a] * m->c->desc.n_state + m->state[b]] * m->movement[a * m->n_bin + b];
}

static double ll_of(const dense_model *m, int64_t t, int64_t s)
{
    return m->c->ll[t * m->c->desc.n_ll + m->column[s]];
}

static void dense_filter(const dense_model *m, dense_result *r)
{
    const int64_t n = m->n_bin;
    memcpy(r->predicted, m->c->initial, (size_t)n * sizeof(double));
    for (int64_t t = 0; t < m->c->n_row; t++) {
        double *f = r->filtered + t * n;
        const double *p = r->predicted + t * n;
        double most = -(double)INFINITY, sum = 0;
        for (int64_t i = 0; i < n; i++) {
            most = fmax(most, ll_of(m, t, i));
        }
        for (int64_t i = 0; i < n; i++) {
            sum += f[i] = p[i] * exp(ll_of(m, t, i) - most);
        }
        for (int64_t i = 0; i < n; i++) {
            f[i] /= sum + 1e-15;
        }
        r->log_evidence += log(sum) + most;
        for (int64_t i = 0; i < n && t + 1 < m->c->n_row; i++) {
            for (int64_t j = 0; j < n; j++) {
                r->predicted[(t + 1) * n + j] += f[i] * step_of(m, t, i, j);
            }
        }
    }
}

static void dense_smooth(const dense_model *m, dense_result *r)
{
    const int64_t n = m->n_bin, last = m->c->n_row - 1;
    double *ratio = doubles(n);
    memcpy(r->smoothed + last * n, r->filtered + last * n, (size_t)n * sizeof(double));
    for (int64_t t = last - 1; t >= 0; t--) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            const double p = r->predicted[(t + 1) * n + j];
            ratio[j] = p > 0 ? r->smoothed[(t + 1) * n + j] / p : 0;
        }
        for (int64_t i = 0; i < n; i++) {
            double way = 0;
            for (int64_t j = 0; j < n; j++) {
                way += step_of(m, t, i, j) * ratio[j];
            }
            sum += r->smoothed[t * n + i] = r->filtered[t * n + i] * way;
        }
        for (int64_t i = 0; i < n; i++) {
            r->smoothed[t * n + i] /= sum + 1e-15;
        }
    }
    free(ratio);
}

// The best way into bin j of row t, and where it comes from.
static void best_before(const dense_model *m, int64_t t, int64_t j, const double *before,
                        const double *log_movement, double *best, int64_t *from)
{
    const int32_t n_state = m->c->desc.n_state;
    const double *d = m->c->transition + (t - 1) * m->c->stride + m->state[j];
    double most = -(double)INFINITY;
    for (int32_t s = 0; s < n_state; s++) {
        const double log_discrete = log(d[s * n_state]);
        for (int64_t i = m->c->first[s]; i < m->c->first[s + 1]; i++) {
            const double way = before[i] + (log_discrete + log_movement[i]);
            if (way > most) {
                most = way;
                *from = i;
            }
        }
    }
    *best = most;
}

// Forwards, unlike the library; the best of equals does not occur in random numbers.
static void dense_path(const dense_model *m, dense_result *r)
{
    const int64_t n = m->n_bin, n_row = m->c->n_row;
    double *best = doubles(n_row * n);
    double *log_movement = doubles(n * n); // from j to i in row i: read in order
    int64_t *from = calloc((size_t)(n_row * n), sizeof *from);
    assert_non_null(from);
    for (int64_t i = 0; i < n * n; i++) {
        log_movement[i % n * n + i / n] = log(m->movement[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        best[i] = log(m->c->initial[i]) + ll_of(m, 0, i);
    }
    for (int64_t t = 1; t < n_row; t++) {
        for (int64_t j = 0; j < n; j++) {
            best_before(m, t, j, best + (t - 1) * n, log_movement + j * n, best + t * n + j,
                        from + t * n + j);
            best[t * n + j] += ll_of(m, t, j);
        }
    }
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++) {
        at = best[(n_row - 1) * n + i] > best[(n_row - 1) * n + at] ? i : at;
    }
    for (int64_t t = n_row - 1; t >= 0; t--) {
        r->path[t] = at;
        at = from[t * n + at];
    }
    free(best);
    free(log_movement);
    free(from);
}

dense_result dense_run(tess_context *ctx, const dense_case *c)
{
    const int32_t n_state = c->desc.n_state;
    const int64_t n = c->first[n_state];
    dense_model m = {.c = c,
                     .n_bin = n,
                     .movement = movements_of(ctx, c),
                     .state = calloc((size_t)n, sizeof(int32_t)),
                     .column = calloc((size_t)n, sizeof(int64_t))};
    assert_true(m.state && m.column);
    for (int32_t s = 0; s < n_state; s++) {
        for (int64_t i = c->first[s]; i < c->first[s + 1]; i++) {
            m.state[i] = s;
            m.column[i] = c->ll_first[s] + i - c->first[s];
        }
    }
    dense_result r = {.filtered = doubles(c->n_row * n),
                      .predicted = doubles(c->n_row * n),
                      .smoothed = doubles(c->n_row * n),
                      .path = calloc((size_t)c->n_row, sizeof(int64_t))};
    assert_non_null(r.path);
    dense_filter(&m, &r);
    dense_smooth(&m, &r);
    if (n < 800) {
        dense_path(&m, &r);
    }
    free(m.movement);
    free(m.state);
    free(m.column);
    return r;
}

void dense_free_result(dense_result *result)
{
    free(result->filtered);
    free(result->predicted);
    free(result->smoothed);
    free(result->path);
}
