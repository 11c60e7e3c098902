// The measurement info of a FIF file: channels, positions, projectors, what is marked bad.
#include "base/status.h"
#include "systems/autoreject/files/fif.h"

#include <math.h>
#include <string.h>

enum { FRAME_DEVICE = 1, FRAME_HEAD = 4 };

// A channel as the file describes it.
typedef struct raw_channel {
    int32_t kind;
    int32_t unit;
    char *short_name; // of the fixed record, by which lists of names may speak of it
} raw_channel;

typedef struct input {
    const tess_ar_fif_file *file;
    tess_autoreject_epochs *epochs;
    int64_t block;
    int64_t n_chan;
    tess_autoreject_channel *channels;
    raw_channel *raw;
    double *cal;
    double *range;
} input;

// How FIF tells types apart; 0: any. The first line of a type is what is written for it.
static const struct {
    int32_t type;
    int32_t kind;
    int32_t unit;
    int32_t coil;
    int32_t writes_unit;
    int32_t writes_coil;
} types[] = {
    {TESS_AUTOREJECT_GRAD, 1, 201, 0, 201, 3012}, {TESS_AUTOREJECT_MAG, 1, 0, 0, 112, 3024},
    {TESS_AUTOREJECT_CSD, 2, 0, 6, 107, 6},       {TESS_AUTOREJECT_EEG, 2, 0, 0, 107, 1},
    {TESS_AUTOREJECT_STIM, 3, 0, 0, 0, 0},        {TESS_AUTOREJECT_EOG, 202, 0, 0, 107, 0},
    {TESS_AUTOREJECT_REF_MEG, 301, 0, 0, 112, 0}, {TESS_AUTOREJECT_EMG, 302, 0, 0, 107, 0},
    {TESS_AUTOREJECT_ECG, 402, 0, 0, 107, 0},     {TESS_AUTOREJECT_MISC, 502, 0, 0, 0, 0},
    {TESS_AUTOREJECT_SEEG, 802, 0, 0, 107, 1},    {TESS_AUTOREJECT_ECOG, 902, 0, 0, 107, 1},
    {TESS_AUTOREJECT_HBO, 1100, 0, 300, 6, 300},  {TESS_AUTOREJECT_HBR, 1100, 0, 301, 6, 301},
};

int32_t tess_ar_fif_type(int32_t kind, int32_t unit, int32_t coil)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].kind == kind && (types[i].unit == 0 || types[i].unit == unit) &&
            (types[i].coil == 0 || types[i].coil == coil)) {
            return types[i].type;
        }
    }
    return TESS_AUTOREJECT_OTHER;
}

void tess_ar_fif_of_type(int32_t type, int32_t *kind, int32_t *unit, int32_t *coil)
{
    *kind = 502;
    *unit = 0;
    *coil = 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].type == type) {
            *kind = types[i].kind;
            *unit = types[i].writes_unit;
            *coil = types[i].writes_coil;
            return;
        }
    }
}

// Latin-1 of at most n bytes.
static char *name_of(tess_autoreject_epochs *epochs, const uint8_t *bytes, size_t n)
{
    char *name = tess_ar_epochs_alloc(epochs, 2 * n + 1);
    size_t used = 0;
    for (size_t i = 0; name && i < n && bytes[i]; i++) {
        if (bytes[i] < 0x80) {
            name[used++] = (char)bytes[i];
        } else {
            name[used++] = (char)(0xc0 | bytes[i] >> 6);
            name[used++] = (char)(0x80 | (bytes[i] & 0x3f));
        }
    }
    return name;
}

