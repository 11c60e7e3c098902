// A recording's projectors on some of its channels.
#ifndef TESS_AUTOREJECT_PROJECTION_H
#define TESS_AUTOREJECT_PROJECTION_H

#include "tessera/autoreject/epochs.h"

// Vectors of all projectors.
int64_t tess_ar_projector_count(const tess_autoreject_sensors *sensors);

// vectors [count][n]: what they say of channels[n]; 0 where they do not name a channel.
void tess_ar_projector_vectors(const tess_autoreject_sensors *sensors, const int64_t *channels,
                               int64_t n, double *vectors);

// An orthonormal basis [result][n_from] of vectors [n_vector][n] restricted to from[n_from]: each
// normalised, directions of less than a hundredth of the largest singular value left out. work has
// 2 n_vector (n_vector + 1) items; basis room for n_vector rows.
int64_t tess_ar_projection_basis(const double *vectors, int64_t n_vector, int64_t n,
                                 const int32_t *from, int64_t n_from, double *work, double *basis);

#endif
