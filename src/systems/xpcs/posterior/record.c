// The posterior that a caller gets: room for draws, and the same as bytes.
#include "base/hash.h"
#include "base/status.h"
#include "systems/xpcs/posterior/sample.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

// How many items an array has, as a product.
enum { DRAWS = 1, CHAINS = 2, PARAMS = 4, ANGLES = 8, MODES = 16 };

typedef struct array {
    size_t at;         // of the pointer in info
    size_t item_bytes; //
    int counts;
} array;

#define ARRAY(field, counts)                                                                       \
    {                                                                                              \
        offsetof(tess_xpcs_posterior_info, field), sizeof *((tess_xpcs_posterior_info *)0)->field, \
            counts                                                                                 \
    }
static const array ARRAYS[] = {ARRAY(theta, DRAWS | PARAMS),
                               ARRAY(noise, DRAWS),
                               ARRAY(contrast, DRAWS | ANGLES),
                               ARRAY(offset, DRAWS | ANGLES),
                               ARRAY(log_density, DRAWS),
                               ARRAY(energy, DRAWS),
                               ARRAY(accept, DRAWS),
                               ARRAY(n_step, DRAWS),
                               ARRAY(depth, DRAWS),
                               ARRAY(diverged, DRAWS),
                               ARRAY(mode, DRAWS),
                               ARRAY(step, CHAINS),
                               ARRAY(phi, ANGLES),
                               ARRAY(q, ANGLES),
                               ARRAY(prior_mean, PARAMS),
                               ARRAY(prior_sd, PARAMS),
                               ARRAY(lower, PARAMS),
                               ARRAY(upper, PARAMS),
                               ARRAY(is_fixed, PARAMS),
                               ARRAY(fit_theta, PARAMS),
                               ARRAY(fit_sd, PARAMS),
                               ARRAY(fit_contrast, ANGLES),
                               ARRAY(fit_offset, ANGLES),
                               ARRAY(outside_angle, ANGLES),
                               ARRAY(is_truncated, ANGLES),
                               ARRAY(mode_theta, MODES | PARAMS),
                               ARRAY(mode_weight, MODES),
                               ARRAY(mode_evidence, MODES)};

#define TEXT(field) offsetof(tess_xpcs_posterior_info, field)
static const size_t TEXTS[] = {TEXT(warnings), TEXT(device), TEXT(data_path),
                               TEXT(data_fingerprint), TEXT(identity)};
enum { N_ARRAY = sizeof ARRAYS / sizeof *ARRAYS, N_TEXT = sizeof TEXTS / sizeof *TEXTS };

static int64_t n_item(const tess_xpcs_posterior_info *info, int counts)
{
    int64_t n = 1;
    n *= counts & DRAWS ? info->n_chain * info->n_draw : 1;
    n *= counts & CHAINS ? info->n_chain : 1;
    n *= counts & PARAMS ? info->n_param : 1;
    n *= counts & ANGLES ? info->n_angle : 1;
    n *= counts & MODES ? TESS_XP_MAX_MODE : 1;
    return n;
}

// The pointer of an array or a text in info.
static void *pointer_at(const tess_xpcs_posterior_info *info, size_t at)
{
    void *pointer;
    memcpy(&pointer, (const char *)info + at, sizeof pointer);
    return pointer;
}

static void set_pointer(tess_xpcs_posterior_info *info, size_t at, const void *pointer)
{
    memcpy((char *)info + at, &pointer, sizeof pointer);
}

