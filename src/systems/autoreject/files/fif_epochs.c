// FIF files that hold epochs: one or several parts, read piece by piece.
#include "base/checked.h"
#include "base/status.h"
#include "systems/autoreject/files/fif.h"
#include "systems/autoreject/text/json_list.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PART = 1000, PIECE_BYTES = 1 << 18 };

// One file of a set.
typedef struct part {
    tess_ar_fif_file file;
    uint64_t at;   // of the samples
    int64_t first; // epoch
    int64_t n_epoch;
    int32_t item_bytes; // 4 or 8
} part;

// What one file says besides its samples.
typedef struct part_text {
    int32_t *triples;
    int64_t *selection;
    char *drop_log; // JSON; NULL: none
    char *metadata;
} part_text;

typedef struct fif_epochs {
    tess_ar_fif_source source;
    part *parts; // [MAX_PART]
    int64_t n_part;
    int64_t n_chan;
    int64_t n_time;
    const double *cal;
} fif_epochs;

static void close_epochs(tess_context *ctx, void *impl)
{
    fif_epochs *all = impl;
    (void)ctx;
    for (int64_t p = 0; p < all->n_part; p++) {
        tess_ar_fif_file_close(&all->parts[p].file);
    }
}

// Samples of one row, from their big-endian bytes.
static void convert(const uint8_t *bytes, int32_t item_bytes, int64_t n, double cal, double *dst)
{
    if (item_bytes == 4) {
        for (int64_t t = 0; t < n; t++) {
            dst[t] = (double)tess_ar_be_f32(bytes + 4 * t) * cal;
        }
    } else {
        for (int64_t t = 0; t < n; t++) {
            dst[t] = tess_ar_be_f64(bytes + 8 * t) * cal;
        }
    }
}

// Rows of one epoch; neighbouring channels travel together as long as they fit into the buffer.
static tess_status read_epoch(const fif_epochs *all, const part *p, int64_t epoch,
                              const int64_t *channels, int64_t n_channel, uint8_t *buffer,
                              int64_t rows_at_once, double *dst)
{
    const uint64_t row_bytes = (uint64_t)all->n_time * (uint64_t)p->item_bytes;
    for (int64_t i = 0; i < n_channel;) {
        int64_t n = 1;
        while (n < rows_at_once && i + n < n_channel && channels[i + n] == channels[i] + n) {
            n++;
        }
        const uint64_t row = (uint64_t)((epoch - p->first) * all->n_chan + channels[i]);
        TESS_TRY(tess_infile_read(&p->file.in, buffer, (size_t)((uint64_t)n * row_bytes),
                                  p->at + row * row_bytes));
        for (int64_t k = 0; k < n; k++, dst += all->n_time) {
            convert(buffer + (uint64_t)k * row_bytes, p->item_bytes, all->n_time,
                    all->cal[channels[i + k]], dst);
        }
        i += n;
    }
    return TESS_OK;
}

static tess_status read_epochs(tess_context *ctx, void *impl, int64_t first, int64_t count,
                               const int64_t *channels, int64_t n_channel, double *dst)
{
    const fif_epochs *all = impl;
    const uint64_t row_bytes = (uint64_t)all->n_time * sizeof(double);
    const int64_t fitting = row_bytes < PIECE_BYTES ? (int64_t)(PIECE_BYTES / row_bytes) : 1;
    const int64_t rows = fitting < n_channel ? fitting : n_channel;
    const size_t bytes = (size_t)((uint64_t)rows * row_bytes);
    uint8_t *buffer = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_IO, "samples of a FIF file");
    tess_status status = buffer ? TESS_OK : TESS_E_MEMORY;
    int64_t p = 0;
    for (int64_t e = first; status == TESS_OK && e < first + count; e++) {
        while (e >= all->parts[p].first + all->parts[p].n_epoch) {
            p++;
        }
        status = read_epoch(all, &all->parts[p], e, channels, n_channel, buffer, rows,
                            dst + (e - first) * n_channel * all->n_time);
    }
    tess_heap_free(&ctx->heap, buffer, bytes, TESS_TAG_IO);
    return status;
}

