// FIF files that hold a continuous recording: buffers of interleaved samples, read where needed.
#include "base/checked.h"
#include "base/status.h"
#include "systems/autoreject/files/annotations.h"
#include "systems/autoreject/files/fif.h"

#include <math.h>
#include <string.h>

// Gaps cost nothing in the file; more of them than days of pauses are a mistake.
enum { MAX_PART = 1000, PIECE_BYTES = 1 << 18, MAX_GAP = 50000000 };

// A stretch of samples that lies in one place; fd -1: a gap, which reads as zeros.
typedef struct stretch {
    uint64_t at;
    int64_t first; // sample, from the first of the recording
    int64_t n_sample;
    int32_t type;
    int32_t part; // -1: a gap
} stretch;

typedef struct fif_raw {
    tess_ar_fif_source source;
    tess_ar_fif_file parts[MAX_PART];
    int64_t n_part;
    int64_t n_chan;
    double *scale; // [n_chan] range x cal
    stretch *stretches;
    int64_t n_stretch;
    int64_t capacity;
    int64_t n_sample;
    int64_t n_gap;
    int64_t first_sample;
} fif_raw;

static void close_raw(tess_context *ctx, void *impl)
{
    fif_raw *raw = impl;
    for (int64_t p = 0; p < raw->n_part; p++) {
        tess_ar_fif_file_close(&raw->parts[p]);
    }
    tess_heap_free(&ctx->heap, raw->stretches, (size_t)raw->capacity * sizeof *raw->stretches,
                   TESS_TAG_IO);
    tess_heap_free(&ctx->heap, raw, sizeof *raw, TESS_TAG_IO);
}

static int64_t item_bytes(int32_t type)
{
    switch (type) {
    case TESS_AR_FIF_I16:
    case TESS_AR_FIF_PACKED_I16:
        return 2;
    case TESS_AR_FIF_I32:
    case TESS_AR_FIF_F32:
        return 4;
    case TESS_AR_FIF_F64:
        return 8;
    default:
        return 0;
    }
}