static tess_status read_channel(input *in, const tess_ar_fif_tag *tag, int64_t c)
{
    uint8_t bytes[TESS_AR_FIF_CH_BYTES];
    TESS_TRY(tess_ar_fif_check(in->file, tag, TESS_AR_FIF_CH_STRUCT, sizeof bytes));
    TESS_TRY(tess_infile_read(&in->file->in, bytes, sizeof bytes, tag->at));
    tess_autoreject_channel *channel = &in->channels[c];
    raw_channel *raw = &in->raw[c];
    raw->kind = (int32_t)tess_ar_be32(bytes + 8);
    in->range[c] = (double)tess_ar_be_f32(bytes + 12);
    in->cal[c] = (double)tess_ar_be_f32(bytes + 16);
    channel->coil_type = (int32_t)tess_ar_be32(bytes + 20);
    for (int i = 0; i < 12; i++) {
        channel->loc[i] = (double)tess_ar_be_f32(bytes + 24 + 4 * i);
    }
    raw->unit = (int32_t)tess_ar_be32(bytes + 72);
    raw->short_name = name_of(in->epochs, bytes + 80, 16);
    channel->name = raw->short_name;
    return raw->short_name ? TESS_OK : TESS_E_MEMORY;
}

// A block of its own for a channel, where the fixed record is too narrow.
static tess_status read_extended(input *in, int64_t block, int64_t c)
{
    const tess_ar_fif_file *file = in->file;
    tess_autoreject_channel *channel = &in->channels[c];
    const tess_ar_fif_tag *tag;
    if ((tag = tess_ar_fif_tag_in(file, block, TESS_AR_FIF_CH_NAME, NULL))) {
        char *name;
        TESS_TRY(tess_ar_fif_read_text(file, tag, in->epochs, &name));
        channel->name = name;
    }
    const struct {
        int32_t kind;
        int32_t *i32;
        double *real;
    } fields[] = {{TESS_AR_FIF_CH_KIND, &in->raw[c].kind, NULL},
                  {TESS_AR_FIF_CH_UNIT, &in->raw[c].unit, NULL},
                  {TESS_AR_FIF_CH_COIL_TYPE, &channel->coil_type, NULL},
                  {TESS_AR_FIF_CH_CAL, NULL, &in->cal[c]},
                  {TESS_AR_FIF_CH_RANGE, NULL, &in->range[c]}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        tag = tess_ar_fif_tag_in(file, block, fields[i].kind, NULL);
        if (tag) {
            TESS_TRY(fields[i].i32 ? tess_ar_fif_read_i32(file, tag, fields[i].i32)
                                   : tess_ar_fif_read_real(file, tag, fields[i].real));
        }
    }
    if ((tag = tess_ar_fif_tag_in(file, block, TESS_AR_FIF_CH_LOC, NULL))) {
        double *loc;
        int64_t n;
        TESS_TRY(tess_ar_fif_read_reals(file, tag, in->epochs, &loc, &n));
        memcpy(channel->loc, loc, (size_t)(n < 12 ? n : 12) * sizeof *loc);
    }
    return TESS_OK;
}

static tess_status check_calibration(const input *in, int64_t c, const tess_ar_fif_tag *tag)
{
    if (isfinite(in->cal[c]) && in->cal[c] != 0 && isfinite(in->range[c])) {
        return TESS_OK;
    }
    TESS_FAIL(TESS_E_FORMAT,
              "%s: byte %llu: channel '%.60s' has calibration %g and range %g; expected finite "
              "numbers other than 0",
              in->file->path, (unsigned long long)tag->at - TESS_AR_FIF_HEADER_BYTES,
              in->channels[c].name, in->cal[c], in->range[c]);
}

static tess_status read_channels(input *in)
{
    const tess_ar_fif_file *file = in->file;
    const tess_ar_fif_tag *tag = NULL;
    for (int64_t c = 0; c < in->n_chan; c++) {
        tag = tess_ar_fif_tag_in(file, in->block, TESS_AR_FIF_CH_INFO, tag);
        TESS_TRY(read_channel(in, tag, c));
    }
    int64_t n_extended = 0;
    int64_t block = -1;
    while ((block = tess_ar_fif_block_in(file, in->block, TESS_AR_FIF_B_CH_INFO, block)) >= 0) {
        if (n_extended < in->n_chan) {
            TESS_TRY(read_extended(in, block, n_extended));
        }
        n_extended++;
    }
    if (n_extended > 0 && n_extended != in->n_chan) {
        TESS_FAIL(TESS_E_FORMAT, "%s: byte %llu: %lld blocks 113 (channel info) for %lld channels",
                  file->path, (unsigned long long)file->blocks[in->block].at, (long long)n_extended,
                  (long long)in->n_chan);
    }
    tag = NULL;
    for (int64_t c = 0; c < in->n_chan; c++) {
        tess_autoreject_channel *channel = &in->channels[c];
        tag = tess_ar_fif_tag_in(file, in->block, TESS_AR_FIF_CH_INFO, tag);
        TESS_TRY(check_calibration(in, c, tag));
        channel->type = tess_ar_fif_type(in->raw[c].kind, in->raw[c].unit, channel->coil_type);
    }
    return TESS_OK;
}

