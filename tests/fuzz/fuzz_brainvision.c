// Header, a byte 0, markers, a byte 0, samples: the three files of a recording.
#include "fuzz_file.h"
#include "fuzz_recording.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"x.vhdr", "x.vmrk", "x.eeg"};
    char header[128] = "";
    for (int i = 0; i < 3; i++) {
        const uint8_t *zero = i < 2 && size > 0 ? memchr(data, 0, size) : NULL;
        const size_t n = zero != NULL ? (size_t)(zero - data) : size;
        const char *path = fuzz_named_file(names[i], data, n);
        if (i == 0) {
            strncpy(header, path, sizeof header - 1);
        }
        data += zero != NULL ? n + 1 : n;
        size -= zero != NULL ? n + 1 : n;
    }
    fuzz_recording(&tess_ar_brainvision, header);
    return 0;
}
