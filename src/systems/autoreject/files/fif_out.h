// Writing FIF: tags one after another into a file that has no name yet.
#ifndef TESS_AUTOREJECT_FIF_OUT_H
#define TESS_AUTOREJECT_FIF_OUT_H

#include "base/file.h"
#include "runtime/pack.h"
#include "systems/autoreject/files/fif.h"

enum { TESS_AR_FIF_OUT_BYTES = 1 << 18 };

// A failure is remembered and reported by finish; what comes after it is not written.
typedef struct tess_ar_fif_out {
    tess_context *ctx;
    tess_temp_file temp;
    tess_packer *packer; // NULL: not compressed
    uint8_t *buffer;     // [TESS_AR_FIF_OUT_BYTES]
    size_t used;
    uint64_t done; // bytes before packing
    tess_status status;
    char message[1024];
} tess_ar_fif_out;

TESS_MUST_CHECK tess_status tess_ar_fif_out_open(tess_context *ctx, const char *path,
                                                 tess_ar_fif_out *out);
// Everything is on its way to the disk; the file still has its temporary name.
TESS_MUST_CHECK tess_status tess_ar_fif_out_finish(tess_ar_fif_out *out);
// Removes the file unless it was committed. Safe on one that was never opened, zeroed.
void tess_ar_fif_out_close(tess_ar_fif_out *out);

void tess_ar_fif_put(tess_ar_fif_out *out, const void *bytes, size_t n);
void tess_ar_fif_put_header(tess_ar_fif_out *out, int32_t kind, int32_t type, size_t bytes);
void tess_ar_fif_put_i32(tess_ar_fif_out *out, int32_t kind, int32_t value);
void tess_ar_fif_put_f32(tess_ar_fif_out *out, int32_t kind, double value);
void tess_ar_fif_put_i32s(tess_ar_fif_out *out, int32_t kind, const int32_t *values, int64_t n);
// UTF-8, stored as latin-1 with references for what that has not; nothing for empty text.
void tess_ar_fif_put_text(tess_ar_fif_out *out, int32_t kind, const char *text);
// The next character of UTF-8, and *at behind it; bytes that are none stand for themselves.
uint32_t tess_ar_fif_next_code(const uint8_t **at);
void tess_ar_fif_put_block(tess_ar_fif_out *out, int32_t tag, int32_t block);

// What is written in place of a block or tag of the source: true, it was seen to.
typedef struct tess_ar_fif_edit {
    void *user;
    bool (*block)(void *user, tess_ar_fif_out *out, int64_t block);
    bool (*tag)(void *user, tess_ar_fif_out *out, const tess_ar_fif_tag *tag);
    void (*end)(void *user, tess_ar_fif_out *out, int64_t block); // before a block is closed
} tess_ar_fif_edit;

// A copy of a tag, and of a block with all in it; edit may be NULL.
void tess_ar_fif_copy_tag(tess_ar_fif_out *out, const tess_ar_fif_file *file,
                          const tess_ar_fif_tag *tag);
void tess_ar_fif_copy_block(tess_ar_fif_out *out, const tess_ar_fif_file *file, int64_t block,
                            const tess_ar_fif_edit *edit);

// Big-endian words at bytes.
void tess_ar_fif_set_i32(uint8_t *bytes, int32_t value);
void tess_ar_fif_set_f32(uint8_t *bytes, double value);

// fif_write_info.c: measurement info and what belongs to it.
TESS_MUST_CHECK tess_status tess_ar_fif_write_info(tess_ar_fif_out *out,
                                                   tess_autoreject_epochs *epochs,
                                                   const char *provenance);
// fif_write.c with a limit on the bytes of samples in a part.
TESS_MUST_CHECK tess_status tess_ar_fif_write_parts(tess_context *ctx,
                                                    tess_autoreject_epochs *epochs,
                                                    const char *path,
                                                    const tess_autoreject_write_config *config,
                                                    uint64_t part_bytes);

#endif
