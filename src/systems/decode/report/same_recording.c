// Whether a recording is the one that a result was decoded from.
//
// Times are compared one by one. Spikes are in no result, but their hash is in its provenance;
// results of other programs, or made from arrays, have none to compare with.
#include "base/status.h"
#include "systems/decode/files/recording.h"
#include "systems/decode/report/tree.h"
#include "systems/decode/report/view.h"
#include "systems/decode/states/fingerprint.h"

#include <stdbool.h>
#include <string.h>

enum { BLOCK = 512 };

// Rows of intervals are some of the recording's: which.
static tess_status find_rows(tess_de_view *v, const tess_decode_recording_info *info)
{
    double scratch[BLOCK];
    double times[BLOCK];
    int64_t *rows = tess_blocks_alloc(&v->memory, v->n_file_row, sizeof *rows, "rows of a result");
    int64_t at = 0;
    if (!rows) {
        return TESS_E_MEMORY;
    }
    for (int64_t first = 0; first < v->n_file_row; first += BLOCK) {
        const int64_t n = v->n_file_row - first < BLOCK ? v->n_file_row - first : BLOCK;
        TESS_TRY(tess_de_view_read(v->time, first, n, scratch, times));
        for (int64_t i = 0; i < n; i++) {
            while (at < info->observation.n_time && info->observation.time[at] < times[i]) {
                at++;
            }
            if (at == info->observation.n_time || info->observation.time[at] != times[i]) {
                TESS_FAIL(
                    TESS_E_MISMATCH,
                    "%s: no time bin begins at %.10g s, as row %lld of %s does: it was decoded "
                    "from another recording; give that one",
                    info->path, times[i], (long long)(first + i), v->path);
            }
            rows[first + i] = at;
        }
    }
    v->recording_row = rows;
    return TESS_OK;
}

static tess_status check_times(const tess_de_view *v, const tess_decode_recording_info *info)
{
    double scratch[BLOCK];
    double times[BLOCK];
    if (info->observation.n_time != v->n_file_row) {
        TESS_FAIL(TESS_E_MISMATCH,
                  "%s: has %lld time bins to decode, and %s has %lld: it was decoded from another "
                  "recording; give that one",
                  info->path, (long long)info->observation.n_time, v->path,
                  (long long)v->n_file_row);
    }
    for (int64_t first = 0; first < v->n_file_row; first += BLOCK) {
        const int64_t n = v->n_file_row - first < BLOCK ? v->n_file_row - first : BLOCK;
        TESS_TRY(tess_de_view_read(v->time, first, n, scratch, times));
        for (int64_t i = 0; i < n; i++) {
            if (times[i] != info->observation.time[first + i]) {
                TESS_FAIL(TESS_E_MISMATCH,
                          "%s: time bin %lld begins at %.10g s, and at %.10g s in %s: it was "
                          "decoded from another recording; give that one",
                          info->path, (long long)(first + i), info->observation.time[first + i],
                          times[i], v->path);
            }
        }
    }
    return TESS_OK;
}

// What an object says under a key, "" if nothing.
static const char *text_of(const tess_document_node *mapping, const char *key)
{
    const tess_document_node *found = tess_de_tree_child(mapping, key);
    return found && found->kind == TESS_DOCUMENT_SCALAR ? found->text : "";
}

// The times are known to be the same by now: where their hash is not, hashes were made another way
// and tell nothing.
static tess_status check_spikes(const tess_de_view *v, const tess_decode_recording_info *info,
                                const tess_document_node *input)
{
    tess_hash time = {0, 0};
    char time_text[33];
    char spikes_text[33];
    tess_de_mix_doubles(&time, info->observation.time, info->observation.n_time);
    tess_hash_text(time, time_text);
    tess_hash_text(tess_de_spikes_hash(&info->observation.spikes), spikes_text);
    // Of electrodes with ids the order is the model's.
    const char *name = info->electrode_id ? "" : text_of(input, "name");
    const char *spikes = text_of(input, "spikes");
    if (name[0] && spikes[0] && strcmp(text_of(input, "time"), time_text) == 0 &&
        strcmp(spikes, spikes_text) != 0) {
        TESS_FAIL(
            TESS_E_MISMATCH,
            "%s: its spikes are not those that %s was decoded from, which was '%s'; give that "
            "recording",
            info->path, v->path, name);
    }
    return TESS_OK;
}

tess_status tess_de_view_check_recording(tess_de_view *v, const tess_decode_recording *recording)
{
    char *text = NULL;
    tess_document *document = NULL;
    TESS_TRY(v->interval ? find_rows(v, &recording->info) : check_times(v, &recording->info));
    TESS_TRY(tess_de_view_provenance(v, &text));
    if (!text || tess_document_parse(v->ctx, v->path, text, &document) != TESS_OK) {
        tess_error_clear(); // a result without provenance is a result all the same
        tess_text_free(text);
        return TESS_OK;
    }
    const tess_document_node *inputs = tess_de_tree_child(tess_document_root(document), "inputs");
    const bool has_one = inputs && inputs->kind == TESS_DOCUMENT_LIST && inputs->first;
    const tess_status status =
        has_one ? check_spikes(v, &recording->info, inputs->first->value) : TESS_OK;
    tess_document_destroy(document);
    tess_text_free(text);
    return status;
}
