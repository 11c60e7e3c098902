"""The originals' names as aliases of ours: what is found, what is missing and how that is said."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tessera.compat
import tessera.compat._uses
from helpers import run_python
from tessera.compat import AliasModule, LackingNameError, _alias, install
from tessera.compat._originals import ORIGINALS, is_the_originals, original_named

_ROOTS = ("autoreject", "homodyne", "non_local_detector", "flash_clifford")


@pytest.mark.parametrize("name", _ROOTS)
def test_every_original_is_a_module(name: str) -> None:
    module = importlib.import_module(f"tessera.compat.{name}")
    assert isinstance(module, AliasModule)
    assert isinstance(module, ModuleType)
    home = next(iter(ORIGINALS[name].roots.values()))
    assert repr(module) == f"<module 'tessera.compat.{name}', which is {home}>"
    ours = importlib.import_module(home)
    assert dir(module) == dir(ours)
    for public in ours.__all__[:5]:
        if public not in ("FCGP", "MVGELU", "SGP", "Layer"):  # they need torch
            assert getattr(module, public) is getattr(ours, public)


def test_submodules_are_ours_and_are_loaded_once() -> None:
    import tessera.decode.likelihoods.clusterless_kde as ours

    # As in "from tessera.compat.non_local_detector.likelihoods import clusterless_kde".
    clusterless_kde = importlib.import_module(
        "tessera.compat.non_local_detector.likelihoods.clusterless_kde"
    )
    function = clusterless_kde.fit_clusterless_kde_encoding_model
    assert function is ours.fit_clusterless_kde_encoding_model
    assert isinstance(clusterless_kde, AliasModule)
    loaded = [m for n, m in sys.modules.items() if n.startswith("tessera.compat.non_local_")]
    assert loaded
    assert all(isinstance(module, AliasModule) for module in loaded)


def test_missing_names_are_called_what_the_script_calls_them() -> None:
    with install("homodyne"):
        import homodyne  # type: ignore[import-not-found]

        with pytest.raises(ImportError, match=r"^homodyne\.config\.Nothing is not in") as missing:
            from homodyne.config import Nothing  # type: ignore[import-not-found]  # noqa: F401
        with pytest.raises(ModuleNotFoundError, match=r"^homodyne\.nothing is not in Tessera"):
            import homodyne.nothing  # type: ignore[import-not-found]
        with pytest.raises(AttributeError, match=r"homodyne\.ConfigManger .*mean ConfigManager\?"):
            _ = homodyne.ConfigManger
        assert not hasattr(homodyne, "__nothing__")
    assert isinstance(missing.value, LackingNameError)
    assert "docs/migrate/homodyne.md" in str(missing.value)
    assert "tessera.xpcs.config.Nothing" in str(missing.value)


def test_modules_have_what_the_originals_import_there() -> None:
    import tessera.decode as td

    base = importlib.import_module("tessera.compat.non_local_detector.models.base")
    assert base.Environment is td.Environment
    kde = importlib.import_module("tessera.compat.non_local_detector.likelihoods.clusterless_kde")
    assert kde.block_kde is td.likelihoods.common.block_kde
    assert not any("Environment" in name or "block_kde" in name for name in _alias.lacked)
    with pytest.raises(AttributeError, match=r"models\.base\.Nothing is not in"):
        _ = base.Nothing


def test_the_manual_has_the_page_that_errors_name() -> None:
    root = Path(__file__).parents[2]
    for original in ORIGINALS.values():
        page = root / original.manual
        assert page.read_text(encoding="utf-8").startswith(f"# {original.page}\n")


def test_patches_reach_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    import tessera.autoreject.utils as ours

    alias = importlib.import_module("tessera.compat.autoreject.utils")

    before = ours.clean_by_interp
    monkeypatch.setattr(alias, "clean_by_interp", "patched")
    assert ours.clean_by_interp == "patched"  # type: ignore[comparison-overlap]
    monkeypatch.undo()
    assert ours.clean_by_interp is before
    alias.nothing_yet = 1  # type: ignore[attr-defined]
    assert ours.nothing_yet == 1  # type: ignore[attr-defined]
    del alias.nothing_yet
    assert not hasattr(ours, "nothing_yet")


def test_install_gives_back_what_was_there() -> None:
    theirs = ModuleType("autoreject")
    sys.modules["autoreject"] = theirs
    try:
        with install("autoreject"):
            assert importlib.import_module("autoreject") is not theirs
            with install("autoreject"):  # a second one changes nothing, nor does its end
                pass
            assert isinstance(importlib.import_module("autoreject"), AliasModule)
        assert sys.modules["autoreject"] is theirs
    finally:
        del sys.modules["autoreject"]


def test_install_stays_without_with() -> None:
    done = run_python(
        "import tessera.compat; keep = tessera.compat.install('flash-clifford')\n"
        "import flash_clifford, ops.p3m0; from flash_clifford import ops as same\n"
        "print(ops.p3m0.NUM_GRADES, same.fused_gelu_sgp_norm_3d is ops.fused_gelu_sgp_norm_3d)\n"
        "keep.remove(); keep.remove()\n"
        "try: import flash_clifford.ops\n"
        "except ModuleNotFoundError: print('gone')\n"
    )
    assert done.stdout == "4 True\ngone\n", done.stderr


def test_unknown_originals_are_refused() -> None:
    with pytest.raises(ValueError, match="'homodine' is none of the originals: non_local_detector"):
        install("homodine")


def test_a_folder_of_ones_own_called_ops_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = original_named("flash-clifford")
    assert is_the_originals(original, "ops")
    folder = tmp_path / "ops"
    folder.mkdir()
    (folder / "__init__.py").write_text("mine = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert not is_the_originals(original, "ops")
    with install("flash_clifford"):
        assert importlib.import_module("ops").mine == 1
    (folder / "p3m0.py").write_text("")
    assert is_the_originals(original, "ops")
    sys.modules.pop("ops", None)


def test_aliases_import_nothing_heavy() -> None:
    done = run_python(
        "import sys, tessera.compat\n"
        "print([n for n in ('numpy', 'tessera.xpcs', 'torch') if n in sys.modules])"
    )
    assert done.stdout == "[]\n", done.stderr


_SCRIPT = """
import homodyne.core.theory as theory
from homodyne.config import ConfigManager, Absent
from autoreject import AutoReject, get_rejection_threshold as threshold
import non_local_detector as nld
import numpy as np

