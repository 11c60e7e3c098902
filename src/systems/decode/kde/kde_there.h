// The clusterless model where a device can read it, and the room its stages work in.
//
// On the CPU that is the model itself. Elsewhere it goes up at the first call and stays with the
// encoding: later calls send spikes only.
#ifndef TESS_SYSTEMS_DECODE_KDE_THERE_H
#define TESS_SYSTEMS_DECODE_KDE_THERE_H

#include "runtime/upload.h"
#include "systems/decode/kde/kde.h"

// Room for the values of spikes in the host's memory.
enum { TESS_DE_KDE_HOST_BYTES = 64 << 20 };

typedef struct kde_there {
    tess_context *ctx;
    tess_device *device;
    tess_kde_model model;           // the host's struct; arrays of the device
    tess_kde_electrode *electrodes; // of model, in blocks
    const double *intensity;        // [n_bin] on the device
    tess_resident arrays;           // all of the model's
    // Grow as needed.
    tess_resident marks;
    tess_resident values;
    tess_resident row_first;
    tess_resident item;
    tess_resident out;
    tess_resident counts;
    tess_resident scratch;
    tess_resident points; // of the local likelihood
    tess_resident queries;
    size_t scratch_limit; // of the stage
    tess_blocks blocks;
} kde_there;

// Takes the model on this device out of the encoding, or makes one; the caller alone has it until
// it is put back.
TESS_MUST_CHECK tess_status tess_de_kde_there_take(tess_context *ctx, tess_device *device,
                                                   const tess_decode_encoding *encoding,
                                                   kde_there **out);
// There may be another by now, or none may stay: then it is freed.
void tess_de_kde_there_put(const tess_decode_encoding *encoding, kde_there *there);
void tess_de_kde_there_free(kde_there *there);
// As the encoding's ops want it.
TESS_MUST_CHECK tess_status tess_de_kde_prepare(tess_context *ctx, tess_device *device,
                                                const tess_decode_encoding *encoding);

// Room of at least so many bytes; what was in it is lost.
TESS_MUST_CHECK tess_status tess_de_kde_room(const kde_there *there, tess_resident *room,
                                             size_t bytes);

// All of them; the model stays.
void tess_de_kde_rooms_free(kde_there *there);

#endif
