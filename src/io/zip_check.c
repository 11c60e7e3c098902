#include "base/status.h"
#include "io/zip_unpack.h"
#include "runtime/crc32.h"

tess_status tess_zip_check_add(tess_zip_check *check, const tess_host *host, const tess_zip *zip,
                               const tess_zip_member *member, uint64_t offset, const void *data,
                               uint64_t bytes)
{
    if (offset == 0) {
        *check = (tess_zip_check){0};
    }
    if (offset != check->next || bytes == 0) {
        return TESS_OK;
    }
    check->crc32 = tess_crc32(check->crc32, data, bytes);
    check->next += bytes;
    if (check->next != member->bytes) {
        return TESS_OK;
    }
    if (check->crc32 != member->crc32) {
        TESS_FAIL(TESS_E_FORMAT,
                  "%s: member '%s': CRC-32 is %08x, the archive says %08x: the data are corrupt; "
                  "copy the file again",
                  zip->file.path, member->name, check->crc32, member->crc32);
    }
    host->log(host->user, TESS_LOG_INFO, "%s: member '%s': CRC-32 verified", zip->file.path,
              member->name);
    return TESS_OK;
}
