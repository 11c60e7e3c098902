// Configurations that are wrong: which message each gets. And the odd ones that are right.
#include "tess_features.h"
#include "tessera/device.h"
#include "tessera/xpcs.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tess_context *ctx;

static const char *write_config(const char *text)
{
    const char *path = unit_path("run.yaml");
    unit_write_file(path, text, strlen(text));
    return path;
}

static tess_status load_text(const char *text, int lenient, tess_xpcs_settings **out)
{
    return tess_xpcs_settings_load(ctx, write_config(text), lenient, out);
}

// What a file gets: the message without the folder of the file, word for word.
typedef struct wrong {
    const char *text;
    const char *message;
} wrong;

#define STATIC "analysis_mode: static\n"

static const wrong unknown[] = {
    {STATIC "optimization:\n  nlsq:\n    tolerence: 1.0e-8\n",
     "run.yaml:4:5: unknown key 'optimization.nlsq.tolerence'; did you mean 'tolerance'?"},
    {"analysis_mod: static\n",
     "run.yaml:1:1: unknown key 'analysis_mod'; did you mean 'analysis_mode'?"},
    {STATIC "optimisation:\n  nlsq: {}\n",
     "run.yaml:2:1: unknown key 'optimisation'; did you mean 'optimization'?"},
    {STATIC "analyzer_parameters: {wavevector_q: 0.01}\n",
     "run.yaml:2:23: unknown key 'analyzer_parameters.wavevector_q'; did you mean "
     "'analyzer_parameters.scattering.wavevector_q'?"},
    {STATIC "plotting: {colour: red}\n",
     "run.yaml:2:12: unknown key 'plotting.colour'; known keys here are: save_plots, format, dpi, "
     "show_plots, style, preview_mode, fit_surface, color_scale, datashader, matplotlib, "
     "correlation_function, fit_quality, parameter_distributions, residual_analysis, "
     "angle_coverage, angle_correlation, shear_rate_evolution, flow_direction_analysis, "
     "parameter_correlations, angle_dependence, time_evolution"},
    {STATIC "phi_filtering:\n  target_ranges:\n    - {min_angel: 1, max_angle: 2}\n",
     "run.yaml:4:8: unknown key 'phi_filtering.target_ranges[0].min_angel'; did you mean "
     "'min_angle'?"},
    {STATIC "\"optimization.nlsq.loss\": linear\n",
     "run.yaml:2:1: unknown key 'optimization.nlsq.loss'; known keys here are: "},
    {STATIC "base: &b {loss: linear}\noptimization: {nlsq: {<<: *b}}\n",
     "run.yaml:2:1: unknown key 'base'"},
    {STATIC "\"co\\e[31mlour\": 1\n", "run.yaml:2:1: unknown key 'co?[31mlour'"},
    {STATIC "optimization: {nlsq: {loss: \"\\e]0;x\\a\"}}\n", "loss: '?]0;x?' does not exist"},
    {STATIC "optimization: {nlsq: {<<: {loss: huber}}}\n",
     "run.yaml:2:23: unknown key 'optimization.nlsq.<<'; merge keys are not read, write the keys "
     "out"},
};

static const wrong syntax[] = {
    {STATIC "analyzer_parameters:\n\tdt: 0.1\n",
     "run.yaml:3:1: found character that cannot start any token (while scanning for the next token "
     "that starts on line 3); indent with spaces, never with tabs"},
    {"analysis_mode: [static\n", "run.yaml:2:1: "},
    {STATIC "analysis_mode: laminar_flow\n",
     "run.yaml:2:1: 'analysis_mode' is given twice, first on line 1"},
    {STATIC "optimization:\n  nlsq:\n    loss: linear\n    loss: huber\n",
     "run.yaml:5:5: 'loss' is given twice, first on line 4"},
    {"- analysis_mode: static\n", "run.yaml:1:1: expected keys and values, found a list"},
    {"static\n", "run.yaml:1:1: expected keys and values, found one value"},
    {"a: 1\n---\nb: 2\n", "run.yaml:2:1: a second document"},
};

