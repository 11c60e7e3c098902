// Reading data sets of a recording.
#include "systems/decode/files/recording_input.h"

#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>

static const char MEMORY[] = "a recording";

tess_status tess_de_input_need(const tess_de_input *in, const char *name,
                               const tess_bundle_entry **entry)
{
    *entry = tess_bundle_find(&in->bundle, name);
    if (*entry) {
        return TESS_OK;
    }
    char found[512] = "";
    size_t used = 0;
    for (int64_t i = 0; i < in->bundle.n_entry && used + 64 < sizeof found; i++) {
        used += (size_t)snprintf(found + used, sizeof found - used, "%s%.60s", i ? ", " : "",
                                 in->bundle.entries[i].name);
    }
    TESS_FAIL(TESS_E_FORMAT,
              "%s: there is no data set '%s'; a recording holds position_time, position, "
              "spike_times, spike_offsets and marks; found: %s%s",
              in->bundle.path, name, used ? found : "nothing",
              used + 64 >= sizeof found ? ", ..." : "");
}

tess_status tess_de_input_vector(const tess_de_input *in, const tess_bundle_entry *entry, int64_t n,
                                 const char *one_per)
{
    // A column is as good as a vector.
    const bool is_vector = entry->rank == 1 || (entry->rank == 2 && entry->shape[1] == 1);
    if (!is_vector) {
        TESS_FAIL(TESS_E_SHAPE, "%s: data set '%s' has %d axes; expected one", in->bundle.path,
                  entry->name, (int)entry->rank);
    }
    if (n >= 0 && entry->n_item != n) {
        TESS_FAIL(TESS_E_SHAPE, "%s: data set '%s' has %lld values; expected %lld, %s",
                  in->bundle.path, entry->name, (long long)entry->n_item, (long long)n, one_per);
    }
    return TESS_OK;
}

tess_status tess_de_input_f64(tess_de_input *in, const tess_bundle_entry *entry, const double **out)
{
    double *values =
        tess_blocks_alloc(&in->recording->blocks, entry->n_item, sizeof *values, MEMORY);
    *out = values;
    return values ? tess_bundle_read_f64(&in->bundle, entry, values) : TESS_E_MEMORY;
}

tess_status tess_de_input_i64(tess_de_input *in, const tess_bundle_entry *entry,
                              const int64_t **out)
{
    int64_t *values =
        tess_blocks_alloc(&in->recording->blocks, entry->n_item, sizeof *values, MEMORY);
    *out = values;
    return values ? tess_bundle_read_i64(&in->bundle, entry, values) : TESS_E_MEMORY;
}

tess_status tess_de_input_bool(tess_de_input *in, const tess_bundle_entry *entry,
                               const uint8_t **out)
{
    uint8_t *values = tess_blocks_alloc(&in->recording->blocks, entry->n_item, 1, MEMORY);
    *out = values;
    return values ? tess_bundle_read_bool(&in->bundle, entry, values) : TESS_E_MEMORY;
}

int32_t tess_de_mark_dtype(const tess_bundle_entry *entry)
{
    return entry->dtype == TESS_F32 ? TESS_F32 : TESS_F64;
}

tess_status tess_de_input_marks(tess_de_input *in, const tess_bundle_entry *entry, int32_t dtype,
                                void **out)
{
    const size_t item = tess_dtype_bytes((tess_dtype)dtype);
    *out = tess_blocks_alloc(&in->recording->blocks, entry->n_item, item, MEMORY);
    if (!*out) {
        return TESS_E_MEMORY;
    }
    return dtype == TESS_F32
               ? tess_bundle_read(&in->bundle, entry, *out, (uint64_t)entry->n_item * item)
               : tess_bundle_read_f64(&in->bundle, entry, *out);
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

tess_status tess_de_read_ids(tess_de_input *in, const char *name)
{
    tess_decode_recording_info *info = &in->recording->info;
    const int64_t n = info->training.spikes.n_electrode;
    const tess_bundle_entry *entry = tess_bundle_find(&in->bundle, name);
    if (!entry) {
        return TESS_OK;
    }
    TESS_TRY(tess_de_input_vector(in, entry, n, "one per electrode"));
    TESS_TRY(tess_de_input_i64(in, entry, &info->electrode_id));
    int64_t *sorted =
        tess_blocks_copy(&in->recording->blocks, info->electrode_id, n, sizeof *sorted, "ids");
    if (!sorted) {
        return TESS_E_MEMORY;
    }
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    for (int64_t e = 1; e < n; e++) {
        if (sorted[e] == sorted[e - 1]) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: data set '%s': two electrodes have the id %lld; give every electrode "
                      "its own",
                      in->bundle.path, name, (long long)sorted[e]);
        }
    }
    return TESS_OK;
}