static tess_status read_first_last(const tess_ar_fif_file *file, int64_t block, double *first,
                                   int64_t *n_time)
{
    const tess_ar_fif_tag *tag;
    int32_t sample;
    int32_t last;
    TESS_TRY(tess_ar_fif_need(file, block, TESS_AR_FIF_FIRST_SAMPLE, &tag));
    TESS_TRY(tess_ar_fif_read_i32(file, tag, &sample));
    TESS_TRY(tess_ar_fif_need(file, block, TESS_AR_FIF_LAST_SAMPLE, &tag));
    TESS_TRY(tess_ar_fif_read_i32(file, tag, &last));
    *first = sample;
    *n_time = (int64_t)last - sample + 1;
    if (*n_time < 1) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %llu: tags 208 and 209 let epochs last from sample %d to %d",
                  file->path, (unsigned long long)tag->at - TESS_AR_FIF_HEADER_BYTES, (int)sample,
                  (int)last);
    }
    return TESS_OK;
}

// The samples must be exactly the epochs that the events promise.
static tess_status find_samples(const fif_epochs *all, int64_t block, part *p)
{
    const tess_ar_fif_file *file = &p->file;
    const tess_ar_fif_tag *tag;
    TESS_TRY(tess_ar_fif_need(file, block, TESS_AR_FIF_EPOCH, &tag));
    const int32_t type = tag->type & ~TESS_AR_FIF_MATRIX;
    const unsigned long long at = (unsigned long long)tag->at - TESS_AR_FIF_HEADER_BYTES;
    if (type == tag->type || (type != TESS_AR_FIF_F32 && type != TESS_AR_FIF_F64)) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %llu: tag 302 (epoch data) is of type %d; expected a matrix of float32 "
                  "or float64; complex epochs are not supported",
                  file->path, at, (int)tag->type);
    }
    p->item_bytes = type == TESS_AR_FIF_F64 ? 8 : 4;
    p->at = tag->at;
    int64_t wanted;
    if (!tess_mul_i64(p->n_epoch, all->n_chan, &wanted) ||
        !tess_mul_i64(wanted, all->n_time, &wanted) ||
        !tess_mul_i64(wanted, p->item_bytes, &wanted) || wanted != tag->bytes - 16) {
        TESS_FAIL(
            TESS_E_FORMAT,
            "%s: byte %llu: tag 302 (epoch data) has %d bytes; expected 16 more than those of "
            "%lld epochs of %lld channels and %lld samples of %d bytes",
            file->path, at, (int)tag->bytes, (long long)p->n_epoch, (long long)all->n_chan,
            (long long)all->n_time, (int)p->item_bytes);
    }
    return TESS_OK;
}

static tess_status read_selection(const tess_ar_fif_file *file, int64_t block, int64_t n_epoch,
                                  tess_autoreject_epochs *epochs, int64_t **out)
{
    const tess_ar_fif_tag *tag = tess_ar_fif_tag_in(file, block, TESS_AR_FIF_SELECTION, NULL);
    int32_t *values = NULL;
    int64_t n = n_epoch;
    if (tag) {
        TESS_TRY(tess_ar_fif_read_i32s(file, tag, epochs, &values, &n));
    }
    if (n != n_epoch) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %llu: tag 3800 (selection) has %lld values for %lld epochs", file->path,
                  (unsigned long long)tag->at - TESS_AR_FIF_HEADER_BYTES, (long long)n,
                  (long long)n_epoch);
    }
    *out = tess_ar_epochs_items(epochs, n, sizeof **out);
    for (int64_t e = 0; *out && e < n; e++) {
        (*out)[e] = values ? values[e] : e;
    }
    return *out ? TESS_OK : TESS_E_MEMORY;
}

