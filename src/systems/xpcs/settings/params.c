// The parameter tables: the only place where a default is written.
#include "base/struct_read.h"
#include "tessera/xpcs.h"

#include <math.h>
#include <stddef.h>

#define FIELD(field) offsetof(CONFIG, field)

#define CONFIG tess_xpcs_model
static const tess_param model_params[] = {
    {"mode", TESS_PARAM_CHOICE, FIELD(mode), TESS_XPCS_LAMINAR_FLOW, 0, 3,
     "static_isotropic|static_anisotropic|laminar_flow|two_component", "",
     "diffusion with one contrast and offset, with one for every angle, or with shear flow; or a "
     "reference and a sample that moves past it (heterodyne)"},
    {"kernel", TESS_PARAM_CHOICE, FIELD(kernel), 0, 0, 2, "upstream|upstream_v1|physical", "",
     "factor of shear: as homodyne 2 and xpcsjax, as homodyne 1 (shear rates smaller by pi), or as "
     "the papers derive it"},
    {"keep_t0", TESS_PARAM_FLAG, FIELD(keep_t0), 0, 0, 1, NULL, "",
     "keep the frame at time zero, with its time floored at half a step"},
    {"compat_eps", TESS_PARAM_FLAG, FIELD(compat_eps), 0, 0, 1, NULL, "",
     "round integrals off with the 1e-12 that the original adds"},
    {"dt", TESS_PARAM_REAL, FIELD(dt_s), 0, 0, 1e9, NULL, "s",
     "time between frames of the correlation; 0 takes the file's"},
    {"gap", TESS_PARAM_REAL, FIELD(gap_angstrom), 0, 0, 1e12, NULL, "Å",
     "gap between stator and rotor; needed for laminar_flow"},
};
#undef CONFIG

static const tess_param_table model_table = {"xpcs.model", model_params,
                                             sizeof model_params / sizeof *model_params};

const tess_param_table *tess_xpcs_model_params(void)
{
    return &model_table;
}

void tess_xpcs_model_init(tess_xpcs_model *model, size_t struct_size)
{
    tess_xpcs_model defaults = {0};
    tess_params_defaults(&model_table, &defaults);
    tess_struct_init(model, struct_size, &defaults, sizeof defaults);
}

#define CONFIG tess_xpcs_data_config
static const tess_param data_params[] = {
    {"start_frame", TESS_PARAM_INT, FIELD(start_frame), 1, 1, 1e9, NULL, "frames",
     "first frame to take, counted from 1"},
    {"end_frame", TESS_PARAM_INT, FIELD(end_frame), -1, -1, 1e9, NULL, "frames",
     "last frame to take, inclusive; -1 for the last of the file"},
    {"q", TESS_PARAM_REAL, FIELD(q), 0.0054, 0, 1e3, NULL, "1/Å",
     "scattering vector; the nearest bin of the file is taken"},
    {"q_max_deviation", TESS_PARAM_REAL, FIELD(q_max_deviation), 0.05, 0, 1e9, NULL, "",
     "largest relative distance of that bin"},
    {"q_tolerance", TESS_PARAM_REAL, FIELD(q_tolerance), -1, -1, 1e3, NULL, "",
     "bins within this fraction of q belong to the same ring; -1 takes 0.1 for APS legacy files "
     "and 0 for others"},
    {"min_angles", TESS_PARAM_INT, FIELD(min_angles), 1, 1, 1e9, NULL, "angles",
     "fewer angles after selection are an error"},
    {"exclude_lags", TESS_PARAM_INT, FIELD(exclude_lags), 1, 1, 1e9, NULL, "frames",
     "pairs of frames closer than this are left out; 1 leaves out the diagonal alone"},
    {"fallback_all", TESS_PARAM_FLAG, FIELD(fallback_all), 0, 0, 1, NULL, "",
     "take all angles where no range of angles matches, as the original does"},
    {"lenient", TESS_PARAM_FLAG, FIELD(lenient), 0, 0, 1, NULL, "",
     "clamp frames that the file does not have instead of stopping, and take unknown keys of a "
     "configuration as warnings"},
};
#undef CONFIG

static const tess_param_table data_table = {"xpcs.data", data_params,
                                            sizeof data_params / sizeof *data_params};

const tess_param_table *tess_xpcs_data_params(void)
{
    return &data_table;
}

