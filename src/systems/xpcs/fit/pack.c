// A result as bytes for another process of the same version: everything but its pointers.
#include "base/hash.h"
#include "base/status.h"
#include "systems/xpcs/fit/result.h"

#include <stdio.h>
#include <string.h>

enum { N_TEXT = 8, MOST_ANGLES = 1 << 24 };
_Static_assert(sizeof((tess_xpcs_result *)0)->texts == N_TEXT * sizeof(char *),
               "every text is packed");

// What stands in front; then info, block and texts, each with its zero.
typedef struct pack_head {
    char magic[8];
    char version[24]; // of the library: info and block are as its structs are
    int32_t hash_kind;
    uint32_t info_bytes;
    uint64_t block_bytes;
    uint64_t text_bytes;
    double signal;
    tess_hash hash; // of what follows
} pack_head;

static const char MAGIC[8] = {'T', 'E', 'S', 'S', 'X', 'R', 'S', '1'};

static uint64_t text_bytes_of(const tess_xpcs_result *r)
{
    uint64_t bytes = 0;
    for (int k = 0; k < N_TEXT; k++) {
        bytes += strlen(r->texts[k] ? r->texts[k] : "") + 1;
    }
    return bytes;
}

// Info without addresses, so that equal results are equal bytes.
static tess_xpcs_result_info plain_info(const tess_xpcs_result *r)
{
    tess_xpcs_result blank = {.info = r->info};
    tess_xp_result_publish(&blank);
    tess_xpcs_result_info *info = &blank.info;
    info->names = NULL;
    info->message = info->warnings = info->recovery = info->device = NULL;
    info->data_path = info->data_fingerprint = info->config_hash = info->identity = NULL;
    info->tessera_version = NULL;
    return *info;
}

size_t tess_xpcs_result_pack(const tess_xpcs_result *result, void *bytes, size_t capacity)
{
    pack_head head = {.hash_kind = (int32_t)tess_hash_default(),
                      .info_bytes = sizeof result->info,
                      .block_bytes = result->block_bytes,
                      .text_bytes = text_bytes_of(result),
                      .signal = result->signal};
    const size_t body = sizeof result->info + result->block_bytes + (size_t)head.text_bytes;
    if (!bytes || capacity < sizeof head + body) {
        return sizeof head + body;
    }
    const tess_xpcs_result_info info = plain_info(result);
    unsigned char *at = (unsigned char *)bytes + sizeof head;
    memcpy(at, &info, sizeof info);
    memcpy(at + sizeof info, result->block, result->block_bytes);
    char *text = (char *)at + sizeof info + result->block_bytes;
    for (int k = 0; k < N_TEXT; k++) {
        const char *from = result->texts[k] ? result->texts[k] : "";
        memcpy(text, from, strlen(from) + 1);
        text += strlen(from) + 1;
    }
    memcpy(head.magic, MAGIC, sizeof MAGIC);
    snprintf(head.version, sizeof head.version, "%s", TESS_VERSION);
    head.hash = tess_hash_bytes(tess_hash_default(), at, body);
    memcpy(bytes, &head, sizeof head);
    return sizeof head + body;
}

static tess_status check_head(const pack_head *head, const unsigned char *body, size_t bytes)
{
    char version[sizeof head->version];
    snprintf(version, sizeof version, "%.*s", (int)sizeof version - 1, head->version);
    if (memcmp(head->magic, MAGIC, sizeof MAGIC) != 0) {
        TESS_FAIL(TESS_E_FORMAT, "bytes: not a packed result of an xpcs fit");
    }
    if (strcmp(version, TESS_VERSION) != 0 || head->info_bytes != sizeof(tess_xpcs_result_info)) {
        TESS_FAIL(TESS_E_VERSION,
                  "bytes: a result that was packed by version %s; this is %s, and they pass "
                  "between processes of one version only: keep results with save()",
                  version, TESS_VERSION);
    }
    if (head->block_bytes > bytes || head->text_bytes > bytes ||
        head->info_bytes + head->block_bytes + head->text_bytes != bytes) {
        TESS_FAIL(TESS_E_TRUNCATED, "bytes: %zu of a packed result, which has %llu", bytes,
                  (unsigned long long)(head->info_bytes + head->block_bytes + head->text_bytes));
    }
    const tess_hash_kind kind = (tess_hash_kind)head->hash_kind;
    if (!tess_hash_supported(kind) ||
        !tess_hash_equal(tess_hash_bytes(kind, body, bytes), head->hash)) {
        TESS_FAIL(TESS_E_FORMAT, "bytes: the checksum of a packed result is wrong");
    }
    return TESS_OK;
}

