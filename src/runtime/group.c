#include "runtime/group.h"

#include "base/status.h"
#include "runtime/comm.h"
#include "runtime/device.h"
#include "runtime/device_memory.h"

#include <stdio.h>
#include <string.h>

// What an H200 sums in a little less than a millisecond; a start of the other threads, and waiting
// for them, takes tenths of one.
static const int64_t LEAST_POINTS = 1 << 23;

bool tess_group_is_list(const char *id)
{
    return strchr(id, ',') || strcmp(id, "cuda:all") == 0;
}

int32_t tess_group_size(const tess_context *ctx, const tess_device *device)
{
    return ctx->group && device == ctx->device ? ctx->group->n : 1;
}

tess_device *tess_group_member(const tess_context *ctx, tess_device *device, int32_t member)
{
    return member == 0 ? device : ctx->group->devices[member];
}

const char *tess_group_id(const tess_context *ctx, const tess_device *device)
{
    return tess_group_size(ctx, device) > 1 ? ctx->group->id : device->info.id;
}

tess_group_range tess_group_share(tess_group_range all, int32_t n_member, int32_t member)
{
    const int64_t n = all.end - all.begin;
    const int64_t each = n / n_member;
    const int64_t rest = n % n_member; // the first so many take one more
    const int64_t begin = all.begin + member * each + (member < rest ? member : rest);
    return (tess_group_range){begin, begin + each + (member < rest)};
}

tess_status tess_group_refuse(const tess_context *ctx, const char *what)
{
    if (!ctx->group) {
        return TESS_OK;
    }
    TESS_FAIL(
        TESS_E_UNSUPPORTED,
        "device '%s': the %s works on one device in this version; name one of them, as --device "
        "%s (device=\"%s\")",
        ctx->group->id, what, ctx->device->info.id, ctx->device->info.id);
}

// ---- Which ------------------------------------------------------------------------------------

// Names in a list, one after the other.
typedef struct names {
    int32_t n;
    char of[TESS_MAX_GROUP][24];
} names;

static tess_status add_name(const char *list, const char *name, size_t length, names *out)
{
    char *to = out->n < TESS_MAX_GROUP ? out->of[out->n] : NULL;
    if (!to) {
        TESS_FAIL(TESS_E_DEVICE, "device: '%.40s...' names more than %d devices", list,
                  (int)TESS_MAX_GROUP);
    }
    if (length == 0 || length >= sizeof out->of[0]) {
        TESS_FAIL(TESS_E_DEVICE,
                  "device: '%.*s' in '%.80s' is not a device; write cuda:0,cuda:1 or cuda:all",
                  (int)length, name, list);
    }
    snprintf(to, sizeof out->of[0], "%.*s", (int)length, name);
    if (strncmp(to, "cuda", 4) != 0 || (to[4] != '\0' && to[4] != ':')) {
        TESS_FAIL(TESS_E_DEVICE,
                  "device: '%s' in '%.80s' cannot share work with others; name GPUs alone "
                  "(cuda:0,cuda:1), or one device",
                  to, list);
    }
    if (strcmp(to, "cuda:all") == 0) {
        TESS_FAIL(TESS_E_DEVICE, "device: cuda:all in '%.80s' names all GPUs; write it alone",
                  list);
    }
    if (to[4] == '\0') {
        snprintf(to, sizeof out->of[0], "cuda:0");
    }
    out->n++;
    return TESS_OK;
}

static tess_status name_all(tess_context *ctx, names *out)
{
    int32_t n = 0;
    TESS_TRY(tess_device_count(ctx, "cuda", "cuda:all", &n));
    if (n > TESS_MAX_GROUP) {
        tess_log_write(&ctx->log, TESS_LOG_INFO, "device cuda:all: the first %d of %d GPUs",
                       (int)TESS_MAX_GROUP, (int)n);
        n = TESS_MAX_GROUP;
    }
    for (out->n = 0; out->n < n; out->n++) {
        snprintf(out->of[out->n], sizeof out->of[0], "cuda:%d", (int)out->n);
    }
    return TESS_OK;
}

static tess_status read_list(tess_context *ctx, const char *list, names *out)
{
    out->n = 0;
    if (strcmp(list, "cuda:all") == 0) {
        return name_all(ctx, out);
    }
    for (const char *at = list;; at++) {
        const size_t whole = strcspn(at, ",");
        const size_t before = strspn(at, " "); // as people write lists
        size_t end = whole;
        while (end > before && at[end - 1] == ' ') {
            end--;
        }
        TESS_TRY(add_name(list, at + before, end > before ? end - before : 0, out));
        at += whole;
        if (*at == '\0') {
            return TESS_OK;
        }
    }
}

// Ranks of a machine divide the list: in turn, or each has one where there are fewer than ranks.
static void keep_own(const tess_context *ctx, names *all)
{
    const int32_t n_rank = ctx->comm ? ctx->comm->place.n_node_rank : 1;
    const int32_t rank = ctx->comm ? ctx->comm->place.node_rank : 0;
    if (n_rank <= 1) {
        return;
    }
    const names given = *all;
    all->n = 0;
    for (int32_t k = rank % given.n; k < given.n; k += n_rank) {
        memcpy(all->of[all->n++], given.of[k], sizeof given.of[k]);
    }
}

