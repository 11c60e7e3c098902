# %% [markdown]
# # Sensors that are bad throughout
#
# RANSAC predicts every sensor from random subsets of the others. One that disagrees with its
# predictions most of the time is bad, and is better repaired or left out before anything else.

# %%
import matplotlib.pyplot as plt
import mne
import numpy as np

from tessera.autoreject import Ransac

mne.set_log_level("ERROR")
rng = np.random.default_rng(5)
montage = mne.channels.make_standard_montage("biosemi32")
info = mne.create_info(montage.ch_names, 128.0, "eeg").set_montage(montage)
place = np.array([montage.get_positions()["ch_pos"][name] for name in info["ch_names"]])

# %% [markdown]
# Smooth fields of ten sources, and noise in place of three sensors.

# %%
sources = rng.normal(size=(10, 3))
sources *= 0.05 / np.linalg.norm(sources, axis=1, keepdims=True)
spread = 1 / (0.03 + np.linalg.norm(place[:, None] - sources, axis=2)) ** 2
activity = rng.normal(size=(60, 10, 128)).cumsum(axis=2)
activity -= activity.mean(axis=2, keepdims=True)
x = np.einsum("cs,est->ect", spread, activity)
x *= 20e-6 / x.std()
x += rng.normal(scale=1e-6, size=x.shape)
broken = ["Fp2", "C3", "O1"]
for name in broken:
    x[:, info["ch_names"].index(name)] = rng.normal(scale=20e-6, size=(60, 128))
epochs = mne.EpochsArray(x, info)

# %%
ransac = Ransac(random_state=0, verbose=False).fit(epochs)
print("bad:", ransac.bad_chs_, "- broken were", broken)
repaired = ransac.transform(epochs)

# %%
share = ransac.bad_log.mean(axis=0)
plt.figure(figsize=(9, 3), layout="constrained")
plt.bar(info["ch_names"], share, color=["tab:red" if s > 0.4 else "tab:blue" for s in share])
plt.axhline(0.4, color="grey", linestyle=":")
plt.xticks(rotation=90, fontsize=8)
plt.ylabel("share of epochs that disagree")
plt.show()
