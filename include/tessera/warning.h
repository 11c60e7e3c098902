/**
 * Warnings: what may be wrong with a result that was computed all the same.
 *
 * Each has an id that does not change from release to release. A line that the log gets at
 * TESS_LOG_WARNING, and each line of a result's warnings, ends in its id in brackets:
 *
 *     at row 12 (t = 0.024000) no state can explain the spikes: ... [decode.no-state]
 */
#ifndef TESSERA_WARNING_H
#define TESSERA_WARNING_H

#include "tessera/base.h"

TESS_BEGIN_DECLS

/** X(name, id, what it says, remedy) */
#define TESS_WARNING_LIST(X)                                                                       \
    X(TESS_W_RUN_THREADS, "run.threads", "fewer threads could be started than asked for",          \
      "raise the limit of processes (ulimit -u), or ask for fewer with --threads")                 \
    X(TESS_W_RUN_TRACE, "run.trace", "the trace could not be written",                             \
      "give --trace a place that can be written")                                                  \
    X(TESS_W_RUN_CHECKPOINT_UNUSED, "run.checkpoint-unused",                                       \
      "a checkpoint was damaged or of another run; an older one was taken, or none",               \
      "look at the disk; the result is not affected, only time was lost")                          \
    X(TESS_W_RUN_CHECKPOINT_NONE, "run.checkpoint-none",                                           \
      "a checkpoint was asked for by signal, and the run keeps none",                              \
      "name a folder with --checkpoint")                                                           \
    X(TESS_W_RUN_CHECKPOINT_FAILED, "run.checkpoint-failed",                                       \
      "a checkpoint could not be written; the previous one stands", "make room on the disk")       \
    X(TESS_W_RUN_CHECKPOINT_LEFT, "run.checkpoint-left",                                           \
      "what a finished run kept could not be removed", "remove the folder by hand")                \
    X(TESS_W_INPUT_TRUNCATED, "input.truncated",                                                   \
      "the file ends too early and its whole part was used (--allow-truncated)",                   \
      "copy the file again")                                                                       \
    X(TESS_W_CONFIG_VALUE, "config.value",                                                         \
      "PyYAML would read a value of the configuration otherwise",                                  \
      "write the value as the message says")                                                       \
    X(TESS_W_AUTOREJECT_POSITION, "autoreject.position",                                           \
      "an electrode lies at the origin, as if its position were not known",                        \
      "give --montage, or mark it with --bads")                                                    \
    X(TESS_W_AUTOREJECT_BAD_CHANNEL, "autoreject.bad-in-most-epochs",                              \
      "a channel is bad in more than half of the epochs",                                          \
      "mark it bad before the fit with --bads")                                                    \
    X(TESS_W_AUTOREJECT_FEW_CHANNELS, "autoreject.few-channels",                                   \
      "epochs are marked bad because too few channels are left to repair the others from",         \
      "pick more channels, or lower --n-interpolate")                                              \
    X(TESS_W_AUTOREJECT_LEFT_OUT, "autoreject.left-out-of-search",                                 \
      "epochs were left out of the search because too few channels were left",                     \
      "pick more channels, or lower --n-interpolate")                                              \
    X(TESS_W_AUTOREJECT_SAMPLES, "autoreject.other-samples",                                       \
      "the model was fitted to epochs of another length or sampling rate",                         \
      "give --tmin, --tmax and the others as for the fit")                                         \
    X(TESS_W_AUTOREJECT_OTHER_EPOCHS, "autoreject.other-epochs",                                   \
      "the reject log was made of another file", "check that log and epochs belong together")      \
    X(TESS_W_AUTOREJECT_EVENTS, "autoreject.events-left-out",                                      \
      "events that give no epoch of their own were left out",                                      \
      "choose events with --event, or check the recording")                                        \
    X(TESS_W_AUTOREJECT_SKIPPED, "autoreject.skipped",                                             \
      "a value of n_interpolate cannot be tried with so few channels", "give --n-interpolate")     \
    X(TESS_W_AUTOREJECT_FLAT, "autoreject.flat", "a channel is flat, in all or in some epochs",    \
      "mark it with --bads; by peak-to-peak flat channels are good")                               \
    X(TESS_W_AUTOREJECT_SAME_PLACE, "autoreject.same-place", "channels have the same position",    \
      "check the montage")                                                                         \
    X(TESS_W_AUTOREJECT_UNIT, "autoreject.unit",                                                   \
      "a channel's unit is not known, or its values are far from volts", "check the unit")         \
    X(TESS_W_AUTOREJECT_SCALE, "autoreject.scale",                                                 \
      "the file's calibration makes no sense and something was assumed", "check the file")         \
    X(TESS_W_AUTOREJECT_CHANNELS, "autoreject.channels-left-out",                                  \
      "channels of another sampling rate were left out", "resample them before")                   \
    X(TESS_W_AUTOREJECT_TABLE, "autoreject.table",                                                 \
      "channels.tsv names channels that the recording has not, has no row of some, or says a "     \
      "type or status in a word that means nothing",                                               \
      "correct its names, rows and words: what they say of these channels was not taken")          \
    X(TESS_W_AUTOREJECT_PROJECTORS, "autoreject.projectors",                                       \
      "projectors of the file are not applied to the samples", "apply them in MNE first")          \
    X(TESS_W_DECODE_FLOOR, "decode.floor",                                                         \
      "many values lie on the absolute floor, where spikes say nothing of position",               \
      "use --floor relative:16")                                                                   \
    X(TESS_W_DECODE_NO_STATE, "decode.no-state",                                                   \
      "no state can explain the spikes of a row; all later rows are zero",                         \
      "use --floor relative:16, or check the spikes there")                                        \
    X(TESS_W_DECODE_OUTSIDE, "decode.outside", "decoded times lie outside of the position's",      \
      "decode a shorter stretch, or record position throughout")                                   \
    X(TESS_W_DECODE_UNIT, "decode.unit",                                                           \
      "a file names a unit that is not known; values are taken as cm or uV",                       \
      "write the unit as m, cm or mm, V, mV or uV")                                                \
    X(TESS_W_DECODE_ELECTRODES, "decode.electrodes",                                               \
      "electrodes that the model does not know are left out",                                      \
      "fit the model to a recording that has them")                                                \
    X(TESS_W_DECODE_SCALE, "decode.scale",                                                         \
      "positions or marks are small beside the bandwidths, as in other units",                     \
      "give positions in cm and marks in uV, or other bandwidths")                                 \
    X(TESS_W_DECODE_UNTRACKED, "decode.untracked",                                                 \
      "time bins without a position are decoded without their spikes",                             \
      "interpolate the position there, or choose a model that needs none")                         \
    X(TESS_W_DECODE_BIN_WIDTH, "decode.bin-width",                                                 \
      "bins and position samples are of different width, which scales expected counts",            \
      "use --bin-scale 0, or the same grid for both")                                              \
    X(TESS_W_DECODE_ELECTRODE, "decode.electrode",                                                 \
      "an electrode without encoding spikes was left out",                                         \
      "check the electrode, or train on more data")                                                \
    X(TESS_W_DECODE_NO_ELECTRODES, "decode.no-electrodes",                                         \
      "there are no electrodes; the likelihood is the same everywhere", "check the recording")     \
    X(TESS_W_DECODE_POSITION_NAN, "decode.position-nan",                                           \
      "samples of the position are NaN and not used", "interpolate the position if they are many") \
    X(TESS_W_DECODE_CLOCK, "decode.clock",                                                         \
      "no spike of an electrode lies within the times of the position or the bins",                \
      "check the clocks of spikes and position")                                                   \
    X(TESS_W_DECODE_UNSORTED, "decode.unsorted", "spike times were not sorted and have been",      \
      "sort them in the file")                                                                     \
    X(TESS_W_DECODE_DISCARDED, "decode.discarded",                                                 \
      "spikes with a time or feature that is not finite were left out", "check the recording")     \
    X(TESS_W_DECODE_GLM, "decode.glm", "the regression of a unit did not converge",                \
      "raise --glm-penalty, or leave the unit out")                                                \
    X(TESS_W_DECODE_EM, "decode.em", "transition rows could not be improved and stay as they are", \
      "use more data, or fewer states")                                                            \
    X(TESS_W_DECODE_TUNE_EDGE, "decode.tune-edge", "the best bandwidth is the last one tried",     \
      "start from there, as the message says")                                                     \
    X(TESS_W_DECODE_EMPTY_INTERVAL, "decode.empty-interval",                                       \
      "no time bin begins in an interval, and nothing of it is decoded",                           \
      "check the clock of the intervals, or leave out those outside of the recording")             \
    X(TESS_W_XPCS_UNIT, "xpcs.unit", "a value of the file is far from what its unit makes likely", \
      "check the unit")                                                                            \
    X(TESS_W_XPCS_READ_AGAIN, "xpcs.read-again", "reading failed and was tried again",             \
      "look at the disk or the network")                                                           \
    X(TESS_W_XPCS_LEFT_OUT, "xpcs.left-out", "points of a damaged file were left out",             \
      "copy the file again")                                                                       \
    X(TESS_W_XPCS_START, "xpcs.start", "a start was moved",                                        \
      "change the start, or widen the bounds")                                                     \
    X(TESS_W_XPCS_SIGMA, "xpcs.sigma",                                                             \
      "sigma is a default or not that of the data, so that chi2 means little",                     \
      "use --sigma-mode estimate or dataset")                                                      \
    X(TESS_W_XPCS_CHI2, "xpcs.chi2", "reduced chi2 is far from one",                               \
      "look at the residuals, try --n-start or another mode")                                      \
    X(TESS_W_XPCS_COUNTING, "xpcs.counting",                                                       \
      "every measurement is counted twice, errors are too small", "use --counting half")           \
    X(TESS_W_XPCS_BOUND, "xpcs.bound", "a parameter, contrast or offset is at its bound",          \
      "widen the bound, or fix the parameter")                                                     \
    X(TESS_W_XPCS_UNIDENTIFIED, "xpcs.unidentified", "the data do not determine a parameter",      \
      "fix it, or what it is degenerate with")                                                     \
    X(TESS_W_XPCS_INSIGNIFICANT, "xpcs.insignificant", "a parameter cannot be told from zero",     \
      "consider fixing it with --fix")                                                             \
    X(TESS_W_XPCS_CORRELATED, "xpcs.correlated", "parameters can hardly be told apart",            \
      "fix one of them")                                                                           \
    X(TESS_W_XPCS_IMPLAUSIBLE, "xpcs.implausible",                                                 \
      "a parameter, contrast or offset is outside of what is usual or physical",                   \
      "check q, dt, gap, angles and normalisation")                                                \
    X(TESS_W_XPCS_NO_SHEAR, "xpcs.no-shear", "shear collapsed, or cannot be seen at these angles", \
      "use a static mode, other angles, or --n-start")                                             \
    X(TESS_W_XPCS_NO_SIGNAL, "xpcs.no-signal", "no signal, in all or some angles, or a weak one",  \
      "drop these angles, or use shorter frames")                                                  \
    X(TESS_W_XPCS_OTHER_MINIMUM, "xpcs.other-minimum",                                             \
      "another minimum fits about as well, or starts ended apart",                                 \
      "look at both, fix what differs, or raise --n-start")                                        \
    X(TESS_W_XPCS_ERRORS, "xpcs.errors",                                                           \
      "errors are not straight, or could not be followed to the end",                              \
      "quote the 95 % intervals; use longer blocks (--block-frames) in a bootstrap")               \
    X(TESS_W_XPCS_NOT_CONVERGED, "xpcs.not-converged", "the fit did not converge",                 \
      "raise --max-nfev, or change the start")                                                     \
    X(TESS_W_XPCS_R_HAT, "xpcs.r-hat", "chains have not come to the same, or there is one only",   \
      "draw more (--n-samples), warm up longer (--n-warmup), use 4 chains")                        \
    X(TESS_W_XPCS_ESS, "xpcs.ess", "there are few independent draws", "draw more (--n-samples)")   \
    X(TESS_W_XPCS_DIVERGENCES, "xpcs.divergences", "paths of the sampler had to be broken off",    \
      "raise target_accept_prob")                                                                  \
    X(TESS_W_XPCS_TREE_DEPTH, "xpcs.tree-depth", "paths of the sampler were as long as allowed",   \
      "raise max_tree_depth, or warm up longer")                                                   \
    X(TESS_W_XPCS_ENERGY, "xpcs.energy", "the sampler explores the tails too slowly (E-BFMI)",     \
      "warm up longer, or fix what the data do not tell")                                          \
    X(TESS_W_XPCS_TWO_MODES, "xpcs.two-modes", "a parameter has two modes",                        \
      "look at the pair plot, and fix what differs")                                               \
    X(TESS_W_XPCS_PRIOR, "xpcs.prior", "the data tell little of a parameter beyond its prior",     \
      "fix it, or check the prior")                                                                \
    X(TESS_W_XPCS_FAR_FROM_FIT, "xpcs.far-from-fit", "the posterior is far from the fit",          \
      "look at the prior, or try --n-start")                                                       \
    X(TESS_W_XPCS_OUTSIDE, "xpcs.outside", "contrasts or offsets were drawn outside their bounds", \
      "widen the bounds")

typedef enum tess_warning {
#define TESS_WARNING_ENUM(name, id, text, remedy) name,
    TESS_WARNING_LIST(TESS_WARNING_ENUM)
#undef TESS_WARNING_ENUM
} tess_warning;

typedef struct tess_warning_info {
    const char *id;
    const char *text;   /* a phrase: no full stop */
    const char *remedy; /* the same */
} tess_warning_info;

/** All of them, in the order of the enum. Static. */
TESS_API const tess_warning_info *tess_warnings(int64_t *n_warning);

/** The warning whose id ends the line, or NULL. *length is that of the text before it. */
TESS_API const tess_warning_info *tess_warning_of_line(const char *line, size_t *length);

TESS_END_DECLS

#endif
