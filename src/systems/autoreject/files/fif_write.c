// Epochs written as FIF, in parts below 2 GiB that appear together.
#include "base/file.h"
#include "base/status.h"
#include "runtime/provenance.h"
#include "runtime/watch.h"
#include "systems/autoreject/files/fif_out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_BYTES = 8 << 20, PATH_BYTES = 1024, NEXT_FILE = 2, MAX_PART = 1000 };

// Samples of a part; with all else a file stays below 2 GiB.
static const uint64_t PART_BYTES = 2000u << 20;

typedef struct writer {
    tess_context *ctx;
    tess_autoreject_epochs *epochs;
    const tess_autoreject_write_config *config;
    const char *path;
    const char **event_names; // [n_event_name] as they are stored
    int64_t *kept;            // [n_kept] epochs
    int64_t n_kept;
    int32_t item_bytes;
    int64_t per_part; // epochs
    int64_t n_part;
    int64_t chunk_epochs;
    double *samples; // [chunk_epochs][n_chan][n_time]
    uint8_t *bytes;  // one row as it is stored
    double *cal;     // [n_chan]
    tess_watch progress;
    int64_t n_written;
} writer;

// "x-epo.fif", "x-epo-1.fif"; the same with .fif.gz.
static void part_path(const writer *w, int64_t part, char path[PATH_BYTES])
{
    const size_t n = strlen(w->path);
    size_t stem = n;
    if (stem > 3 && strcmp(w->path + stem - 3, ".gz") == 0) {
        stem -= 3;
    }
    stem -= 4; // ".fif"
    if (part == 0) {
        snprintf(path, PATH_BYTES, "%s", w->path);
    } else {
        snprintf(path, PATH_BYTES, "%.*s-%lld%s", (int)stem, w->path, (long long)part,
                 w->path + stem);
    }
}

// First and number of the kept epochs of a part.
static int64_t part_epochs(const writer *w, int64_t part, int64_t *first)
{
    *first = part * w->per_part;
    const int64_t left = w->n_kept - *first;
    return left < w->per_part ? left : w->per_part;
}

// An id of the source, or one of no machine and no time: the same epochs give the same file.
static void put_id(const writer *w, tess_ar_fif_out *out, int64_t block, int32_t kind)
{
    static const uint8_t id[20] = {0, 1, 0, 3}; // version 1.3
    const tess_ar_fif_source *source = w->epochs->fif;
    const tess_ar_fif_tag *tag =
        source && block >= 0 ? tess_ar_fif_tag_in(source->file, block, kind, NULL) : NULL;
    if (tag) {
        tess_ar_fif_copy_tag(out, source->file, tag);
    } else if (kind != TESS_AR_FIF_PARENT_BLOCK_ID) {
        tess_ar_fif_put_header(out, kind, TESS_AR_FIF_ID_STRUCT, sizeof id);
        tess_ar_fif_put(out, id, sizeof id);
    }
}

static tess_status put_events(const writer *w, tess_ar_fif_out *out, int64_t first, int64_t n)
{
    const tess_autoreject_epochs_info *info = &w->epochs->info;
    tess_text names;
    const char *chars;
    tess_text_init(&names, &w->ctx->heap);
    for (int64_t i = 0; i < info->n_event_name; i++) {
        tess_text_add(&names, i ? ";" : "");
        tess_text_add(&names, w->event_names[i]); // of any length
        tess_text_printf(&names, ":%d", (int)info->event_codes[i]);
    }
    tess_text_add(&names, "");
    const tess_status status = tess_text_finish(&names, &chars);
    if (status == TESS_OK) {
        tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_START, TESS_AR_FIF_B_EVENTS);
        tess_ar_fif_put_header(out, TESS_AR_FIF_EVENT_LIST, TESS_AR_FIF_I32, (size_t)n * 12);
        for (int64_t e = 0; e < n; e++) {
            uint8_t triple[12];
            for (int i = 0; i < 3; i++) {
                tess_ar_fif_set_i32(triple + 4 * i, info->events[3 * w->kept[first + e] + i]);
            }
            tess_ar_fif_put(out, triple, sizeof triple);
        }
        tess_ar_fif_put_text(out, TESS_AR_FIF_COMMENT, chars);
        tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_END, TESS_AR_FIF_B_EVENTS);
    }
    tess_text_destroy(&names);
    return status;
}

