#include "systems/autoreject/interpolation/field.h"

#include "base/status.h"

tess_status tess_ar_field_create(tess_context *ctx, const tess_autoreject_sensors *sensors,
                                 const int64_t *channels, int64_t n,
                                 const tess_autoreject_interpolation_config *config,
                                 tess_ar_field *field)
{
    *field = (tess_ar_field){.ctx = ctx, .n = n};
    (void)sensors, (void)channels, (void)config;
    TESS_FAIL(TESS_E_UNSUPPORTED, "MEG field mapping");
}
void tess_ar_field_destroy(tess_ar_field *field)
{
    (void)field;
}
tess_status tess_ar_field_dots(tess_context *ctx, const tess_autoreject_sensors *sensors,
                               const int64_t *channels, int64_t n,
                               const tess_autoreject_interpolation_config *config, double *dots)
{
    (void)ctx, (void)sensors, (void)channels, (void)n, (void)config, (void)dots;
    TESS_FAIL(TESS_E_UNSUPPORTED, "MEG field mapping");
}
tess_status tess_ar_field_map(const tess_ar_field *field, tess_autoreject_map *maps, int64_t n_map)
{
    (void)field, (void)maps, (void)n_map;
    TESS_FAIL(TESS_E_UNSUPPORTED, "MEG field mapping");
}
