// Written by tools/fit_polynomials.py, which says how; do not edit.
//
// Coefficients stand highest power first.
// clang-format off
#ifndef TESS_KERNELS_SIMD_MATH_COEFFICIENTS_H
#define TESS_KERNELS_SIMD_MATH_COEFFICIENTS_H

#include <stdint.h>

// (exp(r) - 1 - r) / r^2 on |r| <= ln(2) / 2; relative error 2^-34.2.
static const float exp_tail_f32[] = {
    0x1.9f0d5cp-13f,
    0x1.6d8d34p-10f,
    0x1.11126ep-7f,
    0x1.55548ep-5f,
    0x1.555554p-3f,
    0x1p-1f,
};
// (2 atanh(s) - 2 s) / s^3 in z = s^2; relative error 2^-30.2.
static const float log_tail_f32[] = {
    0x1.31e09cp-2f,
    0x1.995ed2p-2f,
    0x1.55557ap-1f,
};
// (sin(r) - r) / r^3 in z = r^2 on |r| <= pi / 4; relative error 2^-28.0.
static const float sin_tail_f32[] = {
    -0x1.99438ap-13f,
    0x1.11073ap-7f,
    -0x1.555546p-3f,
};
// (cos(r) - 1) / r^2 in z = r^2 on |r| <= pi / 4; relative error 2^-33.9.
static const float cos_tail_f32[] = {
    0x1.99164cp-16f,
    -0x1.6c07fp-10f,
    0x1.55553cp-5f,
    -0x1p-1f,
};
// (erf(x) - x) / x in z = x^2 on |x| <= 1; relative error 2^-29.6.
static const float erf_near_f32[] = {
    0x1.4969eap-14f,
    -0x1.a3f6eep-11f,
    0x1.5405bp-8f,
    -0x1.b7f90ep-6f,
    0x1.ce2cf8p-4f,
    -0x1.81273ep-2f,
    0x1.06eba8p-3f,
};
// log(erfc(1 + u)) on 0 <= u <= 2.95; relative error 2^-29.8.
static const float erf_far_f32[] = {
    0x1.86da0ep-13f,
    -0x1.df8eaap-10f,
    0x1.444108p-7f,
    -0x1.53ff24p-5f,
    -0x1.afad1cp-1f,
    -0x1.51c9aap+1f,
    -0x1.d97fcp+0f,
};
static const float erf_last_f32 = 0x1.f9999ap+1f;
// (a + 2.5) Q(a) exp(a^2 / 2) in q = (a - 2.5) / (a + 2.5), a <= 14.6; relative error 2^-26.0.
static const float normal_tail_f32[] = {
    -0x1.49ff3cp-13f,
    -0x1.4621c4p-12f,
    0x1.66cbdep-11f,
    0x1.4ac02ap-9f,
    -0x1.a3ac76p-10f,
    -0x1.0c7818p-6f,
    0x1.2ea464p-7f,
    0x1.0e4f2ep-3f,
    -0x1.bc19c2p-2f,
    0x1.69cee6p-1f,
};
// exp(-u / 2) on |u| <= ln(2); relative error 2^-29.0.
static const float exp_half_f32[] = {
    0x1.6ab976p-16f,
    -0x1.126d1cp-12f,
    0x1.55589ap-9f,
    -0x1.55540ap-6f,
    0x1.fffffap-4f,
    -0x1p-1f,
    0x1p+0f,
};
static const float normal_pole_f32 = 0x1.4p+1f;
static const float normal_end_f32 = 0x1.d33334p+3f;
static const float normal_peak_f32 = 0x1.988454p-2f;
static const float log2_e_f32 = 0x1.715476p+0f;
static const float half_log2_e_f32 = 0x1.715476p-1f;
static const float twice_ln2_f32 = 0x1.62e43p+0f;
static const float twice_ln2_rest_f32 = -0x1.05c61p-28f;
static const float ln2_1_f32 = 0x1.62e4p-1f;
static const float ln2_2_f32 = 0x1.7f7d1cp-20f;
static const float sqrt_half_f32 = 0x1.6a09e6p-1f;
static const uint32_t sqrt_half_bits_f32 = 0x3f3504f3;
static const float two_over_pi_f32 = 0x1.45f306p-1f;
static const float half_pi_1_f32 = 0x1.921fb6p+0f;
static const float half_pi_2_f32 = -0x1.777a5cp-25f;
static const float half_pi_3_f32 = -0x1.ee59dap-50f;

