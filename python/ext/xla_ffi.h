// What a handler of XLA's foreign functions (jax.ffi) is called with, as much of it as ours reads:
// the layout is that of XLA's binary interface 0.x, whose structs only grow at their ends.
#ifndef XLA_FFI_H
#define XLA_FFI_H

#include <stddef.h>
#include <stdint.h>

enum {
    XLA_VERSION_MAJOR = 0,
    XLA_VERSION_MINOR = 1, // of the fields that are read here
    XLA_EXTENSION_METADATA = 1,
    XLA_STAGE_EXECUTE = 3,
    XLA_ATTRIBUTE_SCALAR = 3,
    XLA_ATTRIBUTE_STRING = 4,
    XLA_ERROR_INVALID_ARGUMENT = 3,
    XLA_S64 = 5,
    XLA_F16 = 10,
    XLA_F32 = 11,
    XLA_F64 = 12,
    XLA_BF16 = 16,
};

typedef struct xla_extension {
    size_t struct_size;
    int type;
    struct xla_extension *next;
} xla_extension;

typedef struct xla_version {
    size_t struct_size;
    xla_extension *extensions;
    int major, minor;
} xla_version;

typedef struct xla_metadata {
    size_t struct_size;
    xla_version version;
    uint32_t traits;
} xla_metadata;

typedef struct xla_metadata_extension {
    xla_extension base;
    xla_metadata *metadata;
} xla_metadata_extension;

typedef struct xla_error xla_error;
typedef struct xla_execution xla_execution;

typedef struct xla_error_args {
    size_t struct_size;
    xla_extension *extensions;
    const char *message;
    int code;
} xla_error_args;

typedef struct xla_stream_args {
    size_t struct_size;
    xla_extension *extensions;
    xla_execution *execution;
    void *stream;
} xla_stream_args;

typedef struct xla_ordinal_args {
    size_t struct_size;
    xla_extension *extensions;
    xla_execution *execution;
    int32_t ordinal;
} xla_ordinal_args;

// Functions in the order of the interface; those that are not called have no type here.
typedef struct xla_api {
    size_t struct_size;
    xla_extension *extensions;
    xla_version version;
    const void *internal;
    xla_error *(*create_error)(xla_error_args *);
    void *error_message, *error_destroy, *handler_register;
    xla_error *(*get_stream)(xla_stream_args *);
    void *rest[12]; // from type_register to run_id
    xla_error *(*get_ordinal)(xla_ordinal_args *);
} xla_api;

typedef struct xla_buffer {
    size_t struct_size;
    xla_extension *extensions;
    int dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
} xla_buffer;

typedef struct xla_span {
    const char *text;
    size_t length;
} xla_span;

typedef struct xla_scalar {
    int dtype;
    void *value;
} xla_scalar;

typedef struct xla_values {
    size_t struct_size;
    xla_extension *extensions;
    int64_t n;
    int *types;
    void **values;
} xla_values;

typedef struct xla_attributes {
    size_t struct_size;
    xla_extension *extensions;
    int64_t n;
    int *types;
    xla_span **names;
    void **values;
} xla_attributes;

typedef struct xla_call {
    size_t struct_size;
    xla_extension *extensions;
    const xla_api *api;
    xla_execution *execution;
    int stage;
    xla_values arguments;
    xla_values results;
    xla_attributes attributes;
} xla_call;

#endif
