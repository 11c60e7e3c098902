"""Two components: model, simulation, fits and what is refused."""

import numpy as np
import pytest

import tessera
import tessera.xpcs as tx

TRUTH = dict(
    zip(
        tessera.xpcs._arguments.names_of("two_component"),
        (700, -0.6, 60, 1300, 0.7, -90, 330, 0.9, 40, 0.6, -0.4, 0, 0.2, -2.5),
        strict=True,
    )
)


@pytest.fixture(scope="module")
def data():
    return tx.simulate(
        TRUTH, mode="two_component", phi=[-25, 8, 40], n_frame=41, q=0.0237, sigma=0.003, dt=0.1
    )


@pytest.fixture(scope="module")
def start():
    return {name: value * 1.05 for name, value in TRUTH.items()}


def test_number_and_names_of_parameters_say_the_mode():
    values = list(TRUTH.values())
    want = tx.model(values, 8, phi=[10.0], q=0.0237, dt=0.1, mode="two_component")
    assert np.array_equal(tx.model(values, 8, phi=[10.0], q=0.0237, dt=0.1), want)
    assert np.array_equal(tx.model(TRUTH, 8, phi=[10.0], q=0.0237, dt=0.1), want)
    assert np.allclose(want[0], want[0].T)
    assert np.all(np.diag(want[0]) == 1)


def test_grids_have_velocity_and_fraction():
    found = tx.grids(TRUTH, 6, dt=0.1)
    t = found["t"]
    assert np.allclose(found["velocity"], 330 * t**0.9 + 40)
    assert np.allclose(found["fraction"], 0.6 * np.exp(-0.4 * t) + 0.2, atol=1e-3)
    assert "diffusion" not in found


def test_a_fit_finds_the_truth(data, start, tmp_path):
    result = tx.fit(
        data, mode="two_component", sigma=0.003, start=start, n_start=1, uncertainty="covariance"
    )
    assert result.success
    for name, value in TRUTH.items():
        sd = result.physical_uncertainties[name]
        assert abs(result.physical[name] - value) <= 5 * sd, name
    assert result.status[result.names.index("f2")] == "fixed"
    value, sd = result.f_product
    assert abs(value - 0.6) < 5 * sd
    page = tmp_path / "page.html"
    result.report(page)
    text = page.read_text()
    assert "fs(t)" in text
    assert "v(t)" in text


def test_f2_is_free_where_it_is_named(data, start):
    names = [name for name in TRUTH if name.startswith("f")]
    result = tx.fit(
        data,
        mode="two_component",
        sigma=0.003,
        start=start,
        n_start=1,
        active=names,
        uncertainty="covariance",
    )
    status = dict(zip(result.names, result.status, strict=True))
    assert status["f0"] == status["f2"] == "unidentified"
    assert any("f0 exp(-f1 f2)" in line for line in result.warnings)


def test_what_is_not_there_is_refused(data):
    with pytest.raises(tessera.Error, match="mixed is not there for mode two_component"):
        tx.fit(data, mode="two_component", precision="mixed")
    with pytest.raises(tessera.Error, match="no draws from the posterior"):
        tx.sample(data, mode="two_component")