static tess_status put_metadata(const writer *w, tess_ar_fif_out *out, int64_t first, int64_t n)
{
    if (!w->epochs->info.metadata) {
        return TESS_OK;
    }
    tess_text rows;
    tess_text_init(&rows, &w->ctx->heap);
    const tess_status status =
        tess_ar_metadata_rows(&rows, w->epochs->info.metadata, w->kept + first, n);
    if (status == TESS_OK) {
        tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_START, TESS_AR_FIF_B_METADATA);
        tess_ar_fif_put_text(out, TESS_AR_FIF_COMMENT, rows.chars);
        tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_END, TESS_AR_FIF_B_METADATA);
    }
    tess_text_destroy(&rows);
    return status;
}

// Annotations of a FIF source, as they are.
static void put_annotations(const writer *w, tess_ar_fif_out *out)
{
    const tess_ar_fif_source *source = w->epochs->fif;
    const int64_t block =
        source ? tess_ar_fif_block_in(source->file, 0, TESS_AR_FIF_B_ANNOTATIONS, -1) : -1;
    if (block >= 0) {
        tess_ar_fif_copy_block(out, source->file, block, NULL);
    }
}

static void put_times(const writer *w, tess_ar_fif_out *out)
{
    const tess_autoreject_epochs_info *info = &w->epochs->info;
    const tess_ar_fif_source *source = w->epochs->fif;
    const double first = rint(info->tmin * info->sampling_hz);
    const double last = first + (double)(info->n_time - 1);
    tess_ar_fif_put_i32(out, TESS_AR_FIF_FIRST_SAMPLE, (int32_t)first);
    tess_ar_fif_put_i32(out, TESS_AR_FIF_LAST_SAMPLE, (int32_t)last);
    if (!source || source->raw_hz > 0) {
        tess_ar_fif_put_f32(out, TESS_AR_FIF_RAW_SFREQ,
                            source ? source->raw_hz : info->sampling_hz);
    }
    if (info->has_baseline) {
        tess_ar_fif_put_f32(out, TESS_AR_FIF_BASELINE_MIN,
                            isfinite(info->baseline[0]) ? info->baseline[0] : info->tmin);
        tess_ar_fif_put_f32(out, TESS_AR_FIF_BASELINE_MAX,
                            isfinite(info->baseline[1]) ? info->baseline[1]
                                                        : last / info->sampling_hz);
    }
}

static void put_samples(writer *w, tess_ar_fif_out *out, int64_t count)
{
    const int64_t n_chan = w->epochs->sensors.n_chan;
    const int64_t n_time = w->epochs->info.n_time;
    const double *row = w->samples;
    for (int64_t k = 0; k < count * n_chan; k++, row += n_time) {
        const double cal = w->cal[k % n_chan];
        for (int64_t t = 0; t < n_time; t++) {
            const double value = row[t] / cal;
            if (w->item_bytes == 4) {
                tess_ar_fif_set_f32(w->bytes + 4 * t, value);
            } else {
                const uint64_t word = tess_ar_be64(&value);
                memcpy(w->bytes + 8 * t, &word, sizeof word);
            }
        }
        tess_ar_fif_put(out, w->bytes, (size_t)(n_time * w->item_bytes));
    }
}

