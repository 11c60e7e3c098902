// The files of a joint fit.
#ifndef TESS_XPCS_JOINT_FILES_H
#define TESS_XPCS_JOINT_FILES_H

#include "systems/xpcs/joint/joint.h"

// Name of a member's file without its folders, with q: "run42.hdf, q = 0.0054".
void tess_xp_joint_member_name(const tess_xpcs_joint_info *info, int64_t member, char *text,
                               size_t capacity);

// One page: parameters against q, what sharing costs, a line per member.
TESS_MUST_CHECK tess_status tess_xp_joint_page(tess_context *ctx, const tess_xpcs_joint_info *info,
                                               const char *path, int overwrite);

#endif
