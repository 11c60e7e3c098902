"""Files of other facilities, made as their programs write them: pyCHX (NSLS-II), dynamix (ESRF)."""

import json

import h5py
import numpy as np
import pytest

DT = 0.05
PHI = np.array([-30.0, 0.0, 45.0])
REGIONS = [(q, phi) for q in (0.004, 0.006) for phi in PHI]


def matrices(n=40):
    """(N,N,P) as of pyCHX: region k decays by its number."""
    t = DT * np.arange(n)
    lag = np.abs(t[:, None] - t[None, :])
    rng = np.random.default_rng(4)
    stack = []
    for k in range(len(REGIONS)):
        noise = rng.normal(0, 0.01, (n, n))
        stack.append(1 + 0.1 * (k + 1) * np.exp(-lag) + (noise + noise.T) / 2)
    return np.stack(stack, axis=-1)


def write_chx(path, c2, regions, *, times=True):
    """The layout of export_xpcs_results_to_h5 of pyCHX."""
    with h5py.File(path, "w") as file:
        file["g12b"] = c2
        values = file.create_dataset("qval_dict", (1,), dtype="i")
        for k, region in enumerate(regions):
            values.attrs[str(k)] = np.asarray(region, dtype=float)
        file.create_dataset("md", (1,), dtype="i").attrs["uid"] = "abc"
        if times:
            file["tausb"] = DT * np.arange(len(c2))


def told(tessera, *words):
    result = tessera(*words, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_chx_regions_have_q_phi_and_times(tessera, tmp_path):
    c2 = matrices()
    write_chx(tmp_path / "uid=abc_Res.h5", c2, REGIONS)
    found = told(tessera, "xpcs", "inspect", "uid=abc_Res.h5")
    assert found["layout"] == "chx"
    assert found["dt_s"] == pytest.approx(DT)
    assert [(b["q"], b["phi"]) for b in found["bins"]] == REGIONS
    result = tessera("xpcs", "g2", "uid=abc_Res.h5", "--q", "0.006", "-o", "g2.npz", "--keep-t0")
    assert result.returncode == 0, result.stderr
    curves = np.load(tmp_path / "g2.npz")
    assert np.array_equal(curves["phi"], PHI)
    assert np.all(curves["q"] == 0.006)
    assert curves["tau"][0] == pytest.approx(DT)
    for k in range(3):
        wanted = [np.diagonal(c2[:, :, 3 + k], lag).mean() for lag in range(1, 40)]
        assert np.allclose(curves["g2"][k, 0], wanted, rtol=1e-12)


def test_chx_rings_without_angles_and_times(tessera, tmp_path):
    write_chx(tmp_path / "rings.h5", matrices()[:, :, :2], [[0.004], [0.006]], times=False)
    found = told(tessera, "xpcs", "inspect", "rings.h5")
    assert [(b["q"], b["phi"]) for b in found["bins"]] == [(0.004, 0), (0.006, 0)]
    line = ["xpcs", "fit", "rings.h5", "--q", "0.004", "--mode", "static_anisotropic", "-o", "fit",
            "--max-nfev", "3", "--no-surfaces"]
    result = tessera(*line)
    assert result.returncode != 0
    assert "dt" in result.stderr
    result = tessera(*line, "--dt", "0.05")
    assert result.returncode == 0, result.stderr
    assert "phi is taken as 0" in result.stderr


def test_chx_without_a_region_s_q_is_refused(tessera, tmp_path):
    write_chx(tmp_path / "bad.h5", matrices()[:, :, :3], REGIONS[:2])
    result = tessera("xpcs", "inspect", "bad.h5")
    assert result.returncode == 65
    assert "no attribute '2'" in result.stderr


def test_dynamix_archives_are_data_sets(tessera, tmp_path):
    c2 = matrices()[:, :, 0].astype(np.float32)
    np.savez_compressed(tmp_path / "sample_event_trc.npz", data=c2)
    result = tessera("xpcs", "g2", "sample_event_trc.npz", "--c2-path", "data", "--q", "0.01",
                     "--phi", "0", "--dt", "0.05", "--keep-t0", "-o", "g2.npz")
    assert result.returncode == 0, result.stderr
    found = np.load(tmp_path / "g2.npz")["g2"][0, 0]
    assert np.allclose(found, [np.diagonal(c2, k).mean(dtype=float) for k in range(1, 40)])
