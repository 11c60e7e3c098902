#include "fuzz_file.h"
#include "fuzz_recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_recording(&tess_ar_edf, fuzz_named_file("x.edf", data, size));
    return 0;
}
