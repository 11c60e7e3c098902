/** clifford: fused Clifford-algebra layers, forward and backward (flash-clifford). */
#ifndef TESSERA_CLIFFORD_H
#define TESSERA_CLIFFORD_H

#include "tessera/clifford/algebra.h"
#include "tessera/clifford/graph.h"
#include "tessera/clifford/maps.h"
#include "tessera/clifford/op.h"

#endif
