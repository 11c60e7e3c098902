"""Simulated EEG epochs cleaned by local autoreject."""

import mne
import numpy as np
from autoreject import AutoReject

mne.set_log_level("ERROR")
rng = np.random.default_rng(7)
names = ["Fz", "Cz", "Pz", "Oz", "F3", "F4", "C3", "C4", "P3", "P4"]
info = mne.create_info(names, 100.0, "eeg")
data = 1e-5 * rng.standard_normal((30, len(names), 60))
data[4, 2] *= 25
data[11] *= 30
data[:, 7] *= 3
epochs = mne.EpochsArray(data, info, tmin=0.0)
epochs.set_montage(mne.channels.make_standard_montage("standard_1020"))

ar = AutoReject(n_interpolate=[1, 2], cv=5, random_state=42, n_jobs=1, verbose=False)
clean, log = ar.fit_transform(epochs, return_log=True)
labels = log.labels
bad_epochs = log.bad_epochs
thresholds = {name: float(value) for name, value in sorted(ar.threshes_.items())}
cleaned = clean.get_data(copy=False)
print(len(clean), "epochs left,", int(np.nansum(labels == 2)), "repairs")
