// Ranks exchange bytes, fail and part; run by mpirun with any number of them.
#include "base/clock.h"
#include "base/status.h"
#include "runtime/comm.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "rank %d: %s:%d: %s (%s)\n", world, __FILE__, __LINE__, #condition,    \
                    tess_last_error());                                                            \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

static int world;

static tess_context *open_context(const char *comm, const void *communicator)
{
    tess_context_config config;
    tess_context *ctx = NULL;
    tess_context_config_init(&config, sizeof config);
    config.n_thread = 1;
    config.comm = comm;
    config.communicator = communicator;
    CHECK(tess_context_create(&config, &ctx) == TESS_OK);
    return ctx;
}

// Rank r brings 3 r + 1 bytes that say whose they are.
static void check_gather(tess_context *ctx)
{
    unsigned char mine[1024];
    tess_comm_parts parts;
    const int rank = tess_comm_rank(ctx);
    memset(mine, 'a' + rank, sizeof mine);
    CHECK(tess_comm_gather(ctx, (tess_comm_point){"gather", 7}, TESS_OK, mine,
                           (size_t)(3 * rank + 1), &parts) == TESS_OK);
    for (int k = 0; k < tess_comm_size(ctx); k++) {
        CHECK(parts.offset[k + 1] - parts.offset[k] == (uint64_t)(3 * k + 1));
        for (uint64_t i = parts.offset[k]; i < parts.offset[k + 1]; i++) {
            CHECK(parts.data[i] == 'a' + k);
        }
    }
    tess_comm_parts_free(&parts);
    tess_comm_parts_free(&parts); // accepts what is freed
}

// Rank 0 alone has what all brought.
static void check_gather_first(tess_context *ctx)
{
    enum { MOST = 64 };
    const int n_rank = tess_comm_size(ctx);
    const int rank = tess_comm_rank(ctx);
    const size_t total = (size_t)(n_rank * n_rank); // 1 + 3 + 5 + ...
    char all[MOST * MOST];
    memset(all, 'A' + rank, sizeof all);
    CHECK(tess_comm_gather_first(ctx, (tess_comm_point){"first", 1}, TESS_OK, all,
                                 (size_t)(2 * rank + 1), rank == 0 ? all : NULL, total) == TESS_OK);
    const char *at = all;
    for (int k = 0; k < n_rank && rank == 0; k++) {
        for (int i = 0; i < 2 * k + 1; i++) {
            CHECK(*at++ == 'A' + k);
        }
    }
    CHECK(n_rank == 1 ||
          tess_comm_gather_first(ctx, (tess_comm_point){"first", 2}, TESS_OK, all, 1,
                                 rank == 0 ? all : NULL, total + 99) == TESS_E_INTERNAL);
}

// Item k is worked out by rank k modulo their number; there may be fewer than ranks.
static void check_dealt(tess_context *ctx)
{
    for (int64_t n = 0; n < 12; n++) {
        int64_t items[12][3] = {{0}};
        const tess_comm_deal deal = tess_comm_deal_of(ctx, true);
        int64_t n_own = 0;
        for (int64_t k = deal.first; k < n; k += deal.step, n_own++) {
            items[k][0] = 7 * k + 1;
            items[k][2] = -k;
        }
        CHECK(deal.first == tess_comm_rank(ctx) && deal.step == tess_comm_size(ctx));
        CHECK(n_own == tess_comm_count_dealt(deal, n));
        CHECK(tess_comm_share_dealt(ctx, (tess_comm_point){"dealt", 3}, deal, TESS_OK, items,
                                    sizeof items[0], n) == TESS_OK);
        for (int64_t k = 0; k < n; k++) {
            CHECK(items[k][0] == 7 * k + 1 && items[k][1] == 0 && items[k][2] == -k);
        }
    }
}

static void check_broadcast(tess_context *ctx)
{
    int64_t values[3] = {tess_comm_rank(ctx), 5, -tess_comm_rank(ctx)};
    CHECK(tess_comm_broadcast(ctx, (tess_comm_point){"values", 0}, TESS_OK, values,
                              sizeof values) == TESS_OK);
    CHECK(values[0] == 0 && values[1] == 5 && values[2] == 0);
}

static void check_shares(const tess_context *ctx)
{
    for (int64_t n = 0; n < 20; n++) {
        const tess_comm_range own = tess_comm_share_of(ctx, n);
        const int64_t each = n / tess_comm_size(ctx);
        CHECK(own.end - own.begin == each || own.end - own.begin == each + 1);
        CHECK(tess_comm_rank(ctx) > 0 || own.begin == 0);
        CHECK(tess_comm_rank(ctx) + 1 < tess_comm_size(ctx) || own.end == n);
    }
}

