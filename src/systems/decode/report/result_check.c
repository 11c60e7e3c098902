// Opening a result with a recording checks that they belong together.
#include "base/status.h"
#include "systems/decode/report/view.h"
#include "tessera/decode/report.h"

tess_status tess_decode_result_check(tess_context *ctx, const char *result_path,
                                     const tess_decode_recording *recording)
{
    tess_error_clear();
    tess_de_view view = {0};
    const tess_status status = tess_de_view_open(ctx, result_path, recording, NULL, &view);
    tess_de_view_close(&view);
    return status;
}
