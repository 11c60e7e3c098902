/**
 * The backend boundary: one table through which systems reach a device.
 *
 * The unit of work is a stage (src/stage/<system>.h): a fused computation over one tile, given as a
 * plain struct. Data stay on the device between stages; copies happen at source and sink only.
 * The CPU backend is built in; others are modules (sys/module.h) that export tess_backend_entry.
 */
#ifndef TESSERA_SYS_BACKEND_H
#define TESSERA_SYS_BACKEND_H

#include "tessera/array.h"
#include "tessera/device.h"
#include "tessera/sys/module.h"

TESS_BEGIN_DECLS

typedef struct tess_backend tess_backend;               /* the table below */
typedef struct tess_backend_device tess_backend_device; /* the backend's own */
typedef struct tess_backend_queue tess_backend_queue;   /* the backend's own: an ordered stream */

struct tess_backend {
    uint32_t struct_size;
    uint32_t abi; /* TESS_MODULE_ABI */
    const char *name;
    void *user; /* passed as first argument of the device functions */

    /* Required. */

    /** Number of usable devices. 0 with a sentence in why[] when there are none. Never fails. */
    int32_t (*device_count)(void *user, char *why, size_t why_capacity);
    tess_status (*device_info)(void *user, int32_t index, tess_device_info *info);
    /** host lives as long as the device. */
    tess_status (*device_open)(void *user, int32_t index, const tess_host *host,
                               tess_backend_device **out);
    void (*device_close)(tess_backend_device *device);

    /** 64-byte aligned memory of a space this device can use. bytes > 0. */
    tess_status (*memory_alloc)(tess_backend_device *device, tess_space space, size_t bytes,
                                void **out);
    void (*memory_free)(tess_backend_device *device, tess_space space, void *ptr, size_t bytes);

    tess_status (*queue_create)(tess_backend_device *device, tess_backend_queue **out);
    void (*queue_destroy)(tess_backend_queue *queue);
    /** In queue order; host pointers must stay valid until finish. */
    tess_status (*copy)(tess_backend_queue *queue, void *dst, tess_space dst_space, const void *src,
                        tess_space src_space, size_t bytes);
    /** TESS_OK, or TESS_E_UNSUPPORTED with the reason recorded, naming stage and device. args NULL
     *  asks whether there is such a stage at all. */
    tess_status (*supports)(tess_backend_device *device, int32_t stage, const void *args);
    /** Device scratch the stage wants in its args; 0 if none. */
    size_t (*scratch_bytes)(tess_backend_device *device, int32_t stage, const void *args);
    /** Starts a stage in queue order; args are copied. Pointers in args are device-reachable. */
    tess_status (*enqueue)(tess_backend_queue *queue, int32_t stage, const void *args,
                           size_t args_bytes);
    /** Waits for everything in the queue; returns the first error of its stages in queue order. */
    tess_status (*finish)(tess_backend_queue *queue);

    /* Optional: NULL means TESS_E_UNSUPPORTED. */

    tess_status (*benchmark)(tess_backend_device *device, tess_device_ceilings *ceilings);

    /** A queue over a stream that belongs to the caller (a cudaStream_t; NULL is the default
     *  stream). Destroying it leaves the stream alone. */
    tess_status (*queue_adopt)(tess_backend_device *device, void *stream, tess_backend_queue **out);

    /** "autoreject.ptp"; NULL for a stage that the backend does not have. */
    const char *(*stage_name)(int32_t stage);
};

/** Exported by backend modules as "tess_backend_entry". */
typedef const tess_backend *(*tess_backend_entry_fn)(const tess_host *host);

TESS_END_DECLS

#endif