static tess_status set_names(tess_xpcs_posterior *p)
{
    int64_t n = 0;
    const tess_xpcs_param_info *params = tess_xpcs_params((tess_xpcs_mode)p->info.model_mode, &n);
    const char **names = tess_blocks_alloc(&p->blocks, n, sizeof *names, "names");
    for (int64_t k = 0; names && k < n; k++) {
        names[k] = params[k].name;
    }
    p->info.names = names;
    return names ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_xp_posterior_create(tess_context *ctx, const tess_xpcs_posterior_info *sizes,
                                     tess_xpcs_posterior **out)
{
    tess_xpcs_posterior *p =
        tess_heap_alloc_zero(&ctx->heap, sizeof *p, TESS_TAG_RESULT, "a posterior");
    if (!p) {
        return TESS_E_MEMORY;
    }
    *out = p;
    p->heap = &ctx->heap;
    p->info = *sizes;
    p->info.struct_size = sizeof p->info;
    tess_blocks_init(&p->blocks, p->heap);
    TESS_TRY(set_names(p));
    for (size_t i = 0; i < N_ARRAY; i++) {
        void *room = tess_blocks_alloc(&p->blocks, n_item(sizes, ARRAYS[i].counts),
                                       ARRAYS[i].item_bytes, "draws");
        if (!room) {
            return TESS_E_MEMORY;
        }
        set_pointer(&p->info, ARRAYS[i].at, room);
    }
    for (size_t i = 0; i < N_TEXT; i++) {
        set_pointer(&p->info, TEXTS[i], "");
    }
    return TESS_OK;
}

static tess_status set_text(tess_xpcs_posterior *p, size_t at, const char *text)
{
    const char *copy = tess_blocks_copy(&p->blocks, text, (int64_t)strlen(text) + 1, 1, "texts");
    if (copy) {
        set_pointer(&p->info, at, copy);
    }
    return copy ? TESS_OK : TESS_E_MEMORY;
}

tess_status tess_xp_posterior_set_texts(tess_xpcs_posterior *p, const char *const texts[5])
{
    for (size_t i = 0; i < N_TEXT; i++) {
        TESS_TRY(set_text(p, TEXTS[i], texts[i] ? texts[i] : ""));
    }
    return TESS_OK;
}

const tess_xpcs_posterior_info *tess_xpcs_posterior_get_info(const tess_xpcs_posterior *posterior)
{
    return &posterior->info;
}

void tess_xpcs_posterior_destroy(tess_xpcs_posterior *posterior)
{
    if (posterior) {
        tess_blocks_free(&posterior->blocks);
        tess_heap_free(posterior->heap, posterior, sizeof *posterior, TESS_TAG_RESULT);
    }
}

// ---- Bytes --------------------------------------------------------------------------------------

// What stands in front; then info without addresses, arrays, and texts, each with its zero.
typedef struct pack_head {
    char magic[8];
    char version[24];
    int32_t hash_kind;
    uint32_t info_bytes;
    uint64_t body_bytes;
    tess_hash hash; // of what follows
} pack_head;

static const char MAGIC[8] = {'T', 'E', 'S', 'S', 'X', 'P', 'O', '1'};

static size_t array_bytes(const tess_xpcs_posterior_info *info, size_t i)
{
    return (size_t)n_item(info, ARRAYS[i].counts) * ARRAYS[i].item_bytes;
}

static size_t arrays_bytes(const tess_xpcs_posterior_info *info)
{
    size_t bytes = 0;
    for (size_t i = 0; i < N_ARRAY; i++) {
        bytes += array_bytes(info, i);
    }
    return bytes;
}

size_t tess_xpcs_posterior_pack(const tess_xpcs_posterior *posterior, void *bytes, size_t capacity)
{
    const tess_xpcs_posterior_info *info = &posterior->info;
    size_t body = sizeof *info + arrays_bytes(info);
    for (size_t i = 0; i < N_TEXT; i++) {
        body += strlen(pointer_at(info, TEXTS[i])) + 1;
    }
    if (!bytes || capacity < sizeof(pack_head) + body) {
        return sizeof(pack_head) + body;
    }
    pack_head head = {
        .hash_kind = (int32_t)tess_hash_default(), .info_bytes = sizeof *info, .body_bytes = body};
    unsigned char *begin = (unsigned char *)bytes + sizeof head;
    unsigned char *at = begin + sizeof *info;
    tess_xpcs_posterior_info plain = *info;
    for (size_t i = 0; i < N_ARRAY; i++) {
        memcpy(at, pointer_at(info, ARRAYS[i].at), array_bytes(info, i));
        at += array_bytes(info, i);
        set_pointer(&plain, ARRAYS[i].at, NULL);
    }
    for (size_t i = 0; i < N_TEXT; i++) {
        const char *text = pointer_at(info, TEXTS[i]);
        memcpy(at, text, strlen(text) + 1);
        at += strlen(text) + 1;
        set_pointer(&plain, TEXTS[i], NULL);
    }
    plain.names = NULL;
    memcpy(begin, &plain, sizeof plain);
    memcpy(head.magic, MAGIC, sizeof MAGIC);
    snprintf(head.version, sizeof head.version, "%s", TESS_VERSION);
    head.hash = tess_hash_bytes(tess_hash_default(), begin, body);
    memcpy(bytes, &head, sizeof head);
    return sizeof head + body;
}

static tess_status check_head(const pack_head *head, const unsigned char *body, size_t bytes)
{
    char version[sizeof head->version];
    snprintf(version, sizeof version, "%.*s", (int)sizeof version - 1, head->version);
    if (memcmp(head->magic, MAGIC, sizeof MAGIC) != 0) {
        TESS_FAIL(TESS_E_FORMAT, "bytes: not a packed posterior of xpcs");
    }
    if (strcmp(version, TESS_VERSION) != 0 ||
        head->info_bytes != sizeof(tess_xpcs_posterior_info)) {
        TESS_FAIL(TESS_E_VERSION,
                  "bytes: a posterior that was packed by version %s; this is %s: sample its shard "
                  "again",
                  version, TESS_VERSION);
    }
    if (head->body_bytes != bytes) {
        TESS_FAIL(TESS_E_TRUNCATED, "bytes: %zu of a packed posterior, which has %llu", bytes,
                  (unsigned long long)head->body_bytes);
    }
    const tess_hash_kind kind = (tess_hash_kind)head->hash_kind;
    if (!tess_hash_supported(kind) ||
        !tess_hash_equal(tess_hash_bytes(kind, body, bytes), head->hash)) {
        TESS_FAIL(TESS_E_FORMAT, "bytes: the checksum of a packed posterior is wrong");
    }
    return TESS_OK;
}

static tess_status check_sizes(const tess_xpcs_posterior_info *info, size_t bytes)
{
    int64_t n_param = 0;
    if (tess_xpcs_mode_name((tess_xpcs_mode)info->model_mode)) {
        tess_xpcs_params((tess_xpcs_mode)info->model_mode, &n_param);
    }
    const uint64_t most = bytes;
    if (n_param == 0 || info->n_param != n_param || info->n_chain < 1 || info->n_draw < 1 ||
        info->n_angle < 1 || (uint64_t)info->n_chain > most || (uint64_t)info->n_draw > most ||
        (uint64_t)info->n_angle > most || (uint64_t)info->n_draw > most / (uint64_t)info->n_chain ||
        (uint64_t)(info->n_chain * info->n_draw) > most / (uint64_t)info->n_angle ||
        arrays_bytes(info) + sizeof *info + N_TEXT > bytes) {
        TESS_FAIL(TESS_E_FORMAT, "bytes: a packed posterior of impossible size");
    }
    return TESS_OK;
}

static tess_status fill(tess_xpcs_posterior *p, const unsigned char *at, size_t left)
{
    for (size_t i = 0; i < N_ARRAY; i++) {
        const size_t n = array_bytes(&p->info, i);
        memcpy(pointer_at(&p->info, ARRAYS[i].at), at, n);
        at += n;
        left -= n;
    }
    for (size_t i = 0; i < N_TEXT; i++) {
        const unsigned char *end = memchr(at, '\0', left);
        if (!end) {
            TESS_FAIL(TESS_E_FORMAT, "bytes: the texts of a packed posterior have no end");
        }
        TESS_TRY(set_text(p, TEXTS[i], (const char *)at));
        left -= (size_t)(end - at) + 1;
        at = end + 1;
    }
    return TESS_OK;
}

tess_status tess_xpcs_posterior_unpack(tess_context *ctx, const void *bytes, size_t n,
                                       tess_xpcs_posterior **out)
{
    tess_error_clear();
    *out = NULL;
    pack_head head;
    tess_xpcs_posterior_info info;
    if (n < sizeof head + sizeof info) {
        TESS_FAIL(TESS_E_TRUNCATED, "bytes: %zu are too few for a packed posterior", n);
    }
    const unsigned char *body = (const unsigned char *)bytes + sizeof head;
    memcpy(&head, bytes, sizeof head);
    TESS_TRY(check_head(&head, body, n - sizeof head));
    memcpy(&info, body, sizeof info);
    TESS_TRY(check_sizes(&info, n - sizeof head));
    tess_xpcs_posterior *p = NULL;
    tess_status status = tess_xp_posterior_create(ctx, &info, &p);
    if (status == TESS_OK) {
        status = fill(p, body + sizeof info, n - sizeof head - sizeof info);
    }
    if (status != TESS_OK) {
        tess_xpcs_posterior_destroy(p);
        return status;
    }
    *out = p;
    return TESS_OK;
}

// ---- Checkpoints --------------------------------------------------------------------------------

// Arrays that grow while a sampler runs come first in ARRAYS.
enum { N_GROWING = 12 };

size_t tess_xp_posterior_growing_bytes(const tess_xpcs_posterior *p)
{
    size_t bytes = 0;
    for (size_t i = 0; i < N_GROWING; i++) {
        bytes += array_bytes(&p->info, i);
    }
    return bytes;
}

void tess_xp_posterior_growing(const tess_xpcs_posterior *p, unsigned char *bytes, bool is_written)
{
    for (size_t i = 0; i < N_GROWING; i++) {
        void *own = pointer_at(&p->info, ARRAYS[i].at);
        const size_t n = array_bytes(&p->info, i);
        memcpy(is_written ? (void *)bytes : own, is_written ? own : (void *)bytes, n);
        bytes += n;
    }
}
