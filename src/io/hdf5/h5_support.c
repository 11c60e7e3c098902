#include "h5_support.h"

#include "lzf.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { REASON_CHARS = 256, MAX_LZF_RATIO = 100 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void tess_h5_lock(void)
{
    pthread_mutex_lock(&lock);
    // Per thread in thread-safe builds, so it is repeated at every entry.
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void tess_h5_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

// Returns 0, which stores the chunk as it is, where packing does not make it smaller.
static size_t lzf_pack(size_t n_byte, size_t *buffer_bytes, void **buffer)
{
    uint8_t *out = n_byte < UINT32_MAX ? H5allocate_memory(n_byte, 0) : NULL;
    uint32_t *table = H5allocate_memory(sizeof *table << TESS_LZF_TABLE_BITS, 0);
    const size_t packed =
        out != NULL && table != NULL ? tess_lzf_pack(*buffer, n_byte, out, n_byte, table) : 0;
    H5free_memory(table);
    if (packed == 0) {
        H5free_memory(out);
        return 0;
    }
    H5free_memory(*buffer);
    *buffer = out;
    *buffer_bytes = n_byte;
    return packed;
}

static size_t lzf_filter(unsigned flags, size_t n_value, const unsigned values[], size_t n_byte,
                         size_t *buffer_bytes, void **buffer)
{
    (void)n_value;
    (void)values; // they repeat the unpacked size, which the data tell more reliably
    if (!(flags & H5Z_FLAG_REVERSE)) {
        return lzf_pack(n_byte, buffer_bytes, buffer);
    }
    const size_t unpacked = tess_lzf_unpack(*buffer, n_byte, NULL, 0);
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
        .encoder_present = 1,
        .decoder_present = 1,
        .name = "lzf",
        .filter = lzf_filter,
    };
    // Filters found through HDF5_PLUGIN_PATH would be other people's code in this process.
    return H5open() >= 0 && H5PLset_loading_state(0) >= 0 && H5Zregister(&lzf) >= 0;
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
        // Failed transfers carry a date that ends its own line; a message is one line.
        for (char *c = r->text; *c != '\0'; c++) {
            *c = *c == '\n' ? ' ' : *c;
        }
        r->is_truncated = r->is_truncated || strstr(error->desc, "truncated file") != NULL;
    }
    return 0;
}

tess_status tess_h5_fail(const tess_host *host, tess_status status, const char *path,
                         const char *what)
{
    reason r = {.text = "no reason given"};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, note_reason, &r);
    H5Eclear2(H5E_DEFAULT);
    if (r.is_truncated) {
        return host->fail(host->user, TESS_E_TRUNCATED, "%s: %s: %s; copy the file again", path,
                          what, r.text);
    }
    return host->fail(host->user, status, "%s: %s: HDF5 says: %s", path, what, r.text);
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

tess_status tess_h5_open_file(const tess_host *host, const char *path, hid_t *file)
{
    *file = -1;
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
#if H5_VERSION_GE(1, 10, 7)
    // Some network file systems have no locks; reading without one is better than not reading.
    H5Pset_file_locking(access, 1, 1);
#endif
    // Closing the file closes what was opened in it, whatever path an error took.
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    *file = H5Fopen(path, H5F_ACC_RDONLY, access);
    tess_h5_close_id(access);
    return *file >= 0 ? TESS_OK : tess_h5_fail(host, TESS_E_FORMAT, path, "cannot open");
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
