#include "base/json_read.h"
#include "base/status.h"
#include "systems/xpcs/files/cache.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_JSON_BYTES = 1 << 20 };

static const double SAME_Q = 1e-9;    // relative; rounding of texts
static const double SAME_MEAN = 1e-6; // relative; rounding of f32

// The text of the metadata, copied out.
typedef struct json_text {
    tess_blocks *memory;
    char *text;
    bool no_memory;
} json_text;

static int keep_text(void *user, int64_t index, const char *text)
{
    json_text *json = user;
    (void)index;
    json->text = tess_blocks_copy(json->memory, text, (int64_t)strlen(text) + 1, 1, "metadata");
    json->no_memory = json->text == NULL;
    return 1;
}

static double number_of(const tess_json_value *object, const char *key, double otherwise)
{
    const tess_json_value *value = tess_json_find(object, key);
    return value && value->kind == TESS_JSON_NUMBER ? value->number : otherwise;
}

static const char *text_of(const tess_json_value *object, const char *key)
{
    const tess_json_value *value = tess_json_find(object, key);
    return value && value->kind == TESS_JSON_TEXT ? value->text : "";
}

static int64_t frame_of(const tess_json_value *object, const char *key)
{
    const double number = number_of(object, key, 0);
    return number >= -1 && number <= 1e9 ? (int64_t)number : 0;
}

static tess_status read_meta(struct tess_xpcs_file *file, tess_xp_cache_meta *meta)
{
    const tess_bundle_entry *entry = tess_bundle_find(&file->bundle, "cache_metadata_json");
    json_text json = {.memory = &file->memory};
    const tess_json_value *root = NULL;
    if (entry->n_item != 1) {
        TESS_FAIL(TESS_E_FORMAT, "%s: 'cache_metadata_json' is not a single text", file->path);
    }
    TESS_TRY(tess_bundle_read_texts(&file->bundle, entry, keep_text, &json));
    if (!json.text || json.no_memory) {
        return TESS_E_MEMORY;
    }
    const size_t n = strlen(json.text);
    if (n > MAX_JSON_BYTES) {
        TESS_FAIL(TESS_E_FORMAT, "%s: its metadata are too long (%zu bytes)", file->path, n);
    }
    TESS_TRY(tess_json_parse(&file->memory, file->path, json.text, n, &root));
    *meta = (tess_xp_cache_meta){.config_q = number_of(root, "config_wavevector_q", (double)NAN),
                                 .actual_q = number_of(root, "actual_wavevector_q", (double)NAN),
                                 .n_phi = number_of(root, "phi_count", (double)NAN),
                                 .start_frame = frame_of(root, "start_frame"),
                                 .end_frame = frame_of(root, "end_frame")};
    const char *sha256 = text_of(root, "source_sha256");
    meta->has_origin = strlen(sha256) + 1 == sizeof meta->origin.sha256;
    if (meta->has_origin) {
        memcpy(meta->origin.sha256, sha256, sizeof meta->origin.sha256);
        // Texts: doubles do not hold all digits of them.
        meta->origin.n_byte = strtoull(text_of(root, "source_bytes"), NULL, 10);
        meta->origin.mtime_ns = strtoll(text_of(root, "source_mtime_ns"), NULL, 10);
    }
    return TESS_OK;
}

// Members of old caches hold pickled objects, which are never opened.
static tess_status check_members(const struct tess_xpcs_file *file)
{
    static const char *const needed[] = {"c2_exp", "phi_angles_list", "wavevector_q_list", "t1"};
    const tess_bundle *bundle = &file->bundle;
    const tess_bundle_entry *t1 = tess_bundle_find(bundle, "t1");
    const tess_bundle_entry *t2 = tess_bundle_find(bundle, "t2");
    const bool is_old = (t1 && t1->rank != 1) || (t2 && t2->rank != 1) ||
                        tess_bundle_find(bundle, "cache_metadata");
    if (is_old) {
        TESS_FAIL(TESS_E_VERSION,
                  "%s: Old 2D meshgrid times or pickled metadata, as caches of old versions have; "
                  "delete and regenerate it from the HDF5 file",
                  file->path);
    }
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!tess_bundle_find(bundle, needed[i])) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: not a cache of two-time matrices: it has no '%s'; take any other array "
                      "with --c2-path, --q, --phi and --dt",
                      file->path, needed[i]);
        }
    }
    return TESS_OK;
}

static tess_status read_lists(struct tess_xpcs_file *file)
{
    const double *q;
    const double *phi;
    const double *t;
    int64_t n_q;
    int64_t n_phi;
    int64_t n_t;
    const int64_t n_bin = file->info.n_bin;
    TESS_TRY(tess_xp_file_reals(file, "wavevector_q_list", &n_q, &q));
    TESS_TRY(tess_xp_file_reals(file, "phi_angles_list", &n_phi, &phi));
    TESS_TRY(tess_xp_file_reals(file, "t1", &n_t, &t));
    if (n_q != n_bin || n_phi != n_bin || n_t != file->bins[0].n_frame) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: %" PRId64 " matrices of %" PRId64 " frames, but %" PRId64 " q, %" PRId64
                  " phi and %" PRId64 " times; delete and regenerate it",
                  file->path, n_bin, file->bins[0].n_frame, n_q, n_phi, n_t);
    }
    for (int64_t k = 0; k < n_bin; k++) {
        file->bins[k].q = q[k];
        file->bins[k].phi = phi[k];
    }
    const double dt = t[1] - t[0];
    if (dt > 0 && isfinite(dt)) {
        file->info.dt_s = dt;
        file->info.frame_time_s = dt;
    } else {
        tess_text_printf(&file->notes, "the times of the cache do not rise; set dt\n");
    }
    return TESS_OK;
}

