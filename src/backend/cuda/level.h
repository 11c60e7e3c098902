// Which instructions the code has that runs on a device, and the kernels that are chosen by it.
//
// The module has code for several kinds of GPU. Kernels with instructions that a kind lacks are
// empty there (TESS_CUDA_HAS_...), and who launches asks tess_cuda_level first: it tells what was
// compiled into the code that the driver loaded, which on a new GPU may come from older PTX.
#ifndef TESS_CUDA_LEVEL_H
#define TESS_CUDA_LEVEL_H

#include <cuda_runtime.h>

#include <cstddef>

// Device code only: matrix instructions of warps and asynchronous copies, from sm_80 on.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define TESS_CUDA_HAS_MATRIX 1
#else
#define TESS_CUDA_HAS_MATRIX 0
#endif

// Matrix instructions of warpgroups, clusters and the copy engine: those of sm_90a alone.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define TESS_CUDA_HAS_GROUPS 1
#else
#define TESS_CUDA_HAS_GROUPS 0
#endif

// What a kernel says of its clusters: that many blocks in a row.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define TESS_CUDA_CLUSTER(blocks)
#else
#define TESS_CUDA_CLUSTER(blocks) __cluster_dims__(blocks, 1, 1)
#endif

enum tess_cuda_level {
    TESS_CUDA_PLAIN = 1, // ordinary instructions: sm_75
    TESS_CUDA_MATRIX,    // TESS_CUDA_HAS_MATRIX
    TESS_CUDA_GROUPS,    // TESS_CUDA_HAS_GROUPS
};

// Of the current device. TESSERA_CUDA_GENERIC=1 makes of TESS_CUDA_GROUPS the level below, to try
// on one GPU what others run.
tess_cuda_level tess_cuda_level_here();

// Shared memory that a block may have on the current device: 227 KiB with warpgroups, at most the
// 163 KiB of sm_80 without, and 99 of most others.
size_t tess_cuda_shared_bytes();

// Lets a kernel have that much dynamic shared memory on the current device. The driver is told once
// and again where more is wanted: telling takes as long as a launch.
cudaError_t tess_cuda_allow_shared(const void *kernel, size_t bytes);

#endif
