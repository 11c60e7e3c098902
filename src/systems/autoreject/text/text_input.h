// Text that recordings come with: read whole, taken apart in place.
#ifndef TESS_AUTOREJECT_TEXT_INPUT_H
#define TESS_AUTOREJECT_TEXT_INPUT_H

#include "runtime/context.h"

#include <stdbool.h>

typedef struct tess_ar_text {
    tess_heap *heap;
    const char *path; // borrowed
    char *chars;      // the file's bytes and a zero
    size_t bytes;     // of the file
    char *next;       // the line to come
    int64_t line;     // number of the line given last, from 1
} tess_ar_text;

// Headers, tables and lists of markers; more than this is none of them.
enum { TESS_AR_TEXT_MAX_BYTES = 64 << 20 };

// A byte order mark is passed over.
TESS_MUST_CHECK tess_status tess_ar_text_open(tess_context *ctx, const char *path,
                                              tess_ar_text *out);
// Accepts one that was never opened, zeroed.
void tess_ar_text_close(tess_ar_text *text);
// The next line without its end; NULL behind the last. The text is cut in place.
char *tess_ar_text_line(tess_ar_text *text);

// Cuts blanks off both ends, in place.
char *tess_ar_trim(char *text);
// Cuts at every separator, fields trimmed; fields beyond capacity stay part of the last.
int64_t tess_ar_split(char *line, char separator, char **fields, int64_t capacity);
// Cuts at runs of blanks.
int64_t tess_ar_split_blanks(char *line, char **fields, int64_t capacity);
// The whole text, blanks around it aside, is a finite number, whatever the locale.
bool tess_ar_number(const char *text, double *out);
bool tess_ar_integer(const char *text, int64_t *out);

// Copies n bytes as UTF-8; bytes that are not are taken as latin-1. dst has room for 2 n + 1.
void tess_ar_utf8(const char *src, size_t n, char *dst);

// One character as UTF-8; returns its bytes, at most 4. '?' for what is none.
size_t tess_ar_put_utf8(uint32_t code, char *dst);

// "folder of path/name" in heap memory of strlen + 1, TESS_TAG_IO; NULL with the message recorded.
// A name that holds a path of Windows or an absolute one is reduced to its last part.
char *tess_ar_beside(tess_heap *heap, const char *path, const char *name);
// path with its extension replaced (".vhdr"), likewise.
char *tess_ar_with_extension(tess_heap *heap, const char *path, const char *extension);
void tess_ar_path_free(tess_heap *heap, char *path);
// Also a link that leads nowhere: who opens it says so.
bool tess_ar_file_exists(const char *path);
bool tess_ar_has_extension(const char *path, const char *extension);

#endif
