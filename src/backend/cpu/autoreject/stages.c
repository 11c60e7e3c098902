#include "backend/cpu/autoreject/stages.h"

#include "stage/autoreject.h"
#include "stage/autoreject_global.h"
#include "stage/autoreject_intake.h"
#include "stage/autoreject_interpolation.h"
#include "stage/autoreject_local.h"
#include "stage/autoreject_ransac.h"
#include "stage/autoreject_threshold.h"

static const tess_cpu_stage stages[] = {
    {TESS_STAGE_AUTOREJECT_PTP, "autoreject.ptp", sizeof(tess_stage_autoreject_ptp),
     tess_cpu_autoreject_ptp},
    {TESS_STAGE_AUTOREJECT_VOTES, "autoreject.votes", sizeof(tess_stage_autoreject_votes),
     tess_cpu_autoreject_votes},
    {TESS_STAGE_AUTOREJECT_AUGMENT, "autoreject.augment", sizeof(tess_stage_autoreject_augment),
     tess_cpu_autoreject_augment},
    {TESS_STAGE_AUTOREJECT_REPAIR, "autoreject.repair", sizeof(tess_stage_autoreject_repair),
     tess_cpu_autoreject_repair},
    {TESS_STAGE_AUTOREJECT_DOTS, "autoreject.dots", sizeof(tess_stage_autoreject_dots),
     tess_cpu_autoreject_dots},
    {TESS_STAGE_AUTOREJECT_MAP, "autoreject.map", sizeof(tess_stage_autoreject_map),
     tess_cpu_autoreject_map},
    {TESS_STAGE_AUTOREJECT_INTAKE, "autoreject.intake", sizeof(tess_stage_autoreject_intake),
     tess_cpu_autoreject_intake},
    {TESS_STAGE_AUTOREJECT_INTAKE_KEPT, "autoreject.intake_kept",
     sizeof(tess_stage_autoreject_intake_kept), tess_cpu_autoreject_intake_kept},
    {TESS_STAGE_AUTOREJECT_CURVE, "autoreject.curve", sizeof(tess_stage_autoreject_curve),
     tess_cpu_autoreject_curve},
    {TESS_STAGE_AUTOREJECT_RANSAC, "autoreject.ransac", sizeof(tess_stage_autoreject_ransac),
     tess_cpu_autoreject_ransac},
    {TESS_STAGE_AUTOREJECT_GLOBAL, "autoreject.global", sizeof(tess_stage_autoreject_global),
     tess_cpu_autoreject_global},
    {TESS_STAGE_AUTOREJECT_LOCAL, "autoreject.local", sizeof(tess_stage_autoreject_local),
     tess_cpu_autoreject_local},
};

const tess_cpu_stage_table tess_cpu_autoreject = {stages, sizeof stages / sizeof *stages};
