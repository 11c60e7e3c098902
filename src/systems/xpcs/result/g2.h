// The inside of curves of g2.
#ifndef TESS_XPCS_RESULT_G2_H
#define TESS_XPCS_RESULT_G2_H

#include "base/blocks.h"
#include "runtime/context.h"
#include "tessera/xpcs/g2.h"

struct tess_xpcs_g2 {
    tess_context *ctx;
    tess_xpcs_g2_info info; // its pointers lead into the memory
    tess_blocks memory;
};

#endif
