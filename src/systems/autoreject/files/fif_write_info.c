// The measurement info of a file that is written: the source's own, or made from the sensors.
#include "base/status.h"
#include "base/text.h"
#include "runtime/origin.h"
#include "systems/autoreject/files/fif_out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_CHARS = 15, FRAME_HEAD = 4, FRAME_DEVICE = 1, PROJ_KIND = 1 };

typedef struct channel_out {
    char name[4 * NAME_CHARS + 1]; // of the fixed record: at most NAME_CHARS characters
    uint8_t record[TESS_AR_FIF_CH_BYTES];
} channel_out;

typedef struct info_out {
    tess_autoreject_epochs *epochs;
    const tess_ar_fif_source *source; // NULL: not a FIF file
    channel_out *channels;
    const char *provenance; // NULL: none
    bool is_edited;
    bool has_long_names;
    int64_t n_record; // records and blocks of channels copied so far
    int64_t n_block;
} info_out;

// Bytes of the first n characters.
static size_t utf8_bytes(const char *text, int64_t n)
{
    size_t at = 0;
    while (text[at] && n > 0) {
        at++;
        while (((uint8_t)text[at] & 0xc0) == 0x80) {
            at++;
        }
        n--;
    }
    return at;
}

static bool is_taken(const info_out *w, int64_t n, const char *name)
{
    for (int64_t c = 0; c < n; c++) {
        if (strcmp(w->channels[c].name, name) == 0) {
            return true;
        }
    }
    return false;
}

// Names that fit into the fixed record and differ.
static void shorten_names(info_out *w)
{
    const tess_autoreject_sensors *sensors = &w->epochs->sensors;
    for (int64_t c = 0; c < sensors->n_chan; c++) {
        const char *name = sensors->channels[c].name;
        char *out = w->channels[c].name;
        const size_t room = sizeof w->channels[c].name;
        snprintf(out, room, "%.*s", (int)utf8_bytes(name, NAME_CHARS), name);
        w->has_long_names = w->has_long_names || strcmp(out, name) != 0;
        for (int k = 0; is_taken(w, c, out); k++) {
            char suffix[16];
            const int n = snprintf(suffix, sizeof suffix, "-%d", k);
            snprintf(out, room, "%.*s%s", (int)utf8_bytes(name, NAME_CHARS - n), name, suffix);
        }
    }
}

// A name in a record, in latin-1.
static void set_name(uint8_t *record, const char *name)
{
    uint8_t *at = record + 80;
    for (size_t i = 0; name[i] && at < record + 80 + NAME_CHARS; i++) {
        const uint8_t c = (uint8_t)name[i];
        if (c < 0x80) {
            *at++ = c;
        } else if ((c & 0xfc) == 0xc0) {
            *at++ = (uint8_t)(c << 6 | ((uint8_t)name[++i] & 0x3f));
        } else if (c >= 0xc0) {
            *at++ = '?';
        }
    }
}

static void make_record(const tess_autoreject_channel *channel, int64_t c, channel_out *out)
{
    int32_t kind;
    int32_t unit;
    int32_t coil;
    tess_ar_fif_of_type(channel->type, &kind, &unit, &coil);
    memset(out->record, 0, sizeof out->record);
    tess_ar_fif_set_i32(out->record, (int32_t)c + 1);
    tess_ar_fif_set_i32(out->record + 4, (int32_t)c + 1);
    tess_ar_fif_set_i32(out->record + 8, kind);
    tess_ar_fif_set_f32(out->record + 12, 1);
    tess_ar_fif_set_f32(out->record + 16, 1);
    tess_ar_fif_set_i32(out->record + 20, channel->coil_type ? channel->coil_type : coil);
    for (int i = 0; i < 12; i++) {
        tess_ar_fif_set_f32(out->record + 24 + 4 * i, channel->loc[i]);
    }
    tess_ar_fif_set_i32(out->record + 72, unit);
    set_name(out->record, out->name);
}

