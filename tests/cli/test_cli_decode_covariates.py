"""decode with transitions that depend on covariates: data sets of the recording, or of a file."""

import json

import numpy as np
import pytest
from test_cli_decode import track


@pytest.fixture(scope="module")
def folder(tessera_at, tmp_path_factory):
    """A folder with a recording that has covariates; commands in it."""
    path = tmp_path_factory.mktemp("covariates")
    data = track(n_electrode=4)
    n = len(data["time"])
    rng = np.random.default_rng(5)
    data |= {"speed": rng.gamma(2, 5, n), "theta": np.sin(np.arange(n)), "short": np.zeros(3)}
    data["holes"] = np.where(np.arange(n) == 7, np.nan, 1)
    np.savez(path / "rec.npz", **data)
    np.savez(path / "other.npz", speed=np.zeros(n), theta=data["theta"])
    np.savez(path / "bare.npz", **track(n_electrode=4))
    return tessera_at(path), path


def run(folder, *words):
    result = folder[0]("decode", *words)
    assert result.returncode == 0, result.stderr
    return result


def test_they_begin_as_the_matrix_and_are_learned(folder):
    tessera, path = folder
    run(folder, "fit", "rec.npz", "--covariates", "speed,theta", "-o", "m.npz")
    run(folder, "predict", "rec.npz", "--model-file", "m.npz", "-o", "a")
    run(folder, "run", "rec.npz", "-o", "b")
    same = [np.load(path / name / "acausal_posterior.npy") for name in "ab"]
    np.testing.assert_allclose(*same, atol=1e-6)
    em = run(folder, "em", "rec.npz", "--model-file", "m.npz", "-o", "m2.npz",
             "--max-iterations", "3")
    assert "from Continuous: log odds against Fragmented" in em.stdout
    rows = json.loads(run(folder, "info", "m2.npz", "--json").stdout)
    assert rows["to_decode"]["covariates"] == "speed,theta"
    names = [row["covariate"] for row in rows["model"]["coefficients"]]
    assert names == ["intercept", "speed", "theta"]
    assert all(row["log_odds"] != [0, 0] for row in rows["model"]["coefficients"])
    run(folder, "predict", "rec.npz", "--model-file", "m2.npz", "-o", "c", "--want", "path")
    run(folder, "predict", "bare.npz", "--model-file", "m2.npz", "-o", "d",
        "--covariates-file", "rec.npz", "--want", "path")
    run(folder, "predict", "rec.npz", "--model-file", "m2.npz", "-o", "e",
        "--covariates-file", "other.npz")
    found = [np.load(path / name / "acausal_posterior.npy") for name in "acde"]
    assert np.array_equal(found[1], found[2])
    assert abs(found[0] - found[1]).max() > 1e-3 and abs(found[1] - found[3]).max() > 1e-6
    assert tessera("rerun", "c", "-q").returncode == 0
    learned = run(folder, "em", "rec.npz", "--covariates", "speed,theta", "-o", "m3.npz",
                  "--max-iterations", "3")
    assert learned.stdout.splitlines()[-7:-1] == em.stdout.splitlines()[-7:-1]


@pytest.mark.filterwarnings("ignore:.*absolute floor")
def test_python_decodes_with_them(folder):
    td = pytest.importorskip("tessera.decode")
    path = folder[1]
    run(folder, "em", "rec.npz", "--covariates", "speed", "-o", "p.npz", "--max-iterations", "2")
    run(folder, "predict", "rec.npz", "--model-file", "p.npz", "-o", "p")
    model = td.ContFragClusterlessClassifier.load_model(path / "p.npz")
    data = np.load(path / "rec.npz")
    spikes = [data[f"decode_{name}"] if f"decode_{name}" in data else data[name]
              for name in ("spike_times", "spike_offsets", "marks")]
    cuts = spikes[1][1:-1]
    found = model.predict(np.split(spikes[0], cuts), np.split(spikes[2], cuts), data["time"],
                          discrete_transition_covariate_data={"speed": data["speed"]})
    wanted = np.load(path / "p" / "acausal_posterior.npy")
    inside = ~np.isnan(np.asarray(found["acausal_posterior"])[0])
    assert np.array_equal(np.asarray(found["acausal_posterior"])[:, inside], wanted)


