#include "base/status.h"
#include "runtime/pipeline.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TILES = 40, MAX_SLOTS = 4, READ = 1, COMPUTE = 2, WRITE = 3, POLL = 4 };

typedef struct line {
    int fail_step;
    int64_t fail_tile;
    tess_status fail_status;
    int second_step; // another failure, at a later tile
    int64_t second_tile;
    int64_t n_read;
    int64_t n_computed;
    int64_t n_written;
    int64_t n_polled;
    int delay_step;
    atomic_int in_slot[MAX_SLOTS]; // tile + 1 while a tile is in flight there
    atomic_int n_wrong;            // order broken or slots overlapping
} line;

static tess_status maybe_fail(line *l, int step, int64_t tile)
{
    if (l->delay_step == step) {
        usleep(300);
    }
    if (l->second_step == step && l->second_tile == tile) {
        usleep(3000); // late, so that it is recorded last
    }
    if ((l->fail_step == step && l->fail_tile == tile) ||
        (l->second_step == step && l->second_tile == tile)) {
        return tess_error_set(l->fail_step == step && l->fail_tile == tile ? l->fail_status
                                                                           : TESS_E_INTERNAL,
                              "step %d of tile %lld", step, (long long)tile);
    }
    return TESS_OK;
}

static void expect(line *l, int right)
{
    if (!right) {
        atomic_fetch_add(&l->n_wrong, 1);
    }
}

static tess_status read_step(void *self, int64_t tile, int32_t slot)
{
    line *l = self;
    expect(l, tile == l->n_read);
    expect(l, atomic_exchange(&l->in_slot[slot], (int)tile + 1) == 0);
    TESS_TRY(maybe_fail(l, READ, tile));
    l->n_read++;
    return TESS_OK;
}

static tess_status compute_step(void *self, int64_t tile, int32_t slot)
{
    line *l = self;
    expect(l, tile == l->n_computed);
    expect(l, l->in_slot[slot] == (int)tile + 1);
    TESS_TRY(maybe_fail(l, COMPUTE, tile));
    l->n_computed++;
    return TESS_OK;
}

static tess_status write_step(void *self, int64_t tile, int32_t slot)
{
    line *l = self;
    expect(l, tile == l->n_written);
    expect(l, l->in_slot[slot] == (int)tile + 1);
    TESS_TRY(maybe_fail(l, WRITE, tile));
    l->n_written++;
    atomic_store(&l->in_slot[slot], 0);
    return TESS_OK;
}

static tess_status poll_step(void *self, int64_t tile)
{
    line *l = self;
    expect(l, tile == l->n_polled);
    l->n_polled++;
    return maybe_fail(l, POLL, tile);
}

static tess_status run(line *l, int64_t n_tile, int32_t n_slot)
{
    tess_pipeline pipeline = {.self = l,
                              .n_tile = n_tile,
                              .n_slot = n_slot,
                              .read = read_step,
                              .compute = compute_step,
                              .write = write_step,
                              .poll = poll_step};
    tess_error_clear();
    const tess_status status = tess_pipeline_run(&pipeline);
    assert_true(pipeline.read_wait_ns >= 0);
    assert_int_equal(l->n_wrong, 0);
    return status;
}

static void tiles_pass_in_order_through_all_steps(void **state)
{
    (void)state;
    for (int32_t n_slot = 1; n_slot <= MAX_SLOTS; n_slot++) {
        for (int64_t n_tile = 0; n_tile <= MAX_TILES; n_tile += n_tile < 5 ? 1 : 7) {
            for (int delay_step = 0; delay_step <= WRITE; delay_step++) {
                line l = {.delay_step = delay_step};
                assert_ok(run(&l, n_tile, n_slot));
                assert_int_equal(l.n_read, n_tile);
                assert_int_equal(l.n_computed, n_tile);
                assert_int_equal(l.n_written, n_tile);
                assert_int_equal(l.n_polled, n_tile);
            }
        }
    }
}

static void any_step_of_any_tile_may_fail(void **state)
{
    (void)state;
    for (int64_t n_tile = 1; n_tile <= 6; n_tile++) {
        for (int step = READ; step <= POLL; step++) {
            for (int64_t tile = 0; tile < n_tile; tile++) {
                for (int delay_step = 0; delay_step <= WRITE; delay_step++) {
                    line l = {.fail_step = step,
                              .fail_tile = tile,
                              .fail_status = step == POLL ? TESS_CANCELLED : TESS_E_IO,
                              .delay_step = delay_step};
                    char expected[64];
                    snprintf(expected, sizeof expected, "step %d of tile %lld", step,
                             (long long)tile);
                    assert_int_equal(run(&l, n_tile, 3), l.fail_status);
                    assert_string_equal(tess_last_error(), expected);
                    // Everything before the failed tile is written, nothing from it on.
                    assert_int_equal(l.n_written, tile);
                }
            }
        }
    }
}

static void the_lowest_failed_tile_wins(void **state)
{
    (void)state;
    for (int first = READ; first <= WRITE; first++) {
        for (int second = READ; second <= POLL; second++) {
            line l = {.fail_step = first,
                      .fail_tile = 3,
                      .fail_status = TESS_E_IO,
                      .second_step = second,
                      .second_tile = first == READ ? 4 : 5}; // as far as slots allow
            char expected[64];
            snprintf(expected, sizeof expected, "step %d of tile 3", first);
            assert_int_equal(run(&l, 8, 3), TESS_E_IO);
            assert_string_equal(tess_last_error(), expected);
            assert_int_equal(l.n_written, 3);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_pass_in_order_through_all_steps),
        cmocka_unit_test(any_step_of_any_tile_may_fail),
        cmocka_unit_test(the_lowest_failed_tile_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
