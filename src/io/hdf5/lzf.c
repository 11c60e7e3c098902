#include "lzf.h"

#include <string.h>

// A control byte below 32 announces that many literals plus one. Others are a copy of earlier
// output: three bits of length (7: another byte adds to it) and thirteen of distance.
size_t tess_lzf_unpack(const uint8_t *src, size_t src_bytes, uint8_t *dst, size_t capacity)
{
    size_t in = 0;
    size_t out = 0;
    const size_t limit = dst != NULL ? capacity : SIZE_MAX / 2;
    while (in < src_bytes) {
        const size_t control = src[in++];
        if (control < 32) {
            const size_t length = control + 1;
            if (length > src_bytes - in || length > limit - out) {
                return 0;
            }
            if (dst != NULL) {
                memcpy(dst + out, src + in, length);
            }
            in += length;
            out += length;
            continue;
        }
        size_t length = control >> 5;
        if (length == 7) {
            if (in == src_bytes) {
                return 0;
            }
            length += src[in++];
        }
        length += 2;
        if (in == src_bytes) {
            return 0;
        }
        const size_t distance = ((control & 31) << 8 | src[in++]) + 1;
        if (distance > out || length > limit - out) {
            return 0;
        }
        // Byte by byte: the copy may overlap what it writes.
        for (size_t i = 0; dst != NULL && i < length; i++) {
            dst[out + i] = dst[out + i - distance];
        }
        out += length;
    }
    return out;
}
