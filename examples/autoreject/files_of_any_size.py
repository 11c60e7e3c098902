# %% [markdown]
# # Recordings on disk, within a memory limit
#
# Epochs are cut from recordings (FIF, EDF, BDF, BrainVision, EEGLAB) while they are read, and never
# have to fit into memory. Here a FIF file of epochs is fitted within 64 MiB and written again,
# with a report to look at.

# %%
import tempfile
from pathlib import Path

import mne

from tessera.autoreject import AutoReject, read_epochs, simulate

mne.set_log_level("ERROR")
folder = Path(tempfile.mkdtemp())
montage = mne.channels.make_standard_montage("biosemi64")
info = mne.create_info(montage.ch_names, 250.0, "eeg").set_montage(montage)
x = simulate(epochs=150, channels=64, samples=300, bad_fraction=0.05, seed=9)
mne.EpochsArray(x, info).save(folder / "sub-01-epo.fif")

# %%
epochs = read_epochs(folder / "sub-01-epo.fif", memory_limit="64M")
print(epochs)
ar = AutoReject(random_state=1, memory_limit="64M", verbose=False).fit(epochs)
log = ar.transform_file(epochs, folder / "sub-01-clean-epo.fif", return_log=True)
print(mne.read_epochs(folder / "sub-01-clean-epo.fif"))

# %% [markdown]
# The same on the command line, for a study of many subjects:
#
#     tessera autoreject fit-transform sub-01-epo.fif -o sub-01-clean-epo.fif \
#         --report sub-01.html --memory-limit 64M
