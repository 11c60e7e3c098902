# %% [markdown]
# # Clean epochs, the way MNE users do it
#
# `AutoReject` learns a peak-to-peak threshold for every sensor, then repairs epochs in which a few
# sensors are bad and drops those in which too many are. A script written for the package
# `autoreject` runs with its import line changed.

# %%
import matplotlib.pyplot as plt
import mne
import numpy as np

from tessera.autoreject import AutoReject  # was: from autoreject import AutoReject

mne.set_log_level("ERROR")
rng = np.random.default_rng(0)

# %% [markdown]
# Ninety epochs of an evoked response at 32 places of the head, with three kinds of trouble: blinks,
# a loose electrode, and epochs in which the subject moved. With your own data `epochs` is what
# `mne.read_epochs("sub-01-epo.fif")` returns.

# %%
montage = mne.channels.make_standard_montage("biosemi32")
info = mne.create_info(montage.ch_names, 250.0, "eeg").set_montage(montage)
n_epoch, n_channel, times = 90, len(info["ch_names"]), np.arange(-50, 150) / 250.0
place = np.array([montage.get_positions()["ch_pos"][name] for name in info["ch_names"]])

sources = rng.normal(size=(30, 3))
sources *= 0.06 / np.linalg.norm(sources, axis=1, keepdims=True)
spread = 1 / (0.03 + np.linalg.norm(place[:, None] - sources, axis=2)) ** 2
rhythm = np.cos(2 * np.pi * 10 * np.arange(25) / 250.0) * np.hanning(25)
activity = rng.normal(size=(n_epoch, 30, len(times) + 24))
activity = np.apply_along_axis(np.convolve, 2, activity, rhythm, "valid")
x = np.einsum("cs,est->ect", spread, activity)
x *= 8e-6 / x.std()
x += rng.normal(scale=1e-6, size=x.shape)
posterior = 4e-6 * np.clip(-place[:, 1] / 0.09, 0, None)
x += posterior[:, None] * np.exp(-0.5 * ((times - 0.17) / 0.03) ** 2)
frontal = 120e-6 * np.clip(place[:, 1] / 0.09, 0, None) ** 3
for k in rng.choice(n_epoch, 9, replace=False):  # blinks
    x[k] += frontal[:, None] * np.exp(-0.5 * ((times - rng.uniform(0, 0.4)) / 0.06) ** 2)
loose = info["ch_names"].index("P4")
for k in rng.choice(n_epoch, 25, replace=False):  # one electrode is loose
    x[k, loose] += 90e-6 * np.sign(np.sin(2 * np.pi * 7 * times + k))
for k in rng.choice(n_epoch, 5, replace=False):  # the subject moves
    x[k] += 200e-6 * rng.normal(size=(n_channel, 1)) * np.linspace(-1, 1, len(times))
epochs = mne.EpochsArray(x, info, tmin=-0.2)

# %%
ar = AutoReject(random_state=42, verbose=False)
clean, log = ar.fit_transform(epochs, return_log=True)
print(f"{len(epochs)} epochs: {np.sum(log.bad_epochs)} dropped, "
      f"{np.sum(np.any(log.labels == 2, axis=1) & ~log.bad_epochs)} repaired")
print("of all repairs at P4:", f"{np.mean(np.nonzero(log.labels == 2)[1] == loose):.0%}")

# %% [markdown]
# What was done to which sensor of which epoch: white is good, blue repaired, red bad.

# %%
log.plot("horizontal", show=False)
plt.show()

# %% [markdown]
# The average over the back of the head, before and after.

# %%
back = [name for name, p in zip(info["ch_names"], place, strict=True) if p[1] < -0.05]
plt.figure(figsize=(7, 3.5), layout="constrained")
for name, data in (("before", epochs), ("after", clean)):
    plt.plot(times, 1e6 * data.get_data(picks=back).mean(axis=(0, 1)), label=name)
plt.xlabel("time [s]")
plt.ylabel("average [uV]")
plt.legend()
plt.show()
