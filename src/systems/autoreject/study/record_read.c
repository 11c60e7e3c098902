// Records as they are read again.
#include "base/infile.h"
#include "base/json_read.h"
#include "base/status.h"
#include "runtime/origin.h"
#include "systems/autoreject/study/record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double number(const tess_json_value *at, const char *key)
{
    const tess_json_value *v = key ? tess_json_find(at, key) : at;
    return v && v->kind == TESS_JSON_NUMBER ? v->number : (double)NAN;
}

// -1 where it is no number of things.
static int64_t count(const tess_json_value *at, const char *key)
{
    const double value = number(at, key);
    return value >= 0 && value < 1e15 ? (int64_t)value : -1;
}

static const char *text(const tess_json_value *at, const char *key)
{
    const tess_json_value *v = tess_json_find(at, key);
    return v && v->kind == TESS_JSON_TEXT ? v->text : "";
}

static bool read_channel(const tess_json_value *v, tess_ar_record_channel *channel)
{
    const tess_json_value *position = tess_json_find(v, "position");
    *channel = (tess_ar_record_channel){.name = text(v, "name"),
                                        .type = tess_autoreject_type_find(text(v, "type")),
                                        .threshold = number(v, "threshold"),
                                        .standard_error = number(v, "standard_error"),
                                        .bad = number(v, "bad"),
                                        .repaired = number(v, "repaired")};
    const tess_json_value *p = position ? position->first : NULL;
    for (int i = 0; i < 3; i++, p = p ? p->next : NULL) {
        channel->position[i] = number(p, NULL);
    }
    return channel->name[0] && channel->type >= 0 && isfinite(channel->threshold) &&
           channel->bad >= 0 && channel->bad <= 1;
}

static bool read_counts(const tess_json_value *root, tess_ar_record *r)
{
    const tess_json_value *counts = tess_json_find(root, "counts");
    r->n_epoch = count(counts, "epochs");
    r->n_kept = count(counts, "epochs_kept");
    r->n_bad_epoch = count(counts, "epochs_bad");
    r->n_time = count(counts, "samples");
    r->n_considered = count(counts, "labels");
    r->n_bad = count(counts, "labels_bad");
    r->n_repaired = count(counts, "labels_repaired");
    r->sampling_hz = number(root, "SamplingFrequency");
    r->tmin = number(root, "EpochStart");
    return r->n_epoch > 0 && r->n_kept >= 0 && r->n_bad_epoch >= 0 && r->n_time > 0 &&
           r->n_considered > 0 && r->n_bad >= 0 && r->n_repaired >= 0;
}

static bool read_types(const tess_json_value *root, tess_ar_record *r)
{
    const tess_json_value *types = tess_json_find(root, "types");
    if (!types || types->kind != TESS_JSON_ARRAY || types->n > TESS_AUTOREJECT_N_SOLVABLE) {
        return false;
    }
    for (const tess_json_value *v = types->first; v; v = v->next) {
        r->types[r->n_type].type = tess_autoreject_type_find(text(v, "type"));
        r->types[r->n_type].consensus = number(v, "consensus");
        r->types[r->n_type].n_interpolate = count(v, "n_interpolate");
        r->n_type++;
    }
    return true;
}

// Texts of the tree, which is given back, one behind another.
static tess_status keep_texts(tess_blocks *memory, tess_ar_record_channel *channels,
                              tess_ar_record *r)
{
    size_t n = strlen(r->notes) + 1;
    for (int64_t c = 0; c < r->n_channel; c++) {
        n += strlen(channels[c].name) + 1;
    }
    char *at = tess_blocks_alloc(memory, (int64_t)n, 1, "the record of a recording");
    if (!at) {
        return TESS_E_MEMORY;
    }
    r->notes = strcpy(at, r->notes);
    at += strlen(at) + 1;
    for (int64_t c = 0; c < r->n_channel; c++) {
        channels[c].name = strcpy(at, channels[c].name);
        at += strlen(at) + 1;
    }
    r->channels = channels;
    return TESS_OK;
}

static tess_status read_root(tess_blocks *memory, const char *path, const tess_json_value *root,
                             tess_ar_record *r)
{
    const tess_json_value *origin = tess_json_find(root, TESS_ORIGIN_NAME);
    const tess_json_value *channels = tess_json_find(root, "channels");
    bool is_whole = strcmp(text(root, "schema"), TESS_AR_RECORD_SCHEMA) == 0 && channels &&
                    channels->kind == TESS_JSON_ARRAY && read_counts(root, r) &&
                    read_types(root, r);
    snprintf(r->settings, sizeof r->settings, "%s", text(origin, "settings_digest"));
    snprintf(r->inputs, sizeof r->inputs, "%s", text(origin, "inputs_digest"));
    r->notes = text(root, "notes");
    tess_ar_record_channel *items = tess_blocks_alloc(memory, is_whole ? channels->n : 0,
                                                      sizeof *items, "the record of a recording");
    if (!items) {
        return TESS_E_MEMORY;
    }
    for (const tess_json_value *v = is_whole ? channels->first : NULL; v; v = v->next) {
        is_whole = is_whole && read_channel(v, &items[r->n_channel++]);
    }
    if (!is_whole) {
        TESS_FAIL(TESS_E_FORMAT, "%s: is no record of a study that this version writes; remove it",
                  path);
    }
    return keep_texts(memory, items, r);
}

static tess_status read_file(tess_blocks *memory, tess_blocks *tree, const char *path,
                             tess_ar_record *r)
{
    static const uint64_t most = UINT64_C(64) << 20;
    tess_infile file;
    const tess_json_value *root = NULL;
    TESS_TRY(tess_infile_open(path, &file));
    const size_t n = file.bytes <= most ? (size_t)file.bytes : 0;
    char *chars = tess_blocks_alloc(tree, (int64_t)n + 1, 1, "the record of a recording");
    const tess_status status = chars ? tess_infile_read(&file, chars, n, 0) : TESS_E_MEMORY;
    tess_infile_close(&file);
    TESS_TRY(status);
    TESS_TRY(tess_json_parse(tree, path, chars, n, &root));
    return read_root(memory, path, root, r);
}

tess_status tess_ar_record_read(tess_blocks *memory, const char *path, tess_ar_record *r)
{
    tess_blocks tree;
    tess_blocks_init(&tree, memory->heap);
    *r = (tess_ar_record){.notes = ""};
    const tess_status status = read_file(memory, &tree, path, r);
    tess_blocks_free(&tree);
    return status;
}
