#ifndef TESSERA_TESTS_ABI_PIN_H
#define TESSERA_TESTS_ABI_PIN_H

/**
 * The layout of every public struct on 64-bit machines, pinned. Compiling is the test.
 *
 * A line may be added when a field is appended to a struct; a line that changes means that programs
 * built against the last release break. Compiled with -Wpadded too: no hidden padding.
 */

#include <stddef.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define FIELD(type, field, bytes)                                                                  \
    _Static_assert(offsetof(type, field) == (bytes), "offset of " #type "." #field)
#define VALUE(name, number) _Static_assert((name) == (number), "value of " #name)

#endif
