#include "systems/xpcs/fit/scaling_parts.h"

#include <math.h>

tess_xp_moments tess_xp_moments_of(const double *six, double mean)
{
    const double s1 = six[TESS_XP_S1];
    if (!(s1 > 0)) {
        return (tess_xp_moments){.y = mean};
    }
    const double m = six[TESS_XP_SF] / s1;
    const double y = six[TESS_XP_SY] / s1;
    return (tess_xp_moments){.s1 = s1,
                             .m = m,
                             .y = mean + y,
                             .sff = fmax(six[TESS_XP_SFF] - m * six[TESS_XP_SF], 0),
                             .syy = fmax(six[TESS_XP_SYY] - y * six[TESS_XP_SY], 0),
                             .sfy = six[TESS_XP_SFY] - m * six[TESS_XP_SY],
                             .raw_sff = six[TESS_XP_SFF]};
}