static tess_status read_texts(const tess_ar_fif_file *file, int64_t block,
                              tess_autoreject_epochs *epochs, part_text *out)
{
    const tess_ar_fif_tag *tag = tess_ar_fif_tag_in(file, block, TESS_AR_FIF_DROP_LOG, NULL);
    if (tag) {
        TESS_TRY(tess_ar_fif_read_text(file, tag, epochs, &out->drop_log));
    }
    const int64_t table = tess_ar_fif_block_in(file, 0, TESS_AR_FIF_B_METADATA, -1);
    tag = table < 0 ? NULL : tess_ar_fif_tag_in(file, table, TESS_AR_FIF_COMMENT, NULL);
    return tag ? tess_ar_fif_read_text(file, tag, epochs, &out->metadata) : TESS_OK;
}

static tess_status read_baseline(const tess_ar_fif_file *file, int64_t block,
                                 tess_autoreject_epochs_info *info)
{
    static const int32_t kinds[2][2] = {{TESS_AR_FIF_BASELINE_MIN, TESS_AR_FIF_OLD_BASELINE_MIN},
                                        {TESS_AR_FIF_BASELINE_MAX, TESS_AR_FIF_OLD_BASELINE_MAX}};
    info->baseline[0] = -(double)INFINITY;
    info->baseline[1] = (double)INFINITY;
    for (int i = 0; i < 2; i++) {
        const tess_ar_fif_tag *tag = tess_ar_fif_tag_in(file, block, kinds[i][0], NULL);
        tag = tag ? tag : tess_ar_fif_tag_in(file, block, kinds[i][1], NULL);
        if (tag) {
            TESS_TRY(tess_ar_fif_read_real(file, tag, &info->baseline[i]));
            info->has_baseline = 1;
        }
    }
    return TESS_OK;
}

// What all parts share, from the first one.
static tess_status read_common(fif_epochs *all, int64_t block, tess_autoreject_epochs *epochs)
{
    const tess_ar_fif_file *file = &all->parts[0].file;
    tess_autoreject_epochs_info *info = &epochs->info;
    tess_ar_fif_info read;
    double first;
    TESS_TRY(tess_ar_fif_read_info(file, epochs, &read));
    TESS_TRY(read_first_last(file, block, &first, &all->n_time));
    TESS_TRY(read_baseline(file, block, info));
    TESS_TRY(tess_ar_epochs_set_sensors(epochs, &read.sensors));
    all->n_chan = read.sensors.n_chan;
    all->cal = read.cal;
    info->sampling_hz = read.sampling_hz;
    info->tmin = first / read.sampling_hz;
    info->n_time = all->n_time;
    all->source = (tess_ar_fif_source){
        .file = file, .info_block = read.block, .cal = read.cal, .sensors = read.sensors};
    const tess_ar_fif_tag *tag = tess_ar_fif_tag_in(file, block, TESS_AR_FIF_REJECT_FLAT, NULL);
    if (tag) {
        char *json;
        TESS_TRY(tess_ar_fif_read_text(file, tag, epochs, &json));
        all->source.reject_json = json;
    }
    tag = tess_ar_fif_tag_in(file, block, TESS_AR_FIF_RAW_SFREQ, NULL);
    epochs->fif = &all->source;
    return tag ? tess_ar_fif_read_real(file, tag, &all->source.raw_hz) : TESS_OK;
}

