/** autoreject: rejection and repair of bad EEG/MEG epochs. */
#ifndef TESSERA_AUTOREJECT_H
#define TESSERA_AUTOREJECT_H

#include "tessera/autoreject/epochs.h"
#include "tessera/autoreject/fit.h"
#include "tessera/autoreject/global.h"
#include "tessera/autoreject/interpolation.h"
#include "tessera/autoreject/ptp.h"
#include "tessera/autoreject/ransac.h"
#include "tessera/autoreject/reject_log.h"
#include "tessera/autoreject/report.h"
#include "tessera/autoreject/study.h"

#endif
