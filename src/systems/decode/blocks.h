// Decode's names for blocks of memory that live and die together (base/blocks.h).
#ifndef TESS_SYSTEMS_DECODE_BLOCKS_H
#define TESS_SYSTEMS_DECODE_BLOCKS_H

#include "base/blocks.h"

typedef tess_blocks tess_decode_blocks;

#define tess_decode_blocks_init tess_blocks_init
#define tess_decode_blocks_alloc tess_blocks_alloc
#define tess_decode_blocks_copy tess_blocks_copy
#define tess_decode_blocks_free tess_blocks_free

#endif