static const wrong values[] = {
    {"analysis_mode: laminar\n",
     "run.yaml:1:16: analysis_mode: 'laminar' does not exist; allowed is one of static_isotropic, "
     "static_anisotropic, static, laminar_flow"},
    {"analysis_mode: laminar_flw\n",
     "run.yaml:1:16: analysis_mode: 'laminar_flw' does not exist; did you mean 'laminar_flow'? "
     "allowed is one of static_isotropic, static_anisotropic, static, laminar_flow"},
    {"analysis_mode: Heterodyne\ninitial_parameters: {fixed_parameters: {phi0: 1}}\n",
     "'phi0' is no parameter; there are D0_ref, alpha_ref, D_offset_ref, D0_sample"},
    {"analysis_mode: null\n", "run.yaml:1:16: analysis_mode: expected a choice, found nothing"},
    {"analysis_mode: laminar_flow\n",
     "run.yaml:1:16: analysis_mode: laminar_flow needs "
     "analyzer_parameters.geometry.stator_rotor_gap, the gap in Å (200 µm are 2000000)"},
    {STATIC "analyzer_parameters: {geometry: {stator_rotor_gap: 200}}\n",
     "run.yaml:2:52: analyzer_parameters.geometry.stator_rotor_gap: 200 Å is no gap of a shear "
     "cell; the unit is Å: 200 µm are 2000000, allowed is 1e4 to 1e9 Å"},
    {STATIC "analyzer_parameters: {geometry: {stator_rotor_gap: 2e10}}\n",
     "2e10 Å is no gap of a shear cell"},
    {STATIC "analyzer_parameters: {dt: 0}\n",
     "run.yaml:2:27: analyzer_parameters.dt: 0 is out of range; allowed is above 0 s"},
    {STATIC "analyzer_parameters: {dt: -0.1}\n", "dt: -0.1 is out of range; allowed is above 0 s"},
    {STATIC "analyzer_parameters: {dt: .nan}\n",
     "analyzer_parameters.dt: '.nan' is not a finite number; allowed is above 0 s"},
    {STATIC "analyzer_parameters: {dt: .inf}\n", "'.inf' is not a finite number"},
    {STATIC "analyzer_parameters: {dt: fast}\n", "'fast' is not a finite number"},
    {STATIC "analyzer_parameters: {dt: [0.1]}\n",
     "run.yaml:2:27: analyzer_parameters.dt: expected a number (above 0 s), found a list"},
    {STATIC "analyzer_parameters: {start_frame: 1.5}\n",
     "analyzer_parameters.start_frame: '1.5' is not a whole number; allowed is 1 or more frames"},
    {STATIC "analyzer_parameters: {start_frame: 0}\n",
     "analyzer_parameters.start_frame: 0 is out of range; allowed is 1 or more frames"},
    {STATIC "analyzer_parameters: {start_frame: 10, end_frame: 5}\n",
     "run.yaml:2:51: analyzer_parameters.end_frame: 5 is not behind start_frame 10; frames count "
     "from 1, inclusive, and -1 is the last"},
    {STATIC "analyzer_parameters: {scattering: {wavevector_q: 0}}\n",
     "wavevector_q: 0 is out of range; allowed is above 0, up to 1000 1/Å"},
    {STATIC "phi_filtering: {enabled: maybe}\n",
     "run.yaml:2:26: phi_filtering.enabled: 'maybe' is neither true nor false"},
    {STATIC "phi_filtering: {target_ranges: 5}\n",
     "run.yaml:2:32: phi_filtering.target_ranges: expected a list of keys and values, found one "
     "value"},
    {STATIC "phi_filtering: {target_ranges: [{min_angle: 5}]}\n",
     "run.yaml:2:45: phi_filtering.target_ranges[0] has no max_angle"},
    {STATIC "phi_filtering: {target_ranges: [5]}\n", "phi_filtering.target_ranges[0]: expected"},
    {STATIC "optimization: {nlsq: {loss: soft}}\n",
     "optimization.nlsq.loss: 'soft' does not exist; allowed is one of linear, soft_l1, huber, "
     "cauchy, arctan"},
    {STATIC "optimization: 3\n",
     "run.yaml:2:15: optimization: expected keys and values below it, found one value"},
    {STATIC "performance: {strategy_override: steaming}\n",
     "performance.strategy_override: 'steaming' does not exist; did you mean 'streaming'? allowed "
     "is one of auto, standard, large, chunked, streaming"},
    {STATIC "model: {sigma: {value: 0}}\n",
     "model.sigma.value: 0 is out of range; allowed is above"},
    {STATIC "model: {sigma: 0.1}\n", "model.sigma: expected keys and values below it"},
    {STATIC "data_filtering: {enabled: true, q_range: {min: 0.006, max: 0.005}}\n",
     "data_filtering.q_range.max: 0.005 is not above min 0.006"},
    {STATIC "data_filtering: {enabled: true, frame_filtering: {stride: 2}}\n",
     "data_filtering.frame_filtering.stride: 2 would leave out data; remove it"},
    {STATIC "data_filtering: {combine_criteria: XOR}\n",
     "data_filtering.combine_criteria: 'XOR' does not exist"},
    {STATIC "preprocessing: {enabled: true}\n",
     "run.yaml:2:26: preprocessing.enabled: is done by Python's loader alone"},
    {STATIC "noise_estimation: {enabled: true}\n", "set model.sigma.mode to estimate"},
    {STATIC "quality_control: {enabled: true}\n",
     "quality_control.enabled: repairs are done by Python's loader alone"},
    {STATIC "optimization: {nlsq: {anti_degeneracy: {regularization: {enable: true}}}}\n",
     "per_angle_mode to averaged or fourier"},
    {STATIC "optimization: {nlsq: {anti_degeneracy: {shear_weighting: {alpha: 2.0}}}}\n",
     "shear_weighting.alpha: counts where angles are weighed; set "
     "optimization.nlsq.shear_weights to true"},
    {STATIC "optimization: {nlsq: {anti_degeneracy: {shear_weighting: {min_weight: 0.1}}}}\n",
     "shear_weighting.min_weight: counts where"},
    {STATIC "optimization: {nlsq: {anti_degeneracy: {shear_weighting: {normalize: false}}}}\n",
     "shear_weighting.normalize: counts where"},
    {STATIC "optimization: {nlsq: {anti_degeneracy: {shear_weighting: {initial_phi0: 0}}}}\n",
     "shear_weighting.initial_phi0: counts where"},
    {STATIC "optimization: {nlsq: {shear_weights: true, anti_degeneracy: {shear_weighting: "
            "{enable: false}}}}\n",
     "shear_weighting.enable: false contradicts optimization.nlsq.shear_weights"},
    {STATIC "optimization: {nlsq: {shear_weights: true, anti_degeneracy: {shear_weighting: "
            "{update_frequency: 50}}}}\n",
     "weights stay those of phi0 in initial_parameters"},
    {STATIC "optimization: {nlsq: {cmaes: {refine_with_nlsq: false}}}\n", "to the last digit"},
    {STATIC "optimization: {nlsq: {cmaes: {refinement_loss: huber}}}\n",
     "set optimization.nlsq.loss to huber"},
    {STATIC "optimization: {stratification: {force_sequential_fallback: true}}\n",
     "all angles are fitted together"},
    {STATIC "optimization: {nlsq: {multi_start: {sampling_strategy: random}}}\n",
     "set it to latin_hypercube"},
    {STATIC "optimization: {nlsq: {multi_start: {custom_starts: [[1, 2]]}}}\n",
     "run once for each other"},
    {STATIC "performance: {subsampling: {enabled: true}}\n", "no point is left out"},
    {STATIC "analyzer_parameters: {frame_step: 2}\n",
     "analyzer_parameters.frame_step: 2 would leave out frames"},
    {STATIC "experimental_data: {data_folder_path: ./x}\n",
     "experimental_data.data_folder_path: the folder alone names no file"},
    {STATIC "experimental_data: {cache_filename_template: ../x.npz}\n",
     "cache_filename_template: '../x.npz' is no name of a file"},
    {STATIC "experimental_data: {bad_frames: [1, x]}\n",
     "experimental_data.bad_frames: item 2: 'x' is not a whole number; allowed is 1 or more"},
    {STATIC "optimization: {mcmc: {num_samples: -5}}\n",
     "optimization.mcmc.num_samples: -5 is out of range; allowed is above 0"},
    {STATIC "optimization: {cmc: {sharding: {num_shards: some}}}\n",
     "optimization.cmc.sharding.num_shards: 'some' is not a whole number"},
};