// Neighbouring epochs are read, changed and written together.
static tess_status copy_samples(writer *w, tess_ar_fif_out *out, int64_t first, int64_t n)
{
    const int64_t *kept = w->kept + first;
    for (int64_t k = 0; k < n;) {
        int64_t count = 1;
        while (k + count < n && count < w->chunk_epochs && kept[k + count] == kept[k] + count) {
            count++;
        }
        TESS_TRY(tess_watch_poll(&w->progress, w->n_written, w->n_kept));
        TESS_TRY(
            tess_autoreject_epochs_read(w->ctx, w->epochs, kept[k], count, NULL, 0, w->samples));
        if (w->config->edit) {
            TESS_TRY(w->config->edit(w->config->user, kept[k], count, w->samples));
        }
        put_samples(w, out, count);
        if (out->status != TESS_OK) {
            return tess_ar_fif_out_finish(out);
        }
        k += count;
        w->n_written += count;
    }
    return TESS_OK;
}

static tess_status put_data(writer *w, tess_ar_fif_out *out, int64_t first, int64_t n)
{
    const int64_t n_chan = w->epochs->sensors.n_chan;
    const int64_t n_time = w->epochs->info.n_time;
    uint8_t shape[16];
    tess_ar_fif_put_header(out, TESS_AR_FIF_EPOCH,
                           TESS_AR_FIF_MATRIX |
                               (w->item_bytes == 8 ? TESS_AR_FIF_F64 : TESS_AR_FIF_F32),
                           (size_t)(n * n_chan * n_time * w->item_bytes) + sizeof shape);
    TESS_TRY(copy_samples(w, out, first, n));
    tess_ar_fif_set_i32(shape, (int32_t)n_time);
    tess_ar_fif_set_i32(shape + 4, (int32_t)n_chan);
    tess_ar_fif_set_i32(shape + 8, (int32_t)n);
    tess_ar_fif_set_i32(shape + 12, 3);
    tess_ar_fif_put(out, shape, sizeof shape);
    return TESS_OK;
}

// Text as a JSON string in ASCII, which latin-1 keeps.
static void json_string(tess_text *out, const char *text, size_t n)
{
    tess_text_add(out, "\"");
    for (size_t i = 0; i < n;) {
        const uint8_t c = (uint8_t)text[i];
        if (c == '"' || c == '\\') {
            tess_text_printf(out, "\\%c", c);
        } else if (c < 0x20) {
            tess_text_printf(out, "\\u%04x", c);
        } else if (c < 0x80) {
            tess_text_append(out, text + i, 1);
        } else {
            const size_t more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
            uint32_t code = c & (0x3fu >> more);
            for (size_t k = 1; k <= more && i + k < n; k++) {
                code = code << 6 | ((uint8_t)text[i + k] & 0x3f);
            }
            if (code >= 0x10000) {
                tess_text_printf(out, "\\u%04x", 0xd800 + ((code - 0x10000) >> 10 & 0x3ff));
                code = 0xdc00 + (code & 0x3ff);
            }
            tess_text_printf(out, "\\u%04x", code);
            i += more;
        }
        i++;
    }
    tess_text_add(out, "\"");
}

static void json_reasons(tess_text *out, const char *reasons)
{
    tess_text_add(out, "[");
    for (const char *at = reasons; *at;) {
        const size_t n = strcspn(at, "|");
        tess_text_add(out, at > reasons ? ", " : "");
        json_string(out, at, n);
        at += n + (at[n] == '|');
    }
    tess_text_add(out, "]");
}

