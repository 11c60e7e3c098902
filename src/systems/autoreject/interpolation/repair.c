#include "systems/autoreject/interpolation/repair.h"

#include "base/status.h"
#include "base/struct_read.h"
#include "systems/autoreject/interpolation/electrodes.h"
#include "systems/autoreject/interpolation/field_sets.h"
#include "systems/autoreject/interpolation/positions.h"

#include <string.h>

typedef enum repair_kind { CANNOT, BY_SPLINES, BY_FIELD } repair_kind;

struct tess_ar_repairer {
    tess_context *ctx;
    int64_t n;
    repair_kind kind;
    tess_ar_electrodes electrodes; // BY_SPLINES
    tess_ar_field_sets sets;       // BY_FIELD
    double *leave_one_out;         // NULL until asked for
};

static repair_kind kind_of(int32_t type)
{
    switch (type) {
    case TESS_AUTOREJECT_EEG:
        return BY_SPLINES;
    case TESS_AUTOREJECT_MAG:
    case TESS_AUTOREJECT_GRAD:
        return BY_FIELD;
    default:
        return CANNOT;
    }
}

static tess_status find_kind(const tess_autoreject_sensors *sensors, const int64_t *channels,
                             int64_t n, repair_kind *kind)
{
    const tess_autoreject_channel *first = &sensors->channels[channels[0]];
    *kind = kind_of(first->type);
    for (int64_t i = 1; i < n; i++) {
        const tess_autoreject_channel *other = &sensors->channels[channels[i]];
        if (kind_of(other->type) != *kind) {
            TESS_FAIL(TESS_E_ARGUMENT,
                      "channels %s (%s) and %s (%s) cannot be predicted from each other; take EEG, "
                      "or mag and grad, by themselves",
                      first->name, tess_autoreject_type_name(first->type), other->name,
                      tess_autoreject_type_name(other->type));
        }
    }
    return TESS_OK;
}

static tess_status create_splines(tess_ar_repairer *r, const tess_autoreject_sensors *sensors,
                                  const int64_t *channels,
                                  const tess_autoreject_interpolation_config *config)
{
    const size_t bytes = (size_t)(3 * r->n) * sizeof(double);
    double *directions =
        tess_heap_alloc(&r->ctx->heap, bytes, TESS_TAG_SCRATCH, "directions of electrodes");
    if (!directions) {
        return TESS_E_MEMORY;
    }
    tess_status status =
        tess_ar_electrode_directions(r->ctx, sensors, channels, r->n, config, directions);
    if (status == TESS_OK) {
        status = tess_ar_electrodes_create(r->ctx, directions, r->n, &r->electrodes);
    }
    tess_heap_free(&r->ctx->heap, directions, bytes, TESS_TAG_SCRATCH);
    return status;
}

tess_status tess_ar_repairer_create(tess_context *ctx, const tess_autoreject_sensors *sensors,
                                    const int64_t *channels, int64_t n,
                                    const tess_autoreject_interpolation_config *given,
                                    tess_ar_repairer **out)
{
    *out = NULL;
    tess_autoreject_interpolation_config config;
    tess_autoreject_interpolation_config_init(&config, sizeof config);
    if (given) {
        TESS_TRY(tess_struct_read(given, &config, sizeof config, "config"));
    }
    TESS_TRY(tess_ar_check_channels(sensors, channels, n, "channels"));
    repair_kind kind;
    TESS_TRY(find_kind(sensors, channels, n, &kind));
    if (n < 2) {
        kind = CANNOT;
    }
    tess_ar_repairer *r =
        tess_heap_alloc_zero(&ctx->heap, sizeof *r, TESS_TAG_PLAN, "the repair of channels");
    if (!r) {
        return TESS_E_MEMORY;
    }
    r->ctx = ctx;
    r->n = n;
    r->kind = kind;
    tess_status status = TESS_OK;
    if (kind == BY_SPLINES) {
        status = create_splines(r, sensors, channels, &config);
    } else if (kind == BY_FIELD) {
        status = tess_ar_field_sets_create(ctx, &ctx->cpu, sensors, channels, n, &config, &r->sets);
    }
    if (status != TESS_OK) {
        tess_ar_repairer_destroy(r);
        return status;
    }
    *out = r;
    return TESS_OK;
}

static size_t square_bytes(const tess_ar_repairer *r)
{
    return (size_t)(r->n * r->n) * sizeof(double);
}

void tess_ar_repairer_destroy(tess_ar_repairer *r)
{
    if (!r) {
        return;
    }
    if (r->kind == BY_SPLINES && r->electrodes.heap) {
        tess_ar_electrodes_destroy(&r->electrodes);
    } else if (r->kind == BY_FIELD) {
        tess_ar_field_sets_destroy(&r->sets);
    }
    tess_heap_free(&r->ctx->heap, r->leave_one_out, square_bytes(r), TESS_TAG_PLAN);
    tess_heap_free(&r->ctx->heap, r, sizeof *r, TESS_TAG_PLAN);
}

