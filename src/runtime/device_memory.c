#include "runtime/device_memory.h"

#include "base/status.h"
#include "tessera/param.h"

#include <stdio.h>
#include <stdlib.h>

// What stays free by default: for the driver, other contexts and libraries in the process.
static const uint64_t MOST_RESERVE_BYTES = UINT64_C(512) << 20;
// Part of the limit that may wait for its next user.
static const uint64_t KEPT_SHARE = 4;

tess_status tess_device_budget_init(tess_device_budget *budget, uint64_t wished)
{
    static const char name[] = "TESSERA_DEVICE_MEMORY_LIMIT";
    budget->limit_bytes = wished;
    budget->origin = wished > 0 ? "option" : "";
    atomic_init(&budget->used_bytes, 0);
    atomic_init(&budget->kept_bytes, 0);
    budget->n_kept = 0;
    pthread_mutex_init(&budget->mutex, NULL);
    const char *text = getenv(name);
    if (wished > 0 || !text || !*text) {
        return TESS_OK;
    }
    if (tess_parse_bytes(text, &budget->limit_bytes) != TESS_OK || budget->limit_bytes == 0) {
        TESS_FAIL(TESS_E_CONFIG, "%s='%s' is not a size; write 2G or 512M", name, text);
    }
    budget->origin = name;
    return TESS_OK;
}

void tess_device_budget_open(tess_device_budget *budget, tess_device *device)
{
    if (device->shares_host_memory) {
        return;
    }
    const uint64_t free_bytes = device->info.memory_free_bytes;
    const uint64_t eighth = free_bytes / 8;
    const uint64_t room = free_bytes - (eighth < MOST_RESERVE_BYTES ? eighth : MOST_RESERVE_BYTES);
    // A device that cannot say is asked for what it has not: the driver refuses then.
    if (free_bytes > 0 && (budget->limit_bytes == 0 || budget->limit_bytes > room)) {
        budget->limit_bytes = room;
        budget->origin = "free memory less a reserve";
    } else if (budget->limit_bytes == 0) {
        budget->limit_bytes = UINT64_MAX;
        budget->origin = "none";
    }
    device->budget = budget;
}

uint64_t tess_device_left(const tess_device *device)
{
    const tess_device_budget *budget = device->budget;
    if (!budget) {
        return UINT64_MAX;
    }
    const uint64_t kept = atomic_load(&budget->kept_bytes);
    const uint64_t used = atomic_load(&budget->used_bytes) - kept;
    return used < budget->limit_bytes ? budget->limit_bytes - used : 0;
}

typedef struct size_text {
    char text[24];
} size_text;

// As --device-memory-limit takes it; rounded up, so that a limit of this text is enough.
static size_text size_of(uint64_t bytes)
{
    const bool is_small = bytes < UINT64_C(64) << 20;
    const uint64_t unit = is_small ? 1 << 10 : 1 << 20;
    size_text size;
    snprintf(size.text, sizeof size.text, "%llu%c",
             (unsigned long long)(bytes / unit + (bytes % unit != 0)), is_small ? 'K' : 'M');
    return size;
}

tess_status tess_device_too_small(const tess_device *device, const char *what, uint64_t bytes)
{
    const tess_device_budget *budget = device->budget;
    const uint64_t used = atomic_load(&budget->used_bytes);
    TESS_FAIL(TESS_E_LIMIT,
              "device memory limit of %s (%s) is too small: %s %s %s beside %s in use; needs "
              "--device-memory-limit %s (tessera.set_device_memory_limit)",
              size_of(budget->limit_bytes).text, budget->origin, device->info.id, what,
              size_of(bytes).text, size_of(used).text, size_of(used + bytes).text);
}

static bool is_counted(const tess_device *device, tess_space space)
{
    return device->budget && space == TESS_SPACE_DEVICE;
}

