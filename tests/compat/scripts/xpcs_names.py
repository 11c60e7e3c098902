"""Modules of homodyne under the names that people give them."""

import homodyne.config.manager as manager
import homodyne.data.xpcs_loader as loader
from homodyne.device import configure_optimal_device, get_device_status
from homodyne.optimization import nlsq

has_loader = callable(loader.XPCSDataLoader)
has_manager = callable(manager.ConfigManager)
has_fit = callable(nlsq.fit_nlsq_jax)
status = sorted(get_device_status())[:0]
device = callable(configure_optimal_device)
print(has_loader, has_manager, has_fit, device)