bool tess_ar_repairer_can(const tess_ar_repairer *r)
{
    return r->kind != CANNOT;
}

tess_status tess_ar_repairer_leave_one_out(tess_ar_repairer *r, const double **weights)
{
    *weights = NULL;
    if (r->kind == CANNOT) {
        return TESS_OK;
    }
    if (!r->leave_one_out) {
        double *rows = tess_heap_alloc(&r->ctx->heap, square_bytes(r), TESS_TAG_PLAN,
                                       "weights of each channel from the others");
        if (!rows) {
            return TESS_E_MEMORY;
        }
        tess_status status = TESS_OK;
        if (r->kind == BY_SPLINES) {
            tess_ar_electrodes_leave_one_out(&r->electrodes, rows);
        } else {
            status = tess_ar_field_sets_leave_one_out(&r->sets, rows);
        }
        if (status != TESS_OK) {
            tess_heap_free(&r->ctx->heap, rows, square_bytes(r), TESS_TAG_PLAN);
            return status;
        }
        r->leave_one_out = rows;
    }
    *weights = r->leave_one_out;
    return TESS_OK;
}

tess_status tess_ar_repairer_prepare(tess_ar_repairer *r, const tess_ar_bad_set *sets,
                                     int64_t n_set)
{
    return r->kind == BY_FIELD ? tess_ar_field_sets_prepare(&r->sets, sets, n_set) : TESS_OK;
}

size_t tess_ar_repairer_scratch(const tess_ar_repairer *r, int64_t n_bad)
{
    return r->kind == BY_SPLINES ? tess_ar_electrodes_scratch(&r->electrodes, n_bad)
                                 : (size_t)tess_ar_set_words(r->n) * sizeof(uint64_t);
}

static tess_status cannot(const tess_ar_repairer *r)
{
    if (r->n < 2) {
        TESS_FAIL(TESS_E_SHAPE,
                  "%lld channel of a kind: there is nothing to predict it from; pick at least two",
                  (long long)r->n);
    }
    TESS_FAIL(TESS_E_UNSUPPORTED,
              "only EEG and MEG channels can be predicted from each other, not these types");
}

tess_status tess_ar_repairer_weights(const tess_ar_repairer *r, const int32_t *bad, int64_t n_bad,
                                     void *scratch, double *weights)
{
    if (n_bad == 0) {
        return TESS_OK;
    }
    if (n_bad >= r->n) {
        TESS_FAIL(TESS_E_NUMERIC,
                  "all %lld channels are bad: there is nothing to predict them from",
                  (long long)r->n);
    }
    switch (r->kind) {
    case BY_SPLINES:
        return tess_ar_electrodes_weights(&r->electrodes, bad, n_bad, scratch, weights);
    case BY_FIELD:
        return tess_ar_field_sets_weights(&r->sets, bad, n_bad, scratch, weights);
    default:
        return cannot(r);
    }
}

size_t tess_ar_repairer_map_scratch(const tess_ar_repairer *r, int64_t n_from)
{
    return r->kind == BY_SPLINES ? tess_ar_electrodes_map_scratch(&r->electrodes, n_from, r->n)
                                 : (size_t)r->n * sizeof(int32_t);
}

tess_status tess_ar_repairer_map(const tess_ar_repairer *r, const int32_t *from, int64_t n_from,
                                 void *scratch, double *weights)
{
    if (n_from == 0) {
        TESS_FAIL(TESS_E_ARGUMENT, "there are no channels to predict from");
    }
    if (r->kind == BY_SPLINES) {
        return tess_ar_electrodes_map(&r->electrodes, from, n_from, NULL, r->n, scratch, weights);
    }
    if (r->kind == CANNOT) {
        return cannot(r);
    }
    int32_t *to = scratch;
    for (int32_t c = 0; c < r->n; c++) {
        to[c] = c;
    }
    tess_ar_map map = {.from = from, .to = to, .n_from = n_from, .n_to = r->n, .w = weights};
    return tess_ar_field_map(&r->sets.field, &map, 1);
}

tess_status tess_ar_repairer_predict(const tess_ar_repairer *r, const int32_t *from, int64_t n_from,
                                     const int32_t *to, int64_t n_to, double *weights)
{
    if (r->kind == CANNOT) {
        return cannot(r);
    }
    if (r->kind == BY_FIELD) {
        tess_ar_map map = {.from = from, .to = to, .n_from = n_from, .n_to = n_to, .w = weights};
        return tess_ar_field_map(&r->sets.field, &map, 1);
    }
    const size_t bytes = tess_ar_electrodes_map_scratch(&r->electrodes, n_from, n_to);
    double *scratch = tess_heap_alloc(&r->ctx->heap, bytes, TESS_TAG_SCRATCH, "two matrices");
    if (!scratch) {
        return TESS_E_MEMORY;
    }
    const tess_status status =
        tess_ar_electrodes_map(&r->electrodes, from, n_from, to, n_to, scratch, weights);
    tess_heap_free(&r->ctx->heap, scratch, bytes, TESS_TAG_SCRATCH);
    return status;
}
