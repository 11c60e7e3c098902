// Values of the model: rows of whole matrices.

#include "backend/cuda/xpcs/points.h"
#include "backend/cuda/xpcs/stages.h"
#include "backend/cuda/xpcs/two.h"

namespace
{

constexpr int threads = 256;

struct model {
    const double *diffusion;
    const double *shear; // NULL: static
    const double *two;   // NULL: one component
    const tess_xp_angle *angle;
    double eps;
    double *out;
    int64_t n_frame;
    int64_t first_row;
    int64_t n_row;
    int32_t power;
};

__device__ double rounded(double d, double eps)
{
    return eps == 0 ? fabs(d) : sqrt(fma(d, d, eps));
}

__global__ void __launch_bounds__(threads) model_kernel(model a)
{
    const tess_xp_angle angle = *a.angle;
    const double amplitude = fabs(angle.amplitude), inverse = amplitude > 0 ? 1 / amplitude : 0;
    for (int64_t r = blockIdx.x; r < a.n_row; r += gridDim.x) {
        const int64_t i = a.first_row + r;
        for (int64_t j = threadIdx.x; j < a.n_frame && a.two != nullptr; j += threads) {
            a.out[r * a.n_frame + j] =
                i == j ? 1 : xp_two_value(a.two, a.n_frame, a.eps, angle, i, j);
        }
        for (int64_t j = threadIdx.x; j < a.n_frame && a.two == nullptr; j += threads) {
            const double far = -angle.w2 * rounded(a.diffusion[j] - a.diffusion[i], a.eps);
            double m = far < -160 ? 0 : exp(far), t;
            if (a.shear != nullptr) {
                const double strain = rounded(a.shear[j] - a.shear[i], a.eps);
                const double b = fmin(strain, xp_far / amplitude);
                xp_laminar(m, b, strain > 0 ? 1 / strain : 0, amplitude, inverse, a.power, &m, &t);
            }
            a.out[r * a.n_frame + j] = i == j ? 1 : m;
        }
    }
}

cudaError_t model_launch(cudaStream_t stream, const void *args)
{
    const auto &a = *static_cast<const tess_stage_xpcs_model *>(args);
    if (a.n_row == 0) {
        return cudaSuccess;
    }
    const model m = {a.grid->diffusion, a.n_param == 3 ? nullptr : a.grid->shear,
                     a.grid->two,       a.angle,
                     a.grid->eps_abs,   a.out,
                     a.n_frame,         a.first_row,
                     a.n_row,           a.power};
    constexpr int64_t most = 1 << 20;
    model_kernel<<<unsigned(a.n_row < most ? a.n_row : most), threads, 0, stream>>>(m);
    return cudaGetLastError();
}

tess_status model_supports(const tess_backend_device *, const void *)
{
    return TESS_OK;
}

size_t model_scratch_bytes(const tess_backend_device *, const void *)
{
    return 0;
}

} // namespace

const tess_cuda_stage tess_cuda_stage_xpcs_model = {
    TESS_STAGE_XPCS_MODEL, "xpcs.model",        sizeof(tess_stage_xpcs_model),
    model_supports,        model_scratch_bytes, model_launch,
};

const tess_cuda_stage tess_cuda_stage_xpcs_two = {
    TESS_STAGE_XPCS_TWO, "xpcs.two_component", sizeof(tess_stage_xpcs_model),
    model_supports,      model_scratch_bytes,  model_launch,
};
