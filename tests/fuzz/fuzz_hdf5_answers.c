// What a helper gone mad could say: the input is its answers, byte for byte, to whatever it is
// asked. A file of ours is opened, read, listed and written meanwhile; nothing may be believed that
// the file itself does not bear out.
//
//     byte 0: what is done; then the answers to the first question, as they would come; those to
//     later questions follow on

#include "fuzz_file.h"
#include "io/formats.h"
#include "io/hdf5/h5_process.h"
#include "io/hdf5/h5_wire.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FILE_BYTES = 1 << 16, MAX_TILE_BYTES = 1 << 20 };

typedef struct answers {
    int socket;
    const uint8_t *bytes;
    size_t n_byte;
} answers;

// Waits for a question, so as not to look dead, says everything it has to say and hangs up.
static void *answer(void *user)
{
    answers *a = user;
    char byte;
    if (recv(a->socket, &byte, 1, 0) == 1) {
        for (size_t done = 0; done < a->n_byte;) {
            const ssize_t n = send(a->socket, a->bytes + done, a->n_byte - done, MSG_NOSIGNAL);
            if (n <= 0) {
                break;
            }
            done += (size_t)n;
        }
    }
    shutdown(a->socket, SHUT_WR);
    while (recv(a->socket, &byte, 1, 0) == 1) { // questions that came after
    }
    return NULL;
}

static int note(void *user, const tess_dataset_info *info)
{
    if (info->rank < 0 || info->rank > TESS_MAX_RANK) {
        abort();
    }
    *(size_t *)user += strlen(info->name) + strlen(info->type_text);
    return 0;
}

static int take_text(void *user, int64_t index, const char *text)
{
    *(size_t *)user += strlen(text) + (size_t)index;
    return 0;
}

static void open_and_read(const char *path)
{
    const tess_format *h5 = &tess_format_hdf5;
    tess_format_reader reader;
    if (h5->open(fuzz_host(), path, "x", 0, &reader) != TESS_OK) {
        return;
    }
    const int64_t n_row = reader.rank > 0 ? reader.shape[0] : 1;
    uint64_t row_bytes = (uint64_t)reader.item_bytes;
    for (int32_t axis = 1; axis < reader.rank; axis++) {
        row_bytes *= (uint64_t)reader.shape[axis];
    }
    if (reader.direct_offset > 0 &&
        (reader.direct_offset > FILE_BYTES ||
         (uint64_t)n_row * row_bytes > FILE_BYTES - reader.direct_offset)) {
        abort(); // more is promised than the file has
    }
    const int64_t fit = row_bytes > 0 ? MAX_TILE_BYTES / (int64_t)row_bytes : 0;
    const int64_t count = fit < n_row ? fit : n_row;
    if (count > 0) {
        void *tile = malloc((size_t)count * (size_t)row_bytes);
        (void)!h5->read(fuzz_host(), &reader, n_row - 1, 1, tile);
        (void)!h5->read(fuzz_host(), &reader, 0, count, tile);
        free(tile);
    }
    h5->close(fuzz_host(), &reader);
}

static void write_and_lay_out(const char *path, int how)
{
    static const float data[64] = {1};
    const tess_format *h5 = &tess_format_hdf5;
    const tess_format_writer_input input = {.dataset = "x",
                                            .dtype = TESS_F32,
                                            .rank = 2,
                                            .item_bytes = 4,
                                            .shape = {8, 8},
                                            .data = data,
                                            .data_bytes = sizeof data,
                                            .packing = how % 3};
    tess_format_layout item = {.dataset = "t",
                               .dims = "t",
                               .dtype = TESS_F32,
                               .rank = 1,
                               .item_bytes = 4,
                               .shape = {64},
                               .data = data};
    if (how == 3) {
        (void)!h5->lay_out(fuzz_host(), path, &item, 1, "{}");
    } else {
        (void)!h5->write(fuzz_host(), path, &input);
    }
}

static void act(int what, const char *path)
{
    const tess_format *h5 = &tess_format_hdf5;
    size_t n_char = 0;
    char *provenance = NULL;
    uint8_t *image = NULL;
    size_t n_byte = 0;
    double number = 0;
    int32_t kind = 0;
    char text[16];
    switch (what) {
    case 0:
        (void)!h5->list(fuzz_host(), path, note, &n_char);
        break;
    case 1:
        (void)!h5->texts(fuzz_host(), path, "x", take_text, &n_char);
        break;
    case 2:
        (void)!h5->attribute(fuzz_host(), path, "/", "x", &kind, &number, text, sizeof text);
        break;
    case 3:
        if (h5->provenance(fuzz_host(), path, &provenance, &n_byte) == TESS_OK && provenance) {
            fuzz_host()->release(NULL, provenance, n_byte);
        }
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        write_and_lay_out(path, what - 4);
        break;
    case 8:
        if (h5->matlab(fuzz_host(), path, "EEG", &image, &n_byte) == TESS_OK && image) {
            fuzz_host()->release(NULL, image, n_byte);
        }
        break;
    default:
        open_and_read(path);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[FILE_BYTES];
    int ends[2];
    pthread_t thread;
    if (size < 1 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return 0;
    }
    setenv("TESSERA_HDF5_PLUGIN", "none", 1); // no other helper comes after this one
    for (size_t i = 0; i < FILE_BYTES; i++) {
        file[i] = (uint8_t)i;
    }
    answers a = {.socket = ends[1], .bytes = data + 1, .n_byte = size - 1};
    // No such process: it cannot be killed, nor waited for.
    const tess_h5_process helper = {.socket = ends[0], .pidfd = -1, .pid = INT_MAX};
    if (pthread_create(&thread, NULL, answer, &a) != 0) {
        abort();
    }
    tess_h5_process_give_back(&helper);
    const char *path = fuzz_file_of(file, sizeof file);
    act(data[0] % 16, path);
    // One that is left idle has said nothing wrong; it is of no use to the next input.
    tess_h5_process left;
    const bool is_left = tess_h5_process_take(path, 0, &left) == TESS_OK;
    if (is_left) {
        close(left.socket);
    }
    pthread_join(thread, NULL);
    close(ends[1]);
    fuzz_check_leaks();
    return 0;
}