static const wrong relations[] = {
    {STATIC "initial_parameters:\n  parameter_names: [D0, alpha, D_offset]\n  values: [1, 2]\n",
     "run.yaml:4:11: initial_parameters.values: 2 values for 3 parameter_names"},
    {STATIC "initial_parameters: {values: [1, 2, 3, 4]}\n",
     "run.yaml:2:30: initial_parameters.values: 4 values for 3 parameters of the mode"},
    {STATIC "initial_parameters: {values: [1, .nan, 3]}\n",
     "initial_parameters.values: item 2: '.nan' is not a finite number"},
    {STATIC "initial_parameters: {parameter_names: [D0, alhpa, D_offset]}\n",
     "initial_parameters.parameter_names: 'alhpa' is no parameter; did you mean 'alpha'? there are "
     "D0, alpha, D_offset, gamma_dot_t0, beta, gamma_dot_t_offset, phi0, contrast, offset"},
    {STATIC "initial_parameters: {parameter_names: [D0, D_0, alpha]}\n",
     "initial_parameters.parameter_names: D0 is named twice"},
    {STATIC "initial_parameters: {active_parameters: [D0], fixed_parameters: {D0: 5}}\n",
     "run.yaml:2:70: initial_parameters.fixed_parameters.D0: D0 is in active_parameters as well; "
     "it cannot be fitted and stay"},
    {STATIC "initial_parameters: {fixed_parameters: {contrast: 5}}\n",
     "contrast and offset are not set here"},
    {STATIC "initial_parameters: {per_angle_scaling: {contrast: [1, 2], offset: [1]}}\n",
     "per_angle_scaling.offset: 1 offsets for 2 contrasts"},
    {STATIC "initial_parameters: {per_angle_scaling: {contrast: []}}\n",
     "per_angle_scaling.contrast: an empty list; write null to leave it to the data"},
    {STATIC "parameter_space:\n  bounds:\n    - {name: D0, min: 5, max: 1}\n",
     "run.yaml:4:23: parameter_space.bounds[0].min: the lower bound of D0, 5, is above the upper, "
     "1"},
    {STATIC "parameter_space: {bounds: [{name: D0, max: .inf}]}\n",
     "parameter_space.bounds[0].max: D0: '.inf' is not a finite number; allowed is any finite "
     "number"},
    {STATIC "parameter_space: {bounds: [{min: 5, max: 6}]}\n",
     "parameter_space.bounds[0].min: whose bounds? Add name to the item"},
    {STATIC "parameter_space: {bounds: [{name: D0, max: 5e5}, {name: D0, max: 6e5}]}\n",
     "parameter_space.bounds[1].name: bounds of D0 are given twice"},
    {STATIC "parameter_space: {bounds: [{name: D2, max: 5}]}\n", "'D2' is no parameter"},
    {STATIC "parameter_space: {bounds: {D0: [1, 2]}}\n",
     "parameter_space.bounds: expected a list of keys and values, found keys and values"},
    {STATIC "optimization: {nlsq: {x_scale_map: {D0: 0}}}\n",
     "optimization.nlsq.x_scale_map.D0: 0 is out of range; allowed is above 0"},
};

