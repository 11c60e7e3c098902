#include "fuzz_file.h"
#include "fuzz_recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_recording(&tess_ar_eeglab, fuzz_named_file("x.set", data, size));
    return 0;
}
