// Arrays of any type and stride on the device, for the checks of the CUDA stages of clifford.
#ifndef TESS_GPU_CLIFFORD_ARRAYS_H
#define TESS_GPU_CLIFFORD_ARRAYS_H

#include "gpu_clifford_algebra.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

inline int bytes_of(int dtype)
{
    return dtype == TESS_F64 ? 8 : dtype == TESS_F32 ? 4 : 2;
}

inline void put_item(void *data, int dtype, int64_t i, double v)
{
    if (dtype == TESS_F64) {
        static_cast<double *>(data)[i] = v;
    } else if (dtype == TESS_F32) {
        static_cast<float *>(data)[i] = float(v);
    } else if (dtype == TESS_BF16) {
        static_cast<__nv_bfloat16 *>(data)[i] = __float2bfloat16_rn(float(v));
    } else {
        static_cast<__half *>(data)[i] = __float2half_rn(float(v));
    }
}

inline double get_item(const void *data, int dtype, int64_t i)
{
    if (dtype == TESS_F64) {
        return static_cast<const double *>(data)[i];
    }
    if (dtype == TESS_F32) {
        return static_cast<const float *>(data)[i];
    }
    return dtype == TESS_BF16 ? __bfloat162float(static_cast<const __nv_bfloat16 *>(data)[i])
                              : __half2float(static_cast<const __half *>(data)[i]);
}

enum layout { component_major, channel_last, padded, misaligned, n_layout };

// An array (n0, n1, n2) on the device, in a layout, with poison everywhere else.
class device_array
{
  public:
    device_array(int64_t n0, int64_t n1, int64_t n2, int dtype, layout how);
    ~device_array()
    {
        (void)cudaFree(base_);
    }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;

    void poison()
    {
        CHECK_CUDA(cudaMemset(base_, 0xff, bytes_));
    }
    // Rounds the values to the type on the way.
    void put(numbers &values)
    {
        std::vector<char> host(bytes_, char(0xff));
        each([&](size_t i, int64_t at) {
            put_item(host.data(), dtype_, at, values[i]);
            values[i] = get_item(host.data(), dtype_, at);
        });
        CHECK_CUDA(cudaMemcpy(base_, host.data(), bytes_, cudaMemcpyHostToDevice));
    }
    // Reads the values; says whether what lies between them is still poison.
    bool get(numbers &values) const;
    const tess_cl_view &view() const
    {
        return view_;
    }

  private:
    template <typename Visit>
    void each(Visit &&visit) const
    {
        size_t i = 0;
        for (int64_t k = 0; k < shape_[0]; k++) {
            for (int64_t b = 0; b < shape_[1]; b++) {
                for (int64_t n = 0; n < shape_[2]; n++, i++) {
                    visit(i, offset_ + k * view_.stride[0] + b * view_.stride[1] +
                                 n * view_.stride[2]);
                }
            }
        }
    }
    int64_t shape_[3];
    int dtype_;
    size_t bytes_ = 0;
    void *base_ = nullptr;
    int64_t offset_ = 0;
    tess_cl_view view_ = {};
};

inline device_array::device_array(int64_t n0, int64_t n1, int64_t n2, int dtype, layout how)
    : shape_{n0, n1, n2}, dtype_(dtype)
{
    int64_t offset = how == misaligned ? 1 : 0;
    int64_t n_item = n0 * n1 * n2 + offset;
    view_.stride[0] = n1 * n2;
    view_.stride[1] = n2;
    view_.stride[2] = 1;
    if (how == channel_last) {
        view_.stride[0] = 1;
        view_.stride[1] = n2 * n0;
        view_.stride[2] = n0;
    } else if (how == padded) {
        // Rows backwards, every second item.
        view_.stride[2] = 2;
        view_.stride[1] = -(2 * n2 + 5);
        view_.stride[0] = n1 * (2 * n2 + 5) + 3;
        offset = 1 - (n1 - 1) * view_.stride[1];
        n_item = n0 * view_.stride[0] + 8;
    }
    bytes_ = size_t(n_item) * size_t(bytes_of(dtype));
    CHECK_CUDA(cudaMalloc(&base_, bytes_));
    view_.data = static_cast<char *>(base_) + offset * bytes_of(dtype);
    offset_ = offset;
    poison();
}

inline bool device_array::get(numbers &values) const
{
    std::vector<char> host(bytes_);
    CHECK_CUDA(cudaMemcpy(host.data(), base_, bytes_, cudaMemcpyDeviceToHost));
    values.resize(size_t(shape_[0] * shape_[1] * shape_[2]));
    std::vector<char> seen(bytes_, 0);
    each([&](size_t i, int64_t at) {
        values[i] = get_item(host.data(), dtype_, at);
        memset(seen.data() + at * bytes_of(dtype_), 1, size_t(bytes_of(dtype_)));
    });
    for (size_t i = 0; i < bytes_; i++) {
        if (!seen[i] && host[i] != char(0xff)) {
            return false;
        }
    }
    return true;
}

#endif