def test_events_are_decoded_with_them(folder):
    """The posterior of an event that begins on a time bin is that of predict for these rows."""
    tessera, path = folder
    time = np.load(path / "rec.npz")["time"].tolist()
    step = float(np.median(np.diff(time)))
    rows = [(40, 70), (100, 121), (210, 260)]
    with open(path / "events.csv", "w") as file:
        file.writelines(["start,end\n", *(f"{time[a]!r},{time[a] + (b - a) * step!r}\n"
                                          for a, b in rows)])
    run(folder, "em", "rec.npz", "--covariates", "speed,theta", "-o", "s.npz", "--mode", "exact",
        "--max-iterations", "3")
    loose = ["--max-speed", "1e6", "--min-spikes", "0", "--min-electrodes", "0", "--shuffles", "3",
             "--kinds", "time"]
    words = ["events", "rec.npz", "--intervals", "events.csv", "--model-file", "s.npz",
             "--decoder", "states", *loose]
    run(folder, "predict", "rec.npz", "--model-file", "s.npz", "--intervals", "events.csv",
        "-o", "rows")
    run(folder, *words, "-o", "e.npz")
    found, wanted = np.load(path / "e.npz"), np.load(path / "rows" / "acausal_posterior.npy")
    n = sum(b - a for a, b in rows)
    n_place = found["posterior"].shape[1]
    assert wanted.shape == (n, 2 * n_place) and found["posterior"].shape[0] == n
    summed = wanted[:, :n_place] + wanted[:, n_place:]
    np.testing.assert_allclose(found["posterior"], summed, rtol=0, atol=1e-12)
    states = np.stack([wanted[:, :n_place].sum(1), wanted[:, n_place:].sum(1)], axis=1)
    np.testing.assert_allclose(found["state_probability"], states, rtol=0, atol=1e-12)
    run(folder, *words, "-o", "o.npz", "--covariates-file", "other.npz")
    assert abs(np.load(path / "o.npz")["posterior"] - found["posterior"]).max() > 1e-6
    assert tessera("rerun", "e.npz", "-q").returncode == 0


def test_they_are_played_to_the_online_decoder(folder):
    facts = [json.loads(run(folder, "online", "rec.npz", "--covariates", "speed", "--json",
                            *more).stdout) for more in ([], ["--covariates-file", "other.npz"])]
    assert facts[0]["n_bin"] == facts[1]["n_bin"] > 0
    said = folder[0]("decode", "online", "bare.npz", "--covariates", "speed").stderr
    assert "no data set 'speed' for covariates" in said


@pytest.mark.parametrize(("words", "said"), [
    (["run", "rec.npz", "--covariates", "none"], "no data set 'none' for covariates"),
    (["run", "rec.npz", "--covariates", "short"], "short has 3 values"),
    (["run", "rec.npz", "--covariates", "holes"], "holes is not finite in time bin 7"),
    (["run", "rec.npz", "--covariates", "speed,"], "name 2 of 'speed,' is empty"),
    (["run", "rec.npz", "--covariates", "speed,speed"], "'speed' is named twice"),
    (["run", "rec.npz", "--covariates", "speed", "--model", "decoder"], "has one state"),
    (["run", "rec.npz", "--covariates-file", "other.npz"], "depend on nothing"),
    (["predict", "bare.npz", "--model-file", "k.npz"], "no data set 'speed' for covariates"),
    (["em", "rec.npz", "--model-file", "k.npz", "--covariates", "theta"], "knows its own"),
    (["events", "rec.npz", "--model-file", "k.npz", "--covariates", "theta"], "knows its own"),
    (["events", "bare.npz", "--model-file", "k.npz", "--decoder", "states"],
     "no data set 'speed' for covariates"),
    (["events", "rec.npz", "--covariates-file", "other.npz"], "depend on nothing"),
])
def test_what_is_refused(folder, words, said):
    if not (folder[1] / "k.npz").exists():
        run(folder, "fit", "rec.npz", "--covariates", "speed", "-o", "k.npz")
    result = folder[0]("decode", *words, "-o", "x" if words[0] in ("run", "predict") else "x.npz")
    assert result.returncode in (2, 65), result.stderr
    assert said in result.stderr
