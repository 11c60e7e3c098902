// See boxes.h.

#include "backend/cuda/clifford/common/boxes.h"
#include "tessera/array.h"

#include <cuda_runtime.h>

namespace
{

constexpr uint64_t box_bytes = 128;

using encode_fn = CUresult (*)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                               const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                               const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                               CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// The driver's function; NULL where there is none.
encode_fn find_encode()
{
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault,
                                         &result) != cudaSuccess ||
        result != cudaDriverEntryPointSuccess) {
        (void)cudaGetLastError();
        return nullptr;
    }
    return reinterpret_cast<encode_fn>(found);
}

encode_fn encoder()
{
    static const encode_fn encode = find_encode();
    return encode;
}

CUtensorMapDataType type_of(int32_t dtype)
{
    return dtype == TESS_F32    ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
           : dtype == TESS_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
}

} // namespace

bool clifford_encode_boxes(CUtensorMap &map, const clifford_box_array &a, int rows)
{
    const encode_fn encode = encoder();
    const uint64_t bytes = a.dtype == TESS_F32 ? 4 : 2;
    const cuuint64_t size[3] = {cuuint64_t(a.n_item), cuuint64_t(a.n_row), cuuint64_t(a.n_layer)};
    const cuuint64_t stride[2] = {uint64_t(a.stride_row) * bytes, uint64_t(a.stride_layer) * bytes};
    const cuuint32_t box[3] = {cuuint32_t(box_bytes / bytes), cuuint32_t(rows), 1};
    const cuuint32_t step[3] = {1, 1, 1};
    return encode != nullptr && encode(&map, type_of(a.dtype), 3, a.data, size, stride, box, step,
                                       CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                       CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

bool clifford_encode_words(CUtensorMap &map, const clifford_word_rows &a)
{
    const encode_fn encode = encoder();
    const cuuint64_t size[3] = {cuuint64_t(a.n_word), cuuint64_t(a.n_row), cuuint64_t(a.n_layer)};
    const cuuint64_t stride[2] = {cuuint64_t(a.stride_row), cuuint64_t(a.stride_layer)};
    const cuuint32_t box[3] = {cuuint32_t(a.n_word), 1, cuuint32_t(a.n_layer)};
    const cuuint32_t step[3] = {1, 1, 1};
    return encode != nullptr && encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 3, a.data, size,
                                       stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                       CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}