// What became of every event: dropped before, dropped now, or written, here or in another part.
static tess_status put_drop_log(const writer *w, tess_ar_fif_out *out, int64_t first, int64_t n)
{
    const tess_autoreject_epochs_info *info = &w->epochs->info;
    const char *reason = w->config->drop_reason ? w->config->drop_reason : "AUTOREJECT";
    const size_t bytes = (size_t)info->n_original * sizeof(char *);
    const char **log = tess_heap_alloc(&w->ctx->heap, bytes, TESS_TAG_IO, "a drop log");
    if (!log) {
        return TESS_E_MEMORY;
    }
    memcpy(log, info->drop_log, bytes);
    for (int64_t e = 0; e < info->n_epoch; e++) {
        log[info->selection[e]] = w->config->drop && w->config->drop[e] ? reason : "IGNORED";
    }
    for (int64_t k = first; k < first + n; k++) {
        log[info->selection[w->kept[k]]] = "";
    }
    tess_text text;
    const char *chars;
    tess_text_init(&text, &w->ctx->heap);
    tess_text_add(&text, "[");
    for (int64_t i = 0; i < info->n_original; i++) {
        tess_text_add(&text, i ? ", " : "");
        json_reasons(&text, log[i]);
    }
    tess_text_add(&text, "]");
    const tess_status status = tess_text_finish(&text, &chars);
    if (status == TESS_OK) {
        tess_ar_fif_put_text(out, TESS_AR_FIF_DROP_LOG, chars);
    }
    tess_text_destroy(&text);
    tess_heap_free(&w->ctx->heap, log, bytes, TESS_TAG_IO);
    return status;
}

static void put_selection(const writer *w, tess_ar_fif_out *out, int64_t first, int64_t n)
{
    tess_ar_fif_put_header(out, TESS_AR_FIF_SELECTION, TESS_AR_FIF_I32, (size_t)n * 4);
    for (int64_t k = first; k < first + n; k++) {
        uint8_t bytes[4];
        tess_ar_fif_set_i32(bytes, (int32_t)w->epochs->info.selection[w->kept[k]]);
        tess_ar_fif_put(out, bytes, sizeof bytes);
    }
}

static void put_next(const writer *w, tess_ar_fif_out *out, int64_t part)
{
    char path[PATH_BYTES];
    if (part + 1 == w->n_part) {
        return;
    }
    part_path(w, part + 1, path);
    const char *slash = strrchr(path, '/');
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_START, TESS_AR_FIF_B_REF);
    tess_ar_fif_put_i32(out, TESS_AR_FIF_REF_ROLE, NEXT_FILE);
    tess_ar_fif_put_text(out, TESS_AR_FIF_REF_FILE_NAME, slash ? slash + 1 : path);
    tess_ar_fif_put_i32(out, TESS_AR_FIF_REF_FILE_NUM, (int32_t)part + 1);
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_END, TESS_AR_FIF_B_REF);
}

static tess_status write_part(writer *w, tess_ar_fif_out *out, int64_t part)
{
    const tess_ar_fif_source *source = w->epochs->fif;
    int64_t first;
    const int64_t n = part_epochs(w, part, &first);
    const int64_t measurement =
        source ? tess_ar_fif_block_in(source->file, 0, TESS_AR_FIF_B_MEAS, -1) : -1;
    put_id(w, out, 0, TESS_AR_FIF_FILE_ID);
    tess_ar_fif_put_i32(out, TESS_AR_FIF_DIR_POINTER, -1);
    tess_ar_fif_put_i32(out, TESS_AR_FIF_FREE_LIST, -1);
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_START, TESS_AR_FIF_B_MEAS);
    put_id(w, out, measurement, TESS_AR_FIF_BLOCK_ID);
    put_id(w, out, measurement, TESS_AR_FIF_PARENT_BLOCK_ID);
    TESS_TRY(tess_ar_fif_write_info(out, w->epochs, w->config->provenance));
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_START, TESS_AR_FIF_B_PROCESSED);
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_START, TESS_AR_FIF_B_EPOCHS);
    put_annotations(w, out);
    TESS_TRY(put_events(w, out, first, n));
    TESS_TRY(put_metadata(w, out, first, n));
    put_times(w, out);
    TESS_TRY(put_data(w, out, first, n));
    TESS_TRY(put_drop_log(w, out, first, n));
    if (source && source->reject_json) {
        tess_ar_fif_put_text(out, TESS_AR_FIF_REJECT_FLAT, source->reject_json);
    }
    put_selection(w, out, first, n);
    put_next(w, out, part);
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_END, TESS_AR_FIF_B_EPOCHS);
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_END, TESS_AR_FIF_B_PROCESSED);
    tess_ar_fif_put_block(out, TESS_AR_FIF_BLOCK_END, TESS_AR_FIF_B_MEAS);
    tess_ar_fif_put_header(out, TESS_AR_FIF_NOP, TESS_AR_FIF_VOID, 0);
    return tess_ar_fif_out_finish(out);
}