// Changes of the caller and, of a continuous recording, the range that epochs do without.
static void patch_record(const info_out *w, const tess_autoreject_channel *channel, uint8_t *record)
{
    const int32_t type =
        tess_ar_fif_type((int32_t)tess_ar_be32(record + 8), (int32_t)tess_ar_be32(record + 72),
                         (int32_t)tess_ar_be32(record + 20));
    if (w->source->is_raw) {
        tess_ar_fif_set_f32(record + 12, 1);
    }
    if (type != channel->type) {
        int32_t kind;
        int32_t unit;
        int32_t coil;
        tess_ar_fif_of_type(channel->type, &kind, &unit, &coil);
        tess_ar_fif_set_i32(record + 8, kind);
        tess_ar_fif_set_i32(record + 20, coil);
        tess_ar_fif_set_i32(record + 72, unit);
    }
    for (int i = 0; i < 12; i++) {
        tess_ar_fif_set_f32(record + 24 + 4 * i, channel->loc[i]);
    }
}

static void put_record(tess_ar_fif_out *out, const uint8_t *record)
{
    tess_ar_fif_put_header(out, TESS_AR_FIF_CH_INFO, TESS_AR_FIF_CH_STRUCT, TESS_AR_FIF_CH_BYTES);
    tess_ar_fif_put(out, record, TESS_AR_FIF_CH_BYTES);
}

static void put_word(tess_ar_fif_out *out, int32_t kind, int32_t type, const uint8_t *bytes,
                     size_t n)
{
    tess_ar_fif_put_header(out, kind, type, n);
    tess_ar_fif_put(out, bytes, n);
}

// A channel's record as a block, for its long name.
static void put_long(tess_ar_fif_out *out, const tess_autoreject_channel *channel,
                     const uint8_t *record)
{
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_START, TESS_AR_FIF_B_CH_INFO);
    put_word(out, TESS_AR_FIF_CH_SCAN_NO, TESS_AR_FIF_I32, record, 4);
    put_word(out, TESS_AR_FIF_CH_LOGICAL_NO, TESS_AR_FIF_I32, record + 4, 4);
    put_word(out, TESS_AR_FIF_CH_KIND, TESS_AR_FIF_I32, record + 8, 4);
    put_word(out, TESS_AR_FIF_CH_RANGE, TESS_AR_FIF_F32, record + 12, 4);
    put_word(out, TESS_AR_FIF_CH_CAL, TESS_AR_FIF_F32, record + 16, 4);
    put_word(out, TESS_AR_FIF_CH_COIL_TYPE, TESS_AR_FIF_I32, record + 20, 4);
    put_word(out, TESS_AR_FIF_CH_LOC, TESS_AR_FIF_F32, record + 24, 48);
    put_word(out, TESS_AR_FIF_CH_UNIT, TESS_AR_FIF_I32, record + 72, 4);
    put_word(out, TESS_AR_FIF_CH_UNIT_MUL, TESS_AR_FIF_I32, record + 76, 4);
    tess_ar_fif_put_text(out, TESS_AR_FIF_CH_NAME, channel->name);
    tess_ar_fif_put_i32(
        out, TESS_AR_FIF_CH_COORD_FRAME,
        channel->type == TESS_AUTOREJECT_MAG || channel->type == TESS_AUTOREJECT_GRAD ? FRAME_DEVICE
                                                                                      : FRAME_HEAD);
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_END, TESS_AR_FIF_B_CH_INFO);
}

static void put_points(tess_ar_fif_out *out, const tess_autoreject_sensors *sensors)
{
    if (sensors->n_point == 0) {
        return;
    }
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_START, TESS_AR_FIF_B_ISOTRAK);
    for (int64_t i = 0; i < sensors->n_point; i++) {
        uint8_t bytes[20];
        tess_ar_fif_set_i32(bytes, sensors->points[i].kind);
        tess_ar_fif_set_i32(bytes + 4, sensors->points[i].ident);
        for (int k = 0; k < 3; k++) {
            tess_ar_fif_set_f32(bytes + 8 + 4 * k, sensors->points[i].position[k]);
        }
        put_word(out, TESS_AR_FIF_DIG_POINT, TESS_AR_FIF_DIG_STRUCT, bytes, sizeof bytes);
    }
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_END, TESS_AR_FIF_B_ISOTRAK);
}

