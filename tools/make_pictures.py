"""Makes the README's pictures, docs/pictures/*.png, from our own results on simulated data.

    python tools/make_pictures.py [--folder docs/pictures]

Needs the package, matplotlib and h5py, as .venv has them: ./dev pictures. The same versions draw
the same bytes; each picture is under 60 kB.
"""

import argparse
import io
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from PIL import Image

import tessera.autoreject
import tessera.clifford
import tessera.decode
from tessera import xpcs

ROOT = Path(__file__).resolve().parents[1]
LIMIT_BYTES = 60_000
WIDTH, HEIGHT, DPI = 4.6, 2.6, 130  # shown 300 pixels wide, sharp on dense screens
INK = "#22313f"


def draw_epochs(axis):
    """What became of every channel of every epoch."""
    x = tessera.autoreject.simulate(epochs=80, channels=32, samples=250, seed=3)
    angle = np.arange(32) * 2.399963  # a spiral over the upper half of the head
    height = 1 - np.arange(32) / 32
    radius = np.sqrt(1 - height**2)
    places = 0.1 * np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)
    model = tessera.autoreject.AutoReject(random_state=1, search="exact", verbose=False)
    _, log = model.fit_array(x, places).transform_array(x, return_log=True)
    state = np.where(log.bad_epochs[:, None], 3, log.labels)
    colours = ListedColormap(["#eef2f5", "#d1495b", "#3f88c5", "#2b2d42"])
    axis.imshow(state.T, aspect="auto", cmap=colours, vmin=-0.5, vmax=3.5,
                interpolation="nearest")
    axis.set(xlabel="epoch", ylabel="channel", title="repaired (blue), left (red), dropped (dark)")


def draw_spikes(axis):
    """Position decoded from spikes, and the animal's own."""
    recording = tessera.decode.simulate_recording(
        "day-1d", seed=4, electrodes=16, time_bins=20000, encoding_spikes=60000,
        decoding_spikes=20000)
    model = tessera.decode.ContFragClusterlessClassifier(
        environments=recording.environment(),
        clusterless_algorithm_params=recording.algorithm_params())
    model.fit(recording.position_time, recording.position, recording.encoding_spike_times,
              recording.encoding_spike_waveform_features)
    results = model.predict(recording.spike_times, recording.spike_waveform_features,
                            recording.time)
    posterior = np.nan_to_num(np.asarray(results["acausal_posterior"]))
    n_bin = posterior.shape[1] // 2  # Continuous and Fragmented over the same places
    shown = posterior[:, :n_bin] + posterior[:, n_bin:]
    shown = shown.reshape(-1, 50, n_bin).mean(axis=1)  # more columns than can be seen
    time = recording.time - recording.time[0]
    axis.imshow(shown.T**0.5, origin="lower", aspect="auto", cmap="magma_r",
                interpolation="nearest", extent=(time[0], time[-1], recording.position.min(),
                                                 recording.position.max()))
    axis.plot(time, recording.true_position.ravel()[: len(time)], color="#3f88c5", lw=0.9)
    axis.set(xlabel="time (s)", ylabel="position (cm)", title="posterior, and where the rat was")


def draw_correlations(figure):
    """A correlation matrix, its fit and what is left."""
    data = xpcs.simulate(n_angle=6, n_frame=81, sigma=0.02, seed=5)
    result = xpcs.fit(data, sigma_mode="estimate")
    measured, fitted = data.matrix(1), result.model(1)
    axes = figure.subplots(1, 3, sharey=True)
    low, high = np.percentile(fitted, [1, 99])
    extent = (data.t[0], data.t[-1], data.t[0], data.t[-1])
    for axis, image, title in zip(axes, (measured, fitted), ("c2", "fit"), strict=False):
        axis.imshow(image, origin="lower", extent=extent, cmap="viridis", vmin=low, vmax=high,
                    interpolation="nearest")
        axis.set_title(title)
    left = (measured - fitted) / result.sigma.mean()
    axes[2].imshow(left, origin="lower", extent=extent, cmap="RdBu_r", vmin=-4, vmax=4,
                   interpolation="nearest")
    axes[2].set_title("residual / sigma")
    axes[0].set(xlabel="t1 (s)", ylabel="t2 (s)")


def turned(x, angle):
    """2D multivectors with their vectors turned."""
    y = x.copy()
    y[1] = np.cos(angle) * x[1] - np.sin(angle) * x[2]
    y[2] = np.sin(angle) * x[1] + np.cos(angle) * x[2]
    return y


def draw_tensors(axis):
    """The vectors of a product's result while its input turns once: circles, one per feature."""
    algebra = tessera.clifford.Algebra("++")
    random = np.random.default_rng(11)
    x = random.normal(size=(4, 1, 7)).astype(np.float64)
    y = random.normal(size=(4, 1, 7)).astype(np.float64)
    weight = random.normal(size=(7, algebra.n_path))
    angles = np.linspace(0, 2 * np.pi, 73)
    plain = {"activation": "none", "normalize": False}
    paths = np.stack([
        tessera.clifford.sgp(turned(x, a), turned(y, a), weight, "++", **plain)[1:3, 0]
        for a in angles])
    colours = plt.get_cmap("viridis")(np.linspace(0, 0.9, 7))
    for feature, colour in enumerate(colours):
        axis.plot(*paths[:, :, feature].T, color=colour, lw=1)
        for step in (0, 12):  # the same turn of the input turns every arrow alike
            axis.annotate("", paths[step, :, feature], (0, 0),
                          arrowprops={"arrowstyle": "->", "color": colour,
                                      "alpha": 1 if step == 0 else 0.45})
    axis.set_aspect("equal")
    axis.set(title="input turned by 60 degrees: so is the output")


def save(name, folder, draw, whole=False):
    figure = plt.figure(figsize=(WIDTH, HEIGHT), dpi=DPI, layout="constrained")
    draw(figure if whole else figure.subplots())
    path = folder / f"{name}.png"
    drawn = io.BytesIO()
    figure.savefig(drawn, metadata={"Software": None})
    plt.close(figure)
    # A palette: a third of the bytes, and no difference that the eye can see.
    Image.open(drawn).convert("RGB").quantize(128).save(path, optimize=True)
    if path.stat().st_size > LIMIT_BYTES:
        raise SystemExit(f"{path}: {path.stat().st_size} bytes, more than {LIMIT_BYTES}")
    print(f"{path}: {path.stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "pictures")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update({"font.size": 8, "axes.titlesize": 8, "text.color": INK,
                         "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK,
                         "ytick.color": INK})
    save("epochs", folder, draw_epochs)
    save("spikes", folder, draw_spikes)
    save("correlations", folder, draw_correlations, whole=True)
    save("tensors", folder, draw_tensors)
    return 0


if __name__ == "__main__":
    sys.exit(main())
