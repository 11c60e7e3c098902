// Constants that the xpcs kernels share with their reference.
#ifndef TESS_KERNELS_XPCS_CONSTANTS_H
#define TESS_KERNELS_XPCS_CONSTANTS_H

// Below small, z = A b takes the series
// of sinc and cos - sinc: the difference cancels. Beyond far it is taken as far: sinc is nothing
// there, and the reduction would fail. pi is in two parts.
static const double tess_xp_small_f64 = 0.03;
static const double tess_xp_far_f64 = 0x1p40;
static const double tess_xp_magic_f64 = 0x1.8p52;
static const double tess_xp_pi_1_f64 = 0x1.921fb54442d18p+1;
static const double tess_xp_pi_2_f64 = 0x1.1a62633145c07p-53;
static const double tess_xp_inverse_pi_f64 = 0x1.45f306dc9c883p-2;
static const float tess_xp_small_f32 = 0.3f;
static const float tess_xp_far_f32 = 0x1p20f;
static const float tess_xp_magic_f32 = 0x1.8p23f;
static const float tess_xp_pi_1_f32 = 0x1.921fb6p+1f;
static const float tess_xp_pi_2_f32 = -0x1.777a5cp-24f;
static const float tess_xp_inverse_pi_f32 = 0x1.45f306p-2f;

// sin(r)/r = 1 + z tail(z) and cos(r) = 1 + z tail(z), z = r^2, on |r| <= pi/2, highest power
// first; absolute errors 5e-18 and 3e-17, f32 2e-8 and 5e-9. The reduction is by pi, not pi/2: even
// powers of sine and cosine do not see the sign.
static const double tess_xp_sin_tail_f64[] = {
    0x1.8853074849969p-49, -0x1.ae44b4caf4b8ap-41, 0x1.6123d1814461p-33, -0x1.ae6454e59c853p-26,
    0x1.71de3a52c3ac9p-19, -0x1.a01a01a0151e4p-13, 0x1.11111111110ccp-7, -0x1.5555555555555p-3};
static const double tess_xp_cos_tail_f64[] = {
    0x1.9f4360808b16dp-45, -0x1.9351edce98aebp-37, 0x1.1eece4bf07d4ep-29, -0x1.27e4f992480cdp-22,
    0x1.a01a0199cda04p-16, -0x1.6c16c16c0b2dfp-10, 0x1.555555555540cp-5,  -0x1.ffffffffffffdp-2};
static const float tess_xp_sin_tail_f32[] = {0x1.5e2b88p-19f, -0x1.9f7834p-13f, 0x1.110f04p-7f,
                                             -0x1.55554ep-3f};
static const float tess_xp_cos_tail_f32[] = {-0x1.180154p-22f, 0x1.9f6f9ap-16f, -0x1.6c138p-10f,
                                             0x1.555548p-5f, -0x1p-1f};

// Series in z^2 of sinc and of (cos - sinc) / z^2; highest power first.
static const double tess_xp_sinc_series_f64[] = {-1.0 / 5040, 1.0 / 120, -1.0 / 6, 1.0};
static const double tess_xp_slope_series_f64[] = {1.0 / 45360, -1.0 / 840, 1.0 / 30, -1.0 / 3};
static const float tess_xp_sinc_series_f32[] = {-1.0f / 5040, 1.0f / 120, -1.0f / 6, 1.0f};
static const float tess_xp_slope_series_f32[] = {1.0f / 45360, -1.0f / 840, 1.0f / 30, -1.0f / 3};

#endif
