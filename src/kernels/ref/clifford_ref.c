// Gates, norms and products of rows of multivectors, one item at a time. Both types are computed in
// double.

#include "base/half.h"
#include "kernels/isa.h"

#include <math.h>

// f, f' and f'' of an activation.
static void activate(int activation, double x, double f[3])
{
    const double s = 1 / (1 + exp(-x)), slope = s * (1 / (1 + exp(x)));
    const double root = 0.79788456080286535588; // sqrt(2 / pi)
    const double v = 2 * root * (x + 0.044715 * x * x * x);
    const double t = 1 / (1 + exp(-v)), t1 = t * (1 / (1 + exp(v)));
    const double v1 = 2 * root * (1 + 3 * 0.044715 * x * x), v2 = 12 * root * 0.044715 * x;
    switch (activation) {
    case TESS_CLIFFORD_GELU:
        f[0] = 0.5 * erfc(-x * 0.70710678118654752440);
        f[1] = 0.39894228040143267794 * exp(-0.5 * x * x);
        f[2] = -x * f[1];
        break;
    case TESS_CLIFFORD_GELU_TANH:
        f[0] = x * t;
        f[1] = t1 > 0 ? t + x * t1 * v1 : t;
        f[2] = t1 > 0 ? 2 * t1 * v1 + x * t1 * ((1 - 2 * t) * v1 * v1 + v2) : 0;
        break;
    case TESS_CLIFFORD_RELU:
        f[0] = x < 0 ? 0 : x;
        f[1] = x > 0 ? 1 : 0;
        f[2] = 0;
        break;
    case TESS_CLIFFORD_SIGMOID:
        f[0] = s;
        f[1] = slope;
        f[2] = slope * (1 - 2 * s);
        break;
    case TESS_CLIFFORD_TANH:
        f[0] = tanh(x);
        f[1] = 1 / (cosh(x) * cosh(x));
        f[2] = -2 * f[0] * f[1];
        break;
    case TESS_CLIFFORD_SILU:
        f[0] = x * s;
        f[1] = slope > 0 ? s + x * slope : s;
        f[2] = slope > 0 ? slope * (2 + x * (1 - 2 * s)) : 0;
        break;
    default:
        f[0] = 1;
        f[1] = f[2] = 0;
        break;
    }
}

static double sign_of(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x; // 0 and NaN stay
}

#define T_BITS 32
#include "kernels/ref/clifford_ref_body.h"

#define T_BITS 64
#include "kernels/ref/clifford_ref_body.h"
