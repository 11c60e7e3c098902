/** xpcs: one fit of several data sets, usually several q, with parameters in common. */
#ifndef TESSERA_XPCS_JOINT_H
#define TESSERA_XPCS_JOINT_H

#include "tessera/xpcs/result.h"

TESS_BEGIN_DECLS

/** How a physical parameter goes over the members of a joint fit. Contrasts and offsets are always
 *  each member's own. */
typedef enum tess_xpcs_tie {
    TESS_XPCS_TIE_SHARED = 0, /* one value for all */
    TESS_XPCS_TIE_EACH = 1,   /* one for every member */
    TESS_XPCS_TIE_POWER = 2   /* value (q / q_ref)^exponent, both fitted */
} tess_xpcs_tie;

typedef struct tess_xpcs_joint_config {
    uint32_t struct_size;
    uint32_t reserved;
    const int32_t *ties;   /* [n_param] tess_xpcs_tie; NULL: all shared */
    double q_ref;          /* 1/Å; 0: geometric mean of the members' q */
    double exponent_lower; /* bounds of every exponent: -10, 10 */
    double exponent_upper;
} tess_xpcs_joint_config;

TESS_API void tess_xpcs_joint_config_init(tess_xpcs_joint_config *config, size_t struct_size);

/** One unknown of a joint fit. */
typedef struct tess_xpcs_unknown {
    int64_t param;       /* of the model */
    int64_t member;      /* of TIE_EACH, else -1 */
    int32_t is_exponent; /* 1: of a power, the value at q_ref being another unknown */
    int32_t status;      /* tess_xpcs_param_status */
    double value;
    double sd; /* inf: unidentified */
} tess_xpcs_unknown;

/** What it costs to tie a parameter: by how much chi2 would fall if it alone were free in every
 *  member, estimated at the minimum. */
typedef struct tess_xpcs_tie_test {
    int64_t param;
    int64_t dof; /* values that this would add; 0: nothing to test */
    double gain; /* of chi2, in units of the noise */
    double p;    /* probability of such a gain where the tie is right */
} tess_xpcs_tie_test;

/** Pointers live with the joint fit. */
typedef struct tess_xpcs_joint_info {
    uint32_t struct_size;
    int32_t mode;
    int32_t convergence; /* tess_xpcs_convergence */
    int32_t quality;     /* tess_xpcs_quality */
    int64_t n_member;
    int64_t n_param;
    int64_t n_unknown;
    int64_t n_angle;                   /* of all members */
    const char *const *names;          /* [n_param] */
    const int32_t *ties;               /* [n_param] tess_xpcs_tie */
    const tess_xpcs_unknown *unknowns; /* [n_unknown] */
    const double *covariance;          /* [n_unknown][n_unknown] */
    const char *const *paths;          /* [n_member] of the data, "" for arrays */
    const double *q;                   /* [n_member] mean of the angles' */
    const int64_t *first_angle;        /* [n_member + 1] of the arrays by angle */
    const double *theta;               /* [n_member][n_param] */
    const double *sd;                  /* [n_member][n_param] */
    const double *phi;                 /* [n_angle] */
    const double *contrast;            /* [n_angle] */
    const double *contrast_sd;
    const double *offset;
    const double *offset_sd;
    const double *chi2;         /* [n_member] */
    const double *reduced_chi2; /* [n_member] */
    const double *noise;        /* [n_member] variance per unit of inverse Hessian: reduced chi2 of
                                   the member's own fit, 1 with absolute_sigma */
    const tess_xpcs_result *const *single; /* [n_member] the member's own fit */
    const tess_xpcs_tie_test *tests;       /* [n_param] */
    double excess; /* by which chi2 is above the sum of the members' own fits, in units of noise */
    double excess_p;
    int64_t excess_dof;
    double q_ref;
    double condition;     /* of the scaled Hessian */
    int64_t n_evaluation; /* of all members together */
    int64_t n_start;      /* from which the fit was tried */
    int64_t n_checkpoint;
    int32_t resumed;
    int32_t reserved;
    double seconds;
    const char *message;
    const char *warnings; /* a sentence per line, "" if none */
    const char *identity; /* 32 digits that tell this fit from any other */
    const char *tessera_version;
} tess_xpcs_joint_info;

typedef struct tess_xpcs_joint tess_xpcs_joint;

/**
 * Fits all members at once: contrast and offset of every member and angle are eliminated, cost and
 * Hessian of the members added up in their order. Each member is fitted alone first, which gives
 * starts, noise, and the measure of what sharing costs. dt and gap of a model that has none are
 * each member's own. config: as tess_xpcs_fit(), linear loss, counting half, covariance; its
 * vectors of parameters are for all members, contrast and offset must be NULL. Its checkpoint
 * folder keeps the members' fits that are done and the joint one between evaluations. config and
 * joint may be NULL.
 */
TESS_API TESS_MUST_CHECK tess_status
tess_xpcs_fit_joint(tess_context *ctx, tess_xpcs_data *const *members, int64_t n_member,
                    const tess_xpcs_model *model, const tess_xpcs_fit_config *config,
                    const tess_xpcs_joint_config *joint, tess_xpcs_joint **out);

TESS_API const tess_xpcs_joint_info *tess_xpcs_joint_get_info(const tess_xpcs_joint *joint);
TESS_API void tess_xpcs_joint_destroy(tess_xpcs_joint *joint);
TESS_API const char *tess_xpcs_tie_name(tess_xpcs_tie tie);

/** The whole as JSON, for tess_text_free(); NaN and infinity are null. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_joint_json(tess_context *ctx,
                                                          const tess_xpcs_joint *joint,
                                                          char **text);

/** Writes folder/joint.json, joint.npz, joint.csv (a line per member) and report.html. overwrite 1:
 *  replaces what is there; 2: files of this very fit stay, those of others are an error. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_joint_write(tess_context *ctx,
                                                           const tess_xpcs_joint *joint,
                                                           const char *folder, int overwrite);

TESS_END_DECLS

#endif
