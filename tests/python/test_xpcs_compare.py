"""Models of the same data, weighed from Python; errors for noise that frames share."""

import json
from pathlib import Path
from typing import Any

import pytest

import tessera
from tessera import xpcs

STATIC = ["static_isotropic", "static_anisotropic"]


@pytest.fixture(scope="module")
def data() -> xpcs.Data:
    return xpcs.simulate(
        mode="static_anisotropic", n_angle=3, n_frame=31, dt=0.1, gap=2e6, contrast_scatter=0.3
    )


def test_the_right_model_is_the_best(data: xpcs.Data, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    rows = xpcs.compare_models(data, STATIC, method="laplace", n_draw=200, path=path)
    assert [row["model"] for row in rows] == STATIC
    assert rows[1]["verdict"] == "the best"
    assert rows[1]["log_bayes_factor"] == 0
    assert sum(row["probability"] for row in rows) == pytest.approx(1)
    written = json.loads(path.read_text())["models"]
    assert [row["log_evidence"] for row in written] == [row["log_evidence"] for row in rows]
    with pytest.raises(tessera.Error, match="exists"):
        xpcs.compare_models(data, STATIC[:1], method="laplace", n_draw=200, path=path)


@pytest.mark.parametrize(
    ("models", "options", "words"),
    [
        (["nope"], {}, "models: 'nope'"),
        ([], {}, "none"),
        (STATIC[:1] * 2, {}, "twice"),
        (STATIC, {"mode": "static_isotropic"}, "named by models"),
        (STATIC, {"method": "consensus"}, "nuts or laplace"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    data: xpcs.Data, models: list[str], options: dict[str, Any], words: str
) -> None:
    with pytest.raises(tessera.Error, match=words):
        xpcs.compare_models(data, models, **options)


def test_speckle_has_longer_intervals_than_its_points_say() -> None:
    truth = {"D0": 3e4, "alpha": -0.3, "D_offset": 0.0}
    made = xpcs.simulate(
        truth, mode="static_anisotropic", n_angle=2, n_frame=31, speckle=True, photons=3.0,
        n_pixel=500, dt=0.1, gap=2e6,
    )  # fmt: skip
    options: dict[str, Any] = {
        "mode": "static_anisotropic", "start": truth, "n_start": 1, "fixed": ["D_offset"],
    }  # fmt: skip
    plain = xpcs.fit(made, **options)
    shared = xpcs.fit(made, noise="frames", **options)
    for name in ("D0", "alpha"):
        assert shared.physical_uncertainties[name] > 1.5 * plain.physical_uncertainties[name]
    drawn = xpcs.sample(shared, method="laplace", n_chain=1, n_draw=1000)
    assert drawn.facts["noise_photons"] > 0
    assert drawn.facts["log_evidence"] is None
    for name in ("D0", "alpha"):
        spread = drawn[name].std() / shared.physical_uncertainties[name]
        assert 0.8 < spread < 1.25  # errors of a tenth bend a little
    with pytest.raises(tessera.Error, match="without shards"):
        xpcs.sample(shared, method="consensus", n_shard=2)