// Later parts must be of the same channels and times as the first.
static tess_status check_alike(const fif_epochs *all, const tess_ar_fif_file *file, int64_t block)
{
    const int64_t info = tess_ar_fif_block_in(file, 0, TESS_AR_FIF_B_MEAS_INFO, -1);
    const tess_ar_fif_tag *tag;
    int32_t n_chan = 0;
    double first;
    int64_t n_time;
    if (info >= 0) {
        TESS_TRY(tess_ar_fif_need(file, info, TESS_AR_FIF_N_CHAN, &tag));
        TESS_TRY(tess_ar_fif_read_i32(file, tag, &n_chan));
    }
    TESS_TRY(read_first_last(file, block, &first, &n_time));
    if (n_chan != all->n_chan || n_time != all->n_time) {
        TESS_FAIL(
            TESS_E_FORMAT,
            "%s: has %d channels and %lld samples, but %s has %lld and %lld; they are no parts "
            "of one recording",
            file->path, (int)n_chan, (long long)n_time, all->parts[0].file.path,
            (long long)all->n_chan, (long long)all->n_time);
    }
    return TESS_OK;
}

static int64_t epochs_block(const tess_ar_fif_file *file)
{
    const int64_t block = tess_ar_fif_block_in(file, 0, TESS_AR_FIF_B_EPOCHS, -1);
    return block >= 0 ? block : tess_ar_fif_block_in(file, 0, TESS_AR_FIF_B_OLD_EPOCHS, -1);
}

static tess_status read_part(fif_epochs *all, tess_autoreject_epochs *epochs, part_text *text)
{
    part *p = &all->parts[all->n_part - 1];
    const int64_t block = epochs_block(&p->file);
    if (block < 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: there is no block 373 (epochs), but it goes on from %s",
                  p->file.path, all->parts[0].file.path);
    }
    TESS_TRY(all->n_part == 1 ? read_common(all, block, epochs)
                              : check_alike(all, &p->file, block));
    tess_ar_fif_events events;
    TESS_TRY(tess_ar_fif_read_events(&p->file, epochs, &events));
    if (events.n_event < 1) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %llu: block 373 (epochs) has no events: expected tag 3561 (event list) "
                  "with at least one",
                  p->file.path, (unsigned long long)p->file.blocks[block].at);
    }
    p->n_epoch = events.n_event;
    text->triples = events.triples;
    if (all->n_part == 1) {
        epochs->info.n_event_name = events.n_name;
        epochs->info.event_names = (const char *const *)events.names;
        epochs->info.event_codes = events.codes;
    } else {
        p->first = p[-1].first + p[-1].n_epoch;
    }
    TESS_TRY(find_samples(all, block, p));
    TESS_TRY(read_selection(&p->file, block, p->n_epoch, epochs, &text->selection));
    return read_texts(&p->file, block, epochs, text);
}

// Reads the parts one after another.
static tess_status read_parts(tess_context *ctx, fif_epochs *all, tess_autoreject_epochs *epochs,
                              part_text *texts)
{
    for (;;) {
        char *next = NULL;
        TESS_TRY(tess_ar_epochs_watch(epochs, &all->parts[all->n_part - 1].file.in));
        TESS_TRY(read_part(all, epochs, &texts[all->n_part - 1]));
        TESS_TRY(tess_ar_fif_next_path(&all->parts[all->n_part - 1].file, &next));
        if (!next) {
            return TESS_OK;
        }
        tess_status status = TESS_OK;
        for (int64_t p = 0; p < all->n_part && status == TESS_OK; p++) {
            if (all->n_part == MAX_PART || strcmp(next, all->parts[p].file.path) == 0) {
                status = tess_error_set(TESS_E_FORMAT, "%s: its parts lead back to %s",
                                        all->parts[0].file.path, next);
            }
        }
        if (status == TESS_OK) {
            status = tess_ar_fif_file_open(ctx, next, &all->parts[all->n_part].file);
            if (status == TESS_E_NOT_FOUND) {
                tess_error_append("; it is part %lld of %s, put it beside", (long long)all->n_part,
                                  all->parts[0].file.path);
            }
        }
        tess_heap_free(&ctx->heap, next, strlen(next) + 1, TESS_TAG_IO);
        TESS_TRY(status);
        all->n_part++;
    }
}