static tess_status count_channels(input *in)
{
    const tess_ar_fif_tag *tag;
    int32_t n_chan;
    int64_t n_info = 0;
    TESS_TRY(tess_ar_fif_need(in->file, in->block, TESS_AR_FIF_N_CHAN, &tag));
    TESS_TRY(tess_ar_fif_read_i32(in->file, tag, &n_chan));
    const uint64_t at = tag->at - TESS_AR_FIF_HEADER_BYTES;
    for (tag = NULL; (tag = tess_ar_fif_tag_in(in->file, in->block, TESS_AR_FIF_CH_INFO, tag));) {
        n_info++;
    }
    if (n_chan < 1 || n_info != n_chan) {
        TESS_FAIL(
            TESS_E_FORMAT,
            "%s: byte %llu: tag 200 (number of channels) says %d, but there are %lld tags 203 "
            "(channel info)",
            in->file->path, (unsigned long long)at, (int)n_chan, (long long)n_info);
    }
    in->n_chan = n_chan;
    in->channels = tess_ar_epochs_items(in->epochs, n_chan, sizeof *in->channels);
    in->raw = tess_ar_epochs_items(in->epochs, n_chan, sizeof *in->raw);
    in->cal = tess_ar_epochs_items(in->epochs, n_chan, sizeof *in->cal);
    in->range = tess_ar_epochs_items(in->epochs, n_chan, sizeof *in->range);
    return in->channels && in->raw && in->cal && in->range ? TESS_OK : TESS_E_MEMORY;
}

// Lists hold the short name of a channel or the long one.
static int64_t find_channel(const input *in, const char *name)
{
    for (int64_t c = 0; c < in->n_chan; c++) {
        if (strcmp(name, in->raw[c].short_name) == 0 || strcmp(name, in->channels[c].name) == 0) {
            return c;
        }
    }
    return -1;
}

static tess_status read_bads(input *in)
{
    int64_t block = -1;
    while ((block = tess_ar_fif_block_in(in->file, in->block, TESS_AR_FIF_B_BADS, block)) >= 0) {
        const tess_ar_fif_tag *tag =
            tess_ar_fif_tag_in(in->file, block, TESS_AR_FIF_CH_NAME_LIST, NULL);
        char **names = NULL;
        int64_t n = 0;
        if (tag) {
            TESS_TRY(tess_ar_fif_read_names(in->file, tag, in->epochs, &names, &n));
        }
        for (int64_t i = 0; i < n; i++) {
            const int64_t c = find_channel(in, names[i]);
            if (c >= 0) {
                in->channels[c].is_bad = 1;
            }
        }
    }
    return TESS_OK;
}