static tess_status contradicts(const struct tess_xpcs_file *file, const char *key, double said,
                               const char *found)
{
    TESS_FAIL(TESS_E_FORMAT,
              "%s: its metadata contradict its arrays: %s is %.10g, but %s; delete and regenerate "
              "it from the HDF5 file",
              file->path, key, said, found);
}

// What the metadata say of angles, frames and q against the arrays; what they leave out is not
// checked.
static tess_status check_meta(const struct tess_xpcs_file *file, const tess_xp_cache_meta *meta)
{
    const int64_t n_bin = file->info.n_bin;
    const int64_t n_frame = file->bins[0].n_frame;
    char found[96];
    if (isfinite(meta->n_phi) && meta->n_phi != (double)n_bin) {
        snprintf(found, sizeof found, "there are %" PRId64 " matrices", n_bin);
        return contradicts(file, "phi_count", meta->n_phi, found);
    }
    if (meta->start_frame >= 1 && meta->end_frame >= 1 &&
        meta->end_frame - meta->start_frame + 1 != n_frame) {
        snprintf(found, sizeof found,
                 "from start_frame %" PRId64 " on the matrices have %" PRId64 " frames",
                 meta->start_frame, n_frame);
        return contradicts(file, "end_frame", (double)meta->end_frame, found);
    }
    double low = file->bins[0].q;
    double high = low;
    for (int64_t k = 1; k < n_bin; k++) {
        low = fmin(low, file->bins[k].q);
        high = fmax(high, file->bins[k].q);
    }
    // Lists of the original may be rounded to f32.
    if (isfinite(meta->actual_q) &&
        !(meta->actual_q >= low * (1 - SAME_MEAN) && meta->actual_q <= high * (1 + SAME_MEAN))) {
        snprintf(found, sizeof found, "q of the matrices is %.7g to %.7g", low, high);
        return contradicts(file, "actual_wavevector_q", meta->actual_q, found);
    }
    return TESS_OK;
}

tess_status tess_xp_cache_describe(struct tess_xpcs_file *file)
{
    tess_xp_cache_meta *meta = tess_blocks_alloc(&file->memory, 1, sizeof *meta, "metadata");
    if (!meta) {
        return TESS_E_MEMORY;
    }
    file->layout = meta;
    TESS_TRY(check_members(file));
    if (tess_bundle_find(&file->bundle, "cache_metadata_json")) {
        TESS_TRY(read_meta(file, meta));
    } else {
        *meta = (tess_xp_cache_meta){
            .config_q = (double)NAN, .actual_q = (double)NAN, .n_phi = (double)NAN};
        tess_text_printf(&file->notes, "the cache has no metadata: its q and frames are taken as "
                                       "they are\n");
    }
    TESS_TRY(tess_xp_file_stack(file, "c2_exp", 0));
    TESS_TRY(read_lists(file));
    TESS_TRY(check_meta(file, meta));
    // A cache holds one ring, however wide it was when it was made.
    file->q_tolerance = (double)INFINITY;
    return TESS_OK;
}

static bool same_ring(const struct tess_xpcs_file *cache, const tess_xp_selection *ring,
                      const tess_xpcs_bin *bins)
{
    bool is_same = cache->info.n_bin == ring->n;
    for (int64_t k = 0; k < ring->n && is_same; k++) {
        const tess_xpcs_bin *wanted = &bins[ring->index[k]];
        const tess_xpcs_bin *found = &cache->bins[k];
        is_same = fabs(found->q - wanted->q) <= SAME_Q * fabs(wanted->q) &&
                  fabs(found->phi - wanted->phi) <= SAME_Q * (1 + fabs(wanted->phi));
    }
    return is_same;
}

bool tess_xp_cache_fits(const struct tess_xpcs_file *cache, const struct tess_xpcs_file *file,
                        const tess_xp_selection *ring, double config_q,
                        const tess_xp_origin *origin, char why[256])
{
    const tess_xp_cache_meta *meta = cache->layout;
    if (strcmp(cache->info.layout, "cache") != 0) {
        snprintf(why, 256, "it is no cache, but of the layout %.100s", cache->info.layout);
        return false;
    }
    const tess_xp_origin *made_from = &meta->origin;
    if (!(fabs(meta->config_q - config_q) <= SAME_Q * config_q)) {
        snprintf(why, 256, "it was made for q %g", meta->config_q);
    } else if (meta->start_frame != ring->start_frame || meta->end_frame != ring->end_frame ||
               cache->bins[0].n_frame != ring->n_frame) {
        snprintf(why, 256, "it has frames %" PRId64 " to %" PRId64, meta->start_frame,
                 meta->end_frame);
    } else if (meta->has_origin &&
               (made_from->n_byte != origin->n_byte || made_from->mtime_ns != origin->mtime_ns ||
                strcmp(made_from->sha256, origin->sha256) != 0)) {
        snprintf(why, 256, "it was made from another file, or the file has changed");
    } else if (!meta->has_origin &&
               tess_source_get_info(cache->stack)->file_mtime_ns < origin->mtime_ns) {
        snprintf(why, 256, "the file is newer");
    } else if (cache->info.dtype != file->info.dtype || !same_ring(cache, ring, file->bins)) {
        snprintf(why, 256, "its angles and q are not those of the file");
    } else {
        return true;
    }
    return false;
}