static void check_all(const wrong *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tess_xpcs_settings *settings = NULL;
        const tess_status status = load_text(cases[i].text, 0, &settings);
        if (status != TESS_E_CONFIG || strstr(tess_last_error(), cases[i].message) == NULL) {
            fail_msg("%s\nexpected '%s'\ngot %s: %s", cases[i].text, cases[i].message,
                     tess_status_name(status), tess_last_error());
        }
        assert_null(settings);
    }
}

static void unknown_keys(void **state)
{
    (void)state;
    check_all(unknown, ARRAY_LEN(unknown));
}

static void wrong_syntax(void **state)
{
    (void)state;
    check_all(syntax, ARRAY_LEN(syntax));
}

static void wrong_values(void **state)
{
    (void)state;
    check_all(values, ARRAY_LEN(values));
}

static void values_that_do_not_fit_together(void **state)
{
    (void)state;
    check_all(relations, ARRAY_LEN(relations));
}

static void missing_file(void **state)
{
    (void)state;
    tess_xpcs_settings *settings = NULL;
    assert_fails(tess_xpcs_settings_load(ctx, "/nowhere/run.yaml", 0, &settings), TESS_E_NOT_FOUND,
                 "/nowhere/run.yaml");
}

// A right file and what it must say of itself.
typedef struct right {
    const char *text;
    const char *notice;
} right;

