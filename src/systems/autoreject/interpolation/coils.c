#include "systems/autoreject/interpolation/coils.h"

#include "base/status.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// How the points of a coil lie in its frame; all look along z.
typedef enum coil_shape {
    POINT,       // one at the origin
    SQUARE,      // four at (+-size, +-size, offset), mean
    AXIAL,       // a square at 0 less one at offset
    AXIAL_POINT, // one point at 0 less one at offset
    PLANAR,      // two pairs at x = +-8.4 mm, difference per metre
    PLANAR_PAIR, // two points at x = +-size, difference per metre
    LINE,        // six along x, 0.5 mm apart
    CUBE,        // the corners at +-size and the centre
    ACROSS,      // a square to the right less one to the left, centres at x = +-offset
    THICK_AXIAL, // two squares 1.5 mm apart less two at offset
} coil_shape;

typedef struct coil_row {
    int32_t type;
    coil_shape shape;
    double size;
    double offset;
} coil_row;

// The public table of coils at accuracy 'normal', FIFF numbers.
static const coil_row table[] = {
    {2, PLANAR_PAIR, 0.0081, 0},        // Neuromag-122
    {2000, POINT, 0, 0},                // point magnetometer
    {3012, PLANAR, 0.006713, 0.0003},   // Vectorview, Triux
    {3013, PLANAR, 0.006713, 0.0003},   //
    {3014, PLANAR, 0.006713, 0.0003},   //
    {3015, PLANAR, 0.006713, 0.0003},   //
    {3022, SQUARE, 0.00645, 0.0003},    //
    {3023, SQUARE, 0.00645, 0.0003},    //
    {3024, SQUARE, 0.00525, 0.0003},    //
    {3025, SQUARE, 0.007, 0.0003},      //
    {4001, SQUARE, 0.00575, 0},         // Magnes 2500
    {4002, AXIAL, 0.0045, 0.05},        // Magnes 3600
    {4003, SQUARE, 0.0075, 0},          //
    {4004, AXIAL, 0.02, 0.135},         //
    {4005, ACROSS, 0.02, 0.0675},       //
    {5001, AXIAL, 0.0045, 0.05},        // CTF
    {5002, SQUARE, 0.004, 0},           //
    {5003, AXIAL, 0.0086, 0.0786},      //
    {5004, ACROSS, 0.0085, 0.0393},     //
    {6001, AXIAL, 0.003875, 0.05},      // KIT
    {6002, SQUARE, 0.003875, 0},        //
    {7001, AXIAL_POINT, 0, 0.05},       // BabySQUID
    {7002, SQUARE, 0.0025, 0},          // BabyMEG
    {7003, SQUARE, 0.005, 0},           //
    {7004, SQUARE, 0.005, 0},           //
    {7501, AXIAL, 0.003715, 0.0574},    // Artemis123
    {7502, SQUARE, 0.003712, 0},        //
    {7503, AXIAL, 0.003715, 0.03},      //
    {8001, LINE, 0, 0},                 // QuSpin, generations 1 and 2
    {8002, LINE, 0, 0},                 //
    {8101, LINE, 0, 0},                 // FieldLine
    {8201, CUBE, 0.0005, 0},            // Kernel
    {9001, AXIAL, 0.005, 0.05},         // KRISS
    {9101, AXIAL, 0.005125, 0.05},      // Compumedics
    {9102, THICK_AXIAL, 0.00415, 0.047} //
};

static void add(tess_ar_coil *coil, double weight, double x, double y, double z)
{
    double *place = coil->place[coil->n];
    place[0] = x, place[1] = y, place[2] = z;
    coil->weight[coil->n++] = weight;
}

static void add_square(tess_ar_coil *coil, double weight, double centre, double size, double z)
{
    for (int k = 0; k < 4; k++) {
        add(coil, weight, centre + (k & 1 ? size : -size), k & 2 ? size : -size, z);
    }
}

