/** xpcs: transport and shear rates of any shape, and whether the power law does as well. */
#ifndef TESSERA_XPCS_RATES_H
#define TESSERA_XPCS_RATES_H

#include "tessera/xpcs/result.h"

TESS_BEGIN_DECLS

typedef enum tess_xpcs_rates_shape {
    TESS_XPCS_RATES_SMOOTH = 0,  /* any smooth curve */
    TESS_XPCS_RATES_MONOTONE = 1 /* one that only falls or only rises, as the power law does */
} tess_xpcs_rates_shape;

/** The axis on which knots lie evenly. */
typedef enum tess_xpcs_rates_spacing {
    TESS_XPCS_RATES_AUTO = 0,   /* both; the one of the larger evidence is shown */
    TESS_XPCS_RATES_LOG = 1,    /* ln t */
    TESS_XPCS_RATES_LINEAR = 2, /* t */
} tess_xpcs_rates_spacing;

typedef struct tess_xpcs_rates_config {
    uint32_t struct_size;
    int32_t shape;     /* tess_xpcs_rates_shape */
    int32_t spacing;   /* tess_xpcs_rates_spacing */
    int32_t reserved;  /* 0 */
    int64_t n_knot;    /* 4 to 100 and no more than frames; 0: 20, fewer where frames are fewer */
    double smoothness; /* weight of squared second differences; 0: by marginal likelihood */
} tess_xpcs_rates_config;

TESS_API void tess_xpcs_rates_config_init(tess_xpcs_rates_config *config, size_t struct_size);

/** A rate over time, free and by the power law. Arrays [n_frame]. */
typedef struct tess_xpcs_rate_curve {
    const double *value;
    const double *sd;
    const double *low;   /* 95 % band */
    const double *high;  /* */
    const double *power; /* of the power law with offset */
    const double *power_sd;
    const double *knot_value; /* [n_knot] */
    const double *knot_sd;
    double smoothness;  /* weight of squared second differences of the coefficients */
    double n_effective; /* of coefficients that the data, not the prior, determine */
} tess_xpcs_rate_curve;

/** Pointers live with the rates. */
typedef struct tess_xpcs_rates_info {
    uint32_t struct_size;
    int32_t mode;
    int32_t shape;
    int32_t spacing; /* that is shown: log or linear */
    int32_t is_converged;
    int32_t has_shear;
    int32_t is_doubtful; /* 1: see notes */
    int32_t reserved;
    int64_t n_frame;
    int64_t n_angle;
    int64_t n_knot;
    const double *t;                /* [n_frame] s */
    const double *knots;            /* [n_knot] s */
    tess_xpcs_rate_curve transport; /* Å²/s */
    tess_xpcs_rate_curve shear;     /* 1/s; NULL arrays where there is none */
    double phi0;                    /* degrees; NaN where there is no shear */
    double phi0_sd;                 /* NaN where it is fixed */
    double noise;                   /* standard deviation of a point */
    double noise_power;             /* that of the power law */
    double log_evidence;            /* of free form; with spacing auto the mean of both */
    double log_evidence_log;        /* of knots even in ln t; NaN: not tried */
    double log_evidence_linear;
    double log_evidence_power;       /* of the power law: the mean of the next two */
    double log_evidence_power_error; /* standard error */
    double log_evidence_offset;      /* with offsets, as tess_xpcs_compare(); NaN: not known */
    double log_evidence_plain;       /* offsets being 0; NaN: not known */
    double log_bayes_factor;         /* free form against the power law: above 0 for free form */
    const double *phi;               /* [n_angle] */
    const double *contrast;
    const double *offset;
    int64_t n_pass; /* over the data, free form alone */
    double seconds;
    const tess_xpcs_result *power_fit; /* the fit of the power law */
    const char *verdict;               /* a sentence */
    const char *notes;                 /* sentences by line, "" */
    const char *identity;              /* 32 digits: of data, model and settings */
} tess_xpcs_rates_info;

typedef struct tess_xpcs_rates tess_xpcs_rates;

/**
 * Fits ln D(t), and for laminar flow the shear rate, by cubic splines whose second differences are
 * normal a priori; how smooth they are is chosen, and in the evidence averaged over, by marginal
 * likelihood. Contrasts, offsets and noise are integrated over with the priors of
 * tess_xpcs_compare(), and every point weighs the same, as there. The power law is fitted first:
 * its evidence is that of
 * tess_xpcs_compare() with method laplace, averaged with that of the law without offsets. Shear may
 * change its sign; the data tell it up to the sign of the whole, and the mean is taken as above 0.
 * config: that of the fit, linear loss; of parameters it may fix phi0 alone. On the CPU.
 */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_fit_rates(tess_context *ctx, tess_xpcs_data *data,
                                                         const tess_xpcs_model *model,
                                                         const tess_xpcs_fit_config *config,
                                                         const tess_xpcs_rates_config *rates,
                                                         tess_xpcs_rates **out);

TESS_API const tess_xpcs_rates_info *tess_xpcs_rates_get_info(const tess_xpcs_rates *rates);
TESS_API void tess_xpcs_rates_destroy(tess_xpcs_rates *rates);

/** The whole as JSON, for tess_text_free(); NaN and infinity are null. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_rates_json(tess_context *ctx,
                                                          const tess_xpcs_rates *rates,
                                                          char **text);

/** Writes folder/rates.json, rates.npz and report.html. overwrite 1: replaces what is there. */
TESS_API TESS_MUST_CHECK tess_status tess_xpcs_rates_write(tess_context *ctx,
                                                           const tess_xpcs_rates *rates,
                                                           const char *folder, int overwrite);

TESS_END_DECLS

#endif