// A reason list ["a", "b"] as "a|b" in memory of the epochs.
static tess_status join_reasons(tess_autoreject_epochs *epochs, const char *list, size_t bytes,
                                const char **out)
{
    char *text = tess_ar_epochs_alloc(epochs, bytes + 2);
    const char *item = NULL;
    size_t n;
    char *dst = text;
    if (!text) {
        return TESS_E_MEMORY;
    }
    while (tess_ar_json_next(&list, &item, &n)) {
        if (dst > text) {
            *dst++ = '|';
        }
        if (!tess_ar_json_string(item, n, dst)) {
            return TESS_E_FORMAT;
        }
        dst += strlen(dst);
    }
    *out = text;
    return list ? TESS_OK : TESS_E_FORMAT;
}

// Parts other than an epoch's own say "IGNORED" of it.
static tess_status read_drop_log(const part *p, const part_text *text,
                                 tess_autoreject_epochs *epochs, const char **log, int64_t n_log)
{
    const char *at = text->drop_log;
    const char *item = NULL;
    size_t bytes;
    tess_status status = TESS_OK;
    int64_t i = 0;
    for (; status == TESS_OK && tess_ar_json_next(&at, &item, &bytes) && i < n_log; i++) {
        const char *reasons = "";
        status = join_reasons(epochs, item, bytes, &reasons);
        if (!log[i] || strcmp(log[i], "IGNORED") == 0) {
            log[i] = reasons;
        }
    }
    if (status == TESS_E_FORMAT || (status == TESS_OK && (!at || i != n_log))) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: tag 3801 (drop log) is no JSON list of lists of text, one per event",
                  p->file.path);
    }
    return status;
}

static tess_status fill_drop_log(const fif_epochs *all, const part_text *texts,
                                 tess_autoreject_epochs *epochs)
{
    tess_autoreject_epochs_info *info = &epochs->info;
    bool has_all = true;
    for (int64_t p = 0; p < all->n_part; p++) {
        has_all = has_all && texts[p].drop_log;
    }
    const int64_t n = has_all ? tess_ar_json_count(texts[0].drop_log) : info->n_epoch;
    const char **log = tess_ar_epochs_items(epochs, n > 0 ? n : 0, sizeof *log);
    if (!log) {
        return TESS_E_MEMORY;
    }
    for (int64_t p = 0; has_all && p < all->n_part; p++) {
        TESS_TRY(read_drop_log(&all->parts[p], &texts[p], epochs, log, n));
    }
    for (int64_t i = 0; !has_all && i < n; i++) {
        log[i] = "";
    }
    for (int64_t e = 0; e < info->n_epoch; e++) {
        if (info->selection[e] < 0 || info->selection[e] >= n) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: tag 3800 (selection) has %lld, but tag 3801 (drop log) has %lld entries",
                      all->parts[0].file.path, (long long)info->selection[e], (long long)n);
        }
    }
    info->drop_log = log;
    info->n_original = n;
    return TESS_OK;
}

// Events and selection of all parts in one.
static tess_status join_lists(const fif_epochs *all, const part_text *texts,
                              tess_autoreject_epochs *epochs)
{
    tess_autoreject_epochs_info *info = &epochs->info;
    const part *last = &all->parts[all->n_part - 1];
    info->n_epoch = last->first + last->n_epoch;
    int32_t *events = tess_ar_epochs_items(epochs, info->n_epoch, 3 * sizeof *events);
    int64_t *selection = tess_ar_epochs_items(epochs, info->n_epoch, sizeof *selection);
    if (!events || !selection) {
        return TESS_E_MEMORY;
    }
    for (int64_t p = 0; p < all->n_part; p++) {
        const part *from = &all->parts[p];
        memcpy(events + 3 * from->first, texts[p].triples,
               (size_t)from->n_epoch * 3 * sizeof *events);
        memcpy(selection + from->first, texts[p].selection,
               (size_t)from->n_epoch * sizeof *selection);
    }
    info->events = events;
    info->selection = selection;
    return TESS_OK;
}

