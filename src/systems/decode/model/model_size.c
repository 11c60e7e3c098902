#include "systems/decode/model/model_size.h"

#include "base/status.h"
#include <string.h>

// Columns of an expansion per spike (kde/kde_grid.c), on a line and in the plane.
enum { LEAST_COLUMNS = 8, MOST_COLUMNS = 16, LEAST_COLUMNS_2D = 24, MOST_COLUMNS_2D = 80 };

// Places and marks of every spike as the kernels want them, once more in the order of cells while
// that is made, and the expansion of its place.
static uint64_t kde_bytes(const tess_de_recording_size *t, int32_t mode, uint64_t columns,
                          uint64_t save)
{
    const uint64_t place = 8 * t->n_spike * t->n_place_dim;
    const uint64_t held = 8 * t->n_mark + place;
    const uint64_t listed = 8 * t->n_spike + place;
    if (mode == TESS_DECODE_EXACT) {
        return held + (listed > save ? listed : save);
    }
    const uint64_t sorted = listed + 16 * t->n_spike + place;
    return held + 4 * t->n_mark + (8 + 4 * columns) * t->n_spike + (sorted > save ? sorted : save);
}

tess_de_need tess_de_size_fit(const tess_de_recording_size *t, int32_t algorithm, int32_t mode,
                              bool is_saved)
{
    const uint64_t lists = 8 * t->n_spike + t->mark_bytes * t->n_mark;
    const uint64_t samples = 8 * t->n_sample * (1 + t->n_dim);
    const bool is_sorted =
        algorithm == TESS_DECODE_SORTED_SPIKES_KDE || algorithm == TESS_DECODE_SORTED_SPIKES_GLM;
    const bool is_plane = t->n_place_dim > 1;
    const uint64_t save = is_saved ? lists : 0;
    const uint64_t selected =
        8 * (t->n_spike + t->n_sample) * t->n_place_dim + (is_sorted ? 0 : 8 * t->n_mark);
    tess_de_need need = {lists + samples, lists + samples + selected};
    // How many spikes the flags of the samples leave is not in a header; all of them are saved.
    if (algorithm != TESS_DECODE_CLUSTERLESS_KDE) {
        need.least += save + (t->is_selected ? 0 : selected);
        need.most += save + 4 * samples + (is_sorted ? 0 : 16 * (t->n_spike + t->n_mark));
        return need;
    }
    need.least +=
        t->is_selected
            ? save
            : selected + kde_bytes(t, mode, is_plane ? LEAST_COLUMNS_2D : LEAST_COLUMNS, save);
    need.most += kde_bytes(t, mode, is_plane ? MOST_COLUMNS_2D : MOST_COLUMNS, save);
    return need;
}

typedef struct settings {
    int64_t algorithm_at;
    int64_t mode_at;
    int32_t algorithm;
    int32_t mode;
} settings;

static int find_name(void *user, int64_t index, const char *text)
{
    settings *s = user;
    s->algorithm_at = strcmp(text, "encoding.algorithm") == 0 ? index : s->algorithm_at;
    s->mode_at = strcmp(text, "encoding.mode") == 0 ? index : s->mode_at;
    return 0;
}

static int take_value(void *user, int64_t index, const char *text)
{
    settings *s = user;
    if (index == s->algorithm_at) {
        s->algorithm = strstr(text, "gmm")      ? TESS_DECODE_CLUSTERLESS_GMM
                       : strstr(text, "glm")    ? TESS_DECODE_SORTED_SPIKES_GLM
                       : strstr(text, "sorted") ? TESS_DECODE_SORTED_SPIKES_KDE
                                                : TESS_DECODE_CLUSTERLESS_KDE;
    }
    if (index == s->mode_at) {
        s->mode = strcmp(text, "exact") == 0 ? TESS_DECODE_EXACT : TESS_DECODE_FAST;
    }
    return 0;
}

static tess_status size_model(const tess_bundle *bundle, tess_de_need *out)
{
    settings s = {-1, -1, TESS_DECODE_CLUSTERLESS_KDE, TESS_DECODE_FAST};
    const tess_bundle_entry *names = tess_bundle_find(bundle, "setting_names");
    const tess_bundle_entry *values = tess_bundle_find(bundle, "setting_values");
    const tess_bundle_entry *marks = tess_bundle_find(bundle, "spike_marks");
    tess_de_recording_size size;
    *out = (tess_de_need){0, 0};
    if (!names || !values) {
        return TESS_OK; // loading says that this is no model
    }
    TESS_TRY(tess_bundle_read_texts(bundle, names, find_name, &s));
    TESS_TRY(tess_bundle_read_texts(bundle, values, take_value, &s));
    tess_de_size_recording(bundle, &size);
    if (marks) {
        size.n_mark = (uint64_t)marks->n_item;
        size.mark_bytes = marks->dtype == TESS_F32 ? sizeof(float) : sizeof(double);
    }
    *out = tess_de_size_fit(&size, s.algorithm, s.mode, false);
    return TESS_OK;
}

tess_status tess_de_size_model(tess_context *ctx, const char *path, tess_de_need *out)
{
    tess_bundle bundle = {0};
    TESS_TRY(tess_bundle_open(ctx, path, &bundle));
    const tess_status status = size_model(&bundle, out);
    tess_bundle_close(&bundle);
    return status;
}
