/** Array views: where data lie, of what type and shape. A view owns nothing. */
#ifndef TESSERA_ARRAY_H
#define TESSERA_ARRAY_H

#include "tessera/base.h"

TESS_BEGIN_DECLS

#define TESS_MAX_RANK 6

/** X(enumerator, value, name, bytes per item, NumPy kind character) */
#define TESS_DTYPE_LIST(X)                                                                         \
    X(TESS_BOOL, 1, "bool", 1, 'b')                                                                \
    X(TESS_I8, 2, "i8", 1, 'i')                                                                    \
    X(TESS_I16, 3, "i16", 2, 'i')                                                                  \
    X(TESS_I32, 4, "i32", 4, 'i')                                                                  \
    X(TESS_I64, 5, "i64", 8, 'i')                                                                  \
    X(TESS_U8, 6, "u8", 1, 'u')                                                                    \
    X(TESS_U16, 7, "u16", 2, 'u')                                                                  \
    X(TESS_U32, 8, "u32", 4, 'u')                                                                  \
    X(TESS_U64, 9, "u64", 8, 'u')                                                                  \
    X(TESS_F16, 10, "f16", 2, 'f')                                                                 \
    X(TESS_BF16, 11, "bf16", 2, 'V')                                                               \
    X(TESS_F32, 12, "f32", 4, 'f')                                                                 \
    X(TESS_F64, 13, "f64", 8, 'f')                                                                 \
    X(TESS_C64, 14, "c64", 8, 'c')                                                                 \
    X(TESS_C128, 15, "c128", 16, 'c')                                                              \
    X(TESS_BYTES, 16, "bytes", 0, 'S')                                                             \
    X(TESS_UCS4, 17, "ucs4", 0, 'U')

/** Element types. TESS_BYTES and TESS_UCS4 are fixed-width text; their width is in item_bytes. */
typedef enum tess_dtype {
#define TESS_DTYPE_ENUM(name, value, text, bytes, kind) name = value,
    TESS_DTYPE_LIST(TESS_DTYPE_ENUM)
#undef TESS_DTYPE_ENUM
} tess_dtype;

/** "f32"; "unknown" for a value not in the list. */
TESS_API const char *tess_dtype_name(tess_dtype dtype);

/** Bytes of one item; 0 for text types (see item_bytes) and unknown values. */
TESS_API size_t tess_dtype_bytes(tess_dtype dtype);

typedef enum tess_space {
    TESS_SPACE_HOST = 0,
    TESS_SPACE_PINNED = 1, /* host memory the device can reach by itself */
    TESS_SPACE_DEVICE = 2
} tess_space;

/**
 * A view of strided data. Strides are counted in items, not bytes, as in DLPack; they may be
 * zero or negative for inputs.
 */
typedef struct tess_array {
    void *data;
    int32_t dtype;      /* tess_dtype */
    int32_t space;      /* tess_space */
    int32_t device;     /* index within the backend; 0 for host memory */
    int32_t rank;       /* 0..TESS_MAX_RANK */
    int64_t item_bytes; /* bytes of one item */
    int64_t shape[TESS_MAX_RANK];
    int64_t stride[TESS_MAX_RANK];
} tess_array;

/** Fills *a as a C-contiguous host view. shape has rank entries. */
TESS_API TESS_MUST_CHECK tess_status tess_array_init(tess_array *a, void *data, tess_dtype dtype,
                                                     int32_t rank, const int64_t *shape);

/** Number of items; 1 for rank 0. The product was checked against overflow by tess_array_init. */
TESS_API int64_t tess_array_items(const tess_array *a);

/** 1 if items lie one after another in C order. */
TESS_API int tess_array_is_contiguous(const tess_array *a);

TESS_END_DECLS

#endif