// Points in the coil's own frame.
static void lay_out(const coil_row *row, tess_ar_coil *coil)
{
    const double size = row->size;
    const double offset = row->offset;
    coil->n = 0;
    switch (row->shape) {
    case POINT:
        add(coil, 1, 0, 0, 0);
        break;
    case SQUARE:
        add_square(coil, 0.25, 0, size, offset);
        break;
    case AXIAL:
        add_square(coil, 0.25, 0, size, 0);
        add_square(coil, -0.25, 0, size, offset);
        break;
    case AXIAL_POINT:
        add(coil, 1, 0, 0, 0);
        add(coil, -1, 0, 0, offset);
        break;
    case PLANAR:
        for (int k = 0; k < 4; k++) {
            add(coil, k < 2 ? 29.7619 : -29.7619, k < 2 ? 0.0084 : -0.0084, k & 1 ? -size : size,
                offset);
        }
        break;
    case PLANAR_PAIR:
        add(coil, 61.7284, size, 0, 0);
        add(coil, -61.7284, -size, 0, 0);
        break;
    case LINE:
        for (int k = 0; k < 6; k++) {
            add(coil, 0.1667, -0.00125 + 0.0005 * k, 0, 0);
        }
        break;
    case CUBE:
        add(coil, 0.1111, 0, 0, 0);
        add_square(coil, 0.1111, 0, size, -size);
        add_square(coil, 0.1111, 0, size, size);
        break;
    case ACROSS:
        add_square(coil, 0.25, offset, size, 0);
        add_square(coil, -0.25, -offset, size, 0);
        break;
    case THICK_AXIAL:
        add_square(coil, 0.125, 0, size, 0);
        add_square(coil, 0.125, 0, size, 0.0015);
        add_square(coil, -0.125, 0, size, offset);
        add_square(coil, -0.125, 0, size, offset + 0.0015);
        break;
    }
}

static const coil_row *find(int32_t type)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].type == type) {
            return &table[i];
        }
    }
    return NULL;
}

// v := R v (+ t) by the device-to-head transform.
static void to_head(const tess_autoreject_sensors *sensors, bool is_place, double v[3])
{
    if (!sensors->has_device_to_head) {
        return;
    }
    const double *m = sensors->device_to_head;
    double out[3];
    for (int i = 0; i < 3; i++) {
        out[i] = m[4 * i] * v[0] + m[4 * i + 1] * v[1] + m[4 * i + 2] * v[2] +
                 (is_place ? m[4 * i + 3] : 0);
    }
    memcpy(v, out, sizeof out);
}

tess_status tess_ar_coil_place(const tess_autoreject_sensors *sensors,
                               const tess_autoreject_channel *channel, tess_ar_coil *coil)
{
    // The upper half of the number is the compensation grade of CTF.
    const coil_row *row = find(channel->coil_type & 0xffff);
    if (!row) {
        TESS_FAIL(TESS_E_UNSUPPORTED,
                  "channel %s: coil type %d is not in the table of MEG coils; leave the channel "
                  "out, or give it the number of a coil like it (2000 is a point magnetometer)",
                  channel->name, channel->coil_type);
    }
    const double *loc = channel->loc;
    for (int k = 0; k < 12; k++) {
        if (!isfinite(loc[k])) {
            TESS_FAIL(TESS_E_FORMAT,
                      "channel %s: position or directions of its coil are missing; MEG needs all "
                      "12 numbers of a location",
                      channel->name);
        }
    }
    lay_out(row, coil);
    for (int64_t p = 0; p < coil->n; p++) {
        double place[3];
        for (int k = 0; k < 3; k++) {
            place[k] = loc[k] + loc[3 + k] * coil->place[p][0] + loc[6 + k] * coil->place[p][1] +
                       loc[9 + k] * coil->place[p][2];
        }
        to_head(sensors, true, place);
        memcpy(coil->place[p], place, sizeof place);
    }
    memcpy(coil->normal, loc + 9, sizeof coil->normal);
    to_head(sensors, false, coil->normal);
    return TESS_OK;
}