// A rotation and a shift, then their inverse.
static void put_transform(tess_ar_fif_out *out, const double *m)
{
    uint8_t bytes[104];
    tess_ar_fif_set_i32(bytes, FRAME_DEVICE);
    tess_ar_fif_set_i32(bytes + 4, FRAME_HEAD);
    for (int row = 0; row < 3; row++) {
        double back = 0;
        for (int col = 0; col < 3; col++) {
            tess_ar_fif_set_f32(bytes + 8 + 4 * (3 * row + col), m[4 * row + col]);
            tess_ar_fif_set_f32(bytes + 56 + 4 * (3 * row + col), m[4 * col + row]);
            back -= m[4 * col + row] * m[4 * col + 3];
        }
        tess_ar_fif_set_f32(bytes + 44 + 4 * row, m[4 * row + 3]);
        tess_ar_fif_set_f32(bytes + 92 + 4 * row, back);
    }
    put_word(out, TESS_AR_FIF_COORD_TRANS, TESS_AR_FIF_TRANS_STRUCT, bytes, sizeof bytes);
}

// Adds a name to a list joined by ':'.
static void join_name(tess_text *list, const char *name)
{
    if (list->used > 0) {
        tess_text_add(list, ":");
    }
    for (const char *at = name; *at; at++) {
        if (*at == ':') {
            tess_text_add(list, "{COLON}");
        } else {
            tess_text_append(list, at, 1);
        }
    }
}

static tess_status put_names(tess_ar_fif_out *out, int32_t kind, const tess_text *list)
{
    const char *chars;
    TESS_TRY(tess_text_finish(list, &chars));
    tess_ar_fif_put_text(out, kind, chars);
    return TESS_OK;
}

static tess_status put_projector(tess_ar_fif_out *out, const tess_autoreject_projector *p)
{
    tess_text names;
    tess_text_init(&names, &out->ctx->heap);
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_START, TESS_AR_FIF_B_PROJ_ITEM);
    for (int64_t c = 0; c < p->n_chan; c++) {
        join_name(&names, p->channel_names[c]);
    }
    const tess_status status = put_names(out, TESS_AR_FIF_PROJ_CHANNELS, &names);
    tess_text_destroy(&names);
    TESS_TRY(status);
    tess_ar_fif_put_text(out, TESS_AR_FIF_NAME, *p->name ? p->name : "projector");
    tess_ar_fif_put_i32(out, TESS_AR_FIF_N_CHAN, (int32_t)p->n_chan);
    tess_ar_fif_put_i32(out, TESS_AR_FIF_PROJ_KIND, PROJ_KIND);
    tess_ar_fif_put_i32(out, TESS_AR_FIF_PROJ_N_VECTOR, (int32_t)p->n_vector);
    tess_ar_fif_put_i32(out, TESS_AR_FIF_PROJ_ACTIVE, p->is_active);
    tess_ar_fif_put_header(out, TESS_AR_FIF_PROJ_VECTORS, TESS_AR_FIF_F32 | TESS_AR_FIF_MATRIX,
                           (size_t)(p->n_vector * p->n_chan * 4 + 12));
    for (int64_t i = 0; i < p->n_vector * p->n_chan; i++) {
        uint8_t bytes[4];
        tess_ar_fif_set_f32(bytes, p->vectors[i]);
        tess_ar_fif_put(out, bytes, sizeof bytes);
    }
    uint8_t shape[12];
    tess_ar_fif_set_i32(shape, (int32_t)p->n_chan);
    tess_ar_fif_set_i32(shape + 4, (int32_t)p->n_vector);
    tess_ar_fif_set_i32(shape + 8, 2);
    tess_ar_fif_put(out, shape, sizeof shape);
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_END, TESS_AR_FIF_B_PROJ_ITEM);
    return TESS_OK;
}

static tess_status put_bads(tess_ar_fif_out *out, const info_out *w)
{
    const tess_autoreject_sensors *sensors = &w->epochs->sensors;
    tess_text names;
    tess_text_init(&names, &out->ctx->heap);
    for (int64_t c = 0; c < sensors->n_chan; c++) {
        if (sensors->channels[c].is_bad) {
            join_name(&names, sensors->channels[c].name);
        }
    }
    tess_status status = TESS_OK;
    if (names.used > 0 || names.no_memory) {
        tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_START, TESS_AR_FIF_B_BADS);
        status = put_names(out, TESS_AR_FIF_CH_NAME_LIST, &names);
        tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_END, TESS_AR_FIF_B_BADS);
    }
    tess_text_destroy(&names);
    return status;
}

