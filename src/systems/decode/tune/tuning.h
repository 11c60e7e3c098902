// A finished tuning.
#ifndef TESS_SYSTEMS_DECODE_TUNING_H
#define TESS_SYSTEMS_DECODE_TUNING_H

#include "base/blocks.h"
#include "tessera/decode/tune.h"

struct tess_decode_tuning {
    tess_heap *heap;
    tess_blocks memory;
    tess_decode_tuning_info info;
};

#endif
