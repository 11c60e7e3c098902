// UTF-8 to and from the fixed-width text of NumPy's U type (native byte order).
#ifndef TESS_BASE_UCS4_H
#define TESS_BASE_UCS4_H

#include <stddef.h>
#include <stdint.h>

// Code points of a UTF-8 text, at most one per byte of it. What is no UTF-8 becomes U+FFFD.
// Returns how many; with out NULL it only counts.
size_t tess_ucs4_from_utf8(const char *text, uint32_t *out);

// Writes UTF-8 with its zero; stops at the first zero. out takes 4 * n + 1 bytes. Returns the
// length. What is no code point becomes U+FFFD.
size_t tess_utf8_from_ucs4(const uint32_t *text, size_t n, char *out);

// Bytes of the UTF-8 sequence that a text begins with, 0 if it is none. The zero of a text is one.
size_t tess_utf8_bytes(const char *text);

#endif
