// The files of a joint fit.
#ifndef TESS_XPCS_JOINT_FILES_H
#define TESS_XPCS_JOINT_FILES_H

#include "systems/xpcs/joint/joint.h"

// One page: parameters against q, what sharing costs, a line per member.
TESS_MUST_CHECK tess_status tess_xp_joint_page(tess_context *ctx, const tess_xpcs_joint_info *info,
                                               const char *path, int overwrite);

#endif
