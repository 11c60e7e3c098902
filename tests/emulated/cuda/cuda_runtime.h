// Stands in for CUDA's own.
#ifndef EMULATED_CUDA_RUNTIME_H
#define EMULATED_CUDA_RUNTIME_H

#include "emulated/api.h"
#include "emulated/arithmetic.h"
#include "emulated/device.h"
#include "emulated/launch.h"
#include "emulated/ptx.h"
#include "emulated/vectors.h"

#endif
