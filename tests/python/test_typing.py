"""What type checkers know: results, keywords, and where we still say Any, with the reason."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_overloads

import pytest

from helpers import PACKAGE_DIR, python_env
from public_names import public_names
from tessera import _core

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

# Words in which Any says nothing of us: an array of any type of numbers, and dicts whose content is
# a file's, a configuration's or another library's.
HARMLESS = re.compile(r"(?:floating|NDArray|ndarray|dtype)\[Any\]|(?:dict|Mapping)\[str, Any\]")

# Why an annotation may be Any. Entries that nothing needs any more are an error.
ALLOWED = {
    "scikit-learn's call, whose values are the constructor's": [
        "autoreject._params.Params.set_params:params",
        "decode.models._estimator.Estimator.set_params:params",
    ],
    "what the original's call passes on or ignores": [
        "autoreject._base.BaseAutoReject.score:X",
        "autoreject._base.BaseAutoReject.score:y",
        "autoreject._local._AutoReject.score:X",
        "autoreject._local._AutoReject.score:y",
        "autoreject.backends.GPUPipeline:params",
        "autoreject.global_threshold._GlobalAutoReject.fit:X",
        "autoreject.global_threshold._GlobalAutoReject.fit:y",
        "clifford._autograd_names._ByName.apply:args",
        "clifford._autograd_names._ByName.apply:kwargs",
        "decode.continuous_state_transitions.Discrete.make_state_transition:args",
        "decode.continuous_state_transitions.Discrete.make_state_transition:kwargs",
        "decode.continuous_state_transitions.EmpiricalMovement.make_state_transition:kwargs",
        "decode.continuous_state_transitions.Movement.make_state_transition:args",
        "decode.continuous_state_transitions.Movement.make_state_transition:kwargs",
        "decode.discrete_state_transitions._Stationary.make_state_transition:args",
        "decode.discrete_state_transitions._Stationary.make_state_transition:kwargs",
        "decode.likelihoods.clusterless_gmm.fit_clusterless_gmm_encoding_model:ignored",
        "decode.likelihoods.clusterless_gmm.predict_clusterless_gmm_log_likelihood:ignored",
        "decode.likelihoods.clusterless_kde.fit_clusterless_kde_encoding_model:params",
        "decode.likelihoods.clusterless_kde_log.fit_clusterless_kde_encoding_model:params",
        "decode.likelihoods.gmm.GaussianMixtureModel.fit:key",
        "decode.likelihoods.sorted_spikes_glm.fit_sorted_spikes_glm_encoding_model:edges",
        "decode.likelihoods.sorted_spikes_glm.predict_sorted_spikes_glm_log_likelihood:entries",
        "xpcs._adapter_base.NLSQAdapterBase.fit:args",
        "xpcs._adapter_base.NLSQAdapterBase.fit:kwargs",
        "xpcs._adapter_base.NLSQAdapterBase.fit:return",
        "xpcs.optimization.cmc.core.fit_mcmc_jax:kwargs",
        "xpcs.optimization.cmc.model.xpcs_model_averaged:kwargs",
        "xpcs.optimization.cmc.model.xpcs_model_constant:kwargs",
        "xpcs.optimization.cmc.model.xpcs_model_constant_averaged:kwargs",
        "xpcs.optimization.cmc.model.xpcs_model_reparameterized:kwargs",
        "xpcs.optimization.cmc.model.xpcs_model_scaled:kwargs",
        "xpcs.optimization.nlsq.adapter.NLSQAdapter.fit:args",
        "xpcs.optimization.nlsq.adapter.NLSQAdapter.fit:kwargs",
        "xpcs.optimization.nlsq.recovery.execute_with_recovery:strategy",
        "xpcs.viz.mcmc_arviz.plot_arviz_pair:kwargs",
        "xpcs.viz.mcmc_arviz.plot_arviz_posterior:kwargs",
        "xpcs.viz.mcmc_arviz.plot_arviz_trace:kwargs",
    ],
    "what a function of the user's takes and returns": [
        "autoreject.bayesopt.bayes_opt:acquisition",
        "autoreject.bayesopt.bayes_opt:f",
        "autoreject.bayesopt.bayes_opt:return",
        "clifford.tests.utils.run_benchmark:args",
        "clifford.tests.utils.run_benchmark:return",
        "decode.core.chunked_filter_smoother:log_likelihood_args",
        "decode.core.chunked_filter_smoother:log_likelihood_func",
        "decode.core.chunked_filter_smoother_covariate_dependent:log_likelihood_args",
        "decode.core.chunked_filter_smoother_covariate_dependent:log_likelihood_func",
        "decode.core.most_likely_sequence:log_likelihood_args",
        "decode.core.most_likely_sequence:log_likelihood_func",
        "decode.core.most_likely_sequence:return",
        "decode.core.most_likely_sequence_covariate_dependent:log_likelihood_args",
        "decode.core.most_likely_sequence_covariate_dependent:log_likelihood_func",
        "decode.core.most_likely_sequence_covariate_dependent:return",
        "xpcs.optimization.cmc.backends._common.CMCBackend.run:model",
        "xpcs.optimization.cmc.backends.multiprocessing.MultiprocessingBackend.run:model",
        "xpcs.optimization.cmc.backends.pbs.PBSBackend.run:model",
        "xpcs.optimization.cmc.backends.pjit.PjitBackend.run:model",
        "xpcs.optimization.cmc.sampler.create_init_strategy:return",
        "xpcs.optimization.cmc.sampler.run_nuts_sampling:model",
        "xpcs.optimization.cmc.sampler.run_nuts_with_retry:model",
        "xpcs.optimization.nlsq.progress.create_streaming_progress_callback:return",
        "xpcs.optimization.nlsq.recovery.execute_with_recovery:curve_fit_fn",
        "xpcs.optimization.nlsq.recovery.execute_with_recovery:curve_fit_large_fn",
        "xpcs.optimization.nlsq.recovery.execute_with_recovery:residual_fn",
        "xpcs.optimization.nlsq.transforms.wrap_model_function_with_transforms:model_fn",
        "xpcs.optimization.nlsq.transforms.wrap_model_function_with_transforms:return",
        "xpcs.optimization.nlsq.transforms.wrap_stratified_function_with_transforms:residual_fn",
        "xpcs.optimization.nlsq.transforms.wrap_stratified_function_with_transforms:return",
    ],
    "one array or two, by an argument": ["autoreject.bayesopt.GaussianProcess.predict:return"],
    "whichever operation the layer has": ["clifford.modules.layer.Layer.fused_op:return"],
    "keywords for torch's attention, handed on": [
        "clifford.equivariant._attention.lorentz_attention:options",
        "clifford.equivariant._attention.pin_attention:options",
        "clifford.equivariant._block.Block.forward:options",
        "clifford.equivariant._block.Block.rows:options",
        "clifford.equivariant._mlp.FeedForward.forward:options",
        "clifford.equivariant._self_attention.SelfAttention.forward:options",
        "clifford.equivariant._self_attention.SelfAttention.rows:options",
        "clifford.gatr._net.GATr.forward:options",
        "clifford.lgatr._net.LGATr.forward:options",
    ],
    "lgatr's: a configuration, its dict, or any object with its names": [
        "clifford.gatr._layers.GeoMLP:config",
        "clifford.gatr._layers.SelfAttention:config",
        "clifford.gatr._net.GATr:attention",
        "clifford.gatr._net.GATr:mlp",
        "clifford.gatr._net.GATrBlock:attention",
        "clifford.gatr._net.GATrBlock:mlp",
        "clifford.lgatr._layers.EquiLinear:primitives",
        "clifford.lgatr._layers.GeoMLP:config",
        "clifford.lgatr._layers.GeoMLP:primitives",
        "clifford.lgatr._layers.GeometricBilinear:primitives",
        "clifford.lgatr._layers.SelfAttention:config",
        "clifford.lgatr._layers.SelfAttention:primitives",
        "clifford.lgatr._net.LGATr:attention",
        "clifford.lgatr._net.LGATr:mlp",
        "clifford.lgatr._net.LGATr:primitives",
        "clifford.lgatr._net.LGATrBlock:attention",
        "clifford.lgatr._net.LGATrBlock:mlp",
        "clifford.lgatr._net.LGATrBlock:primitives",
    ],
    "MNE has no types": [
        "autoreject._study.StudyRecording.epochs:options",
        "autoreject._study.StudyRecording.epochs:return",
    ],
    "arrays and epochs of any library": [
        "autoreject.backends.GPUPipeline.load:X",
        "autoreject.backends.GPUPipeline.load:ch_types",
        "autoreject.backends.GPUPipeline.load:positions",
        "autoreject.backends.GPUPipeline.load:sensors",
        "autoreject.backends.GPUPipeline.transform:X",
        "autoreject.backends.GPUPipeline.transform:return",
        "autoreject.backends.is_on_device:data",
        "autoreject.backends.to_device:data",
        "autoreject.backends.to_host:data",
        "autoreject.backends.to_host:return",
    ],
    "arviz and numpyro have no types": [
        "xpcs._posterior.Posterior.to_arviz:return",
        "xpcs.optimization.cmc.io.samples_to_arviz:return",
        "xpcs.optimization.cmc.plotting.plot_autocorr:idata",
        "xpcs.optimization.cmc.plotting.plot_energy:idata",
        "xpcs.optimization.cmc.plotting.plot_ess:idata",
        "xpcs.optimization.cmc.plotting.plot_forest:idata",
        "xpcs.optimization.cmc.plotting.plot_pair:idata",
        "xpcs.optimization.cmc.plotting.plot_rank:idata",
        "xpcs.optimization.cmc.plotting.plot_trace:idata",
        "xpcs.optimization.cmc.priors.build_nlsq_informed_prior:return",
        "xpcs.optimization.cmc.priors.build_prior:return",
        "xpcs.optimization.cmc.priors.build_prior_from_spec:return",
        "xpcs.optimization.cmc.results.CMCResult:inference_data",
        "xpcs.optimization.cmc.results.create_inference_data:return",
        "xpcs.viz.mcmc_arviz.plot_arviz_pair:result",
        "xpcs.viz.mcmc_arviz.plot_arviz_posterior:result",
        "xpcs.viz.mcmc_arviz.plot_arviz_trace:result",
    ],
    "a result or a queue in whichever of the original's forms": [
        "xpcs.cli.result_saving.save_mcmc_results:config",
        "xpcs.cli.result_saving.save_mcmc_results:result",
        "xpcs.cli.result_saving.save_nlsq_results:config",
        "xpcs.io.mcmc_writers.create_mcmc_analysis_dict:result",
        "xpcs.io.mcmc_writers.create_mcmc_diagnostics_dict:result",
        "xpcs.io.mcmc_writers.create_mcmc_parameters_dict:result",
        "xpcs.optimization.cmc._modes.cluster_shard_modes:successful_samples",
        "xpcs.optimization.cmc.backends.worker_pool.WorkerPool.result_queue:return",
        "xpcs.optimization.cmc.core.fit_mcmc_jax:nlsq_result",
        "xpcs.optimization.cmc.priors.extract_nlsq_values_for_cmc:nlsq_result",
        "xpcs.optimization.cmc.sampler.MCMCSamples:bimodal_consensus",
        "xpcs.optimization.nlsq.recovery.execute_with_recovery:handle_nlsq_result_fn",
        "xpcs.viz.mcmc_comparison.plot_posterior_comparison:result",
        "xpcs.viz.mcmc_dashboard.plot_cmc_summary_dashboard:result",
        "xpcs.viz.mcmc_diagnostics.plot_convergence_diagnostics:result",
        "xpcs.viz.mcmc_diagnostics.plot_kl_divergence_matrix:result",
        "xpcs.viz.mcmc_diagnostics.plot_trace_plots:result",
        "xpcs.viz.mcmc_report.generate_mcmc_diagnostic_report:result",
        "xpcs.viz.mcmc_report.print_mcmc_summary:result",
    ],
    "patsy has no types": [
        "decode.likelihoods.sorted_spikes_glm.make_spline_design_matrix:return",
        "decode.likelihoods.sorted_spikes_glm.make_spline_predict_matrix:design_info",
        "decode.likelihoods.sorted_spikes_glm.predict_sorted_spikes_glm_log_likelihood"
        ":emission_design_info",
    ],
    "an array of whichever library, which the overloads tell apart or nobody can": [
        "autoreject._ptp.ptp:out",
        "autoreject._ptp.ptp:return",
        "autoreject.backends.Backend.correlation:return",
        "autoreject.backends.Backend.correlation:x",
        "autoreject.backends.Backend.correlation:y",
        "autoreject.backends.Backend.is_on_device:data",
        "autoreject.backends.Backend.matmul:a",
        "autoreject.backends.Backend.matmul:b",
        "autoreject.backends.Backend.matmul:return",
        "autoreject.backends.Backend.median:data",
        "autoreject.backends.Backend.median:return",
        "autoreject.backends.Backend.ptp:data",
        "autoreject.backends.Backend.ptp:return",
        "autoreject.backends.Backend.to_device:data",
        "autoreject.backends.Backend.to_numpy:data",
        "autoreject.backends.Backend.to_numpy:return",
        "autoreject.backends.DeviceArray.dtype:return",
        "autoreject.backends.DeviceArray.numpy:return",
        "autoreject.backends.DeviceArray:data",
        "autoreject.backends.is_device_array:value",
        "xpcs.optimization.cmc.model.validate_model_output:return",
        "xpcs.optimization.cmc.sampler.run_nuts_sampling:rng_key",
        "xpcs.optimization.cmc.sampler.run_nuts_with_retry:rng_key",
        "xpcs.optimization.cmc.scaling.ParameterScaling.to_original:return",
        "xpcs.optimization.cmc.scaling.ParameterScaling.to_original:z_value",
        "xpcs.optimization.cmc.scaling.sample_scaled_parameter:return",
    ],
    "None where the input was None: a union would have to be taken apart at every use": [
        "clifford._op.Op.backward:return",
        "clifford._op.Op.double_backward:return",
    ],
    "an array without xarray: a union with it would refuse .sel() to those who have xarray": [
        "decode.models._posteriors.MovingMixin.get_conditional_non_local_posterior:return",
        "decode.models._posteriors.StatesMixin.get_posterior:return",
    ],
    "the class is in the file": ["decode.models._detector.DetectorBase.load_model:return"],
    "a value of a configuration": [
        "xpcs._config.Settings.set:value",
        "xpcs.config.manager.ConfigManager.update_config:value",
    ],
    "matplotlib.pyplot": ["autoreject.viz.set_matplotlib_defaults:plt"],
    "an array over bins, or a dict over the nodes of a track graph": [
        "decode._environment_nodes.NodeViews.distance_between_nodes_:return"
    ],
    "a class of sortingview's, which is not installed with us": [
        "decode.visualization.figurl_1D.create_1D_decode_view:return",
        "decode.visualization.figurl_2D.create_2D_decode_view:return",
        "decode.visualization.figurl_2D.create_track_animation_object:return",
    ],
    "names of whatever type the user's labels have": [
        "decode.results.make_results:encoding_groups",
        "decode.results.make_results:environments",
    ],
}


def _annotated(value: Any) -> dict[str, str]:
    function = value.__init__ if inspect.isclass(value) else value
    return dict(getattr(function, "__annotations__", {}))


def test_any_is_the_exception() -> None:
    found = set()
    for name, _, value in public_names():
        for parameter, text in _annotated(value).items():
            if re.search(r"\bAny\b", HARMLESS.sub("", str(text))):
                found.add(f"{name}:{parameter}")
    allowed = [entry for entries in ALLOWED.values() for entry in entries]
    assert len(allowed) == len(set(allowed))
    assert found - set(allowed) == set(), "say what it is, or why nobody knows, in ALLOWED"
    assert set(allowed) - found == set(), "no longer needed"


def _arguments(function: Any) -> tuple[str, ...]:
    """Return the names of arguments as they are written, without those of tables."""
    code = function.__code__
    names: tuple[str, ...] = code.co_varnames
    return names[: code.co_argcount + code.co_kwonlyargcount]


def test_overloads_take_what_the_function_takes() -> None:
    seen = 0
    for name, _, value in public_names():
        if not inspect.isfunction(value):
            continue
        for variant in get_overloads(value):
            seen += 1
            assert _arguments(variant) == _arguments(value), name
    assert seen > 20


# TypedDicts of keywords, and the tables and explicit arguments they have to cover together.
KEYWORDS: dict[str, dict[str, tuple[list[str], set[str]]]] = {
    "xpcs": {
        "ModelKeywordsBesideDt": (["xpcs.model"], {"dt"}),
        "ModelKeywords": (["xpcs.model"], set()),
        "FitKeywords": (["xpcs.model", "xpcs.fit"], set()),
        "SampleKeywords": (["xpcs.model", "xpcs.sample"], set()),
        "DataKeywords": (["xpcs.data"], {"q"}),
        "LoadKeywords": (["xpcs.data"], set()),
        "SimulateKeywords": (["xpcs.model", "xpcs.simulate"], set()),
    },
    "decode": {
        "SimulateKeywords": (["decode.simulate"], {"size", "seed"}),
        "EventKeywords": (["decode.events"], set()),
        "TuneKeywords": (["decode.tune", "decode.encoding"], set()),
    },
    "clifford": {
        "OpKeywords": (["clifford.op"], set()),
        "CheckKeywords": (["clifford.check"], set()),
    },
}
# One value or an array of them, where the table knows one value.
WIDER = {"q", "contrast", "offset", "position_std", "waveform_std"}
NAMES = {"int": "int", "real": "float", "flag": "bool", "bytes": "int | str"}


def _expected(param: _core.Param) -> str:
    if param["choices"] is None:
        return NAMES[param["type"]]
    names = param["choices"].split("|")
    if any(name.endswith(":") for name in names):
        return "str"  # 'bounded:1e-6'
    return f"Literal[{', '.join(map(repr, names))}]"


@pytest.mark.parametrize("system", KEYWORDS)
def test_keywords_are_the_tables(system: str) -> None:
    for module in ("networkx", "torch", "xarray"):
        pytest.importorskip(module)  # what the types name
    import importlib

    keywords = importlib.import_module(f"tessera.{system}._keywords")
    tables = _core.param_tables()
    for name, (from_tables, explicit) in KEYWORDS[system].items():
        cls = getattr(keywords, name)
        wanted = {
            param["name"]: _expected(param)
            for table in from_tables
            for param in tables[table]
            if param["name"] not in explicit
        }
        found = {
            key: str(getattr(hint, "__forward_arg__", hint)).replace('"', "'")
            for key, hint in cls.__annotations__.items()
        }
        assert found.keys() == wanted.keys(), name
        for key, hint in found.items():
            known = {"Mode": str(getattr(keywords, "Mode", "")).replace("typing.", "")}
            text = known.get(hint, hint)
            if key in WIDER and text != wanted[key]:
                text = text.removesuffix(" | npt.ArrayLike").removesuffix(" | ArrayLike")
            assert text == wanted[key], f"{name}.{key}"


def test_sizes_of_simulated_recordings() -> None:
    pytest.importorskip("networkx")
    pytest.importorskip("xarray")
    from typing import get_args

    from tessera.decode import _keywords

    (param,) = (p for p in _core.param_tables()["decode.simulate"] if p["name"] == "size")
    assert param["choices"] is not None
    assert list(get_args(_keywords.Size)) == param["choices"].split("|")


def test_types_cost_nothing_at_run_time() -> None:
    code = (
        "import sys, tessera.xpcs, tessera.decode.models, tessera.autoreject.autoreject,"
        " tessera.clifford;"
        "print([m for m in sys.modules if m.endswith(('_keywords', '._types', '._dicts'))"
        " and m.startswith('tessera')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=python_env(), capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stderr


def test_a_users_script() -> None:
    pytest.importorskip("mypy")
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("no source tree beside the tests")
    # With the cache of ./dev lint this takes a second or two, without it twenty.
    command = [sys.executable, "-m", "mypy", "--strict", str(HERE / "typing_cases.py")]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (PACKAGE_DIR / "py.typed").exists()