static inline double item_i16(const uint8_t *bytes)
{
    return (double)(int16_t)(uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline double item_i32(const uint8_t *bytes)
{
    return (double)(int32_t)tess_ar_be32(bytes);
}

static inline double item_f32(const uint8_t *bytes)
{
    return (double)tess_ar_be_f32(bytes);
}

// One channel out of interleaved samples.
static void take_channel(const uint8_t *bytes, int32_t type, int64_t stride, int64_t n,
                         double scale, double *dst)
{
#define TAKE(item)                                                                                 \
    for (int64_t t = 0; t < n; t++) {                                                              \
        dst[t] = item(bytes + t * stride) * scale;                                                 \
    }                                                                                              \
    break
    switch (type) {
    case TESS_AR_FIF_I32:
        TAKE(item_i32);
    case TESS_AR_FIF_F32:
        TAKE(item_f32);
    case TESS_AR_FIF_F64:
        TAKE(tess_ar_be_f64);
    default:
        TAKE(item_i16);
    }
#undef TAKE
}

// The stretch that holds a sample.
static int64_t find_stretch(const fif_raw *raw, int64_t sample)
{
    int64_t low = 0;
    for (int64_t high = raw->n_stretch; high - low > 1;) {
        const int64_t middle = low + (high - low) / 2;
        if (raw->stretches[middle].first <= sample) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

typedef struct request {
    const int64_t *channels;
    int64_t n_channel;
    int64_t first;
    int64_t count;
    double *dst;
    uint8_t *buffer;
} request;

// Samples from..from+n-1 of a stretch, as many at once as the buffer takes.
static tess_status read_stretch(const fif_raw *raw, const stretch *s, const request *r,
                                int64_t from, int64_t n)
{
    const int64_t stride = raw->n_chan * item_bytes(s->type);
    const int64_t at_once = s->part < 0 ? n : stride < PIECE_BYTES ? PIECE_BYTES / stride : 1;
    for (int64_t k = 0; k < n; k += at_once) {
        const int64_t now = n - k < at_once ? n - k : at_once;
        if (s->part >= 0) {
            const tess_ar_fif_file *file = &raw->parts[s->part];
            TESS_TRY(tess_infile_read(&file->in, r->buffer, (size_t)(now * stride),
                                      s->at + (uint64_t)((from + k - s->first) * stride)));
        }
        for (int64_t i = 0; i < r->n_channel; i++) {
            double *dst = r->dst + i * r->count + (from + k - r->first);
            if (s->part < 0) {
                memset(dst, 0, (size_t)now * sizeof *dst);
            } else {
                take_channel(r->buffer + r->channels[i] * item_bytes(s->type), s->type, stride, now,
                             raw->scale[r->channels[i]], dst);
            }
        }
    }
    return TESS_OK;
}

static tess_status read_raw(tess_context *ctx, void *impl, int64_t first, int64_t count,
                            const int64_t *channels, int64_t n_channel, double *dst)
{
    const fif_raw *raw = impl;
    const int64_t widest = raw->n_chan * 8;
    const size_t bytes = (size_t)(widest > PIECE_BYTES ? widest : PIECE_BYTES);
    uint8_t *buffer = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_IO, "samples of a FIF file");
    if (!buffer) {
        return TESS_E_MEMORY;
    }
    const request r = {channels, n_channel, first, count, dst, buffer};
    tess_status status = TESS_OK;
    int64_t sample = first;
    for (int64_t k = find_stretch(raw, first); status == TESS_OK && sample < first + count; k++) {
        const stretch *s = &raw->stretches[k];
        const int64_t left = s->first + s->n_sample - sample;
        const int64_t n = left < first + count - sample ? left : first + count - sample;
        status = read_stretch(raw, s, &r, sample, n);
        sample += n;
    }
    tess_heap_free(&ctx->heap, buffer, bytes, TESS_TAG_IO);
    return status;
}

static tess_status add_stretch(tess_context *ctx, fif_raw *raw, stretch s)
{
    if (s.n_sample == 0) {
        return TESS_OK;
    }
    if (raw->n_stretch == raw->capacity) {
        const int64_t more = raw->capacity > 0 ? 2 * raw->capacity : 256;
        stretch *bigger = tess_heap_alloc(&ctx->heap, (size_t)more * sizeof *bigger, TESS_TAG_IO,
                                          "buffers of a FIF file");
        if (!bigger) {
            return TESS_E_MEMORY;
        }
        if (raw->n_stretch > 0) {
            memcpy(bigger, raw->stretches, (size_t)raw->n_stretch * sizeof *bigger);
        }
        tess_heap_free(&ctx->heap, raw->stretches, (size_t)raw->capacity * sizeof *bigger,
                       TESS_TAG_IO);
        raw->stretches = bigger;
        raw->capacity = more;
    }
    s.first = raw->n_sample;
    raw->n_gap += s.part < 0 ? s.n_sample : 0;
    if (s.n_sample > INT32_MAX - raw->n_sample || raw->n_gap > MAX_GAP) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: has more samples than FIF can number, or gaps of more than "
                  "%d samples",
                  raw->parts[0].path, MAX_GAP);
    }
    raw->n_sample += s.n_sample;
    raw->stretches[raw->n_stretch++] = s;
    return TESS_OK;
}

static tess_status read_count(const tess_ar_fif_file *file, const tess_ar_fif_tag *tag,
                              int32_t *count)
{
    TESS_TRY(tess_ar_fif_read_i32(file, tag, count));
    if (*count < 0) {
        char words[64];
        TESS_FAIL(TESS_E_FORMAT, "%s: byte %llu: %s is %d; expected 0 or more", file->path,
                  (unsigned long long)tag->at - TESS_AR_FIF_HEADER_BYTES,
                  tess_ar_fif_words(tag->kind, words), (int)*count);
    }
    return TESS_OK;
}

static tess_status buffer_samples(const fif_raw *raw, const tess_ar_fif_file *file,
                                  const tess_ar_fif_tag *tag, int64_t *n)
{
    const int64_t bytes = item_bytes(tag->type);
    if (bytes == 0 || tag->bytes % (bytes * raw->n_chan) != 0) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %llu: tag 300 (data buffer) has %d bytes of type %d; expected whole "
                  "samples of %lld channels of type 2, 3, 4, 5 or 16",
                  file->path, (unsigned long long)tag->at - TESS_AR_FIF_HEADER_BYTES,
                  (int)tag->bytes, (int)tag->type, (long long)raw->n_chan);
    }
    *n = tag->bytes / (bytes * raw->n_chan);
    return TESS_OK;
}

// Buffers and gaps of a file, behind those of the files before. Gaps are counted in buffers, and
// those before the first one shift the first sample.
static tess_status read_buffers(tess_context *ctx, fif_raw *raw, int64_t block)
{
    const int32_t p = (int32_t)(raw->n_part - 1);
    const tess_ar_fif_file *file = &raw->parts[p];
    int32_t n_skip = 0;
    bool is_first = true;
    for (int64_t i = file->blocks[block].first; i < file->blocks[block].end; i++) {
        const tess_ar_fif_tag *tag = &file->tags[i];
        int32_t value;
        if (tag->block != block) {
            continue;
        }
        if (tag->kind == TESS_AR_FIF_FIRST_SAMPLE && is_first) {
            TESS_TRY(read_count(file, tag, &value));
            raw->first_sample = p == 0 ? value : raw->first_sample;
        } else if (tag->kind == TESS_AR_FIF_DATA_SKIP) {
            TESS_TRY(read_count(file, tag, &n_skip));
        } else if (tag->kind == TESS_AR_FIF_DATA_BUFFER) {
            int64_t n = 0;
            TESS_TRY(buffer_samples(raw, file, tag, &n));
            if (is_first && p == 0) {
                raw->first_sample += n_skip * n;
            } else if (!is_first) {
                TESS_TRY(add_stretch(
                    ctx, raw,
                    (stretch){.n_sample = n_skip * n, .type = TESS_AR_FIF_I16, .part = -1}));
            }
            n_skip = 0;
            is_first = false;
            TESS_TRY(add_stretch(
                ctx, raw, (stretch){.at = tag->at, .n_sample = n, .type = tag->type, .part = p}));
        }
    }
    return TESS_OK;
}