static const right odd[] = {
    {STATIC "optimization: {nlsq: {xtol: \"1e-6\"}}\n",
     "run.yaml:2:29: optimization.nlsq.xtol: 1e-6 is text to PyYAML; read as the number it means"},
    {STATIC "analyzer_parameters: {start_frame: 010}\n",
     "analyzer_parameters.start_frame: 010 is octal to PyYAML; read as decimal"},
    {STATIC "phi_filtering: {enabled: \"no\"}\n",
     "phi_filtering.enabled: no is text to PyYAML; read as true or false"},
    {STATIC "optimization: {nlsq: {cmaes: {enable: yes}}}\n",
     "a search from 32 starts takes the place of CMA-ES"},
    {STATIC "optimization: {method: vi}\n", "optimization.method vi: not in this"},
    {STATIC "optimization: {nlsq: {anti_degeneracy: {per_angle_mode: auto}}}\n",
     "per_angle_mode auto means individual for static modes"},
    {STATIC "phi_filtering: {target_ranges: [{min_angle: 1, max_angle: 2}]}\n",
     "phi_filtering.enabled is missing; the ranges are taken"},
    {STATIC "initial_parameters: {fixed_parameters: {D0: 5}}\n",
     "D0 is fixed at 5 outside its bounds 100 to 100000"},
    {STATIC "initial_parameters: {values: {D0: 500}}\n", "static_anisotropic"},
    {STATIC "parameter_space: {bounds: [{name: phi0, min: -5, max: 5}]}\n",
     "parameters of laminar_flow do not count in static_anisotropic"},
    {STATIC "hardware: null\nlogging: {modules: {\"a.b\": INFO}}\n",
     "2 keys of the original without effect here: hardware, logging.modules.a.b"},
    {STATIC "quality_control: {enabled: true, auto_repair: disabled}\n", "static_anisotropic"},
    {STATIC "logging: {file: {enabled: true, path: ./logs/}}\n", "no log file is written"},
    {"optimization: {nlsq: {loss: linear}}\n", "analysis_mode is missing; laminar_flow is taken"},
    {"\n# nothing\n", "analysis_mode is missing"},
};

static void odd_but_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        tess_xpcs_settings *settings = NULL;
        assert_ok(load_text(odd[i].text, 0, &settings));
        assert_contains(tess_xpcs_settings_get_info(settings)->notices, odd[i].notice);
        tess_xpcs_settings_destroy(settings);
    }
}