static tess_status check_sizes(const tess_xpcs_result_info *info, const pack_head *head)
{
    const int64_t least = 2 * info->n_angle * 2 * info->n_angle; // numbers of a covariance
    if (info->n_angle < 1 || info->n_angle > MOST_ANGLES || info->n_trace < 0 ||
        info->n_basin < 0 || info->n_bootstrap < 0 || (uint64_t)least > head->block_bytes / 8 ||
        (uint64_t)info->n_trace > head->block_bytes ||
        (uint64_t)info->n_basin > head->block_bytes ||
        (uint64_t)info->n_bootstrap > head->block_bytes ||
        !tess_xpcs_mode_name((tess_xpcs_mode)info->mode)) {
        TESS_FAIL(TESS_E_FORMAT, "bytes: a packed result of impossible size");
    }
    return TESS_OK;
}

static tess_status set_texts(tess_xpcs_result *r, const char *text, size_t bytes)
{
    for (int k = 0; k < N_TEXT; k++) {
        const char *end = memchr(text, '\0', bytes);
        if (!end) {
            TESS_FAIL(TESS_E_FORMAT, "bytes: the texts of a packed result have no end");
        }
        TESS_TRY(tess_xp_result_set_text(r, (tess_xp_result_text)k, text));
        bytes -= (size_t)(end - text) + 1;
        text = end + 1;
    }
    return TESS_OK;
}

static tess_status fill(tess_xpcs_result *r, const tess_xpcs_result_info *info,
                        const pack_head *head, const unsigned char *body)
{
    if (r->block_bytes != head->block_bytes) {
        TESS_FAIL(TESS_E_FORMAT, "bytes: %llu of numbers in a packed result, expected %zu",
                  (unsigned long long)head->block_bytes, r->block_bytes);
    }
    memcpy(r->block, body + sizeof *info, r->block_bytes);
    r->signal = head->signal;
    r->info = *info;
    tess_xp_result_publish(r);
    return set_texts(r, (const char *)body + sizeof *info + r->block_bytes,
                     (size_t)head->text_bytes);
}

tess_status tess_xpcs_result_unpack(tess_context *ctx, const void *bytes, size_t n,
                                    tess_xpcs_result **out)
{
    tess_error_clear();
    *out = NULL;
    pack_head head;
    tess_xpcs_result_info info;
    if (n < sizeof head + sizeof info) {
        TESS_FAIL(TESS_E_TRUNCATED, "bytes: %zu are too few for a packed result", n);
    }
    const unsigned char *body = (const unsigned char *)bytes + sizeof head;
    memcpy(&head, bytes, sizeof head);
    TESS_TRY(check_head(&head, body, n - sizeof head));
    memcpy(&info, body, sizeof info);
    TESS_TRY(check_sizes(&info, &head));
    const tess_xp_result_sizes sizes = {.mode = info.mode,
                                        .n_angle = info.n_angle,
                                        .n_trace = info.n_trace,
                                        .n_basin = info.n_basin,
                                        .n_bootstrap = info.n_bootstrap};
    tess_xpcs_result *r = NULL;
    TESS_TRY(tess_xp_result_create(ctx, &sizes, &r));
    const tess_status status = fill(r, &info, &head, body);
    if (status != TESS_OK) {
        tess_xpcs_result_destroy(r);
        return status;
    }
    *out = r;
    return TESS_OK;
}
