// Tiles of the host on their way to a device that cannot hold all of them.
//
// While the tiles asked for are worked on, those that will be asked for next go up beside them:
// threads fill pinned buffers from memory or from the file, each with a queue of its own, so that
// copies of one run while another is filled.
#ifndef TESS_AUTOREJECT_SENT_H
#define TESS_AUTOREJECT_SENT_H

#include "runtime/errand.h"
#include "runtime/resident.h"

enum { TESS_AR_LANES = 4 };

// Tiles of the host by number, where they come from.
typedef struct tess_ar_sent_source {
    const char *memory; // NULL: in the file
    int fd;
    const char *path; // for messages
    uint64_t tile_bytes;
    int64_t n_tile;
} tess_ar_sent_source;

// One thread's part of what is sent: every TESS_AR_LANES-th piece.
typedef struct tess_ar_lane {
    struct tess_ar_sent *sent;
    int64_t number;
    tess_device device; // with a queue of its own
    bool has_queue;
    void *pinned;
    tess_errand errand;
} tess_ar_lane;

// Tiles that lie, or will, in a room of the device.
typedef struct tess_ar_sent_room {
    tess_resident there;
    int64_t first;
    int64_t n; // 0: none
} tess_ar_sent_room;

typedef struct tess_ar_sent {
    tess_ar_sent_source source;
    tess_ar_lane lanes[TESS_AR_LANES];
    int64_t n_lane; // 0: not opened yet
    tess_ar_sent_room rooms[2];
    int32_t now;    // the room asked for last
    int32_t filled; // the room that lanes fill
    int64_t most;   // tiles that were asked for at a time
    int64_t n_turn; // times that the first was asked for
} tess_ar_sent;     // all zero: nothing sent

// Tiles first..first+n-1 in the device's memory, valid until the next call. What was started on the
// device with those before has ended.
TESS_MUST_CHECK tess_status tess_ar_sent_tiles(tess_ar_sent *sent, const tess_device *device,
                                               const tess_ar_sent_source *source, int64_t first,
                                               int64_t n, double **tiles);
// Gives the memory back; the next call starts anew. Accepts one that is zeroed.
void tess_ar_sent_close(tess_ar_sent *sent);

#endif
