// Structs that grow at the end (struct_size first), between callers and a library of other
// versions.
#ifndef TESS_BASE_STRUCT_READ_H
#define TESS_BASE_STRUCT_READ_H

#include "tessera/base.h"

// Fills the caller's struct of struct_size bytes: defaults (of known_bytes) where both know a
// field, zeros behind.
void tess_struct_init(void *given, size_t struct_size, const void *defaults, size_t known_bytes);

// Takes over the fields both sides know into *config, which holds the defaults. Fields the library
// does not know must be zero. name is the argument's, for messages.
TESS_MUST_CHECK tess_status tess_struct_read(const void *given, void *config, size_t known_bytes,
                                             const char *name);

#endif
