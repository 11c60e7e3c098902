#include "helper.h"

#include "io/hdf5/lzf.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { REASON_CHARS = 256, MAX_LZF_RATIO = 100 };

tess_h5_open_file tess_h5_now = {.file = -1, .dataset = -1, .memory_type = -1, .fd = -1};

// Only what the library reads itself comes here: chunks are packed and unpacked by our reader.
static size_t lzf_filter(unsigned flags, size_t n_value, const unsigned values[], size_t n_byte,
                         size_t *buffer_bytes, void **buffer)
{
    (void)n_value;
    (void)values; // they repeat the unpacked size, which the data tell more reliably
    const size_t unpacked =
        flags & H5Z_FLAG_REVERSE ? tess_lzf_unpack(*buffer, n_byte, NULL, 0) : 0;
    if (unpacked == 0 || unpacked / MAX_LZF_RATIO > n_byte) {
        return 0;
    }
    uint8_t *out = H5allocate_memory(unpacked, 0);
    if (out == NULL || tess_lzf_unpack(*buffer, n_byte, out, unpacked) != unpacked) {
        H5free_memory(out);
        return 0;
    }
    H5free_memory(*buffer);
    *buffer = out;
    *buffer_bytes = unpacked;
    return unpacked;
}

bool tess_h5_prepare(void)
{
    static const H5Z_class2_t lzf = {
        .version = H5Z_CLASS_T_VERS,
        .id = TESS_H5_FILTER_LZF,
        .encoder_present = 1, // data sets with it can be made
        .decoder_present = 1,
        .name = "lzf",
        .filter = lzf_filter,
    };
    // Must be the first call. Whatever we open we close; the library's own clean-up at exit would
    // only try again to flush a file whose disk was full, and crash over it.
    (void)H5dont_atexit();
    // Filters found through HDF5_PLUGIN_PATH would be other people's code.
    return H5open() >= 0 && H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0 &&
           H5PLset_loading_state(0) >= 0 && H5Zregister(&lzf) >= 0 && tess_h5_driver_register();
}

// The innermost reason says what happened, the outermost only which call failed.
typedef struct reason {
    char text[REASON_CHARS];
    bool is_truncated;
} reason;

static herr_t note_reason(unsigned n, const H5E_error2_t *error, void *user)
{
    (void)n;
    reason *r = user;
    if (error->desc != NULL && error->desc[0] != '\0') {
        snprintf(r->text, sizeof r->text, "%s", error->desc);
        // A message is one line.
        for (char *c = r->text; *c != '\0'; c++) {
            *c = *c == '\n' ? ' ' : *c;
        }
        r->is_truncated = r->is_truncated || strstr(error->desc, "truncated file") != NULL;
    }
    return 0;
}

tess_status tess_h5_fail(tess_status status, const char *what)
{
    reason r = {.text = "no reason given"};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, note_reason, &r);
    H5Eclear2(H5E_DEFAULT);
    if (r.is_truncated) {
        return tess_h5_refuse(TESS_E_TRUNCATED, "%s: %s: %s; copy the file again", tess_h5_now.path,
                              what, r.text);
    }
    return tess_h5_refuse(status, "%s: %s: HDF5 says: %s", tess_h5_now.path, what, r.text);
}

void tess_h5_close_id(hid_t id)
{
    if (id < 0) {
        return;
    }
    // Calls of the library forget earlier errors, and cleaning up comes before reporting.
    const hid_t errors = H5Eget_current_stack();
    H5Idec_ref(id);
    H5Eset_current_stack(errors);
}

tess_status tess_h5_take_file(const char *path, int fd, bool is_read)
{
    snprintf(tess_h5_now.path, sizeof tess_h5_now.path, "%s", path);
    tess_h5_now.fd = fd;
    if (!is_read) {
        return TESS_OK;
    }
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    // Closing the file closes what was opened in it, whatever path an error took.
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    if (tess_h5_driver_use(access, tess_h5_now.fd) >= 0) {
        tess_h5_now.file = H5Fopen(path, H5F_ACC_RDONLY, access);
    }
    tess_h5_close_id(access);
    return tess_h5_now.file >= 0 ? TESS_OK : tess_h5_fail(TESS_E_FORMAT, "cannot open");
}

bool tess_h5_close_now(void)
{
    tess_h5_open_file *now = &tess_h5_now;
    tess_h5_close_id(now->memory_type);
    tess_h5_close_id(now->dataset);
    const bool is_closed = now->file < 0 || H5Fclose(now->file) >= 0;
    if (now->shared != NULL) {
        munmap(now->shared, now->shared_bytes);
    }
    if (now->fd >= 0) {
        close(now->fd);
    }
    now->memory_type = now->dataset = now->file = -1;
    now->shared = NULL;
    now->fd = -1;
    return is_closed;
}

static herr_t refuse_external(const char *parent_file, const char *parent_group,
                              const char *child_file, const char *child_object, unsigned *flags,
                              hid_t access, void *user)
{
    (void)parent_file, (void)parent_group, (void)child_file, (void)child_object;
    (void)flags, (void)access, (void)user;
    return -1;
}

hid_t tess_h5_dataset_access(void)
{
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    if (access >= 0 && H5Pset_elink_cb(access, refuse_external, NULL) < 0) {
        tess_h5_close_id(access);
        return -1;
    }
    return access;
}
