// The loop: a question, its answers, the next question. Ends when the library does.

#include "helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { USAGE_STATUS = 64, NO_LIBRARY_STATUS = 71 };

// Which file a question is about.
typedef enum about {
    ABOUT_OPEN,   // the one that is open
    ABOUT_GIVEN,  // one that comes with it, to be closed after
    ABOUT_OPENED, // one that comes with it and stays
} about;

static tess_status answer_share(tess_h5_message *question, int fd)
{
    uint64_t n_byte = 0;
    tess_h5_get(question, &n_byte, sizeof n_byte);
    if (tess_h5_now.shared != NULL) {
        munmap(tess_h5_now.shared, tess_h5_now.shared_bytes);
        tess_h5_now.shared = NULL;
    }
    void *bytes = mmap(NULL, (size_t)n_byte, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED) {
        return tess_h5_refuse(TESS_E_MEMORY, "%s: not enough memory to read it", tess_h5_now.path);
    }
    tess_h5_now.shared = bytes;
    tess_h5_now.shared_bytes = (size_t)n_byte;
    return TESS_OK;
}

static tess_status answer(uint32_t kind, tess_h5_message *question, int fd)
{
    static const struct {
        tess_status (*answer)(tess_h5_message *question);
        about about;
    } questions[] = {
        [TESS_H5_OPEN] = {tess_h5_answer_open, ABOUT_OPENED},
        [TESS_H5_LOCATE] = {tess_h5_answer_locate, ABOUT_OPEN},
        [TESS_H5_READ] = {tess_h5_answer_read, ABOUT_OPEN},
        [TESS_H5_LIST] = {tess_h5_answer_list, ABOUT_GIVEN},
        [TESS_H5_PROVENANCE] = {tess_h5_answer_provenance, ABOUT_GIVEN},
        [TESS_H5_ATTRIBUTE] = {tess_h5_answer_attribute, ABOUT_GIVEN},
        [TESS_H5_TEXTS] = {tess_h5_answer_texts, ABOUT_GIVEN},
        [TESS_H5_MATLAB] = {tess_h5_answer_matlab, ABOUT_GIVEN},
        [TESS_H5_CREATE] = {tess_h5_answer_create, ABOUT_OPENED},
        [TESS_H5_PUT] = {tess_h5_answer_put, ABOUT_OPEN},
        [TESS_H5_PUT_CHUNK] = {tess_h5_answer_put_chunk, ABOUT_OPEN},
    };
    if (kind == TESS_H5_SHARE) {
        return answer_share(question, fd);
    }
    if (kind == TESS_H5_CLOSE) {
        return tess_h5_close_now() ? TESS_OK
                                   : tess_h5_fail(TESS_E_IO, "cannot close; is the disk full?");
    }
    if (kind >= sizeof questions / sizeof *questions || questions[kind].answer == NULL) {
        return tess_h5_refuse(TESS_E_INTERNAL, "question %u is unknown to the HDF5 helper", kind);
    }
    tess_status status = TESS_OK;
    if (questions[kind].about != ABOUT_OPEN) {
        tess_h5_close_now();
        const char *path = tess_h5_get_text(question);
        status = tess_h5_take_file(path != NULL ? path : "", fd, kind != TESS_H5_CREATE);
    }
    if (status == TESS_OK) {
        status = questions[kind].answer(question);
    }
    if (status != TESS_OK || questions[kind].about == ABOUT_GIVEN) {
        tess_h5_close_now();
    }
    return status;
}

static bool take_question(tess_h5_head *head, tess_h5_message *question, int *fd)
{
    if (tess_h5_receive(TESS_H5_SOCKET, 0, head, sizeof *head, fd) != TESS_H5_OK ||
        head->bytes > TESS_H5_MAX_BYTES) {
        return false;
    }
    tess_h5_make_room(question, head->bytes);
    question->used = head->bytes;
    return tess_h5_receive(TESS_H5_SOCKET, 0, question->bytes, head->bytes, NULL) == TESS_H5_OK;
}

int main(void)
{
    int type = 0;
    socklen_t n_byte = sizeof type;
    if (getsockopt(TESS_H5_SOCKET, SOL_SOCKET, SO_TYPE, &type, &n_byte) != 0) {
        fprintf(stderr, "tessera-hdf5 reads HDF5 files for libtessera, which starts it; it does "
                        "nothing by itself\n");
        return USAGE_STATUS;
    }
    tess_h5_settle();
    if (!tess_h5_prepare()) {
        return NO_LIBRARY_STATUS;
    }
    tess_h5_lock_up();
    const uint32_t wire = TESS_H5_WIRE;
    tess_h5_put(tess_h5_answer(sizeof wire), &wire, sizeof wire);
    tess_h5_send_answer(TESS_H5_HELLO);
    tess_h5_head head;
    tess_h5_message question = {0};
    int fd = -1;
    while (take_question(&head, &question, &fd)) {
        tess_h5_limit_memory(head.memory_bytes);
        tess_h5_send_end(answer(head.kind, &question, fd));
    }
    _exit(0); // not through the library's clean-up
}
