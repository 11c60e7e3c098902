/** decode: clusterless and sorted-spikes decoding of position, with a state-space model on top. */
#ifndef TESSERA_DECODE_H
#define TESSERA_DECODE_H

#include "tessera/decode/covariates.h"
#include "tessera/decode/detector.h"
#include "tessera/decode/encoding.h"
#include "tessera/decode/environment.h"
#include "tessera/decode/events.h"
#include "tessera/decode/fitted.h"
#include "tessera/decode/intervals.h"
#include "tessera/decode/online.h"
#include "tessera/decode/recording.h"
#include "tessera/decode/report.h"
#include "tessera/decode/stream.h"
#include "tessera/decode/tune.h"

#endif
