"""Fixtures shared by all tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings

from helpers import Floats

# Fixed examples: a failure must be the change's fault, not the day's.
settings.register_profile("house", derandomize=True, deadline=None, max_examples=150)
settings.load_profile("house")


@pytest.fixture(scope="session")
def many_epochs() -> Floats:
    """Return 32 MB: enough for several tiles, progress and spans."""
    rng = np.random.default_rng(5)
    epochs: Floats = rng.standard_normal((1000, 16, 500), np.float32)
    epochs.flags.writeable = False
    return epochs


@pytest.fixture(params=[np.float32, np.float64], ids=["f32", "f64"])
def epochs(request: pytest.FixtureRequest) -> Floats:
    rng = np.random.default_rng(1)
    return rng.standard_normal((7, 5, 101)).astype(request.param)
