"""Two hills of a posterior of all seven parameters, whose weights are known.

With angles of 0, 90, 180 and -90 degrees the likelihood is the same at phi0 and -phi0; the prior
alone says what each side weighs: p(-x) / p(x) = exp(-2 x mean / sd^2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tessera import xpcs

TRUTH = (3e3, -0.3, 50.0, 4e-3, -0.1, 1e-4, 8.0)


def test_hills_of_seven_parameters_have_their_weights() -> None:
    setup: dict[str, Any] = {"mode": "laminar_flow", "gap": 2e6}
    data = xpcs.simulate(
        TRUTH, phi=[0.0, 90.0, 180.0, -90.0], n_frame=41, sigma=0.003, contrast=0.3, q=0.01,
        dt=0.1, dtype="f64", **setup,
    )
    fitted = xpcs.fit(data, **setup)
    drawn = xpcs.sample(fitted, n_warmup=300, n_draw=1000, prior={"phi0": (2, 5)})
    assert len(drawn.free_names) == 8
    x = drawn["phi0"]
    want = float(np.mean(1 / (1 + np.exp(2 * np.abs(x) * 2 / 25))))
    error = np.sqrt(want * (1 - want) / drawn.table["phi0"]["ess_bulk"])
    assert abs(float(np.mean(x < 0)) - want) < 4 * error
    assert drawn.table["phi0"]["ess_bulk"] > 400  # they are changed between often
    assert "2 separate hills" in drawn.summary()
