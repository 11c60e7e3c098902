"""A reject log made by hand, saved, and read again."""

import numpy as np
from autoreject import RejectLog, read_reject_log

labels = np.zeros((5, 3))
labels[1, 2] = 1
labels[3, 0] = 2
bad_epochs = np.array([False, True, False, False, False])
log = RejectLog(bad_epochs=bad_epochs, labels=labels, ch_names=["A", "B", "C"])
log.save("log.npz")
again = read_reject_log("log.npz")
same = bool(np.array_equal(again.labels, labels))
print(same, again.ch_names)
