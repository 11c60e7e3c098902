"""One rejection threshold for all channels, and the curve it comes from."""

import json

import mne
import numpy as np
from autoreject import get_rejection_threshold, validation_curve

mne.set_log_level("ERROR")
rng = np.random.default_rng(8)
info = mne.create_info([f"EEG {i:03d}" for i in range(6)], 100.0, "eeg")
data = 1e-5 * rng.standard_normal((40, 6, 50))
data[[3, 17]] *= 12
epochs = mne.EpochsArray(data, info)

reject = get_rejection_threshold(epochs, random_state=3, verbose=False)
grid = np.linspace(4e-5, 6e-4, 12)
train, test = validation_curve(epochs, param_range=grid, cv=5)
with open("reject.json", "w", encoding="utf-8") as file:
    json.dump({name: float(value) for name, value in reject.items()}, file)
print({name: f"{value:.3e}" for name, value in reject.items()})
