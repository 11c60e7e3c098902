#include "runtime/folder_lock.h"

#include "base/file.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// A run that ends removes the file: what was locked must still be what the name says.
static tess_status hold(const char *folder, const char *path, int *fd)
{
    for (;;) {
        do {
            *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        } while (*fd < 0 && errno == EINTR);
        if (*fd < 0) {
            TESS_FAIL(TESS_E_CREATE, "%s: cannot create: %s", path, strerror(errno));
        }
        if (flock(*fd, LOCK_EX | LOCK_NB) != 0) {
            char holder[128] = "";
            const ssize_t n = pread(*fd, holder, sizeof holder - 1, 0);
            holder[n > 0 ? n : 0] = '\0';
            TESS_FAIL(TESS_E_LOCKED, "%s: another run is using this folder (%s)", folder,
                      holder[0] ? holder : "holder unknown");
        }
        struct stat held;
        struct stat named;
        if (fstat(*fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino) {
            return TESS_OK;
        }
        close(*fd);
        *fd = -1;
    }
}

static tess_status write_holder(const char *path, int fd)
{
    char host[64] = "";
    char text[128];
    gethostname(host, sizeof host - 1);
    const int n = snprintf(text, sizeof text, "pid %ld on %s", (long)getpid(), host);
    TESS_TRY(tess_file_resize(fd, path, 0));
    return tess_file_write_at(fd, path, text, (size_t)n, 0);
}

tess_status tess_folder_lock(const char *folder, int *fd)
{
    *fd = -1;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        TESS_FAIL(TESS_E_CREATE, "%s: cannot create the checkpoint folder: %s", folder,
                  strerror(errno));
    }
    char path[1024];
    snprintf(path, sizeof path, "%s/lock", folder);
    tess_status status = hold(folder, path, fd);
    if (status == TESS_OK) {
        status = write_holder(path, *fd);
    }
    if (status != TESS_OK && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return status;
}
