// Finding tags and reading their data.
#include "base/status.h"
#include "systems/autoreject/files/fif.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *tess_ar_fif_words(int32_t kind, char text[64])
{
    static const struct {
        int32_t kind;
        const char *words;
    } list[] = {
#define TAG_WORDS(name, number, words) {number, words},
        TESS_AR_FIF_TAGS(TAG_WORDS)
#undef TAG_WORDS
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (list[i].kind == kind) {
            snprintf(text, 64, "tag %d (%s)", (int)kind, list[i].words);
            return text;
        }
    }
    snprintf(text, 64, "tag %d", (int)kind);
    return text;
}

int64_t tess_ar_fif_block_in(const tess_ar_fif_file *file, int64_t within, int32_t kind,
                             int64_t after)
{
    for (int64_t b = (after < within ? within : after) + 1; b < file->n_block; b++) {
        if (file->blocks[b].kind != kind) {
            continue;
        }
        int64_t up = b;
        while (up > within) {
            up = file->blocks[up].parent;
        }
        if (up == within) {
            return b;
        }
    }
    return -1;
}

const tess_ar_fif_tag *tess_ar_fif_tag_in(const tess_ar_fif_file *file, int64_t block, int32_t kind,
                                          const tess_ar_fif_tag *after)
{
    const tess_ar_fif_tag *tag = after ? after + 1 : file->tags + file->blocks[block].first;
    for (; tag < file->tags + file->blocks[block].end; tag++) {
        if (tag->block == block && tag->kind == kind) {
            return tag;
        }
    }
    return NULL;
}

tess_status tess_ar_fif_need(const tess_ar_fif_file *file, int64_t block, int32_t kind,
                             const tess_ar_fif_tag **tag)
{
    *tag = tess_ar_fif_tag_in(file, block, kind, NULL);
    if (!*tag) {
        char words[64];
        TESS_FAIL(TESS_E_FORMAT, "%s: byte %llu: block %d starts here; expected in it: %s",
                  file->path, (unsigned long long)file->blocks[block].at,
                  (int)file->blocks[block].kind, tess_ar_fif_words(kind, words));
    }
    return TESS_OK;
}

static tess_status wrong_type(const tess_ar_fif_file *file, const tess_ar_fif_tag *tag,
                              const char *wanted)
{
    char words[64];
    TESS_FAIL(TESS_E_FORMAT, "%s: byte %llu: %s has %d bytes of type %d; expected %s", file->path,
              (unsigned long long)tag->at - TESS_AR_FIF_HEADER_BYTES,
              tess_ar_fif_words(tag->kind, words), (int)tag->bytes, (int)tag->type, wanted);
}

tess_status tess_ar_fif_check(const tess_ar_fif_file *file, const tess_ar_fif_tag *tag,
                              int32_t type, int32_t min_bytes)
{
    if (tag->type != type || tag->bytes < min_bytes) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "%d bytes or more of type %d", (int)min_bytes, (int)type);
        return wrong_type(file, tag, wanted);
    }
    return TESS_OK;
}

tess_status tess_ar_fif_read_i32(const tess_ar_fif_file *file, const tess_ar_fif_tag *tag,
                                 int32_t *out)
{
    uint8_t bytes[4];
    TESS_TRY(tess_ar_fif_check(file, tag, TESS_AR_FIF_I32, sizeof bytes));
    TESS_TRY(tess_infile_read(&file->in, bytes, sizeof bytes, tag->at));
    *out = (int32_t)tess_ar_be32(bytes);
    return TESS_OK;
}

tess_status tess_ar_fif_read_real(const tess_ar_fif_file *file, const tess_ar_fif_tag *tag,
                                  double *out)
{
    uint8_t bytes[8] = {0};
    const bool is_f64 = tag->type == TESS_AR_FIF_F64;
    if (!is_f64) {
        TESS_TRY(tess_ar_fif_check(file, tag, TESS_AR_FIF_F32, 4));
    } else if (tag->bytes < 8) {
        return wrong_type(file, tag, "8 bytes or more of type 5");
    }
    TESS_TRY(tess_infile_read(&file->in, bytes, is_f64 ? 8 : 4, tag->at));
    *out = is_f64 ? tess_ar_be_f64(bytes) : (double)tess_ar_be_f32(bytes);
    return TESS_OK;
}

