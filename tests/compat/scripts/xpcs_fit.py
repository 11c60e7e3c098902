"""Anisotropic static diffusion fitted to simulated correlations, as a user of homodyne would."""

import numpy as np
from homodyne.config import ConfigManager
from homodyne.optimization.nlsq import fit_nlsq_jax

rng = np.random.default_rng(3)
n, dt, q = 40, 0.1, 0.0054
t = dt * np.arange(1, n + 1)
truth = {"D0": 2000.0, "alpha": -0.4, "D_offset": 10.0}
rate = truth["D0"] * t ** truth["alpha"] + truth["D_offset"]
steps = np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * dt)])
g1 = np.exp(-0.5 * q**2 * np.abs(steps[:, None] - steps[None, :]))
phi = np.array([0.0, 45.0, 90.0])
c2 = 1.0 + 0.3 * np.stack([g1**2] * 3) + 0.002 * rng.standard_normal((3, n, n))
c2 = 0.5 * (c2 + c2.transpose(0, 2, 1))

t1, t2 = np.meshgrid(t, t, indexing="ij")
data = {
    "c2_exp": c2,
    "phi_angles_list": phi,
    "wavevector_q_list": np.array([q]),
    "t1": t1,
    "t2": t2,
    "sigma": np.full_like(c2, 0.002),
}
config = ConfigManager(
    config_override={
        "analysis_mode": "static",
        "analyzer_parameters": {
            "dt": dt,
            "start_frame": 1,
            "end_frame": n,
            "scattering": {"wavevector_q": q},
            "geometry": {"stator_rotor_gap": 2000000},
        },
        "initial_parameters": {
            "parameter_names": ["D0", "alpha", "D_offset"],
            "values": [1500.0, -0.5, 4.0],
        },
        "optimization": {"method": "nlsq"},
    }
)
result = fit_nlsq_jax(data, config)
parameters = np.asarray(result.parameters)
fitted = parameters[-3:]
print("D0 alpha D_offset", np.round(fitted, 3))