// ---- Opening ----------------------------------------------------------------------------------

// How often a device is named: each time it has a part of its memory.
static int32_t count_same(const names *all, int32_t k)
{
    int32_t n = 0;
    for (int32_t i = 0; i < all->n; i++) {
        n += strcmp(all->of[i], all->of[k]) == 0;
    }
    return n;
}

static tess_status open_member(tess_context *ctx, const names *all, int32_t k)
{
    tess_group *group = ctx->group;
    tess_device *device = k == 0 ? &ctx->other : &group->more[k - 1];
    TESS_TRY(tess_device_open_named(ctx, all->of[k], device));
    device->member = k;
    device->info.memory_free_bytes /= (uint64_t)count_same(all, k);
    group->devices[group->n++] = device;
    if (k > 0) {
        tess_device_budget *budget = &group->budgets[k - 1];
        TESS_TRY(tess_device_budget_init(budget, ctx->device_budget.limit_bytes));
        tess_device_budget_open(budget, device);
    }
    return TESS_OK;
}

// Bits may depend on the kind of GPU.
static tess_status check_alike(const tess_group *group)
{
    const tess_device_info *first = &group->devices[0]->info;
    for (int32_t k = 1; k < group->n; k++) {
        const tess_device_info *other = &group->devices[k]->info;
        if (strcmp(first->name, other->name) != 0) {
            TESS_FAIL(TESS_E_DEVICE,
                      "device '%s': %s is an %s, %s an %s, and what is divided over both could "
                      "depend on who does what; name GPUs of one kind",
                      group->id, first->id, first->name, other->id, other->name);
        }
    }
    return TESS_OK;
}

static tess_status open_all(tess_context *ctx, const names *all)
{
    tess_group *group = ctx->group;
    bool is_repeated = false;
    for (int32_t k = 0; k < all->n; k++) {
        const size_t used = strlen(group->id);
        snprintf(group->id + used, sizeof group->id - used, "%s%s", k > 0 ? "," : "", all->of[k]);
        is_repeated = is_repeated || count_same(all, k) > 1;
    }
    for (int32_t k = 0; k < all->n; k++) {
        TESS_TRY(open_member(ctx, all, k));
    }
    TESS_TRY(check_alike(group));
    tess_log_write(&ctx->log, TESS_LOG_INFO, "work is divided over %d devices: %s%s", (int)all->n,
                   group->id,
                   is_repeated ? "; one that is named twice has two queues and halves of its "
                                 "memory, and is no faster for it"
                               : "");
    return TESS_OK;
}

tess_status tess_group_open(tess_context *ctx, const char *list)
{
    names all;
    TESS_TRY(read_list(ctx, list, &all));
    keep_own(ctx, &all);
    if (all.n == 1) {
        return tess_device_open_named(ctx, all.of[0], &ctx->other);
    }
    ctx->group = tess_heap_alloc_zero(&ctx->heap, sizeof *ctx->group, TESS_TAG_CONTEXT, "devices");
    if (!ctx->group) {
        return TESS_E_MEMORY;
    }
    ctx->group->least_points = LEAST_POINTS;
    const tess_status status = open_all(ctx, &all);
    if (status != TESS_OK) {
        tess_group_close(ctx);
        tess_device_close(&ctx->other);
    }
    return status;
}

void tess_group_close(tess_context *ctx)
{
    tess_group *group = ctx->group;
    if (!group) {
        return;
    }
    for (int32_t k = 1; k < group->n; k++) {
        tess_device_close(group->devices[k]);
    }
    tess_heap_free(&ctx->heap, group, sizeof *group, TESS_TAG_CONTEXT);
    ctx->group = NULL;
}

// ---- Work -------------------------------------------------------------------------------------

typedef struct part {
    tess_errand errand;
    tess_group_fn fn;
    void *self;
    int32_t member;
} part;

static tess_status run_part(void *arg)
{
    const part *p = arg;
    return p->fn(p->self, p->member);
}

// A message that does not name its device gets the name.
static tess_status tell(const tess_context *ctx, int32_t member, tess_status status)
{
    char message[TESS_MESSAGE_BYTES];
    const char *id = ctx->group->devices[member]->info.id;
    tess_error_copy_out(message);
    return status == TESS_CANCELLED || strstr(message, id)
               ? status
               : tess_error_set(status, "%s: %s", id, message);
}

tess_status tess_group_run(const tess_context *ctx, int32_t n_member, tess_group_fn fn, void *self)
{
    part parts[TESS_MAX_GROUP] = {0};
    for (int32_t k = 1; k < n_member; k++) {
        parts[k].fn = fn;
        parts[k].self = self;
        parts[k].member = k;
        tess_errand_start(&parts[k].errand, run_part, &parts[k]);
    }
    tess_status status = fn(self, 0);
    int32_t failed = 0;
    for (int32_t k = 1; k < n_member; k++) {
        if (status == TESS_OK || status == TESS_CANCELLED) {
            const tess_status own = tess_errand_wait(&parts[k].errand);
            failed = own != TESS_OK ? k : failed;
            status = own != TESS_OK ? own : status;
        } else {
            tess_errand_drop(&parts[k].errand); // whose message stays
        }
    }
    return status == TESS_OK || n_member == 1 ? status : tell(ctx, failed, status);
}