tess_status tess_ar_fif_read_i32s(const tess_ar_fif_file *file, const tess_ar_fif_tag *tag,
                                  tess_autoreject_epochs *epochs, int32_t **out, int64_t *n)
{
    // A matrix carries its dimensions behind the values.
    int32_t tail = 0;
    if (tag->type == (TESS_AR_FIF_I32 | TESS_AR_FIF_MATRIX)) {
        tail = 12;
    } else if (tag->type != TESS_AR_FIF_I32) {
        return wrong_type(file, tag, "int32 (type 3)");
    }
    if (tag->bytes % 4 != 0 || tag->bytes < tail) {
        return wrong_type(file, tag, "whole int32 values");
    }
    *n = (tag->bytes - tail) / 4;
    *out = tess_ar_epochs_items(epochs, *n, sizeof **out);
    if (!*out) {
        return TESS_E_MEMORY;
    }
    TESS_TRY(tess_infile_read(&file->in, *out, (size_t)*n * 4, tag->at));
    for (int64_t i = 0; i < *n; i++) {
        (*out)[i] = (int32_t)tess_ar_be32(*out + i);
    }
    return TESS_OK;
}

tess_status tess_ar_fif_read_reals(const tess_ar_fif_file *file, const tess_ar_fif_tag *tag,
                                   tess_autoreject_epochs *epochs, double **out, int64_t *n)
{
    const int32_t type = tag->type & ~TESS_AR_FIF_MATRIX;
    const int32_t tail = type != tag->type ? 12 : 0;
    const int32_t item = type == TESS_AR_FIF_F64 ? 8 : 4;
    if ((type != TESS_AR_FIF_F32 && type != TESS_AR_FIF_F64) || tag->bytes < tail ||
        (tag->bytes - tail) % item != 0) {
        return wrong_type(file, tag, "float32 or float64 values (types 4, 5)");
    }
    *n = (tag->bytes - tail) / item;
    *out = tess_ar_epochs_items(epochs, *n, sizeof **out);
    if (!*out) {
        return TESS_E_MEMORY;
    }
    // The bytes go to the end of the array and are converted towards it.
    char *bytes = (char *)*out + (size_t)*n * (8 - (size_t)item);
    TESS_TRY(tess_infile_read(&file->in, bytes, (size_t)*n * (size_t)item, tag->at));
    for (int64_t i = 0; i < *n; i++) {
        const char *at = bytes + i * item;
        const double value = item == 8 ? tess_ar_be_f64(at) : (double)tess_ar_be_f32(at);
        memcpy((char *)*out + i * 8, &value, sizeof value);
    }
    return TESS_OK;
}

tess_status tess_ar_fif_read_text(const tess_ar_fif_file *file, const tess_ar_fif_tag *tag,
                                  tess_autoreject_epochs *epochs, char **out)
{
    if (tag->type != TESS_AR_FIF_STRING) {
        return wrong_type(file, tag, "text (type 10)");
    }
    const size_t n = (size_t)tag->bytes;
    uint8_t *text = tess_ar_epochs_alloc(epochs, 2 * n + 1);
    *out = (char *)text;
    if (!text) {
        return TESS_E_MEMORY;
    }
    // Latin-1 from the second half becomes UTF-8 from the start: at most two bytes for one.
    TESS_TRY(tess_infile_read(&file->in, text + n, n, tag->at));
    size_t used = 0;
    for (size_t i = n; i < 2 * n && text[i] != 0; i++) {
        const uint8_t c = text[i];
        if (c < 0x80) {
            text[used++] = c;
        } else {
            text[used++] = (uint8_t)(0xc0 | c >> 6);
            text[used++] = (uint8_t)(0x80 | (c & 0x3f));
        }
    }
    text[used] = 0;
    return TESS_OK;
}

// "{COLON}" stands for a colon inside a name.
static void restore_colons(char *name)
{
    static const char COLON[] = "{COLON}";
    for (char *at = strstr(name, COLON); at; at = strstr(at + 1, COLON)) {
        *at = ':';
        memmove(at + 1, at + sizeof COLON - 1, strlen(at + sizeof COLON - 1) + 1);
    }
}

