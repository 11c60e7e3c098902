// Time-stamped lists: "+onset<21>duration<20>text<20>text<20><0>", several in a record. The first
// of a record tells when it begins and has no text.
#include "base/status.h"
#include "systems/autoreject/files/annotations.h"
#include "systems/autoreject/files/edf.h"
#include "systems/autoreject/text/text_input.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { DURATION_MARK = 21, TEXT_MARK = 20, MAX_TAL_BYTES = 1 << 24, CANCEL_EVERY = 256 };

typedef struct tal_reader {
    tess_edf *edf;
    tess_ar_annotation_list list;
    const tess_autoreject_sensors *sensors;
    uint8_t *bytes; // of a signal in a record
    double *starts; // [n_record] when records begin, s
    int64_t record;
    bool has_start; // of the record being read
} tal_reader;

static tess_status unsound(const tal_reader *r, uint64_t at, const char *what)
{
    TESS_FAIL(TESS_E_FORMAT, "%s: byte %" PRIu64 ": annotation of record %" PRId64 ": %s",
              r->edf->path, at, r->record, what);
}

// The number in text[0..n); an onset has a sign.
static bool stamp(const uint8_t *text, size_t n, bool is_onset, double *out)
{
    char copy[48];
    if (n == 0 || n >= sizeof copy || (is_onset && text[0] != '+' && text[0] != '-')) {
        return false;
    }
    memcpy(copy, text, n);
    copy[n] = '\0';
    return tess_ar_number(copy, out);
}

// Bytes of a text of n without the "@@Fz" by which MNE writes of which channel it speaks; n where
// it names no channel.
static size_t without_channel(const tal_reader *r, const char *text, size_t n)
{
    const char *mark = memmem(text, n, "@@", 2);
    const size_t n_text = mark ? (size_t)(mark - text) : n;
    for (int64_t c = 0; mark && c < r->sensors->n_chan; c++) {
        const char *name = r->sensors->channels[c].name;
        if (strlen(name) == n - n_text - 2 && memcmp(mark + 2, name, n - n_text - 2) == 0) {
            return n_text;
        }
    }
    return n;
}

// A text that speaks of a channel is told once for every channel; it is one annotation.
static tess_status add_text(tal_reader *r, double onset, double duration, const char *text,
                            size_t n)
{
    const size_t n_text = without_channel(r, text, n);
    const int64_t before = r->list.n;
    TESS_TRY(tess_ar_annotations_add(&r->list, onset, duration, text, n_text));
    const tess_ar_annotation *items = r->list.items;
    for (int64_t i = before - 1; n_text < n && i >= 0 && items[i].onset_s == onset; i--) {
        if (items[i].duration_s == duration && strcmp(items[i].text, items[before].text) == 0) {
            r->list.n = before;
            break;
        }
    }
    return TESS_OK;
}

// One list of n bytes, without its zero. at: its place in the file.
static tess_status read_list(tal_reader *r, const uint8_t *list, size_t n, uint64_t at)
{
    const uint8_t *texts = memchr(list, TEXT_MARK, n);
    if (!texts) {
        return unsound(r, at, "the list has no end of its onset (a byte 20)");
    }
    const size_t n_stamp = (size_t)(texts - list);
    const uint8_t *mark = memchr(list, DURATION_MARK, n_stamp);
    const size_t n_onset = mark ? (size_t)(mark - list) : n_stamp;
    double onset = 0;
    double duration = 0;
    if (!stamp(list, n_onset, true, &onset)) {
        return unsound(r, at, "the onset is not a signed number");
    }
    if (mark && n_stamp > n_onset + 1 &&
        !stamp(mark + 1, n_stamp - n_onset - 1, false, &duration)) {
        return unsound(r, at, "the duration is not a number");
    }
    const uint8_t *end = list + n;
    for (const uint8_t *text = texts + 1; text < end;) {
        const uint8_t *stop = memchr(text, TEXT_MARK, (size_t)(end - text));
        stop = stop ? stop : end;
        if (stop > text) {
            TESS_TRY(add_text(r, onset, duration, (const char *)text, (size_t)(stop - text)));
        } else if (text == texts + 1 && !r->has_start) {
            r->starts[r->record] = onset;
            r->has_start = true;
        }
        text = stop + 1;
    }
    return TESS_OK;
}

static tess_status read_signal(tal_reader *r, const tess_edf_signal *signal)
{
    const tess_edf *edf = r->edf;
    const size_t n = (size_t)(signal->n_sample * edf->sample_bytes);
    const uint64_t at =
        (uint64_t)edf->header_bytes + (uint64_t)r->record * edf->record_bytes + signal->offset;
    TESS_TRY(tess_infile_read(edf->file, r->bytes, n, at));
    for (size_t begin = 0; begin < n;) {
        const uint8_t *zero = memchr(r->bytes + begin, 0, n - begin);
        const size_t end = zero ? (size_t)(zero - r->bytes) : n;
        if (end > begin) {
            TESS_TRY(read_list(r, r->bytes + begin, end - begin, at + begin));
        }
        begin = end + 1;
    }
    return TESS_OK;
}