// A run that was stopped may have left some of the parts.
static int may_replace(const writer *w, const char *path)
{
    return tess_provenance_overwrite(w->ctx, path, w->config->provenance, w->config->overwrite);
}

// The first part gets its name last: until then a reader finds the old file or none.
static tess_status commit(writer *w, tess_ar_fif_out *outs)
{
    for (int64_t p = w->n_part - 1; p >= 0; p--) {
        const tess_status status =
            tess_temp_file_commit(&outs[p].temp, may_replace(w, outs[p].temp.final_path));
        if (status == TESS_OK) {
            continue;
        }
        for (int64_t done = p + 1; done < w->n_part && !w->config->overwrite; done++) {
            char path[PATH_BYTES];
            part_path(w, done, path);
            unlink(path);
        }
        return status;
    }
    return TESS_OK;
}

static tess_status check_free(const writer *w)
{
    for (int64_t p = 0; p < w->n_part; p++) {
        char path[PATH_BYTES];
        part_path(w, p, path);
        TESS_TRY(tess_file_check_distinct(w->epochs->info.path, path));
        if (access(path, F_OK) == 0 && !may_replace(w, path)) {
            TESS_FAIL(TESS_E_EXISTS, "%s: exists already; use overwrite, or another name", path);
        }
    }
    return TESS_OK;
}

static tess_status write_all(writer *w)
{
    const size_t bytes = (size_t)w->n_part * sizeof(tess_ar_fif_out);
    tess_ar_fif_out *outs = tess_heap_alloc_zero(&w->ctx->heap, bytes, TESS_TAG_IO, "parts");
    tess_status status = outs ? check_free(w) : TESS_E_MEMORY;
    for (int64_t p = 0; status == TESS_OK && p < w->n_part; p++) {
        char path[PATH_BYTES];
        part_path(w, p, path);
        status = tess_ar_fif_out_open(w->ctx, path, &outs[p]);
        if (status == TESS_OK) {
            status = write_part(w, &outs[p], p);
        }
    }
    if (status == TESS_OK) {
        status = commit(w, outs);
    }
    for (int64_t p = 0; outs && p < w->n_part; p++) {
        tess_ar_fif_out_close(&outs[p]);
    }
    tess_heap_free(&w->ctx->heap, outs, bytes, TESS_TAG_IO);
    return status;
}

static tess_status cut_parts(writer *w, uint64_t part_bytes)
{
    const tess_autoreject_epochs_info *info = &w->epochs->info;
    const uint64_t row_bytes = (uint64_t)info->n_time * (uint64_t)w->item_bytes;
    const uint64_t epoch_bytes = (uint64_t)w->epochs->sensors.n_chan * row_bytes;
    if (epoch_bytes > PART_BYTES) {
        TESS_FAIL(TESS_E_SHAPE, "%s: an epoch has %llu bytes; FIF takes less than 2 GiB", w->path,
                  (unsigned long long)epoch_bytes);
    }
    w->per_part = epoch_bytes < part_bytes ? (int64_t)(part_bytes / epoch_bytes) : 1;
    w->n_part = (w->n_kept + w->per_part - 1) / w->per_part;
    if (w->n_part > MAX_PART || strlen(w->path) + 32 > PATH_BYTES) {
        TESS_FAIL(TESS_E_SHAPE, "%s: would take %lld parts, or its path is too long", w->path,
                  (long long)w->n_part);
    }
    const uint64_t chunk = (uint64_t)CHUNK_BYTES / (epoch_bytes / (uint64_t)w->item_bytes * 8);
    w->chunk_epochs = chunk < 1 ? 1 : chunk < (uint64_t)w->n_kept ? (int64_t)chunk : w->n_kept;
    return TESS_OK;
}