static int64_t raw_block(const tess_ar_fif_file *file)
{
    static const int32_t kinds[] = {TESS_AR_FIF_B_RAW, TESS_AR_FIF_B_CONTINUOUS,
                                    TESS_AR_FIF_B_SHIELDED};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const int64_t block = tess_ar_fif_block_in(file, 0, kinds[i], -1);
        if (block >= 0) {
            return block;
        }
    }
    return -1;
}

static tess_status open_next(tess_context *ctx, fif_raw *raw, bool *is_open)
{
    char *next = NULL;
    *is_open = false;
    TESS_TRY(tess_ar_fif_next_path(&raw->parts[raw->n_part - 1], &next));
    if (!next) {
        return TESS_OK;
    }
    tess_status status = TESS_OK;
    for (int64_t p = 0; p < raw->n_part && status == TESS_OK; p++) {
        if (raw->n_part == MAX_PART || strcmp(next, raw->parts[p].path) == 0) {
            status = tess_error_set(TESS_E_FORMAT, "%s: its parts lead back to %s",
                                    raw->parts[0].path, next);
        }
    }
    if (status == TESS_OK) {
        status = tess_ar_fif_file_open(ctx, next, &raw->parts[raw->n_part]);
        if (status == TESS_E_NOT_FOUND) {
            tess_error_append("; it is part %lld of %s, put it beside", (long long)raw->n_part,
                              raw->parts[0].path);
        }
    }
    if (status == TESS_OK) {
        raw->n_part++;
        *is_open = true;
    }
    tess_heap_free(&ctx->heap, next, strlen(next) + 1, TESS_TAG_IO);
    return status;
}

static tess_status read_parts(tess_context *ctx, fif_raw *raw, tess_autoreject_epochs *epochs)
{
    for (bool is_open = true; is_open;) {
        const tess_ar_fif_file *file = &raw->parts[raw->n_part - 1];
        const int64_t block = raw_block(file);
        const int64_t info = tess_ar_fif_block_in(file, 0, TESS_AR_FIF_B_MEAS_INFO, -1);
        const tess_ar_fif_tag *tag = NULL;
        int32_t n_chan = 0;
        if (info >= 0) {
            TESS_TRY(tess_ar_fif_need(file, info, TESS_AR_FIF_N_CHAN, &tag));
            TESS_TRY(tess_ar_fif_read_i32(file, tag, &n_chan));
        }
        if (block < 0 || n_chan != raw->n_chan) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: is no part of %s: expected block 102 (raw data) with %lld channels",
                      file->path, raw->parts[0].path, (long long)raw->n_chan);
        }
        TESS_TRY(tess_ar_epochs_watch(epochs, &file->in));
        TESS_TRY(read_buffers(ctx, raw, block));
        TESS_TRY(open_next(ctx, raw, &is_open));
    }
    if (raw->n_sample == 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: byte %llu: block 102 (raw data) has no tag 300 (data buffer)",
                  raw->parts[0].path,
                  (unsigned long long)raw->parts[0].blocks[raw_block(&raw->parts[0])].at);
    }
    return TESS_OK;
}

// A range of 0 makes a flat channel, which is seldom what was recorded.
static void set_scales(fif_raw *raw, tess_autoreject_epochs *epochs, const tess_ar_fif_info *info)
{
    tess_ar_names no_range = {0};
    for (int64_t c = 0; c < raw->n_chan; c++) {
        raw->scale[c] = info->range[c] * info->cal[c];
        if (raw->scale[c] == 0) {
            tess_ar_names_add(&no_range, info->sensors.channels[c].name);
        }
    }
    if (no_range.n > 0) {
        tess_ar_epochs_warn(epochs, TESS_W_AUTOREJECT_SCALE,
                            "range 0, so that every sample is 0: %s", no_range.text);
    }
}

