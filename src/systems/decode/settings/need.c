#include "systems/decode/settings/need.h"

#include "base/status.h"
#include "runtime/budget.h"

// What a process has before it reads anything, with its libraries and stacks: 4 to 5 MB.
static const uint64_t PROCESS_BYTES = UINT64_C(8) << 20;

tess_status tess_de_need_check(const tess_context *ctx, const char *path, const char *what,
                               tess_de_need need)
{
    if (!ctx->memory_limit_is_set || need.least <= tess_budget_room(ctx->memory_limit_bytes)) {
        return TESS_OK;
    }
    // Heaps have gaps: a sixteenth.
    const uint64_t most = need.most + need.most / 16;
    const uint64_t small = most + PROCESS_BYTES;
    const uint64_t room = tess_budget_for_room(most);
    const uint64_t limit = room > small ? room : small;
    const double mib = 0x1p-20;
    TESS_FAIL(TESS_E_LIMIT,
              "%s: %s takes at least %.1f MiB besides the process itself, the memory limit leaves "
              "%.1f MiB; a limit of %llu MiB will do",
              path, what, mib * (double)need.least,
              mib * (double)tess_budget_room(ctx->memory_limit_bytes),
              (unsigned long long)((limit >> 20) + 1));
}