// MNE keeps the description of a measurement, whatever it does with the file. One that is there
// stays, without the provenance of the source.
static tess_status put_description(tess_ar_fif_out *out, const info_out *w)
{
    const tess_ar_fif_source *source = w->source;
    const tess_ar_fif_tag *tag =
        source ? tess_ar_fif_tag_in(source->file, source->info_block, TESS_AR_FIF_COMMENT, NULL)
               : NULL;
    char none[] = "";
    char *old = none;
    const char *chars = NULL;
    tess_text text;
    if (!w->provenance) {
        return TESS_OK;
    }
    if (tag) {
        TESS_TRY(tess_ar_fif_read_text(source->file, tag, w->epochs, &old));
    }
    const char *end = strstr(old, TESS_ORIGIN_NAME);
    size_t n = end ? (size_t)(end - old) : strlen(old);
    while (n > 0 && old[n - 1] == '\n') {
        n--;
    }
    tess_text_init(&text, &out->ctx->heap);
    tess_text_append(&text, old, n);
    tess_text_add(&text, n > 0 ? "\n" TESS_ORIGIN_NAME " " : TESS_ORIGIN_NAME " ");
    tess_text_add(&text, w->provenance);
    const tess_status status = tess_text_finish(&text, &chars);
    if (status == TESS_OK) {
        tess_ar_fif_put_text(out, TESS_AR_FIF_COMMENT, chars);
    }
    tess_text_destroy(&text);
    return status;
}

static tess_status make_info(tess_ar_fif_out *out, info_out *w)
{
    const tess_autoreject_sensors *sensors = &w->epochs->sensors;
    const double hz = w->epochs->info.sampling_hz;
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_START, TESS_AR_FIF_B_MEAS_INFO);
    put_points(out, sensors);
    if (sensors->has_device_to_head) {
        put_transform(out, sensors->device_to_head);
    }
    tess_ar_fif_put_i32(out, TESS_AR_FIF_N_CHAN, (int32_t)sensors->n_chan);
    tess_ar_fif_put_f32(out, TESS_AR_FIF_SFREQ, hz);
    tess_ar_fif_put_f32(out, TESS_AR_FIF_LOWPASS, hz / 2);
    tess_ar_fif_put_f32(out, TESS_AR_FIF_HIGHPASS, 0);
    if (sensors->n_projector > 0) {
        tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_START, TESS_AR_FIF_B_PROJ);
        for (int64_t k = 0; k < sensors->n_projector; k++) {
            TESS_TRY(put_projector(out, &sensors->projectors[k]));
        }
        tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_END, TESS_AR_FIF_B_PROJ);
    }
    shorten_names(w);
    for (int64_t c = 0; c < sensors->n_chan; c++) {
        make_record(&sensors->channels[c], c, &w->channels[c]);
        put_record(out, w->channels[c].record);
    }
    for (int64_t c = 0; w->has_long_names && c < sensors->n_chan; c++) {
        put_long(out, &sensors->channels[c], w->channels[c].record);
    }
    TESS_TRY(put_bads(out, w));
    TESS_TRY(put_description(out, w));
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_END, TESS_AR_FIF_B_MEAS_INFO);
    return TESS_OK;
}

// Whether projectors were applied that the source says are not.
static bool is_projected(const info_out *w)
{
    const tess_autoreject_sensors *now = &w->epochs->sensors;
    const tess_autoreject_sensors *then = &w->source->sensors;
    for (int64_t k = 0; k < now->n_projector && k < then->n_projector; k++) {
        if (now->projectors[k].is_active && !then->projectors[k].is_active) {
            return true; // then all of them are
        }
    }
    return false;
}

