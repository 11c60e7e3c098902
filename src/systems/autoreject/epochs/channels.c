// Channel indices that callers give.
#include "base/status.h"
#include "systems/autoreject/epochs/epochs.h"

tess_status tess_ar_check_distinct(const tess_autoreject_epochs *epochs, const int64_t *channels,
                                   int64_t n_channel)
{
    const int64_t n_all = epochs->info.sensors->n_chan;
    if (!channels || n_channel < 1) {
        TESS_FAIL(TESS_E_ARGUMENT, "channels: none are given; name one at least");
    }
    for (int64_t i = 0; i < n_channel; i++) {
        if (channels[i] < 0 || channels[i] >= n_all) {
            TESS_FAIL(TESS_E_RANGE, "channels[%lld]: %lld, but the epochs have channels 0 to %lld",
                      (long long)i, (long long)channels[i], (long long)n_all - 1);
        }
        for (int64_t j = 0; j < i; j++) {
            if (channels[j] == channels[i]) {
                TESS_FAIL(TESS_E_ARGUMENT, "channels: '%s' (%lld) occurs twice; name it once",
                          epochs->info.sensors->channels[channels[i]].name, (long long)channels[i]);
            }
        }
    }
    return TESS_OK;
}