// The last rank fails before a gather: all hear of it, and of what it was.
static void check_failure(tess_context *ctx)
{
    const int last = tess_comm_size(ctx) - 1;
    tess_comm_parts parts;
    tess_status own = TESS_OK;
    tess_error_clear();
    if (tess_comm_rank(ctx) == last) {
        own = tess_error_set(TESS_E_TRUNCATED, "day.h5: too short");
    }
    CHECK(tess_comm_gather(ctx, (tess_comm_point){"gather", 0}, own, "x", 1, &parts) ==
          TESS_E_TRUNCATED);
    char want[64] = "day.h5: too short";
    if (last > 0) {
        snprintf(want, sizeof want, "rank %d of %d: day.h5: too short", last, last + 1);
    }
    CHECK(strcmp(tess_last_error(), want) == 0);
    // All alike: nobody is named.
    own = tess_error_set(TESS_E_EXISTS, "out: exists");
    CHECK(tess_comm_agree(ctx, (tess_comm_point){"agree", 0}, own) == TESS_E_EXISTS);
    CHECK(strcmp(tess_last_error(), "out: exists") == 0);
    check_gather(ctx); // and goes on
}

// One is told to stop, and all know.
static void check_wishes(tess_context *ctx)
{
    if (tess_comm_rank(ctx) == tess_comm_size(ctx) - 1) {
        tess_context_cancel(ctx);
        tess_context_checkpoint(ctx);
    }
    CHECK(tess_comm_agree(ctx, (tess_comm_point){"wishes", 0}, TESS_OK) == TESS_OK);
    CHECK(atomic_load(&ctx->cancelled) && atomic_load(&ctx->checkpoint_wanted));
    tess_context_cancel_clear(ctx);
    atomic_store(&ctx->checkpoint_wanted, 0);
    CHECK(tess_comm_agree(ctx, (tess_comm_point){"cleared", 0}, TESS_OK) == TESS_OK);
}

static void check_apart(tess_context *ctx)
{
    const uint64_t detail = tess_comm_rank(ctx) == 1;
    const tess_status want = tess_comm_size(ctx) > 1 ? TESS_E_MISMATCH : TESS_OK;
    CHECK(tess_comm_agree(ctx, (tess_comm_point){"apart", detail}, TESS_OK) == want);
}

// Rank 0 fails and leaves while others are elsewhere: they hear of it, too.
static void check_leave(tess_context *ctx)
{
    if (tess_comm_size(ctx) > 1 && tess_comm_rank(ctx) == 0) {
        CHECK(tess_context_leave_with(ctx, TESS_E_IO, "disk full") == TESS_E_IO);
    } else if (tess_comm_size(ctx) > 1) {
        CHECK(tess_comm_agree(ctx, (tess_comm_point){"elsewhere", 0}, TESS_OK) == TESS_E_IO);
        CHECK(strcmp(tess_last_error(), "disk full") == 0);
    }
    // Nobody is waited for any more.
    const int64_t begin_ns = tess_now_ns();
    CHECK(tess_context_leave(ctx, TESS_OK) == TESS_OK);
    CHECK(tess_comm_size(ctx) == 1 ||
          tess_comm_agree(ctx, (tess_comm_point){"gone", 0}, TESS_OK) == TESS_E_IO);
    CHECK(tess_now_ns() - begin_ns < 1000000000);
}

static void check_all(const char *comm, const void *communicator, int n_rank)
{
    tess_context *ctx = open_context(comm, communicator);
    tess_context_info info;
    CHECK(tess_context_get_info(ctx, &info, sizeof info) == TESS_OK);
    CHECK(info.n_rank == n_rank && tess_comm_size(ctx) == n_rank);
    CHECK((info.comm != NULL) == (strcmp(comm, "none") != 0));
    check_gather(ctx);
    check_gather_first(ctx);
    check_dealt(ctx);
    check_broadcast(ctx);
    check_shares(ctx);
    check_failure(ctx);
    check_wishes(ctx);
    check_apart(ctx);
    tess_context_destroy(ctx);
}

int main(void)
{
    int n_world = 1;
    tess_context *ctx = open_context("mpi", NULL); // starts MPI
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    MPI_Comm_size(MPI_COMM_WORLD, &n_world);
    check_leave(ctx);
    tess_context_destroy(ctx);
    check_all("mpi", NULL, n_world);
    check_all("none", NULL, 1);
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, world % 2, 0, &half);
    int n_half = 1;
    MPI_Comm_size(half, &n_half);
    check_all("mpi", (const void *)&half, n_half);
    char handle[32];
    snprintf(handle, sizeof handle, "mpi:%d", (int)MPI_Comm_c2f(half));
    check_all(handle, NULL, n_half);
    MPI_Comm_free(&half);
    return 0;
}
