#include "base/status.h"
#include "io/hdf5/h5_format.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>

int64_t tess_h5_item_bytes(int32_t dtype, int64_t item_bytes)
{
    switch (dtype) {
    case TESS_BYTES:
        return item_bytes > 0 ? item_bytes : 0;
    case TESS_BF16:
    case TESS_UCS4:
        return 0;
    default:
        return (int64_t)tess_dtype_bytes((tess_dtype)dtype);
    }
}

static bool uses_locks(void)
{
    const char *text = getenv("HDF5_USE_FILE_LOCKING");
    return text == NULL || (strcasecmp(text, "FALSE") != 0 && strcmp(text, "0") != 0);
}

tess_status tess_h5_file_open(const char *path, tess_infile *out)
{
    TESS_TRY(tess_infile_open(path, out));
    // Some network file systems have no locks; reading without one is better than not reading.
    if (uses_locks() && flock(out->fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        tess_infile_close(out);
        TESS_FAIL(TESS_E_NOT_FOUND,
                  "%s: is open for writing in another program; close it there, or set "
                  "HDF5_USE_FILE_LOCKING=FALSE to read it all the same",
                  path);
    }
    return TESS_OK;
}

void tess_h5_file_close(tess_infile *file)
{
    if (file->fd >= 0) {
        (void)flock(file->fd, LOCK_UN); // the helper may not have closed its copy yet
    }
    tess_infile_close(file);
}