static tess_status alloc_within(const tess_device *device, tess_space space, size_t bytes,
                                void **out)
{
    tess_device_budget *budget = device->budget;
    uint64_t used = atomic_load(&budget->used_bytes);
    do {
        if (bytes > budget->limit_bytes || used > budget->limit_bytes - bytes) {
            return tess_device_too_small(device, "takes", bytes);
        }
    } while (!atomic_compare_exchange_weak(&budget->used_bytes, &used, used + bytes));
    const tess_status status = device->backend->memory_alloc(device->handle, space, bytes, out);
    if (status != TESS_OK) {
        atomic_fetch_sub(&budget->used_bytes, bytes);
    }
    return status;
}

tess_status tess_device_alloc(const tess_device *device, tess_space space, size_t bytes, void **out)
{
    *out = NULL;
    if (!is_counted(device, space)) {
        return device->backend->memory_alloc(device->handle, space, bytes, out);
    }
    tess_status status = alloc_within(device, space, bytes, out);
    const bool is_short = status == TESS_E_LIMIT || status == TESS_E_MEMORY;
    if (is_short && atomic_load(&device->budget->kept_bytes) > 0) {
        tess_device_free_kept(device);
        tess_error_clear();
        status = alloc_within(device, space, bytes, out);
    }
    return status;
}

void tess_device_free(const tess_device *device, tess_space space, void *data, size_t bytes)
{
    device->backend->memory_free(device->handle, space, data, bytes);
    if (is_counted(device, space)) {
        atomic_fetch_sub(&device->budget->used_bytes, bytes);
    }
}

// Takes one out of the list, whose mutex is held.
static tess_device_kept take_kept(const tess_device *device, int32_t at)
{
    tess_device_budget *budget = device->budget;
    const tess_device_kept taken = budget->kept[at];
    budget->n_kept--;
    for (int32_t i = at; i < budget->n_kept; i++) {
        budget->kept[i] = budget->kept[i + 1];
    }
    if (is_counted(device, taken.space)) {
        atomic_fetch_sub(&budget->kept_bytes, taken.bytes);
    }
    return taken;
}

tess_status tess_device_alloc_kept(const tess_device *device, tess_space space, uint64_t key,
                                   size_t bytes, void **out, bool *is_same)
{
    tess_device_budget *budget = device->budget;
    tess_device_kept found = {0};
    *is_same = false;
    if (!budget) {
        return tess_device_alloc(device, space, bytes, out);
    }
    pthread_mutex_lock(&budget->mutex);
    for (int32_t i = budget->n_kept - 1; i >= 0 && !found.data; i--) {
        const tess_device_kept *kept = &budget->kept[i];
        if (kept->space == space && kept->bytes == bytes && kept->key == key) {
            found = take_kept(device, i);
        }
    }
    pthread_mutex_unlock(&budget->mutex);
    *is_same = found.data != NULL;
    *out = found.data;
    return found.data ? TESS_OK : tess_device_alloc(device, space, bytes, out);
}

void tess_device_keep(const tess_device *device, tess_space space, uint64_t key, void *data,
                      size_t bytes)
{
    tess_device_budget *budget = device->budget;
    if (!budget || bytes > budget->limit_bytes / KEPT_SHARE) {
        tess_device_free(device, space, data, bytes);
        return;
    }
    pthread_mutex_lock(&budget->mutex);
    const uint64_t most = budget->limit_bytes / KEPT_SHARE - bytes;
    while (budget->n_kept == TESS_MAX_KEPT ||
           (budget->n_kept > 0 && atomic_load(&budget->kept_bytes) > most)) {
        const tess_device_kept oldest = take_kept(device, 0);
        tess_device_free(device, oldest.space, oldest.data, oldest.bytes);
    }
    budget->kept[budget->n_kept++] =
        (tess_device_kept){.data = data, .bytes = bytes, .space = space, .key = key};
    if (is_counted(device, space)) {
        atomic_fetch_add(&budget->kept_bytes, bytes);
    }
    pthread_mutex_unlock(&budget->mutex);
}

void tess_device_free_kept(const tess_device *device)
{
    tess_device_budget *budget = device->budget;
    if (!budget) {
        return;
    }
    pthread_mutex_lock(&budget->mutex);
    while (budget->n_kept > 0) {
        const tess_device_kept oldest = take_kept(device, 0);
        tess_device_free(device, oldest.space, oldest.data, oldest.bytes);
    }
    pthread_mutex_unlock(&budget->mutex);
}