static tess_status read_projector(const input *in, int64_t block, tess_autoreject_projector *out)
{
    const tess_ar_fif_file *file = in->file;
    const tess_ar_fif_tag *tag;
    char *name;
    char **names;
    double *vectors;
    int32_t n_vector;
    int64_t n_value;
    TESS_TRY(tess_ar_fif_need(file, block, TESS_AR_FIF_PROJ_CHANNELS, &tag));
    TESS_TRY(tess_ar_fif_read_names(file, tag, in->epochs, &names, &out->n_chan));
    TESS_TRY(tess_ar_fif_need(file, block, TESS_AR_FIF_PROJ_N_VECTOR, &tag));
    TESS_TRY(tess_ar_fif_read_i32(file, tag, &n_vector));
    TESS_TRY(tess_ar_fif_need(file, block, TESS_AR_FIF_PROJ_VECTORS, &tag));
    TESS_TRY(tess_ar_fif_read_reals(file, tag, in->epochs, &vectors, &n_value));
    if (n_vector < 0 || n_vector * out->n_chan != n_value) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %llu: tag 3415 (vectors of a projector) has %lld values; expected %d "
                  "vectors of %lld channels",
                  file->path, (unsigned long long)tag->at - TESS_AR_FIF_HEADER_BYTES,
                  (long long)n_value, (int)n_vector, (long long)out->n_chan);
    }
    for (int64_t i = 0; i < out->n_chan; i++) {
        const int64_t c = find_channel(in, names[i]);
        names[i] = c < 0 ? names[i] : tess_ar_epochs_text(in->epochs, in->channels[c].name);
        if (!names[i]) {
            return TESS_E_MEMORY;
        }
    }
    out->n_vector = n_vector;
    out->channel_names = (const char *const *)names;
    out->vectors = vectors;
    out->name = "";
    if ((tag = tess_ar_fif_tag_in(file, block, TESS_AR_FIF_NAME, NULL)) ||
        (tag = tess_ar_fif_tag_in(file, block, TESS_AR_FIF_COMMENT, NULL))) {
        TESS_TRY(tess_ar_fif_read_text(file, tag, in->epochs, &name));
        out->name = name;
    }
    tag = tess_ar_fif_tag_in(file, block, TESS_AR_FIF_PROJ_ACTIVE, NULL);
    return tag ? tess_ar_fif_read_i32(file, tag, &out->is_active) : TESS_OK;
}

static tess_status read_projectors(input *in, tess_autoreject_sensors *sensors)
{
    const int64_t list = tess_ar_fif_block_in(in->file, in->block, TESS_AR_FIF_B_PROJ, -1);
    int64_t n = 0;
    int64_t block = -1;
    if (list < 0) {
        return TESS_OK;
    }
    while ((block = tess_ar_fif_block_in(in->file, list, TESS_AR_FIF_B_PROJ_ITEM, block)) >= 0) {
        n++;
    }
    tess_autoreject_projector *projectors = tess_ar_epochs_items(in->epochs, n, sizeof *projectors);
    if (!projectors) {
        return TESS_E_MEMORY;
    }
    block = -1;
    for (int64_t k = 0; k < n; k++) {
        block = tess_ar_fif_block_in(in->file, list, TESS_AR_FIF_B_PROJ_ITEM, block);
        TESS_TRY(read_projector(in, block, &projectors[k]));
    }
    sensors->n_projector = n;
    sensors->projectors = projectors;
    return TESS_OK;
}

static tess_status read_points(const input *in, tess_autoreject_sensors *sensors)
{
    const int64_t block = tess_ar_fif_block_in(in->file, in->block, TESS_AR_FIF_B_ISOTRAK, -1);
    const tess_ar_fif_tag *tag = NULL;
    int64_t n = 0;
    if (block < 0) {
        return TESS_OK;
    }
    while ((tag = tess_ar_fif_tag_in(in->file, block, TESS_AR_FIF_DIG_POINT, tag))) {
        n++;
    }
    tess_autoreject_point *points = tess_ar_epochs_items(in->epochs, n, sizeof *points);
    if (!points) {
        return TESS_E_MEMORY;
    }
    for (int64_t i = 0; i < n; i++) {
        uint8_t bytes[20];
        tag = tess_ar_fif_tag_in(in->file, block, TESS_AR_FIF_DIG_POINT, tag);
        TESS_TRY(tess_ar_fif_check(in->file, tag, TESS_AR_FIF_DIG_STRUCT, sizeof bytes));
        TESS_TRY(tess_infile_read(&in->file->in, bytes, sizeof bytes, tag->at));
        points[i].kind = (int32_t)tess_ar_be32(bytes);
        points[i].ident = (int32_t)tess_ar_be32(bytes + 4);
        for (int k = 0; k < 3; k++) {
            points[i].position[k] = (double)tess_ar_be_f32(bytes + 8 + 4 * k);
        }
    }
    sensors->n_point = n;
    sensors->points = points;
    return TESS_OK;
}

