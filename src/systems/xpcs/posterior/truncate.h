// Moments of a pair of normals between bounds.
#ifndef TESS_XPCS_POSTERIOR_TRUNCATE_H
#define TESS_XPCS_POSTERIOR_TRUNCATE_H

typedef struct tess_xp_pair_moments {
    double log_mass; // that lies within the bounds
    double mean[2];
    double square[3]; // E[x x], E[x y], E[y y]
} tess_xp_pair_moments;

// ln(Phi(b) - Phi(a)), a < b, from the tail that both are in where they are in one.
double tess_xp_log_normal_mass(double a, double b);

// mean, and covariance (xx, xy, yy) without bounds; lower and upper of x and y.
void tess_xp_truncate(const double mean[2], const double covariance[3], const double lower[2],
                      const double upper[2], tess_xp_pair_moments *out);

#endif
