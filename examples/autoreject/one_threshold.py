# %% [markdown]
# # One threshold for `epochs.drop_bad`
#
# Where repair is not wanted, one threshold for each type of channel is enough: the value under
# which the mean of the kept epochs is nearest to the median of the others. It goes into MNE's
# `reject=`.

# %%
import matplotlib.pyplot as plt
import mne
import numpy as np

from tessera.autoreject import get_rejection_threshold, simulate, validation_curve

mne.set_log_level("ERROR")
montage = mne.channels.make_standard_montage("biosemi64")
info = mne.create_info(montage.ch_names, 250.0, "eeg").set_montage(montage)
x = simulate(epochs=100, channels=64, samples=200, bad_fraction=0.03, seed=2)
epochs = mne.EpochsArray(x, info)

# %%
reject = get_rejection_threshold(epochs, random_state=1, verbose=False)
print({kind: f"{1e6 * value:.0f} uV" for kind, value in reject.items()})
kept = epochs.copy().drop_bad(reject=reject)
print(f"{len(kept)} of {len(epochs)} epochs kept")

# %% [markdown]
# The curve behind the choice: too low a threshold keeps too few epochs, too high a one keeps the
# bad ones.

# %%
grid = np.linspace(1e-6 * 30, 1e-6 * 400, 40)
train, test = validation_curve(epochs, param_range=grid, cv=5)
plt.figure(figsize=(7, 3.5), layout="constrained")
plt.plot(1e6 * grid, -1e6 * np.mean(test, axis=1), label="held out")
plt.plot(1e6 * grid, -1e6 * np.mean(train, axis=1), label="learned from")
plt.axvline(1e6 * reject["eeg"], color="tab:red", linestyle=":", label="choice")
plt.xlabel("threshold [uV]")
plt.ylabel("distance from the median [uV]")
plt.legend()
plt.show()
