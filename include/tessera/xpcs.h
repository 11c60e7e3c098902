/** xpcs: two-time X-ray correlation fits (homodyne). */
#ifndef TESSERA_XPCS_H
#define TESSERA_XPCS_H

#include "tessera/xpcs/compare.h"
#include "tessera/xpcs/data.h"
#include "tessera/xpcs/diagnostics.h"
#include "tessera/xpcs/fit.h"
#include "tessera/xpcs/g2.h"
#include "tessera/xpcs/joint.h"
#include "tessera/xpcs/model.h"
#include "tessera/xpcs/posterior.h"
#include "tessera/xpcs/rates.h"
#include "tessera/xpcs/report.h"
#include "tessera/xpcs/result.h"
#include "tessera/xpcs/settings.h"
#include "tessera/xpcs/simulate.h"

#endif