static tess_status name_events(writer *w, tess_blocks *memory)
{
    const tess_autoreject_epochs_info *info = &w->epochs->info;
    TESS_TRY(tess_ar_fif_event_names(info, memory, &w->event_names));
    char words[TESS_AR_STORED_WORDS];
    if (tess_ar_fif_stored_words(info, w->event_names, words)) {
        tess_log_write(&w->ctx->log, TESS_LOG_WARNING, "%s", words);
    }
    return TESS_OK;
}

tess_status tess_ar_fif_write_parts(tess_context *ctx, tess_autoreject_epochs *epochs,
                                    const char *path, const tess_autoreject_write_config *config,
                                    uint64_t part_bytes)
{
    const tess_ar_fif_source *source = epochs->fif;
    const int64_t n_chan = epochs->sensors.n_chan;
    const int64_t n_time = epochs->info.n_time;
    const int64_t n_epoch = epochs->info.n_epoch;
    writer w = {.ctx = ctx, .epochs = epochs, .config = config, .path = path};
    tess_blocks names;
    tess_blocks_init(&names, &ctx->heap);
    w.item_bytes = config->double_precision ? 8 : 4;
    const size_t list_bytes = (size_t)n_epoch * sizeof *w.kept;
    w.kept = tess_heap_alloc(&ctx->heap, list_bytes, TESS_TAG_IO, "epochs to write");
    if (!w.kept) {
        return TESS_E_MEMORY;
    }
    for (int64_t e = 0; e < n_epoch; e++) {
        if (!config->drop || !config->drop[e]) {
            w.kept[w.n_kept++] = e;
        }
    }
    tess_status status = cut_parts(&w, part_bytes);
    const size_t row_bytes = (size_t)n_time * 8;
    const size_t cal_bytes = (size_t)n_chan * sizeof *w.cal;
    const size_t sample_bytes = (size_t)(w.chunk_epochs * n_chan) * row_bytes;
    if (status == TESS_OK) {
        w.samples = tess_heap_alloc(&ctx->heap, sample_bytes, TESS_TAG_IO, "epochs to write");
        w.bytes = tess_heap_alloc(&ctx->heap, row_bytes, TESS_TAG_IO, "epochs to write");
        w.cal = tess_heap_alloc(&ctx->heap, cal_bytes, TESS_TAG_IO, "epochs to write");
        status = w.samples && w.bytes && w.cal ? TESS_OK : TESS_E_MEMORY;
    }
    for (int64_t c = 0; status == TESS_OK && c < n_chan; c++) {
        w.cal[c] = source ? source->cal[c] : 1;
    }
    if (status == TESS_OK) {
        status = name_events(&w, &names);
    }
    if (status == TESS_OK) {
        tess_watch_begin(&w.progress, ctx, "autoreject.write", "epochs", 0,
                         (uint64_t)w.n_kept * (uint64_t)n_chan * row_bytes, TESS_STRATEGY_CHUNKED);
        status = write_all(&w);
    }
    tess_blocks_free(&names);
    tess_heap_free(&ctx->heap, w.cal, cal_bytes, TESS_TAG_IO);
    tess_heap_free(&ctx->heap, w.bytes, row_bytes, TESS_TAG_IO);
    tess_heap_free(&ctx->heap, w.samples, sample_bytes, TESS_TAG_IO);
    tess_heap_free(&ctx->heap, w.kept, list_bytes, TESS_TAG_IO);
    return status;
}

tess_status tess_ar_fif_write(tess_context *ctx, tess_autoreject_epochs *epochs, const char *path,
                              const tess_autoreject_write_config *config)
{
    return tess_ar_fif_write_parts(ctx, epochs, path, config, PART_BYTES);
}