// Records of channels are patched; everything else of the source stays as it is.
static bool edit_tag(void *user, tess_ar_fif_out *out, const tess_ar_fif_tag *tag)
{
    info_out *w = user;
    const tess_ar_fif_file *file = w->source->file;
    const bool is_own = tag->block == w->source->info_block;
    if (tag->kind == TESS_AR_FIF_PROJ_ACTIVE && is_projected(w)) {
        return true; // written anew at the end of its block
    }
    if (tag->kind == TESS_AR_FIF_COMMENT && is_own) {
        return w->provenance != NULL; // written anew at the end
    }
    if (!w->is_edited || tag->kind != TESS_AR_FIF_CH_INFO || !is_own ||
        w->n_record >= w->epochs->sensors.n_chan) {
        return false;
    }
    channel_out *channel = &w->channels[w->n_record];
    if (tess_infile_read(&file->in, channel->record, TESS_AR_FIF_CH_BYTES, tag->at) != TESS_OK) {
        return false; // the copy finds out
    }
    patch_record(w, &w->epochs->sensors.channels[w->n_record++], channel->record);
    put_record(out, channel->record);
    return true;
}

static bool edit_block(void *user, tess_ar_fif_out *out, int64_t block)
{
    info_out *w = user;
    const int32_t kind = w->source->file->blocks[block].kind;
    if (!w->is_edited) {
        return false;
    }
    if (kind == TESS_AR_FIF_B_CH_INFO && w->n_block < w->n_record) {
        put_long(out, &w->epochs->sensors.channels[w->n_block], w->channels[w->n_block].record);
        w->n_block++;
        return true;
    }
    // Written anew at the end.
    return kind == TESS_AR_FIF_B_BADS || kind == TESS_AR_FIF_B_ISOTRAK;
}

static void edit_end(void *user, tess_ar_fif_out *out, int64_t block)
{
    info_out *w = user;
    tess_status status = TESS_OK;
    if (w->source->file->blocks[block].kind == TESS_AR_FIF_B_PROJ_ITEM && is_projected(w)) {
        tess_ar_fif_put_i32(out, TESS_AR_FIF_PROJ_ACTIVE, 1);
    }
    if (block != w->source->info_block) {
        return;
    }
    if (w->is_edited) {
        put_points(out, &w->epochs->sensors);
        status = put_bads(out, w);
    }
    status = status == TESS_OK ? put_description(out, w) : status;
    if (status != TESS_OK && out->status == TESS_OK) {
        out->status = status;
    }
}

static bool is_same_place(const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++) {
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i]))) {
            return false;
        }
    }
    return true;
}

// Types, marks, positions or points differ from what the file says.
static bool is_edited(const info_out *w)
{
    const tess_autoreject_sensors *now = &w->epochs->sensors;
    const tess_autoreject_sensors *then = &w->source->sensors;
    if (w->source->is_raw || now->n_point != then->n_point) {
        return true;
    }
    for (int64_t i = 0; i < now->n_point; i++) {
        if (!is_same_place(now->points[i].position, then->points[i].position, 3)) {
            return true;
        }
    }
    for (int64_t c = 0; c < now->n_chan; c++) {
        const tess_autoreject_channel *a = &now->channels[c];
        const tess_autoreject_channel *b = &then->channels[c];
        if (a->type != b->type || a->is_bad != b->is_bad || !is_same_place(a->loc, b->loc, 12)) {
            return true;
        }
    }
    return false;
}

static tess_status copy_info(tess_ar_fif_out *out, info_out *w)
{
    const tess_ar_fif_file *file = w->source->file;
    const tess_ar_fif_edit edit = {w, edit_block, edit_tag, edit_end};
    w->is_edited = is_edited(w);
    tess_ar_fif_copy_block(out, file, w->source->info_block, &edit);
    const int64_t history = tess_ar_fif_block_in(file, 0, TESS_AR_FIF_B_HISTORY, -1);
    if (history >= 0) {
        tess_ar_fif_copy_block(out, file, history, NULL);
    }
    return TESS_OK;
}

tess_status tess_ar_fif_write_info(tess_ar_fif_out *out, tess_autoreject_epochs *epochs,
                                   const char *provenance)
{
    const size_t bytes = (size_t)epochs->sensors.n_chan * sizeof(channel_out);
    info_out w = {.epochs = epochs, .source = epochs->fif, .provenance = provenance};
    w.channels = tess_heap_alloc_zero(&out->ctx->heap, bytes, TESS_TAG_IO, "channels");
    if (!w.channels) {
        return TESS_E_MEMORY;
    }
    const tess_status status = w.source ? copy_info(out, &w) : make_info(out, &w);
    tess_heap_free(&out->ctx->heap, w.channels, bytes, TESS_TAG_IO);
    return status;
}