// Device to head, among the transforms of a block.
static tess_status read_transform(const input *in, int64_t block, tess_autoreject_sensors *sensors)
{
    const tess_ar_fif_tag *tag = NULL;
    while ((tag = tess_ar_fif_tag_in(in->file, block, TESS_AR_FIF_COORD_TRANS, tag))) {
        uint8_t bytes[56];
        TESS_TRY(tess_ar_fif_check(in->file, tag, TESS_AR_FIF_TRANS_STRUCT, sizeof bytes));
        TESS_TRY(tess_infile_read(&in->file->in, bytes, sizeof bytes, tag->at));
        if (tess_ar_be32(bytes) != FRAME_DEVICE || tess_ar_be32(bytes + 4) != FRAME_HEAD) {
            continue;
        }
        for (int row = 0; row < 3; row++) {
            for (int col = 0; col < 3; col++) {
                sensors->device_to_head[4 * row + col] =
                    (double)tess_ar_be_f32(bytes + 8 + 4 * (3 * row + col));
            }
            sensors->device_to_head[4 * row + 3] = (double)tess_ar_be_f32(bytes + 44 + 4 * row);
        }
        sensors->has_device_to_head = 1;
    }
    return TESS_OK;
}

static tess_status read_times(const input *in, tess_ar_fif_info *out)
{
    const tess_ar_fif_tag *tag;
    TESS_TRY(tess_ar_fif_need(in->file, in->block, TESS_AR_FIF_SFREQ, &tag));
    TESS_TRY(tess_ar_fif_read_real(in->file, tag, &out->sampling_hz));
    if (!(out->sampling_hz > 0) || !isfinite(out->sampling_hz)) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: byte %llu: tag 201 (sampling rate) is %g; expected Hz above 0",
                  in->file->path, (unsigned long long)tag->at - TESS_AR_FIF_HEADER_BYTES,
                  out->sampling_hz);
    }
    out->date_s = (double)NAN;
    tag = tess_ar_fif_tag_in(in->file, in->block, TESS_AR_FIF_MEAS_DATE, NULL);
    if (tag && tag->type == TESS_AR_FIF_I32 && tag->bytes >= 8) {
        int32_t *date;
        int64_t n;
        TESS_TRY(tess_ar_fif_read_i32s(in->file, tag, in->epochs, &date, &n));
        if (date[0] != 0 || date[1] != INT32_MIN) { // the latter stands for no date
            out->date_s = (double)date[0] + 1e-6 * (double)date[1];
        }
    }
    return TESS_OK;
}

tess_status tess_ar_fif_read_info(const tess_ar_fif_file *file, tess_autoreject_epochs *epochs,
                                  tess_ar_fif_info *out)
{
    input in = {.file = file, .epochs = epochs};
    *out = (tess_ar_fif_info){.block = -1};
    tess_autoreject_sensors_init(&out->sensors, sizeof out->sensors);
    in.block = tess_ar_fif_block_in(file, 0, TESS_AR_FIF_B_MEAS_INFO, -1);
    if (in.block < 0) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: ends at byte %llu without block 101 (measurement info); the file holds no "
                  "recording",
                  file->path, (unsigned long long)file->in.bytes);
    }
    TESS_TRY(count_channels(&in));
    TESS_TRY(read_times(&in, out));
    TESS_TRY(read_channels(&in));
    TESS_TRY(read_bads(&in));
    TESS_TRY(read_projectors(&in, &out->sensors));
    TESS_TRY(read_points(&in, &out->sensors));
    TESS_TRY(read_transform(&in, in.block, &out->sensors));
    const int64_t hpi = tess_ar_fif_block_in(file, in.block, TESS_AR_FIF_B_HPI_RESULT, -1);
    if (!out->sensors.has_device_to_head && hpi >= 0) {
        TESS_TRY(read_transform(&in, hpi, &out->sensors));
    }
    out->block = in.block;
    out->cal = in.cal;
    out->range = in.range;
    out->sensors.n_chan = in.n_chan;
    out->sensors.channels = in.channels;
    return TESS_OK;
}