static tess_status read_records(tess_context *ctx, tal_reader *r)
{
    const tess_edf *edf = r->edf;
    for (r->record = 0; r->record < edf->n_record; r->record++) {
        if (r->record % CANCEL_EVERY == 0) {
            TESS_TRY(tess_context_check_cancel(ctx));
        }
        r->has_start = false;
        for (int64_t s = 0; s < edf->n_signal; s++) {
            if (edf->signals[s].is_annotations) {
                TESS_TRY(read_signal(r, &edf->signals[s]));
            }
        }
        if (!r->has_start && edf->is_discontinuous) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: record %" PRId64 " does not tell when it begins, which a recording with "
                      "gaps (+D) must; repair it with the program that wrote it",
                      edf->path, r->record);
        }
        if (!r->has_start) {
            r->starts[r->record] = r->record > 0 ? r->starts[r->record - 1] + edf->record_s : 0;
        }
    }
    return TESS_OK;
}

// Gaps: the records are put one behind the other, and each join is marked as bad, so that no epoch
// reaches across it.
static tess_status mark_gaps(tal_reader *r)
{
    static const char TEXT[] = "BAD boundary";
    const tess_edf *edf = r->edf;
    const double step = edf->record_s / (double)edf->n_time;
    int64_t n_gap = 0;
    for (int64_t k = 1; k < edf->n_record; k++) {
        const double gap = r->starts[k] - r->starts[k - 1] - edf->record_s;
        if (gap < -step / 2) {
            TESS_FAIL(TESS_E_FORMAT,
                      "%s: record %" PRId64 " begins at %.6g s, before the one "
                      "before it ends (%.6g s)",
                      edf->path, k, r->starts[k], r->starts[k - 1] + edf->record_s);
        }
        if (gap > step / 2) {
            const double join = (double)k * edf->record_s;
            TESS_TRY(tess_ar_annotations_add(&r->list, join - step, 2 * step, TEXT, strlen(TEXT)));
            n_gap++;
        }
    }
    if (n_gap > 0) {
        tess_ar_epochs_note(edf->epochs,
                            "the recording has %" PRId64
                            " gaps; what they part is put together and "
                            "the joins are marked '%s'",
                            n_gap, TEXT);
    }
    return TESS_OK;
}

// Time of a stamp within what was put together; stamps in a gap move to its end.
static double time_within(const tal_reader *r, double onset)
{
    const tess_edf *edf = r->edf;
    int64_t low = 0;
    int64_t high = edf->n_record - 1;
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        low = r->starts[middle] <= onset ? middle : low;
        high = r->starts[middle] <= onset ? high : middle - 1;
    }
    const double within = onset - r->starts[low];
    const bool is_last = low == edf->n_record - 1;
    return (double)low * edf->record_s +
           (is_last || within < edf->record_s ? within : edf->record_s);
}

static tess_status read_all(tess_context *ctx, tal_reader *r, tess_ar_continuous *continuous)
{
    TESS_TRY(read_records(ctx, r));
    if (r->edf->is_discontinuous) {
        for (int64_t i = 0; i < r->list.n; i++) {
            r->list.items[i].onset_s = time_within(r, r->list.items[i].onset_s);
        }
        TESS_TRY(mark_gaps(r));
    } else {
        // Stamps count from the start in the header, which may be a fraction of a second earlier
        // than the first sample.
        for (int64_t i = 0; i < r->list.n; i++) {
            r->list.items[i].onset_s -= r->starts[0];
        }
    }
    return tess_ar_annotations_finish(&r->list, continuous);
}

tess_status tess_edf_read_annotations(tess_context *ctx, tess_edf *edf,
                                      tess_ar_continuous *continuous)
{
    int64_t most = 0;
    for (int64_t s = 0; s < edf->n_signal; s++) {
        const tess_edf_signal *signal = &edf->signals[s];
        const int64_t bytes = signal->n_sample * edf->sample_bytes;
        most = signal->is_annotations && bytes > most ? bytes : most;
    }
    if (most == 0) {
        return TESS_OK;
    }
    if (most > MAX_TAL_BYTES) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: %" PRId64 " bytes of annotations in a record; at most %d are read",
                  edf->path, most, MAX_TAL_BYTES);
    }
    const size_t start_bytes = (size_t)edf->n_record * sizeof(double);
    tal_reader r = {.edf = edf, .list = {.epochs = edf->epochs}, .sensors = &continuous->sensors};
    r.bytes = tess_heap_alloc(&ctx->heap, (size_t)most, TESS_TAG_IO, "annotations");
    r.starts = tess_heap_alloc(&ctx->heap, start_bytes, TESS_TAG_IO, "starts of records");
    const tess_status status = r.bytes && r.starts ? read_all(ctx, &r, continuous) : TESS_E_MEMORY;
    tess_ar_annotations_destroy(&r.list);
    tess_heap_free(&ctx->heap, r.bytes, (size_t)most, TESS_TAG_IO);
    tess_heap_free(&ctx->heap, r.starts, start_bytes, TESS_TAG_IO);
    return status;
}