void tess_xpcs_data_config_init(tess_xpcs_data_config *config, size_t struct_size)
{
    tess_xpcs_data_config defaults = {0};
    tess_params_defaults(&data_table, &defaults);
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

#define CONFIG tess_xpcs_fit_config
static const tess_param fit_params[] = {
    {"scaling", TESS_PARAM_CHOICE, FIELD(scaling), 0, 0, 5,
     "individual|averaged|constant|constant_averaged|fourier|auto", "",
     "contrast and offset: free for every angle, one pair, fixed by quantiles, fixed by their "
     "mean, a Fourier series in phi, or averaged from constant_scaling_threshold angles on"},
    {"loss", TESS_PARAM_CHOICE, FIELD(loss), 0, 0, 4, "linear|soft_l1|huber|cauchy|arctan", "",
     "what large residuals count"},
    {"f_scale", TESS_PARAM_REAL, FIELD(f_scale), 1, 1e-12, 1e12, NULL, "sigma",
     "residual from which a robust loss bends"},
    {"sigma_mode", TESS_PARAM_CHOICE, FIELD(sigma_mode), 0, 0, 3,
     "constant|estimate|per_lag|dataset", "",
     "standard deviation of a point: the same for all, estimated per angle, per angle and lag, or "
     "from the file"},
    {"sigma", TESS_PARAM_REAL, FIELD(sigma), 0.01, 1e-300, 1e300, NULL, "",
     "standard deviation where it is constant"},
    {"counting", TESS_PARAM_CHOICE, FIELD(counting), 0, 0, 1, "half|full", "",
     "count each measurement once, or twice as the original does (errors too small by sqrt 2)"},
    {"precision", TESS_PARAM_CHOICE, FIELD(precision), 0, 0, 1, "f64|mixed", "",
     "double precision throughout, or single precision elements until the last iterations"},
    {"strategy", TESS_PARAM_CHOICE, FIELD(strategy), 0, 0, 4,
     "auto|standard|large|chunked|streaming", "",
     "where the data lie and how much is worked on at a time; changes no bit of the result"},
    {"uncertainty", TESS_PARAM_CHOICE, FIELD(uncertainty), 3, 0, 3,
     "covariance|block_bootstrap|profile|auto", "",
     "95 % intervals: straight from the covariance; likewise, with errors from refits to resampled "
     "blocks of frames besides; where chi2 has risen by 3.84, all else at its best; or that where "
     "straight ones would be off by a tenth"},
    {"noise", TESS_PARAM_CHOICE, FIELD(noise), 0, 0, 1, "independent|frames", "",
     "errors for points whose noise is independent, or for photons of speckle as an experiment has "
     "them, where points that share a frame have not"},
    {"absolute_sigma", TESS_PARAM_FLAG, FIELD(absolute_sigma), 0, 0, 1, NULL, "",
     "take sigma as it is instead of scaling errors by reduced chi2"},
    {"compat_xtol", TESS_PARAM_FLAG, FIELD(compat_xtol), 0, 0, 1, NULL, "",
     "measure steps by the plain norm of the parameters as scipy and the original do"},
    {"shear_weights", TESS_PARAM_FLAG, FIELD(shear_weights), 0, 0, 1, NULL, "",
     "weigh angles by m + (1 - m) abs(cos(phi0 - phi))^p, phi0 that of the start"},
    {"shear_min_weight", TESS_PARAM_REAL, FIELD(shear_min_weight), 0.3, 0, 1, NULL, "",
     "m of shear_weights: what an angle across the flow weighs"},
    {"shear_exponent", TESS_PARAM_REAL, FIELD(shear_exponent), 1, 0, 1000, NULL, "",
     "p of shear_weights"},
    {"shear_normalize", TESS_PARAM_FLAG, FIELD(shear_normalize), 1, 0, 1, NULL, "",
     "let shear_weights be 1 on average"},
    {"fast", TESS_PARAM_FLAG, FIELD(fast), 0, 0, 1, NULL, "",
     "no progress, no numeric checks between passes, no checkpoints"},
    {"ftol", TESS_PARAM_REAL, FIELD(ftol), 1e-8, 0, 1, NULL, "",
     "stop when the cost falls by less than this fraction"},
    {"xtol", TESS_PARAM_REAL, FIELD(xtol), 1e-8, 0, 1, NULL, "",
     "stop when a step is smaller than this fraction"},
    {"gtol", TESS_PARAM_REAL, FIELD(gtol), 1e-8, 0, 1e300, NULL, "",
     "stop when the gradient is smaller than this"},
    {"max_nfev", TESS_PARAM_INT, FIELD(max_nfev), 0, 0, 1e9, NULL, "",
     "most evaluations; 0 allows 100 per free parameter"},
    {"fourier_order", TESS_PARAM_INT, FIELD(fourier_order), 2, 0, 16, NULL, "",
     "order of the series of fourier scaling"},
    {"constant_scaling_threshold", TESS_PARAM_INT, FIELD(constant_scaling_threshold), 3, 1, 1e6,
     NULL, "angles", "angles from which auto scaling is averaged"},
    {"n_start", TESS_PARAM_INT, FIELD(n_start), 0, 0, 100000, NULL, "",
     "starting points: 0 searches for all minima on part of the data, 1 takes one start and no "
     "other, more fit so many to all of the data"},
    {"screen_keep", TESS_PARAM_REAL, FIELD(screen_keep), 0.5, 0, 1, NULL, "",
     "share of starting points, the best ones, that are fitted to the end"},
    {"refine_top", TESS_PARAM_INT, FIELD(refine_top), 3, 1, 1000, NULL, "",
     "best minima that are refined with tight tolerances"},
    {"degeneracy_threshold", TESS_PARAM_REAL, FIELD(degeneracy_threshold), 0.1, 0, 1e6, NULL, "",
     "minima whose chi2 is within this fraction of the best are reported as alternatives"},
    {"n_bootstrap", TESS_PARAM_INT, FIELD(n_bootstrap), 100, 2, 1000000, NULL, "",
     "refits of the block bootstrap"},
    {"block_frames", TESS_PARAM_INT, FIELD(block_frames), 0, 0, 1e9, NULL, "frames",
     "length of the bootstrap's blocks; 0 takes a twentieth of the frames"},
    {"seed", TESS_PARAM_INT, FIELD(seed), 42, 0, 4294967295.0, NULL, "",
     "seed of starting points and bootstrap"},
    {"chunk_tiles", TESS_PARAM_INT, FIELD(chunk_tiles), 0, 0, 1e9, NULL, "tiles",
     "tiles worked on at a time; 0 chooses; changes no bit of the result"},
    {"chi2_threshold", TESS_PARAM_REAL, FIELD(chi2_threshold), 10, 0, 1e300, NULL, "",
     "reduced chi2 above which a warning is given"},
    {"checkpoint_iterations", TESS_PARAM_INT, FIELD(checkpoint_iterations), 10, 1, 1e9, NULL, "",
     "accepted iterations between checkpoints, if time has not asked for one before"},
    {"min_success_rate", TESS_PARAM_REAL, FIELD(min_success_rate), 0.5, 0, 1, NULL, "",
     "least share of points that must be readable where bad chunks are masked"},
    {"max_retries", TESS_PARAM_INT, FIELD(max_retries), 2, 0, 1000, NULL, "",
     "how often a failing read is tried again"},
    {"bad_chunk", TESS_PARAM_CHOICE, FIELD(bad_chunk), 0, 0, 1, "error|mask", "",
     "stop at data that cannot be read, or go on without them"},
};
#undef CONFIG

static const tess_param_table fit_table = {"xpcs.fit", fit_params,
                                           sizeof fit_params / sizeof *fit_params};

const tess_param_table *tess_xpcs_fit_params(void)
{
    return &fit_table;
}

void tess_xpcs_fit_config_init(tess_xpcs_fit_config *config, size_t struct_size)
{
    tess_xpcs_fit_config defaults = {0};
    tess_params_defaults(&fit_table, &defaults);
    for (int32_t which = 0; which < 2; which++) {
        defaults.scaling_lower[which] = tess_xpcs_scaling_param(which)->lower;
        defaults.scaling_upper[which] = tess_xpcs_scaling_param(which)->upper;
    }
    defaults.checkpoint_every_s = 60;
    defaults.keep_checkpoints = 3;
    defaults.shear_phi0 = (double)NAN;
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}

#define CONFIG tess_xpcs_simulation
static const tess_param simulation_params[] = {
    {"dtype", TESS_PARAM_CHOICE, FIELD(dtype), 0, 0, 1, "f32|f64", "", "element type of c2"},
    {"n_angle", TESS_PARAM_INT, FIELD(n_angle), 8, 1, 100000, NULL, "angles", "matrices"},
    {"n_frame", TESS_PARAM_INT, FIELD(n_frame), 200, 4, 200000, NULL, "frames",
     "frames of a matrix, the one at time zero included"},
    {"q", TESS_PARAM_REAL, FIELD(q), 0.0054, 1e-9, 1e3, NULL, "1/Å", "scattering vector"},
    {"sigma", TESS_PARAM_REAL, FIELD(sigma), 0.01, 0, 1e3, NULL, "", "noise of a point"},
    {"contrast", TESS_PARAM_REAL, FIELD(contrast), 0.3, 0, 1, NULL, "", "contrast of every angle"},
    {"offset", TESS_PARAM_REAL, FIELD(offset), 1, 0, 10, NULL, "", "offset of every angle"},
    {"contrast_scatter", TESS_PARAM_REAL, FIELD(contrast_scatter), 0, 0, 1, NULL, "",
     "relative spread of the contrasts between angles"},
    {"offset_scatter", TESS_PARAM_REAL, FIELD(offset_scatter), 0, 0, 1, NULL, "",
     "spread of the offsets between angles"},
    {"spike", TESS_PARAM_REAL, FIELD(spike), 0.5, -10, 10, NULL, "",
     "what the diagonal of a file has above contrast + offset"},
    {"nan_fraction", TESS_PARAM_REAL, FIELD(nan_fraction), 0, 0, 1, NULL, "",
     "share of points that are NaN"},
    {"seed", TESS_PARAM_INT, FIELD(seed), 42, 0, 8388607, NULL, "", "seed of the noise"},
    {"speckle", TESS_PARAM_FLAG, FIELD(speckle), 0, 0, 1, NULL, "",
     "correlate photon counts of speckle patterns, as an experiment does, instead of adding noise"},
    {"photons", TESS_PARAM_REAL, FIELD(photons), 0.1, 1e-6, 20, NULL, "photons",
     "mean of a pixel and frame; speckle only"},
    {"n_pixel", TESS_PARAM_INT, FIELD(n_pixel), 5000, 10, 10000000, NULL, "pixels",
     "pixels of an angle; speckle only"},
};
#undef CONFIG

static const tess_param_table simulation_table = {
    "xpcs.simulate", simulation_params, sizeof simulation_params / sizeof *simulation_params};

const tess_param_table *tess_xpcs_simulation_params(void)
{
    return &simulation_table;
}

void tess_xpcs_simulation_init(tess_xpcs_simulation *simulation, size_t struct_size)
{
    tess_xpcs_simulation defaults = {0};
    tess_params_defaults(&simulation_table, &defaults);
    tess_xpcs_model_init(&defaults.model, sizeof defaults.model);
    defaults.model.dt_s = 0.1;
    defaults.model.gap_angstrom = 2e6;
    tess_struct_init(simulation, struct_size, &defaults, sizeof defaults);
}

#define CONFIG tess_xpcs_sample_config
static const tess_param sample_params[] = {
    {"priors", TESS_PARAM_CHOICE, FIELD(priors), 0, 0, 1, "wide|upstream", "",
     "priors of the physical parameters: so wide that the data decide, or the original's"},
    {"n_chain", TESS_PARAM_INT, FIELD(n_chain), 4, 1, 1024, NULL, "chains", "chains"},
    {"n_warmup", TESS_PARAM_INT, FIELD(n_warmup), 500, 0, 1e9, NULL, "draws",
     "draws of each chain that learn the steps and are thrown away"},
    {"n_draw", TESS_PARAM_INT, FIELD(n_draw), 1500, 1, 1e9, NULL, "draws", "draws of each chain"},
    {"seed", TESS_PARAM_INT, FIELD(seed), 42, 0, 8388607, NULL, "", "seed of all chains"},
    {"max_depth", TESS_PARAM_INT, FIELD(max_depth), 10, 1, TESS_XPCS_MAX_DEPTH, NULL, "",
     "doublings of a path at most"},
    {"target_accept", TESS_PARAM_REAL, FIELD(target_accept), 0.85, 0.1, 0.999, NULL, "",
     "acceptance that the steps are made for"},
    {"noise_scale", TESS_PARAM_REAL, FIELD(noise_scale), 0, 0, 1e9, NULL, "",
     "noise of a point, of which 1.5 times is the scale of its prior; 0 estimates it"},
    {"method", TESS_PARAM_CHOICE, FIELD(method), 0, 0, 2, "nuts|laplace|consensus", "",
     "draws by NUTS; at once by importance from a normal at the maximum; or by NUTS from n_shard "
     "parts of the data, combined"},
    {"coords", TESS_PARAM_CHOICE, FIELD(coords), 0, 0, 1, "logit|upstream", "",
     "coordinates of the sampler; the original's have priors of their own"},
    {"surrogate", TESS_PARAM_CHOICE, FIELD(surrogate), 0, 0, 2, "auto|off|on", "",
     "draws are proposed by a polynomial that the warm-up fitted, and accepted by all data: exact, "
     "one evaluation each; auto: where it is near enough"},
    {"modes", TESS_PARAM_FLAG, FIELD(modes), 1, 0, 1, NULL, "",
     "look for hills of the posterior at the other minima of the fit, and weigh them by jumps"},
    {"fit_priors", TESS_PARAM_FLAG, FIELD(fit_priors), 0, 0, 1, NULL, "",
     "priors around the fit, as use_nlsq_informed_priors: the data then count twice"},
    {"prior_width", TESS_PARAM_REAL, FIELD(prior_width), 2, 1e-3, 1e6, NULL, "sd",
     "width of fit_priors in standard deviations of the fit"},
    {"temper", TESS_PARAM_REAL, FIELD(temper), 0, 0, 1e9, NULL, "",
     "priors are taken to the power 1 / temper; 0: the number of shards"},
    {"shard", TESS_PARAM_INT, FIELD(shard), 0, 0, 1e9, NULL, "",
     "part of the data to sample, from 1 to n_shard; 0: all"},
    {"n_shard", TESS_PARAM_INT, FIELD(n_shard), 0, 0, 1e9, NULL, "shards", "parts of the data"},
    {"shard_strategy", TESS_PARAM_CHOICE, FIELD(shard_strategy), 0, 0, 2,
     "random|stratified|contiguous", "",
     "which points a shard gets: by lot, dealt out at every angle, or neighbouring rows"},
    {"shard_seed", TESS_PARAM_INT, FIELD(shard_seed), 42, 0, 8388607, NULL, "",
     "seed of random shards"},
    {"max_attempt", TESS_PARAM_INT, FIELD(max_attempt), 3, 1, 10, NULL, "attempts",
     "runs at most, while more than 5 % of the paths diverge, each with a target_accept 0.05 "
     "higher"},
    {"scaling", TESS_PARAM_CHOICE, FIELD(scaling), 0, 0, 5,
     "fit|individual|averaged|constant|constant_averaged|auto", "",
     "contrast and offset: as in the fit, a pair for every angle, one pair for all, known by every "
     "angle or in the mean, or averaged from constant_scaling_threshold angles on"},
    {"combination", TESS_PARAM_CHOICE, FIELD(combination), 0, 0, 1,
     "consensus_mc|robust_consensus_mc", "",
     "shards are combined by full covariances, or as the original's default, every parameter by "
     "itself"},
    {"shard_points", TESS_PARAM_INT, FIELD(shard_points), 0, 0, 1e15, NULL, "points",
     "points of a shard at most, where n_shard is 0; 0: as the original chooses"},
    {"max_rhat", TESS_PARAM_REAL, FIELD(max_rhat), 1.1, 1, 1e9, NULL, "",
     "R-hat above which a shard is dropped"},
    {"min_ess", TESS_PARAM_REAL, FIELD(min_ess), 100, 0, 1e9, NULL, "draws",
     "effective draws below which a shard is dropped"},
    {"max_divergence", TESS_PARAM_REAL, FIELD(max_divergence), 0.1, 0, 1, NULL, "",
     "share of diverged paths above which a shard is dropped"},
    {"min_success", TESS_PARAM_REAL, FIELD(min_success), 0.8, 0, 1, NULL, "",
     "share of shards that must be left: a warning below it, an error below half of it"},
    {"max_cv", TESS_PARAM_REAL, FIELD(max_cv), 10, 0, 1e300, NULL, "",
     "distance of the shards from each other in their errors above which they have no consensus"},
};
#undef CONFIG

static const tess_param_table sample_table = {"xpcs.sample", sample_params,
                                              sizeof sample_params / sizeof *sample_params};

const tess_param_table *tess_xpcs_sample_params(void)
{
    return &sample_table;
}

void tess_xpcs_sample_config_init(tess_xpcs_sample_config *config, size_t struct_size)
{
    tess_xpcs_sample_config defaults = {0};
    tess_params_defaults(&sample_table, &defaults);
    defaults.contrast_prior[0] = tess_xpcs_scaling_param(0)->prior_mean;
    defaults.contrast_prior[1] = tess_xpcs_scaling_param(0)->prior_sd;
    defaults.offset_prior[0] = tess_xpcs_scaling_param(1)->prior_mean;
    defaults.offset_prior[1] = tess_xpcs_scaling_param(1)->prior_sd;
    defaults.checkpoint_every_s = 60;
    defaults.keep_checkpoints = 3;
    tess_struct_init(config, struct_size, &defaults, sizeof defaults);
}
