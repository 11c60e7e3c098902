// The two symbols of the module and its table.

#include "h5_support.h"

#include <string.h>

#define TEXT_OF(x) #x
#define VERSION_TEXT(a, b, c) "HDF5 " TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

TESS_API const tess_module_info *tess_module_query(void);
TESS_API const tess_format *tess_format_entry(const tess_host *host);

// The signature stands at the start or, behind a user block, at 512, 1024, 2048 ...
static int h5_probe(const uint8_t *head, size_t head_bytes)
{
    static const uint8_t signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    for (size_t at = 0; at + sizeof signature <= head_bytes; at = at == 0 ? 512 : 2 * at) {
        if (memcmp(head + at, signature, sizeof signature) == 0) {
            return 1;
        }
    }
    return 0;
}

const tess_module_info *tess_module_query(void)
{
    static const tess_module_info info = {
        .abi = TESS_MODULE_ABI,
        .kind = "format",
        .name = "hdf5",
        .version = TESS_VERSION,
        .built_with = VERSION_TEXT(H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE),
    };
    return &info;
}

const tess_format *tess_format_entry(const tess_host *host)
{
    static const tess_format table = {
        .struct_size = sizeof table,
        .abi = TESS_MODULE_ABI,
        .name = "hdf5",
        .extensions = ".h5|.hdf5|.hdf|.nc",
        .probe = h5_probe,
        .open = tess_h5_open,
        .read = tess_h5_read,
        .close = tess_h5_close,
        .list = tess_h5_list,
        .provenance = tess_h5_provenance,
        .write = tess_h5_write,
        .write_many = tess_h5_write_many,
        .attribute = tess_h5_attribute,
        .lay_out = tess_h5_lay_out,
        .texts = tess_h5_texts,
        .add = tess_h5_add,
    };
    // Must be the first call. Whatever we open we close; the library's own clean-up at exit would
    // only try again to flush a file whose disk was full, and crash over it.
    (void)H5dont_atexit();
    tess_h5_lock();
    const bool is_ready = tess_h5_prepare();
    tess_h5_unlock();
    if (!is_ready) {
        (void)host->fail(host->user, TESS_E_UNSUPPORTED, "the HDF5 library cannot be initialised");
        return NULL;
    }
    return &table;
}