static void what_odd_files_mean(void **state)
{
    (void)state;
    tess_xpcs_settings *settings = NULL;
    assert_ok(load_text("analysis_mode: Static_Isotropic\n"
                        "experimental_data: {data_folder_path: /data/, data_file_name: a.hdf}\n"
                        "analyzer_parameters: {end_frame: 1_000, temporal: {dt: 2}}\n"
                        "initial_parameters:\n"
                        "  parameter_names: [alpha, D_0]\n"
                        "  values: [-1, 4.0e+4]\n"
                        "  fixed_parameters: {alpha: 0.5}\n"
                        "parameter_space: {bounds: [{name: D_offset, min: 7, max: 7}]}\n"
                        "optimization:\n"
                        "  nlsq:\n"
                        "    ftol: 1.0e-6\n"
                        "    x_scale_map: {D0: 10}\n"
                        "    multi_start: {enable: on, use_screening: off}\n"
                        "    quality_validation: {enable: false}\n"
                        "  streaming: {enable_fault_tolerance: false, batch_size: 1000}\n"
                        "performance: {device: {preferred_device: gpu}, computation: "
                        "{cpu_threads: 3}}\n"
                        "model: {exclude_t0: false, sigma: {dataset: /s}}\n",
                        0, &settings));
    const tess_xpcs_settings_info *info = tess_xpcs_settings_get_info(settings);
    assert_int_equal(info->model.mode, TESS_XPCS_STATIC_ISOTROPIC);
    assert_string_equal(info->data_path, "/data/a.hdf");
    assert_int_equal(info->data.end_frame, 1000);
    assert_true(info->model.dt_s == 2 && info->data.dt_s == 2);
    assert_true(info->fit.start[0] == 4e4 && info->fit.start[1] == 0.5 && info->fit.start[2] == 7);
    assert_true(!info->fit.is_fixed[0] && info->fit.is_fixed[1] && info->fit.is_fixed[2]);
    assert_true(info->fit.ftol == 1e-6);
    assert_true(info->fit.x_scale[0] == 10 && info->fit.x_scale[1] != info->fit.x_scale[1]);
    assert_true(info->fit.n_start == 12 && info->fit.screen_keep == 1);
    assert_true(info->fit.chi2_threshold >= 1e300 && info->fit.max_retries == 0);
    assert_int_equal(info->fit.chunk_tiles, 4);
    assert_null(info->fit.checkpoint_dir);
    assert_string_equal(info->device, "cuda");
    assert_int_equal(info->n_thread, 3);
    assert_true(info->model.keep_t0 == 1 && info->data.keep_t0 == 1);
    assert_true(info->has_sigma == 1 && info->fit.sigma_mode == TESS_XPCS_SIGMA_DATASET);
    assert_string_equal(info->data.sigma_dataset, "/s");
    tess_xpcs_settings_destroy(settings);
}

#define LAMINAR                                                                                    \
    "analysis_mode: laminar_flow\n"                                                                \
    "analyzer_parameters: {geometry: {stator_rotor_gap: 2000000}}\n"

// Keys of anti_degeneracy that the original has on by default act where they are not.
static void what_angles_weigh(void **state)
{
    (void)state;
    tess_xpcs_settings *settings = NULL;
    assert_ok(load_text(LAMINAR "optimization: {nlsq: {shear_weights: true, anti_degeneracy: "
                                "{shear_weighting: {enable: true, alpha: 2, min_weight: 0.1, "
                                "normalize: false, initial_phi0: -30}}}}\n",
                        0, &settings));
    const tess_xpcs_settings_info *info = tess_xpcs_settings_get_info(settings);
    assert_true(info->fit.shear_weights && info->fit.shear_exponent == 2);
    assert_true(info->fit.shear_min_weight == 0.1 && info->fit.shear_normalize == 0);
    assert_true(info->fit.shear_phi0 == -30);
    assert_contains(info->notices, "1 key of the original without effect here: "
                                   "optimization.nlsq.anti_degeneracy.shear_weighting.enable\n");
    tess_xpcs_settings_destroy(settings);

    assert_ok(load_text(LAMINAR "optimization: {nlsq: {anti_degeneracy: {shear_weighting: {enable: "
                                "true, alpha: 1.0, update_frequency: 50}}}}\n",
                        0, &settings));
    info = tess_xpcs_settings_get_info(settings);
    assert_true(!info->fit.shear_weights && isnan(info->fit.shear_phi0));
    assert_contains(info->notices, "3 keys of the original without effect here");
    assert_contains(info->notices, "shear_weighting.enable: angles weigh alike, as in the");
    tess_xpcs_settings_destroy(settings);

    assert_ok(load_text(LAMINAR "optimization: {nlsq: {anti_degeneracy: {enable: false, "
                                "per_angle_mode: constant}}}\n",
                        0, &settings));
    info = tess_xpcs_settings_get_info(settings);
    assert_int_equal(info->fit.scaling, TESS_XPCS_SCALING_INDIVIDUAL);
    assert_contains(info->notices, "anti_degeneracy.enable false: every angle has a contrast");
    assert_ok(tess_xpcs_settings_set(settings, "optimization.nlsq.anti_degeneracy.per_angle_mode",
                                     "averaged"));
    info = tess_xpcs_settings_get_info(settings);
    assert_int_equal(info->fit.scaling, TESS_XPCS_SCALING_AVERAGED);
    tess_xpcs_settings_destroy(settings);
}