// (exp(r) - 1 - r) / r^2 on |r| <= ln(2) / 2; relative error 2^-57.9.
static const double exp_tail_f64[] = {
    0x1.ad8602b491805p-26,
    0x1.28ad8b0891b54p-22,
    0x1.71df219840e78p-19,
    0x1.a01999f2be723p-16,
    0x1.a01a012bd04b8p-13,
    0x1.6c16c1843357fp-10,
    0x1.111111112782ap-7,
    0x1.5555555550853p-5,
    0x1.55555555554fbp-3,
    0x1.000000000000ap-1,
};
// (2 atanh(s) - 2 s) / s^3 in z = s^2; relative error 2^-59.5.
static const double log_tail_f64[] = {
    0x1.2f02fe948ffe6p-3,
    0x1.39a1f9a30d4e9p-3,
    0x1.74663c60e5db2p-3,
    0x1.c71c5216316cdp-3,
    0x1.24924941e0a7p-2,
    0x1.999999997fef1p-2,
    0x1.5555555555592p-1,
};
// (sin(r) - r) / r^3 in z = r^2 on |r| <= pi / 4; relative error 2^-57.9.
static const double sin_tail_f64[] = {
    0x1.5d8fa09f710c1p-33,
    -0x1.ae5e59ef26f24p-26,
    0x1.71de35670ead9p-19,
    -0x1.a01a019bfd1c4p-13,
    0x1.111111110f7cap-7,
    -0x1.5555555555548p-3,
};
// (cos(r) - 1) / r^2 in z = r^2 on |r| <= pi / 4; relative error 2^-64.5.
static const double cos_tail_f64[] = {
    -0x1.8f750da5eb02cp-37,
    0x1.1ee96c598b784p-29,
    -0x1.27e4f72ac9336p-22,
    0x1.a01a019b2c816p-16,
    -0x1.6c16c16c13b9ap-10,
    0x1.5555555555539p-5,
    -0x1p-1,
};
// (erf(x) - x) / x in z = x^2 on |x| <= 1; relative error 2^-62.7.
static const double erf_near_f64[] = {
    0x1.057a0196ff65fp-34,
    -0x1.386ae19cf0e3ap-30,
    0x1.f7a41d09c810fp-27,
    -0x1.5f1d37c9fba75p-23,
    0x1.b9def1bda8f0dp-20,
    -0x1.f4d1df3bcfc2cp-17,
    0x1.f9a321a13ff56p-14,
    -0x1.c02db3d8ee55ep-11,
    0x1.565bcd0db0351p-8,
    -0x1.b82ce3128499fp-6,
    0x1.ce2f21a042b2p-4,
    -0x1.812746b0379e6p-2,
    0x1.06eba8214db69p-3,
};
// log(erfc(1 + u)) on 0 <= u <= 4.95; relative error 2^-57.0.
static const double erf_far_f64[] = {
    -0x1.5ac8cf60a5d02p-38,
    0x1.096b9662eb5f9p-33,
    -0x1.6e47942bbe388p-30,
    0x1.276052296d79dp-27,
    -0x1.21656df75dadap-25,
    0x1.f936c797e7fcfp-25,
    0x1.b47e65749a19cp-23,
    -0x1.1dd971c22e9f2p-19,
    0x1.4470f16879acap-17,
    -0x1.c84b4cb67c6d3p-16,
    0x1.b929d4486de55p-16,
    0x1.f1b07c0d9abf6p-13,
    -0x1.033f5ae24ef87p-9,
    0x1.48c9d38883198p-7,
    -0x1.5477f099eeebbp-5,
    -0x1.afabc11a2acf5p-1,
    -0x1.51c9b0006c21ep+1,
    -0x1.d97fbf27aa2a1p+0,
};
static const double erf_last_f64 = 0x1.7cccccccccccdp+2;
// (a + 4) Q(a) exp(a^2 / 2) in q = (a - 4) / (a + 4), a <= 39; relative error 2^-59.3.
static const double normal_tail_f64[] = {
    -0x1.70d59ae195a55p-31,
    -0x1.4c1b712a2b6fcp-29,
    0x1.e30a86030e25dp-30,
    0x1.4a56e2e66b682p-26,
    0x1.ce4982812743dp-27,
    -0x1.6c20e0ac4005ap-24,
    -0x1.4cec5bd0b0741p-23,
    0x1.233bacaef08f5p-22,
    0x1.1236b9ba0725p-20,
    -0x1.51e40ca512b66p-21,
    -0x1.8d4b1eb5f2433p-18,
    0x1.80b1648c451b9p-21,
    0x1.26d0996f1fb9cp-15,
    -0x1.001e4841ef7f3p-19,
    -0x1.e4a4256de4cd3p-13,
    0x1.17a4ae29e814ep-13,
    0x1.ab825fc0f9bc7p-10,
    -0x1.c81719d53e65fp-9,
    -0x1.ee2761047f309p-8,
    0x1.eec4cc3e4d1ffp-5,
    -0x1.7dff2bff68399p-3,
    0x1.8c6dbf2cfc2b5p-2,
    -0x1.373e3a893c28ap-1,
    0x1.82b4bb8c94dcep-1,
};
// exp(-u / 2) on |u| <= ln(2); relative error 2^-58.2.
static const double exp_half_f64[] = {
    -0x1.ad661b0894aa4p-37,
    0x1.28b31dcea213p-32,
    -0x1.71df4536d81edp-28,
    0x1.a01992c3c3ff1p-24,
    -0x1.a01a011042176p-20,
    0x1.6c16c18786256p-16,
    -0x1.1111111130e42p-12,
    0x1.555555554f356p-9,
    -0x1.55555555554a2p-6,
    0x1.000000000001p-3,
    -0x1p-1,
    0x1p+0,
};
static const double normal_pole_f64 = 0x1p+2;
static const double normal_end_f64 = 0x1.38p+5;
static const double normal_peak_f64 = 0x1.9884533d43651p-2;
static const double log2_e_f64 = 0x1.71547652b82fep+0;
static const double half_log2_e_f64 = 0x1.71547652b82fep-1;
static const double twice_ln2_f64 = 0x1.62e42fefa39efp+0;
static const double twice_ln2_rest_f64 = 0x1.abc9e3b39803fp-55;
static const double ln2_1_f64 = 0x1.62e42fefa4p-1;
static const double ln2_2_f64 = -0x1.8432a1b0e2634p-43;
static const double sqrt_half_f64 = 0x1.6a09e667f3bcdp-1;
static const uint64_t sqrt_half_bits_f64 = 0x3fe6a09e667f3bcd;
static const double two_over_pi_f64 = 0x1.45f306dc9c883p-1;
static const double half_pi_1_f64 = 0x1.921fb54442d18p+0;
static const double half_pi_2_f64 = 0x1.1a62633145c07p-54;
static const double half_pi_3_f64 = -0x1.f1976b7ed8fbcp-110;

#endif