manager = ConfigManager("x.yaml", nonsense=3)
manager.get_config()
manager.no_such_method(1)
threshold(None, decim=2, tempo=4)
ar = AutoReject(cv=3, **{})
ar.fit(None)
nld.core_of_nothing.x()
nld.Environment(place_bin_size=2.0)
ar = np.zeros(3)
ar.no_such_method()
"""


def test_what_a_script_lacks_is_read_from_its_text() -> None:
    with install():
        found = tessera.compat._uses.lacking(_SCRIPT, ["homodyne.cor", "homodyne.more"])
    # Names that other versions of Tessera may have are not looked at here.
    assert "homodyne.config.Absent" in found
    assert "homodyne.config.ConfigManager(nonsense=)" in found
    assert "homodyne.config.ConfigManager.no_such_method" in found
    assert "autoreject.get_rejection_threshold(tempo=)" in found
    assert "non_local_detector.core_of_nothing" in found
    assert "homodyne.more" in found
    assert not [name for name in found if "decim" in name or "place_bin_size" in name]
    assert not [name for name in found if "numpy" in name or "AutoReject" in name]
    originals = tessera.compat._uses.originals_of(_SCRIPT)
    assert originals == ["homodyne", "autoreject", "non_local_detector"]


def test_module_of_autoreject_still_runs_scripts(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import autoreject; print(autoreject)\n")
    words = [sys.executable, "-m", "tessera.autoreject", str(tmp_path / "script.py")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == "<module 'autoreject', which is tessera.autoreject>\n", done.stderr


def test_type_checkers_see_the_aliases() -> None:
    # mypy reads this file, too: without the stubs it would not know the module, nor the class.
    from tessera.compat.non_local_detector.environment import Environment

    import tessera.compat.autoreject as alias

    log: alias.RejectLog = alias.RejectLog([False], [[0.0, 0.0]], ["Cz", "Pz"])
    assert type(log).__module__.startswith("tessera.autoreject.")
    assert Environment.__module__ == "tessera.decode.environment"
