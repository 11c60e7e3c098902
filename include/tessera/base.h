/**
 * Version, status codes and attributes: what every other header needs.
 *
 * Conventions of the whole library
 * - Functions that can fail return tess_status; the sentence for a person is tess_last_error().
 * - Opaque objects are created through a last **out argument and freed by tess_X_destroy() or
 *   tess_X_close(), which accept NULL. *out is NULL after a failure.
 * - Plain structs start with struct_size, filled by tess_X_init(); they grow at the end only.
 * - Arguments are borrowed until return unless a comment says otherwise.
 */
#ifndef TESSERA_BASE_H
#define TESSERA_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TESS_BEGIN_DECLS extern "C" {
#define TESS_END_DECLS }
#else
#define TESS_BEGIN_DECLS
#define TESS_END_DECLS
#endif

#if defined(__GNUC__) || defined(__clang__)
#define TESS_API __attribute__((visibility("default")))
#define TESS_MUST_CHECK __attribute__((warn_unused_result))
#define TESS_PRINTF(format_index, first_arg)                                                       \
    __attribute__((format(printf, format_index, first_arg)))
#else
#define TESS_API
#define TESS_MUST_CHECK
#define TESS_PRINTF(format_index, first_arg)
#endif

/* The one place where the version is written; the build and the Python package read it here. */
#define TESS_VERSION_MAJOR 0
#define TESS_VERSION_MINOR 2
#define TESS_VERSION_PATCH 0
#define TESS_VERSION "0.2.0"

TESS_BEGIN_DECLS

/**
 * Every status, its exit code for the command (BSD sysexits where one fits) and its meaning.
 * Values never change once released: groups have gaps for newcomers.
 * X(name, value, exit_code, text)
 */
#define TESS_STATUS_LIST(X)                                                                        \
    X(TESS_OK, 0, 0, "success")                                                                    \
    X(TESS_CANCELLED, 1, 130, "stopped on request")                                                \
    X(TESS_E_ARGUMENT, -10, 2, "invalid argument")                                                 \
    X(TESS_E_SHAPE, -11, 65, "array has the wrong shape")                                          \
    X(TESS_E_DTYPE, -12, 65, "array has an unsupported element type")                              \
    X(TESS_E_SPACE, -13, 2, "array lives in the wrong memory space")                               \
    X(TESS_E_RANGE, -14, 2, "value out of range")                                                  \
    X(TESS_E_VERSION, -15, 2, "struct or file of an unknown version")                              \
    X(TESS_E_CONFIG, -16, 78, "invalid configuration")                                             \
    X(TESS_E_MEMORY, -20, 71, "out of memory")                                                     \
    X(TESS_E_LIMIT, -21, 71, "memory limit too small")                                             \
    X(TESS_E_THREAD, -22, 71, "cannot start a thread")                                             \
    X(TESS_E_DEVICE, -23, 69, "device not available")                                              \
    X(TESS_E_UNSUPPORTED, -24, 69, "not supported by this build or device")                        \
    X(TESS_E_NOT_FOUND, -30, 66, "input missing or unreadable")                                    \
    X(TESS_E_FORMAT, -31, 65, "input invalid or corrupt")                                          \
    X(TESS_E_TRUNCATED, -32, 65, "input truncated")                                                \
    X(TESS_E_IO, -33, 74, "input/output error")                                                    \
    X(TESS_E_EXISTS, -34, 73, "output exists")                                                     \
    X(TESS_E_CREATE, -35, 73, "output cannot be created")                                          \
    X(TESS_E_MISMATCH, -36, 65, "checkpoint belongs to other data or settings")                    \
    X(TESS_E_LOCKED, -37, 75, "in use by another process")                                         \
    X(TESS_E_CHANGED, -38, 74, "input changed while it was read")                                  \
    X(TESS_E_NUMERIC, -40, 65, "data contain values the computation cannot take")                  \
    X(TESS_E_INTERNAL, -90, 70, "internal error")

typedef enum tess_status {
#define TESS_STATUS_ENUM(name, value, exit_code, text) name = value,
    TESS_STATUS_LIST(TESS_STATUS_ENUM)
#undef TESS_STATUS_ENUM
} tess_status;

/** "TESS_E_SHAPE" and so on; "TESS_UNKNOWN" for a value not in the list. Never NULL. */
TESS_API const char *tess_status_name(tess_status status);

/** The list's text for a status. Never NULL. */
TESS_API const char *tess_status_text(tess_status status);

/** Exit code of the command for a status (0, 2, 65..78, 130). */
TESS_API int tess_status_exit_code(tess_status status);

/**
 * What went wrong in the last failed call on this thread: which argument, what was wanted, what
 * came, what to do. Empty after a success. The string belongs to the library and lives until the
 * next call on this thread. Never NULL.
 */
TESS_API const char *tess_last_error(void);

/** "0.2.0" of the library that is loaded (TESS_VERSION is the header's). */
TESS_API const char *tess_version(void);

/** Commit the library was built from, or "unknown". */
TESS_API const char *tess_build_commit(void);

/** Log levels, least to most talkative. */
typedef enum tess_log_level {
    TESS_LOG_ERROR = 0,
    TESS_LOG_WARNING = 1,
    TESS_LOG_INFO = 2,
    TESS_LOG_DEBUG = 3
} tess_log_level;

/** Receives one finished line without newline. May be called from any thread, one at a time. */
typedef void (*tess_log_fn)(void *user, tess_log_level level, const char *line);

TESS_END_DECLS

#endif
