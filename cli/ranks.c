#include "ranks.h"

#include <tessera/sys/comm.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

static int32_t rank;
static int32_t n_rank = 1;
static int has_met; // through a context: failures are everybody's

void ranks_init(void)
{
    (void)tess_comm_launch(&rank, &n_rank);
    console_set_hushed(rank > 0);
}

void ranks_meet(const tess_context *ctx)
{
    tess_context_info info;
    if (tess_context_get_info(ctx, &info, sizeof info) != TESS_OK) {
        return;
    }
    rank = info.rank;
    n_rank = info.n_rank;
    has_met = n_rank > 1;
    console_set_hushed(rank > 0);
    if (rank > 0 && !freopen("/dev/null", "w", stdout)) {
        abort(); // results of all ranks in one stream are of no use to anybody
    }
}

int ranks_is_first(void)
{
    return rank == 0;
}

int ranks_are_several(void)
{
    return n_rank != 1;
}

int ranks_check(const cli *c)
{
    const char *by = tess_comm_launch(&rank, &n_rank);
    if (!by || !(c->command->groups & CLI_ENGINE) || (c->command->groups & CLI_RANKS)) {
        return 0;
    }
    return console_fail(69,
                        "%s says that several processes were started for one job, but '%s' works "
                        "in one: start it without mpirun, with srun -n 1, or set TESSERA_COMM=none "
                        "if each has files of its own",
                        by, c->command->name);
}

// Some status of that exit code: what it was exactly is in the message.
static tess_status status_of(int code)
{
    static const tess_status all[] = {TESS_E_ARGUMENT, TESS_E_FORMAT,   TESS_E_NOT_FOUND,
                                      TESS_E_MEMORY,   TESS_E_DEVICE,   TESS_E_CREATE,
                                      TESS_E_LOCKED,   TESS_E_INTERNAL, TESS_E_CONFIG};
    if (code == 0 || code > 128) {
        return code == 0 ? TESS_OK : TESS_CANCELLED;
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (tess_status_exit_code(all[i]) == code) {
            return all[i];
        }
    }
    return TESS_E_IO;
}

static void say_hushed(void)
{
    char name[32];
    if (rank > 0) {
        snprintf(name, sizeof name, "rank %d: ", (int)rank);
        console_say_hushed(name);
    }
}

int ranks_leave(cli *c, int code)
{
    if (!has_met || !c->ctx) {
        return code;
    }
    const char *message = console_hushed();
    const tess_status own = status_of(code);
    const tess_status status = own != TESS_OK && message[0]
                                   ? tess_context_leave_with(c->ctx, own, message)
                                   : tess_context_leave(c->ctx, own);
    if (code == 0 && status != TESS_OK && rank == 0) {
        code = console_status(status);
    }
    if (code != 0 && tess_context_is_lost(c->ctx)) { // the others do not know
        say_hushed();
        tess_context_abort(c->ctx, code);
    }
    return rank == 0 ? code : 0; // who else would say it again
}

int ranks_finish(int code)
{
    if (code != 0 && rank > 0 && !has_met) {
        // If rank 0 failed alike the launcher ends this process before it says it again, on a busy
        // machine after a while. Told to end it has nothing to say.
        if (nanosleep(&(struct timespec){.tv_sec = 3}, NULL) == 0) {
            say_hushed();
        }
    }
    return code;
}