static void lenient_files_keep_what_is_known(void **state)
{
    (void)state;
    tess_xpcs_settings *settings = NULL;
    assert_ok(load_text(STATIC "colour: {of: 3}\noptimization:\n  nlsq: {los: huber, xtol: 0.5}\n",
                        1, &settings));
    const tess_xpcs_settings_info *info = tess_xpcs_settings_get_info(settings);
    assert_contains(info->notices, "run.yaml:2:1: unknown key 'colour'; known keys here are");
    assert_contains(info->notices,
                    "run.yaml:4:10: unknown key 'optimization.nlsq.los'; did you mean "
                    "'loss'? (ignored)\n");
    assert_true(info->fit.loss == 0 && info->fit.xtol == 0.5);
    assert_int_equal(info->data.lenient, 1);
    tess_xpcs_settings_destroy(settings);
    assert_fails(load_text(STATIC "optimization: {nlsq: {loss: none}}\n", 1, &settings),
                 TESS_E_CONFIG, "'none' does not exist"); // values stay errors
}

static void json_is_read_as_well(void **state)
{
    (void)state;
    const char *path = unit_path("run.json");
    static const char text[] = "{\"analysis_mode\": \"static\", \"optimization\": {\"nlsq\": "
                               "{\"xtol\": 1e-9, \"multi_start\": {\"enable\": true}}}}";
    unit_write_file(path, text, sizeof text - 1);
    tess_xpcs_settings *settings = NULL;
    assert_ok(tess_xpcs_settings_load(ctx, path, 0, &settings));
    const tess_xpcs_settings_info *info = tess_xpcs_settings_get_info(settings);
    assert_true(info->fit.xtol == 1e-9 && info->fit.n_start == 12);
    assert_string_equal(info->notices, "analysis_mode static means static_anisotropic\n");
    tess_xpcs_settings_destroy(settings);
}

// Aliases may make one node many values; lists may be long. Neither may take forever.
static void large_files_end_soon(void **state)
{
    (void)state;
    const size_t n = 20000;
    char *text = malloc(n * 40 + 200);
    char *at = text + sprintf(text, STATIC "phi_filtering:\n  enabled: true\n  target_ranges:\n");
    for (size_t i = 0; i < n; i++) {
        at += sprintf(at, "    - {min_angle: 1, max_angle: 2}\n");
    }
    tess_xpcs_settings *settings = NULL;
    assert_ok(load_text(text, 0, &settings));
    assert_int_equal(tess_xpcs_settings_get_info(settings)->data.n_phi_range, n);
    tess_xpcs_settings_destroy(settings);
    at = text;
    for (size_t i = 0; i < 2000; i++) {
        at += sprintf(at, "key%zu: 1\n", i);
    }
    assert_ok(load_text(text, 1, &settings));
    const char *notices = tess_xpcs_settings_get_info(settings)->notices;
    assert_contains(notices, "run.yaml:100:1: unknown key 'key99'");
    assert_contains(notices, "more notices of this kind are left out\n");
    assert_null(strstr(notices, "key100'"));
    tess_xpcs_settings_destroy(settings);
    free(text);
    char deep[1200] = "a";
    memset(deep, 'x', 600);
    snprintf(deep + 600, sizeof deep - 600, ": 1\n");
    assert_fails(load_text(deep, 0, &settings), TESS_E_CONFIG,
                 "a key with all above it has at most 255 characters");
}

static int setup(void **state)
{
    (void)state;
    ctx = unit_context(1, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tess_context_destroy(ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest without_yaml[] = {cmocka_unit_test(json_is_read_as_well),
                                              cmocka_unit_test(missing_file)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_keys),
        cmocka_unit_test(wrong_syntax),
        cmocka_unit_test(wrong_values),
        cmocka_unit_test(values_that_do_not_fit_together),
        cmocka_unit_test(missing_file),
        cmocka_unit_test(odd_but_right),
        cmocka_unit_test(what_odd_files_mean),
        cmocka_unit_test(what_angles_weigh),
        cmocka_unit_test(lenient_files_keep_what_is_known),
        cmocka_unit_test(json_is_read_as_well),
        cmocka_unit_test(large_files_end_soon),
    };
    return TESS_HAVE_YAML ? cmocka_run_group_tests(tests, setup, teardown)
                          : cmocka_run_group_tests(without_yaml, setup, teardown);
}
