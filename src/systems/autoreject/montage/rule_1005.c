// The extended 10-20 system (10-10, 10-05) on a sphere.
//
// The sagittal line from nasion over vertex to inion and the coronal line from ear to ear have
// their steps of 10 % each 22.5 degrees apart; the ring through Fpz, T7, Oz and T8 is the equator,
// cut into steps of 18 degrees. A row ("F", "FC" ...) is the arc of the circle through its two
// points on the ring and its point on the midline; its electrodes cut the halves into quarters, and
// "h" names those between. Numbers 9 and 10 are one step below the ring.
#include "systems/autoreject/montage/montage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double PI = 3.14159265358979323846;
static const double RING = 90; // degrees from the vertex
static const double STEP = 22.5;

typedef struct row {
    const char *name;
    int twentieths; // of the way from nasion to inion
} row;

static const row rows[] = {
    {"n", 0},   {"nfp", 1},  {"fp", 2},   {"afp", 3},  {"af", 4},  {"aff", 5},  {"f", 6},
    {"ffc", 7}, {"fft", 7},  {"fc", 8},   {"ft", 8},   {"fcc", 9}, {"ftt", 9},  {"c", 10},
    {"t", 10},  {"ccp", 11}, {"ttp", 11}, {"cp", 12},  {"tp", 12}, {"cpp", 13}, {"tpp", 13},
    {"p", 14},  {"ppo", 15}, {"po", 16},  {"poo", 17}, {"o", 18},  {"oi", 19},  {"i", 20},
};

// An electrode's name taken apart.
typedef struct place_name {
    int twentieths;
    int side;    // -1 left, 0 midline, 1 right
    double step; // from the midline: 1 for numbers 1 and 2, 2 for 3 and 4 ...; "h" half a step less
} place_name;

static bool take_apart(const char *key, place_name *out)
{
    const size_t n_row = strspn(key, "abcdefghijklmnopqrstuvwxy");
    const char *rest = key + n_row;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strlen(rows[i].name) != n_row || strncmp(rows[i].name, key, n_row) != 0) {
            continue;
        }
        out->twentieths = rows[i].twentieths;
        if (strcmp(rest, "z") == 0) {
            out->side = 0;
            out->step = 0;
            return true;
        }
        char *end = NULL;
        const bool is_number = rest[0] >= '1' && rest[0] <= '9';
        const long number = is_number ? strtol(rest, &end, 10) : 0;
        const bool is_half = is_number && strcmp(end, "h") == 0;
        if (number < 1 || number > 10 || (*end != '\0' && !is_half)) {
            return false;
        }
        out->side = number % 2 == 1 ? -1 : 1;
        out->step = (double)((number + 1) / 2) - (is_half ? 0.5 : 0);
        return true;
    }
    return false;
}

// Degrees from the vertex, and around it from the nose.
static void on_sphere(double polar, double azimuth, int side, double p[3])
{
    const double ring = sin(polar * PI / 180);
    p[0] = (double)side * ring * sin(azimuth * PI / 180);
    p[1] = ring * cos(azimuth * PI / 180);
    p[2] = cos(polar * PI / 180);
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// A point at a fraction of the way from the midline to the ring, along the circle through middle,
// edge and edge's mirror image.
static void on_arc(const double middle[3], const double edge[3], double fraction, double p[3])
{
    // The circle's plane holds the x axis's direction; its normal is across it.
    const double across[3] = {0, edge[2] - middle[2], middle[1] - edge[1]};
    const double length = sqrt(dot(across, across));
    const double offset = dot(across, middle) / length;
    double centre[3];
    double from[3];
    double to[3];
    for (int i = 0; i < 3; i++) {
        centre[i] = across[i] / length * offset;
        from[i] = middle[i] - centre[i];
        to[i] = edge[i] - centre[i];
    }
    const double radius = sqrt(dot(from, from));
    const double along = dot(from, to) / radius;
    double aside[3];
    for (int i = 0; i < 3; i++) {
        aside[i] = to[i] - from[i] / radius * along;
    }
    const double width = sqrt(dot(aside, aside));
    const double angle = fraction * atan2(width, along);
    for (int i = 0; i < 3; i++) {
        p[i] = centre[i] + from[i] * cos(angle) + aside[i] / width * radius * sin(angle);
    }
}

// Rows at and beyond the ring's front and back (Fp, O, N, I) run along a ring themselves.
static void on_end_row(const place_name *name, double p[3])
{
    const bool is_front = name->twentieths <= 2;
    const double beyond = is_front ? 2 - name->twentieths : name->twentieths - 18;
    const double ring = RING + STEP * beyond / 2;
    const double around = 18 * (name->step < 1 ? name->step : 1);
    const double below = name->step > 1 ? (name->step - 1) * STEP : 0;
    on_sphere(ring + below, is_front ? around : 180 - around, name->side == 0 ? 1 : name->side, p);
}

static bool is_ear(const char *key, double p[3])
{
    // Lobes hang below T9 and T10, mastoids below TP9 and TP10.
    const bool is_lobe = key[0] == 'a';
    if ((key[0] != 'a' && key[0] != 'm') || (key[1] != '1' && key[1] != '2') || key[2] != '\0') {
        return false;
    }
    on_sphere(RING + 1.6 * STEP, is_lobe ? 90 : 108, key[1] == '1' ? -1 : 1, p);
    return true;
}

bool tess_ar_rule_1005(const char *key, double p[3])
{
    place_name name;
    if (is_ear(key, p)) {
        return true;
    }
    const char *alias = tess_ar_name_alias(key);
    const bool is_old = key[0] == 't' && key[1] >= '3' && key[1] <= '6';
    if (!take_apart(is_old && alias ? alias : key, &name)) {
        return false;
    }
    if (name.twentieths <= 2 || name.twentieths >= 18) {
        on_end_row(&name, p);
        return true;
    }
    const double azimuth = 9.0 * name.twentieths;
    const bool is_front = name.twentieths <= 10;
    const double tenths = (double)(is_front ? name.twentieths - 2 : 18 - name.twentieths) / 2;
    double middle[3];
    double edge[3];
    on_sphere(RING - STEP * tenths, is_front ? 0 : 180, 1, middle);
    if (name.side == 0) {
        memcpy(p, middle, sizeof middle);
    } else if (name.step > 4) {
        on_sphere(RING + (name.step - 4) * STEP, azimuth, name.side, p);
    } else {
        on_sphere(RING, azimuth, 1, edge);
        on_arc(middle, edge, name.step / 4, p);
        p[0] *= name.side; // left mirrors right to the bit
    }
    return true;
}
