#include "io/hdf5/h5_wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void tess_h5_put(tess_h5_message *m, const void *src, size_t n_byte)
{
    if (m->is_broken || n_byte > m->capacity - m->used) {
        m->is_broken = true;
        return;
    }
    memcpy(m->bytes + m->used, src, n_byte);
    m->used += n_byte;
}

void tess_h5_put_text(tess_h5_message *m, const char *text)
{
    const size_t length = text != NULL ? strlen(text) : 0;
    const uint32_t n = text != NULL ? (uint32_t)length : UINT32_MAX;
    tess_h5_put(m, &n, sizeof n);
    if (text != NULL) {
        tess_h5_put(m, text, length + 1);
    }
}

void tess_h5_get(tess_h5_message *m, void *dst, size_t n_byte)
{
    if (m->is_broken || n_byte > m->used - m->at) {
        m->is_broken = true;
        memset(dst, 0, n_byte);
        return;
    }
    memcpy(dst, m->bytes + m->at, n_byte);
    m->at += n_byte;
}

const char *tess_h5_get_text(tess_h5_message *m)
{
    uint32_t n = 0;
    tess_h5_get(m, &n, sizeof n);
    if (m->is_broken || n == UINT32_MAX) {
        return NULL;
    }
    if (n >= m->used - m->at || m->bytes[m->at + n] != '\0') {
        m->is_broken = true;
        return NULL;
    }
    const char *text = (const char *)m->bytes + m->at;
    m->at += (size_t)n + 1;
    return text;
}

// A message with room for one descriptor beside its bytes.
typedef union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
} control;

tess_h5_result tess_h5_send(int socket, const tess_h5_head *head, const void *payload, int fd)
{
    control beside = {.bytes = {0}};
    const size_t total = sizeof *head + head->bytes;
    for (size_t done = 0; done < total;) {
        struct iovec parts[2];
        size_t n_part = 0;
        if (done < sizeof *head) {
            parts[n_part++] = (struct iovec){(char *)(uintptr_t)head + done, sizeof *head - done};
        }
        if (head->bytes > 0) {
            const size_t at = done > sizeof *head ? done - sizeof *head : 0;
            parts[n_part++] = (struct iovec){(char *)(uintptr_t)payload + at, head->bytes - at};
        }
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = n_part};
        if (fd >= 0 && done == 0) {
            message.msg_control = beside.bytes;
            message.msg_controllen = sizeof beside.bytes;
            beside.header = (struct cmsghdr){
                .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
            memcpy(CMSG_DATA(&beside.header), &fd, sizeof fd);
        }
        const ssize_t n = sendmsg(socket, &message, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR) {
            return errno == EAGAIN ? TESS_H5_LATE : TESS_H5_CLOSED;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return TESS_H5_OK;
}

// Counted in seconds awake: a process that was stopped or frozen meanwhile has lost one at most.
static tess_h5_result wait_for_bytes(int socket, int limit_s)
{
    struct pollfd wanted = {.fd = socket, .events = POLLIN};
    for (int waited = 0; limit_s == 0 || waited < limit_s;) {
        const int n = poll(&wanted, 1, limit_s == 0 ? -1 : 1000);
        if (n > 0) {
            return TESS_H5_OK;
        }
        waited += n == 0;
    }
    return TESS_H5_LATE;
}

static void take_descriptor(const struct msghdr *message, const control *beside, int *fd)
{
    int found = -1;
    if (message->msg_controllen >= CMSG_LEN(sizeof found) &&
        beside->header.cmsg_level == SOL_SOCKET && beside->header.cmsg_type == SCM_RIGHTS) {
        memcpy(&found, CMSG_DATA(&beside->header), sizeof found);
    }
    if (fd != NULL && found >= 0 && *fd < 0) {
        *fd = found;
    } else if (found >= 0) {
        close(found);
    }
}

tess_h5_result tess_h5_receive(int socket, int limit_s, void *dst, size_t n_byte, int *fd)
{
    if (fd != NULL) {
        *fd = -1;
    }
    for (size_t done = 0; done < n_byte;) {
        control beside = {.bytes = {0}};
        struct iovec part = {(char *)dst + done, n_byte - done};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = beside.bytes,
                                 .msg_controllen = CMSG_LEN(sizeof(int))}; // one, not more
        const ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (n > 0) {
            take_descriptor(&message, &beside, fd);
            done += (size_t)n;
        } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
            return TESS_H5_CLOSED;
        } else if (errno == EAGAIN && wait_for_bytes(socket, limit_s) != TESS_H5_OK) {
            return TESS_H5_LATE;
        }
    }
    return TESS_H5_OK;
}
