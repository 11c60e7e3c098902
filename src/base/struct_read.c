#include "base/struct_read.h"

#include "base/status.h"

#include <string.h>

// A struct_size beyond this was never set.
enum { MAX_BYTES = 4096 };

void tess_struct_init(void *given, size_t struct_size, const void *defaults, size_t known_bytes)
{
    const uint32_t size = (uint32_t)struct_size;
    memset(given, 0, struct_size);
    memcpy(given, defaults, struct_size < known_bytes ? struct_size : known_bytes);
    memcpy(given, &size, sizeof size);
}

tess_status tess_struct_read(const void *given, void *config, size_t known_bytes, const char *name)
{
    uint32_t size;
    memcpy(&size, given, sizeof size);
    // All our structs end on a multiple of eight: half a field was never meant.
    if (size < 8 || size % 8 != 0 || size > MAX_BYTES) {
        TESS_FAIL(TESS_E_VERSION, "%s: struct_size %u is no size of it; call its _init() first",
                  name, size);
    }
    for (size_t i = known_bytes; i < size; i++) {
        if (((const unsigned char *)given)[i] != 0) {
            TESS_FAIL(TESS_E_VERSION,
                      "%s: has settings this library (" TESS_VERSION ") does not know", name);
        }
    }
    memcpy(config, given, size < known_bytes ? size : known_bytes);
    return TESS_OK;
}
