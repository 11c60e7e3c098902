#include "base/checked.h"
#include "base/status.h"
#include "systems/autoreject/files/edf.h"
#include "systems/autoreject/text/text_input.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

// Widths of the fields of a signal, which lie field by field.
enum {
    LABEL = 16,
    TRANSDUCER = 80,
    UNIT = 8,
    NUMBER = 8,
    PREFILTER = 80,
    N_SIGNAL_AT = 252,
    N_SIGNAL_WIDTH = 4,
    MAX_RECORD_SAMPLES = 100000000,
};

// A field without the blanks (or zeros) it is padded with.
static char *field_text(const uint8_t *bytes, size_t width, char *text)
{
    memcpy(text, bytes, width);
    text[width] = '\0';
    return tess_ar_trim(text);
}

// Some programs write a comma as the decimal mark.
static tess_status field_number(const tess_edf *edf, const uint8_t *bytes, size_t width,
                                uint64_t at, const char *what, double *out)
{
    char raw[32];
    char *text = field_text(bytes, width, raw);
    char *comma = strchr(text, ',');
    if (comma) {
        *comma = '.';
    }
    if (!tess_ar_number(text, out)) {
        char shown[65];
        tess_ar_utf8(text, strlen(text), shown);
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %" PRIu64 ": %s is '%s', expected a number; the header is "
                  "damaged or the file is no EDF",
                  edf->path, at, what, shown);
    }
    return TESS_OK;
}

static tess_status field_integer(const tess_edf *edf, const uint8_t *bytes, size_t width,
                                 uint64_t at, const char *what, int64_t least, int64_t most,
                                 int64_t *out)
{
    double value = 0;
    TESS_TRY(field_number(edf, bytes, width, at, what, &value));
    if (value != floor(value) || value < (double)least || value > (double)most) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %" PRIu64 ": %s is %g, expected a whole number from %" PRId64
                  " to %" PRId64,
                  edf->path, at, what, value, least, most);
    }
    *out = (int64_t)value;
    return TESS_OK;
}

static tess_status read_fixed(tess_edf *edf)
{
    uint8_t head[TESS_EDF_FIXED_BYTES];
    if (edf->file->bytes < sizeof head) {
        TESS_FAIL(TESS_E_TRUNCATED,
                  "%s: %" PRIu64 " bytes; a header alone takes %zu: copy the file again", edf->path,
                  edf->file->bytes, sizeof head);
    }
    TESS_TRY(tess_infile_read(edf->file, head, sizeof head, 0));
    edf->is_bdf = head[0] == 0xff;
    edf->sample_bytes = edf->is_bdf ? 3 : 2;
    edf->is_discontinuous =
        memcmp(head + 192, "EDF+D", 5) == 0 || memcmp(head + 192, "BDF+D", 5) == 0;
    TESS_TRY(field_integer(edf, head + 184, 8, 184, "the size of the header", 512, INT32_MAX,
                           &edf->header_bytes));
    TESS_TRY(field_integer(edf, head + 236, 8, 236, "the number of records", -1, INT32_MAX,
                           &edf->n_record));
    TESS_TRY(field_number(edf, head + 244, 8, 244, "the duration of a record", &edf->record_s));
    TESS_TRY(field_integer(edf, head + N_SIGNAL_AT, N_SIGNAL_WIDTH, N_SIGNAL_AT,
                           "the number of signals", 1, 9999, &edf->n_signal));
    if (edf->record_s < 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: byte 244: records of %g s", edf->path, edf->record_s);
    }
    const int64_t needed = TESS_EDF_FIXED_BYTES + edf->n_signal * TESS_EDF_SIGNAL_BYTES;
    if (edf->header_bytes < needed || (uint64_t)edf->header_bytes > edf->file->bytes) {
        TESS_FAIL(TESS_E_TRUNCATED,
                  "%s: byte 184: a header of %" PRId64 " bytes is announced; %" PRId64
                  " signals take %" PRId64 " and the file has %" PRIu64 ": copy the file again",
                  edf->path, edf->header_bytes, edf->n_signal, needed, edf->file->bytes);
    }
    return TESS_OK;
}

// Where field at (its offset in a signal's header) of signal s lies in the file.
static uint64_t place(const tess_edf *edf, int64_t at, int64_t width, int64_t s)
{
    return (uint64_t)(TESS_EDF_FIXED_BYTES + at * edf->n_signal + width * s);
}