// The tables of all parts as one list.
static tess_status join_metadata(const fif_epochs *all, const part_text *texts,
                                 tess_autoreject_epochs *epochs)
{
    size_t bytes = 1;
    for (int64_t p = 0; p < all->n_part; p++) {
        if (!texts[p].metadata) {
            return TESS_OK;
        }
        if (tess_ar_json_count(texts[p].metadata) != all->parts[p].n_epoch) {
            tess_ar_epochs_note(epochs, "%s: its metadata is no list of %lld rows and was left out",
                                all->parts[p].file.path, (long long)all->parts[p].n_epoch);
            return TESS_OK;
        }
        bytes += strlen(texts[p].metadata) + 1;
    }
    char *joined = tess_ar_epochs_alloc(epochs, bytes);
    if (!joined) {
        return TESS_E_MEMORY;
    }
    char *dst = joined;
    for (int64_t p = 0; p < all->n_part; p++) {
        const char *table = texts[p].metadata;
        const size_t open = strcspn(table, "[") + 1;
        const size_t close = (size_t)(strrchr(table, ']') - table);
        *dst++ = p > 0 ? ',' : '[';
        memcpy(dst, table + open, close - open);
        dst += close - open;
    }
    strcpy(dst, "]");
    epochs->info.metadata = joined;
    return TESS_OK;
}

// Without names every code is its own.
static tess_status name_events(tess_autoreject_epochs *epochs)
{
    tess_autoreject_epochs_info *info = &epochs->info;
    if (info->n_event_name > 0) {
        return TESS_OK;
    }
    char **names = tess_ar_epochs_items(epochs, info->n_epoch, sizeof *names);
    int32_t *codes = tess_ar_epochs_items(epochs, info->n_epoch, sizeof *codes);
    if (!names || !codes) {
        return TESS_E_MEMORY;
    }
    int64_t n = 0;
    for (int64_t e = 0; e < info->n_epoch; e++) {
        const int32_t code = info->events[3 * e + 2];
        int64_t at = n;
        while (at > 0 && codes[at - 1] > code) {
            at--;
        }
        if (at > 0 && codes[at - 1] == code) {
            continue;
        }
        memmove(codes + at + 1, codes + at, (size_t)(n - at) * sizeof *codes);
        codes[at] = code;
        n++;
    }
    for (int64_t i = 0; i < n; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", (int)codes[i]);
        names[i] = tess_ar_epochs_text(epochs, text);
        if (!names[i]) {
            return TESS_E_MEMORY;
        }
    }
    info->n_event_name = n;
    info->event_names = (const char *const *)names;
    info->event_codes = codes;
    return TESS_OK;
}

tess_status tess_ar_fif_open_epochs(tess_context *ctx, tess_ar_fif_file *file,
                                    tess_autoreject_epochs *epochs)
{
    fif_epochs *all = tess_ar_epochs_alloc(epochs, sizeof *all);
    part *parts = all ? tess_ar_epochs_items(epochs, MAX_PART, sizeof *parts) : NULL;
    part_text *texts = parts ? tess_ar_epochs_items(epochs, MAX_PART, sizeof *texts) : NULL;
    if (!texts) {
        tess_ar_fif_file_close(file);
        return TESS_E_MEMORY;
    }
    parts[0].file = *file;
    *all = (fif_epochs){.parts = parts, .n_part = 1};
    epochs->reader = (tess_ar_reader){
        .impl = all, .read = read_epochs, .close = close_epochs, .is_concurrent = true};
    TESS_TRY(read_parts(ctx, all, epochs, texts));
    TESS_TRY(join_lists(all, texts, epochs));
    TESS_TRY(join_metadata(all, texts, epochs));
    TESS_TRY(fill_drop_log(all, texts, epochs));
    TESS_TRY(name_events(epochs));
    epochs->info.stored_dtype = (int32_t)(parts[0].item_bytes == 8 ? TESS_F64 : TESS_F32);
    return TESS_OK;
}