tess_status tess_ar_fif_read_names(const tess_ar_fif_file *file, const tess_ar_fif_tag *tag,
                                   tess_autoreject_epochs *epochs, char ***names, int64_t *n)
{
    char *text;
    *n = 0;
    *names = NULL;
    TESS_TRY(tess_ar_fif_read_text(file, tag, epochs, &text));
    if (!*text) {
        return TESS_OK;
    }
    int64_t n_name = 1;
    for (const char *at = text; *at; at++) {
        n_name += *at == ':';
    }
    *names = tess_ar_epochs_items(epochs, n_name, sizeof **names);
    if (!*names) {
        return TESS_E_MEMORY;
    }
    for (char *at = text; at;) {
        char *end = strchr(at, ':');
        if (end) {
            *end++ = '\0';
        }
        restore_colons(at);
        (*names)[(*n)++] = at;
        at = end;
    }
    return TESS_OK;
}

// "x-3.fif" or "x.fif" becomes "x-4.fif" or "x-1.fif" where only the number is told.
static void numbered_name(const char *base, int32_t number, char *name, size_t capacity)
{
    const size_t stem = strcspn(base, ".");
    size_t cut = stem;
    while (cut > 0 && isdigit((unsigned char)base[cut - 1])) {
        cut--;
    }
    const bool has_number = cut < stem && cut > 0 && base[cut - 1] == '-';
    snprintf(name, capacity, "%.*s-%d%s", (int)(has_number ? cut - 1 : stem), base, (int)number,
             base + stem);
}

static tess_status next_name(const tess_ar_fif_file *file, int64_t block, const char *base,
                             char *name, size_t capacity)
{
    const tess_ar_fif_tag *by_name =
        tess_ar_fif_tag_in(file, block, TESS_AR_FIF_REF_FILE_NAME, NULL);
    const tess_ar_fif_tag *by_number =
        tess_ar_fif_tag_in(file, block, TESS_AR_FIF_REF_FILE_NUM, NULL);
    if (by_name && by_name->bytes > 0 && (size_t)by_name->bytes < capacity) {
        TESS_TRY(tess_ar_fif_check(file, by_name, TESS_AR_FIF_STRING, 1));
        TESS_TRY(tess_infile_read(&file->in, name, (size_t)by_name->bytes, by_name->at));
        name[by_name->bytes] = '\0';
        // Parts lie beside each other; a path would lead out of the folder.
        const char *slash = strrchr(name, '/');
        if (slash) {
            memmove(name, slash + 1, strlen(slash + 1) + 1);
        }
    } else if (by_number) {
        int32_t number;
        TESS_TRY(tess_ar_fif_read_i32(file, by_number, &number));
        numbered_name(base, number, name, capacity);
    }
    return TESS_OK;
}

tess_status tess_ar_fif_next_path(const tess_ar_fif_file *file, char **path)
{
    enum { NEXT_FILE = 2 };
    const char *slash = strrchr(file->path, '/');
    const size_t folder = slash ? (size_t)(slash - file->path) + 1 : 0;
    *path = NULL;
    for (int64_t b = -1; (b = tess_ar_fif_block_in(file, 0, TESS_AR_FIF_B_REF, b)) >= 0;) {
        const tess_ar_fif_tag *tag = tess_ar_fif_tag_in(file, b, TESS_AR_FIF_REF_ROLE, NULL);
        int32_t role = NEXT_FILE;
        char name[512] = "";
        if (tag) {
            TESS_TRY(tess_ar_fif_read_i32(file, tag, &role));
        }
        if (role == NEXT_FILE) {
            TESS_TRY(next_name(file, b, file->path + folder, name, sizeof name));
        }
        if (!*name) {
            continue;
        }
        char whole[2048];
        snprintf(whole, sizeof whole, "%.*s%s", (int)folder, file->path, name);
        *path = tess_heap_strdup(&file->ctx->heap, whole, TESS_TAG_IO);
        return *path ? TESS_OK : TESS_E_MEMORY;
    }
    return TESS_OK;
}