static tess_status read_signal(const tess_edf *edf, const uint8_t *header, int64_t s,
                               tess_edf_signal *signal)
{
    static const struct {
        int64_t at;
        const char *what;
        size_t field;
    } numbers[] = {
        {104, "a physical minimum", offsetof(tess_edf_signal, physical_min)},
        {112, "a physical maximum", offsetof(tess_edf_signal, physical_max)},
        {120, "a digital minimum", offsetof(tess_edf_signal, digital_min)},
        {128, "a digital maximum", offsetof(tess_edf_signal, digital_max)},
    };
    char raw[LABEL + 1];
    strcpy(signal->label, field_text(header + place(edf, 0, LABEL, s), LABEL, raw));
    strcpy(signal->unit, field_text(header + place(edf, LABEL + TRANSDUCER, UNIT, s), UNIT, raw));
    signal->is_annotations = strcasecmp(signal->label, "EDF Annotations") == 0 ||
                             strcasecmp(signal->label, "BDF Annotations") == 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const uint64_t at = place(edf, numbers[i].at, NUMBER, s);
        double *number = (double *)(void *)((char *)signal + numbers[i].field);
        // Annotations have no scale, and not every program fills in one.
        if (!signal->is_annotations) {
            TESS_TRY(field_number(edf, header + at, NUMBER, at, numbers[i].what, number));
        }
    }
    const uint64_t at = place(edf, 136 + PREFILTER, NUMBER, s);
    return field_integer(edf, header + at, NUMBER, at, "the number of samples in a record", 0,
                         MAX_RECORD_SAMPLES, &signal->n_sample);
}

static tess_status read_signals(tess_context *ctx, tess_edf *edf)
{
    const size_t bytes = (size_t)(TESS_EDF_FIXED_BYTES + edf->n_signal * TESS_EDF_SIGNAL_BYTES);
    uint8_t *header = tess_heap_alloc(&ctx->heap, bytes, TESS_TAG_IO, "the header");
    edf->signals = tess_ar_epochs_alloc(edf->epochs, (size_t)edf->n_signal * sizeof *edf->signals);
    tess_status status =
        header && edf->signals ? tess_infile_read(edf->file, header, bytes, 0) : TESS_E_MEMORY;
    // At most 9999 signals of 1e8 samples: no overflow.
    for (int64_t s = 0; s < edf->n_signal && status == TESS_OK; s++) {
        status = read_signal(edf, header, s, &edf->signals[s]);
        edf->signals[s].offset = edf->record_bytes;
        edf->record_bytes += (uint64_t)(edf->signals[s].n_sample * edf->sample_bytes);
    }
    tess_heap_free(&ctx->heap, header, bytes, TESS_TAG_IO);
    return status;
}

// How many records there are: as many as the file holds, where the recording was not ended properly
// (-1, or fewer in the header), and no fewer than the header says.
static tess_status count_records(tess_edf *edf)
{
    const uint64_t bytes = edf->file->bytes - (uint64_t)edf->header_bytes;
    const uint64_t there = edf->record_bytes > 0 ? bytes / edf->record_bytes : 0;
    if (edf->record_bytes == 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: no signal has samples", edf->path);
    }
    if (edf->n_record < 0) {
        edf->n_record = (int64_t)there;
        tess_ar_epochs_note(edf->epochs,
                            "the header leaves the number of records open; the file holds %" PRId64,
                            edf->n_record);
    } else if ((uint64_t)edf->n_record > there) {
        TESS_FAIL(TESS_E_TRUNCATED,
                  "%s: the file ends at byte %" PRIu64 " after %" PRIu64 " of %" PRId64
                  " records: copy it again; to use what is there, write -1 and six blanks over "
                  "bytes 236 to 243",
                  edf->path, edf->file->bytes, there, edf->n_record);
    } else if ((uint64_t)edf->n_record < there) {
        tess_ar_epochs_note(edf->epochs,
                            "the header speaks of %" PRId64 " records, the file holds %" PRIu64
                            ", which are read",
                            edf->n_record, there);
        edf->n_record = (int64_t)there;
    }
    if (edf->n_record == 0) {
        TESS_FAIL(TESS_E_FORMAT, "%s: there are no records, only a header", edf->path);
    }
    return TESS_OK;
}

tess_status tess_edf_read_header(tess_context *ctx, tess_edf *edf)
{
    TESS_TRY(read_fixed(edf));
    TESS_TRY(read_signals(ctx, edf));
    TESS_TRY(count_records(edf));
    if (edf->record_s == 0) {
        edf->record_s = 1;
        tess_ar_epochs_warn(edf->epochs, TESS_W_AUTOREJECT_SCALE,
                            "records of 0 s are announced; taken as 1 s");
    }
    return TESS_OK;
}
