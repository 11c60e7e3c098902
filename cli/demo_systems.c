// The demos: a second or two each on two cores, a report at the end.

#include "demo.h"

const demo_system demo_systems[DEMO_SYSTEMS] = {
    {.name = "autoreject",
     .what = "EEG epochs with bad channels, repaired or dropped",
     .lines = {{"autoreject", "simulate", "-o", DEMO_HERE "epochs.npy", "--positions",
                DEMO_HERE "electrodes.csv", "--overwrite"},
               {"autoreject", "fit-transform", DEMO_HERE "epochs.npy", "--montage",
                DEMO_HERE "electrodes.csv", "--sampling-hz", "250", "-o", DEMO_HERE "clean-epo.fif",
                "--report", DEMO_HERE DEMO_REPORT, "--overwrite"}},
     .facts = {"bad epochs ", "bad channels "},
     .own_label = "your epochs",
     .own = "autoreject fit-transform YOUR-epo.fif -o clean-epo.fif --report clean.html",
     .python = "from tessera.autoreject import AutoReject; "
               "clean = AutoReject(random_state=0).fit_transform(epochs)"},
    {.name = "decode",
     .what = "a rat's position from unsorted spikes",
     .lines = {{"decode", "simulate", "day-1d", "-o", DEMO_HERE "recording.npz", "--electrodes",
                "16", "--time-bins", "20000", "--encoding-spikes", "60000", "--decoding-spikes",
                "20000", "--overwrite"},
               {"decode", "run", DEMO_HERE "recording.npz", "-o", DEMO_HERE "decoded.h5",
                "--report", DEMO_HERE DEMO_REPORT, "--overwrite"}},
     .facts = {"error ", "verdict "},
     .own_label = "your spikes",
     .own = "decode run YOUR.nwb -o decoded.h5 --report decoded.html",
     .python = "from tessera.decode import ClusterlessDecoder; "
               "model = ClusterlessDecoder().fit(time, position, spikes, features)"},
    {.name = "xpcs",
     .what = "diffusion and shear from two-time correlations",
     .lines = {{"xpcs", "simulate", "-o", DEMO_HERE "correlations.hdf", "--n-angle", "8",
                "--n-frame", "300", "--sigma", "0.02", "--contrast-scatter", "0.1", "--overwrite"},
               {"xpcs", "fit", DEMO_HERE "correlations.hdf", "--gap", "2e6", "--sigma-mode",
                "estimate", "-o", DEMO_HERE "results", "--report", DEMO_HERE DEMO_REPORT,
                "--overwrite"}},
     .facts = {"chi2 ", "D0 ", "gamma_dot_t0 "},
     .own_label = "your c2",
     .own = "xpcs fit YOUR.hdf --gap 2e6 --sigma-mode estimate -o results --report fit.html",
     .python = "from tessera import xpcs; "
               "result = xpcs.fit(xpcs.load(\"YOUR.hdf\", gap=2e6), sigma_mode=\"estimate\")"},
    {.name = "clifford",
     .what = "layers of a geometric network, checked and timed",
     .lines = {{"clifford", "check", "+++"},
               {"clifford", "bench", "+++", "--batch", "64,256,1024", "--features", "16,64,256",
                "--seconds", "0.02", "--report", DEMO_HERE DEMO_REPORT, "--overwrite"}},
     .facts = {" checks, ", " features     forward", "    1024      256"},
     .own_label = "your algebra",
     .own = "clifford check +---",
     .python = "from tessera.clifford import Layer; "
               "z = Layer(n_features=128, dims=3)(torch.randn(8, 1024, 128))"},
};
