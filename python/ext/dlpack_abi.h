// The binary layout of DLPack 1.x, the protocol by which array libraries lend each other memory.
//
// Only what the extension uses is declared. Field order and sizes follow the published ABI;
// pointers are void * where the type does not matter here.
#ifndef CORE_DLPACK_ABI_H
#define CORE_DLPACK_ABI_H

#include <stdint.h>

enum {
    DLPACK_MAJOR = 1,
    DLPACK_MINOR = 0,
};

enum { // device_type
    DLPACK_CPU = 1,
    DLPACK_CUDA = 2,
    DLPACK_CUDA_HOST = 3,
    DLPACK_CUDA_MANAGED = 13,
};

enum { // dtype.code
    DLPACK_INT = 0,
    DLPACK_UINT = 1,
    DLPACK_FLOAT = 2,
    DLPACK_BFLOAT = 4,
    DLPACK_COMPLEX = 5,
    DLPACK_BOOL = 6,
};

enum { // flags
    DLPACK_READ_ONLY = 1,
    DLPACK_IS_COPIED = 2,
};

typedef struct dlpack_device {
    int32_t type;
    int32_t id;
} dlpack_device;

typedef struct dlpack_dtype {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} dlpack_dtype;

typedef struct dlpack_tensor {
    void *data;
    dlpack_device device;
    int32_t rank;
    dlpack_dtype dtype;
    int64_t *shape;
    int64_t *strides; // in items; NULL means C-contiguous
    uint64_t byte_offset;
} dlpack_tensor;

// Content of a capsule named "dltensor".
typedef struct dlpack_managed {
    dlpack_tensor tensor;
    void *owner;
    void (*deleter)(struct dlpack_managed *self);
} dlpack_managed;

// Content of a capsule named "dltensor_versioned".
typedef struct dlpack_versioned {
    uint32_t major;
    uint32_t minor;
    void *owner;
    void (*deleter)(struct dlpack_versioned *self);
    uint64_t flags;
    dlpack_tensor tensor;
} dlpack_versioned;

// Content of a capsule named "dlpack_exchange_api", on a type of tensors as the attribute
// __dlpack_c_exchange_api__: views and streams without a round trip through Python.
typedef struct dlpack_exchange {
    uint32_t major;
    uint32_t minor;
    struct dlpack_exchange *previous; // of an older version
    void *allocate;
    void *lend;
    void *adopt;
    int (*view)(void *object, dlpack_tensor *out); // may be NULL; the tensor stays the object's
    int (*current_stream)(int32_t device_type, int32_t device_id, void **stream);
} dlpack_exchange;

#endif
