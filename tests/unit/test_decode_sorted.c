// Sorted spikes with kernel densities, against brute force.
#include "decode_random.h"

static recording r;

// Weights of the samples at the spikes, as the model interpolates them.
static void spike_weights(int u, double *weights)
{
    assert_ok(tess_decode_position_at(r.position_time, r.weights, N_SAMPLE, 1, r.times[u],
                                      r.n_spike[u], weights));
    for (int64_t i = 0; i < r.n_spike[u]; i++) {
        weights[i] = weights[i] > 0 ? weights[i] : 0;
    }
}

// Rate of unit u at a place.
static double brute_rate(const tess_decode_encoding_info *info, bool weighted, int u,
                         const double *y)
{
    double weights[MAX_SPIKE], at_spikes = 0, at_samples = 0;
    spike_weights(u, weights);
    for (int64_t i = 0; i < info->n_spike[u]; i++) {
        at_spikes += weighted ? weights[i] : 1;
    }
    for (int64_t i = 0; i < N_SAMPLE; i++) {
        at_samples += weighted ? r.weights[i] : 1;
    }
    const double g = brute_density(info->encoding_positions[u], weighted ? weights : NULL,
                                   info->n_spike[u], r.n_dim, y);
    const double pi = brute_density(r.position, weighted ? r.weights : NULL, N_SAMPLE, r.n_dim, y);
    const double rate = pi >= 1e-30 ? at_spikes / at_samples * g / pi : 0;
    return rate > 1e-15 ? rate : 1e-15;
}

static void brute_rows(const set *s, const tess_decode_encoding_info *info, bool weighted,
                       double *want, double *want_local)
{
    const tess_decode_environment_info *env = tess_decode_environment_get_info(s->env);
    for (int k = 0; k < N_GRID; k++) {
        double y[2];
        assert_ok(tess_decode_position_at(r.position_time, r.position, N_SAMPLE, r.n_dim,
                                          &r.grid[k], 1, y));
        want_local[k] = 0;
        for (int64_t p = 0; p < info->n_interior; p++) {
            want[k * info->n_interior + p] = 0;
        }
        for (int u = 0; u < N_UNIT; u++) {
            int n = 0;
            for (int64_t i = 0; i < r.n_spike[u]; i++) {
                int64_t row;
                tess_decode_time_bin(r.grid, N_GRID, &r.times[u][i], 1, &row);
                n += row == k;
            }
            const double local = brute_rate(info, weighted, u, y);
            want_local[k] += n * log(local) - local;
            for (int64_t p = 0; p < info->n_interior; p++) {
                const double rate = info->place_fields[u * info->n_interior + p];
                if (k == 0) {
                    const double *centre = env->interior_centers + p * r.n_dim;
                    const double direct = brute_rate(info, weighted, u, centre);
                    assert_true(fabs(rate / direct - 1) < 1e-7);
                }
                want[k * info->n_interior + p] += n * log(rate) - rate;
            }
        }
    }
}

static void compare(int64_t n_dim, bool weighted, tess_decode_mode mode)
{
    tess_context *ctx = unit_context(2, 0);
    set s;
    make_recording(ctx, n_dim, &r, &s);
    s.config.algorithm = TESS_DECODE_SORTED_SPIKES_KDE;
    s.config.mode = (int32_t)mode;
    s.training.spikes.marks = NULL;
    s.training.spikes.n_feature = NULL;
    s.observation.spikes = s.training.spikes;
    s.training.weights = weighted ? r.weights : NULL;
    tess_decode_encoding *encoding = encode(ctx, &s);
    const tess_decode_encoding_info *info = tess_decode_encoding_get_info(encoding);
    const size_t n = (size_t)(N_GRID * info->n_interior);
    double *want = malloc(n * sizeof *want);
    double want_local[N_GRID], got_local[N_GRID], part[N_GRID];
    brute_rows(&s, info, weighted, want, want_local);
    double *got = likelihood(ctx, encoding, &s.observation, 0, N_GRID, NULL);
    assert_true(golden_worst(got, want, (int64_t)n, 1e-9, 1e-12) <= 1);
    local_rows(ctx, encoding, &s, 0, N_GRID, got_local);
    assert_true(golden_worst(got_local, want_local, N_GRID, mode ? 1e-7 : 1e-9, 0) <= 1);
    double *rows = likelihood(ctx, encoding, &s.observation, 31, 50, NULL);
    assert_memory_equal(rows, got + 31 * info->n_interior,
                        (size_t)(50 * info->n_interior) * sizeof *rows);
    local_rows(ctx, encoding, &s, 31, 50, part);
    assert_memory_equal(part, got_local + 31, 50 * sizeof *part);
    free(rows);
    free(got);
    free(want);
    tess_decode_encoding_destroy(encoding);
    tess_decode_environment_destroy(s.env);
    tess_context_destroy(ctx);
}

static void lines_match_brute_force(void **state)
{
    (void)state;
    compare(1, false, TESS_DECODE_EXACT);
    compare(1, true, TESS_DECODE_EXACT);
    compare(1, true, TESS_DECODE_FAST);
}

static void planes_match_brute_force(void **state)
{
    (void)state;
    compare(2, false, TESS_DECODE_EXACT);
    compare(2, true, TESS_DECODE_FAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_match_brute_force),
        cmocka_unit_test(planes_match_brute_force),
    };
    return cmocka_run_group_tests_name("decode_sorted", tests, NULL, NULL);
}