// Gaps are marked among the n annotations, in order of time, as MNE does: they hold no data.
static tess_status mark_gaps(const fif_raw *raw, tess_autoreject_epochs *epochs,
                             const tess_ar_annotation *annotations, tess_ar_continuous *out)
{
    int64_t n_gap = 0;
    for (int64_t k = 0; k < raw->n_stretch; k++) {
        n_gap += raw->stretches[k].part < 0;
    }
    out->annotations = annotations;
    if (n_gap == 0) {
        return TESS_OK;
    }
    tess_ar_annotation *items =
        tess_ar_epochs_items(epochs, out->n_annotation + n_gap, sizeof *items);
    if (!items) {
        return TESS_E_MEMORY;
    }
    int64_t n = 0;
    int64_t next = 0;
    for (int64_t k = 0; k < raw->n_stretch; k++) {
        const stretch *s = &raw->stretches[k];
        const double onset_s = (double)(raw->first_sample + s->first) / out->sampling_hz;
        while (s->part < 0 && next < out->n_annotation && annotations[next].onset_s <= onset_s) {
            items[n++] = annotations[next++];
        }
        if (s->part < 0) {
            items[n++] = (tess_ar_annotation){.onset_s = onset_s,
                                              .duration_s = (double)s->n_sample / out->sampling_hz,
                                              .text = "BAD_ACQ_SKIP"};
        }
    }
    while (next < out->n_annotation) {
        items[n++] = annotations[next++];
    }
    tess_ar_epochs_note(epochs, "the recording has %lld gaps, which are marked 'BAD_ACQ_SKIP'",
                        (long long)n_gap);
    out->annotations = items;
    out->n_annotation = n;
    return TESS_OK;
}

static tess_status read_recording(tess_context *ctx, fif_raw *raw, tess_autoreject_epochs *epochs,
                                  tess_ar_continuous *out)
{
    tess_ar_fif_info info;
    tess_ar_annotation *annotations;
    TESS_TRY(tess_ar_fif_read_info(&raw->parts[0], epochs, &info));
    raw->n_chan = info.sensors.n_chan;
    raw->scale = tess_ar_epochs_items(epochs, raw->n_chan, sizeof *raw->scale);
    if (!raw->scale) {
        return TESS_E_MEMORY;
    }
    set_scales(raw, epochs, &info);
    TESS_TRY(read_parts(ctx, raw, epochs));
    TESS_TRY(tess_ar_fif_read_annotations(&raw->parts[0], epochs, info.date_s, &annotations,
                                          &out->n_annotation));
    // float32 in the file: 0.101 s is no sample's half at 500 Hz before it is rounded. Between two
    // dates all times are whole microseconds, without one they count from the first sample.
    out->has_date = isfinite(info.date_s);
    out->first_s = (double)raw->first_sample / info.sampling_hz;
    for (int64_t i = 0; i < out->n_annotation; i++) {
        double *onset_s = &annotations[i].onset_s;
        *onset_s = out->has_date
                       ? tess_ar_whole_microseconds(*onset_s)
                       : tess_ar_whole_microseconds(*onset_s - out->first_s) + out->first_s;
    }
    raw->source = (tess_ar_fif_source){.file = &raw->parts[0],
                                       .info_block = info.block,
                                       .cal = info.cal,
                                       .raw_hz = info.sampling_hz,
                                       .is_raw = true};
    epochs->fif = &raw->source;
    epochs->info.stored_dtype = (int32_t)TESS_F32;
    switch (raw->stretches[0].type) {
    case TESS_AR_FIF_F64:
        epochs->info.stored_dtype = (int32_t)TESS_F64;
        break;
    case TESS_AR_FIF_I32:
        epochs->info.stored_dtype = (int32_t)TESS_I32;
        break;
    case TESS_AR_FIF_F32:
        break;
    default:
        epochs->info.stored_dtype = (int32_t)TESS_I16;
    }
    out->sensors = info.sensors;
    out->sampling_hz = info.sampling_hz;
    out->n_sample = raw->n_sample;
    out->first_sample = raw->first_sample;
    out->read = read_raw;
    out->close = close_raw;
    out->impl = raw;
    return mark_gaps(raw, epochs, annotations, out);
}

tess_status tess_ar_fif_open_raw(tess_context *ctx, tess_ar_fif_file *file,
                                 tess_autoreject_epochs *epochs, tess_ar_continuous *continuous)
{
    fif_raw *raw = tess_heap_alloc_zero(&ctx->heap, sizeof *raw, TESS_TAG_IO, "a FIF file");
    if (!raw) {
        tess_ar_fif_file_close(file);
        return TESS_E_MEMORY;
    }
    raw->parts[0] = *file;
    raw->n_part = 1;
    const tess_status status = read_recording(ctx, raw, epochs, continuous);
    if (status != TESS_OK) {
        epochs->fif = NULL;
        close_raw(ctx, raw);
    }
    return status;
}
