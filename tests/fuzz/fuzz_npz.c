#include "fuzz_file.h"
#include "io/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(&tess_format_npz, data, size);
    return 0;
}
