/** Tessera: four scientific workloads on one engine. This header includes all public ones. */
#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

#include "tessera/array.h"
#include "tessera/autoreject.h"
#include "tessera/base.h"
#include "tessera/clifford.h"
#include "tessera/config.h"
#include "tessera/context.h"
#include "tessera/decode.h"
#include "tessera/device.h"
#include "tessera/device_array.h"
#include "tessera/io.h"
#include "tessera/param.h"
#include "tessera/run.h"
#include "tessera/warning.h"
#include "tessera/xpcs.h"

#endif
