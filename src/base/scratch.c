#include "base/scratch.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *tess_scratch_folder(void)
{
    static const char *const names[] = {TESS_SCRATCH_VARIABLE, "TMPDIR"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *folder = getenv(names[i]);
        if (folder && folder[0]) {
            return folder;
        }
    }
    return access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

tess_status tess_scratch_open(const tess_scratch *scratch, char *path, size_t capacity, int *fd)
{
    const int length =
        snprintf(path, capacity, "%s/tessera.%s.XXXXXX",
                 scratch->folder ? scratch->folder : tess_scratch_folder(), scratch->name);
    if (length >= (int)capacity) {
        TESS_FAIL(TESS_E_CREATE, "%.80s...: path is too long", path);
    }
    *fd = mkostemp(path, O_CLOEXEC);
    if (*fd < 0) {
        TESS_FAIL(TESS_E_CREATE,
                  "%s: cannot create a scratch file for %s: %s; name a folder with room for it in "
                  "TESSERA_SCRATCH (--scratch)",
                  path, scratch->what, strerror(errno));
    }
    unlink(path); // goes with the process, however that ends
    return TESS_OK;
}

tess_status tess_scratch_reserve(const tess_scratch *scratch, const char *path, int fd,
                                 uint64_t bytes)
{
    const int code = tess_file_reserve(fd, bytes);
    if (code == EINVAL || code == EOPNOTSUPP) {
        return tess_file_resize(fd, path, bytes);
    }
    if (code != 0) {
        TESS_FAIL(TESS_E_IO,
                  "%s: cannot reserve %llu bytes for %s: %s; free some space, name another disk in "
                  "TESSERA_SCRATCH (--scratch), or raise the memory limit",
                  path, (unsigned long long)bytes, scratch->what, strerror(code));
    }
    return TESS_OK;
}
