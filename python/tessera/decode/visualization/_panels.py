"""Panels of sortingview that views of one and two coordinates share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tessera.decode._optional import needed
from tessera.decode.visualization.static import get_multiunit_firing_rate

_COLORS = (
    "#1f77b4",
    "#ff7f0e",
    "#2ca02c",
    "#d62728",
    "#9467bd",
    "#8c564b",
    "#e377c2",
    "#7f7f7f",
    "#bcbd22",
    "#17becf",
)


def franklab() -> Any:
    """Return the module of decoded positions, or say that it is missing."""
    return needed("sortingview.views.franklab", "a figurl view")


def _line(name: str, time: Any, values: Any) -> Any:
    views = needed("sortingview.views", "a figurl view")
    return views.TimeseriesGraph().add_line_series(
        name=name,
        t=np.asarray(time),
        y=np.asarray(values, dtype=np.float32).squeeze(),
        color="black",
        width=1,
    )


def series_panels(
    results: Any, speed_time: Any, speed: Any, spike_times: Sequence[Any] | None
) -> list[Any]:
    """Return panels of states, speed and firing rate; of what is not given there is none."""
    views = needed("sortingview.views", "a figurl view")
    time = np.asarray(results["time"])
    probability = np.asarray(results["acausal_state_probabilities"], dtype=np.float32)
    probability = probability.reshape(len(time), -1)
    states = views.TimeseriesGraph()
    for k, name in enumerate(np.atleast_1d(np.asarray(results["states"])).tolist()):
        color = _COLORS[k % len(_COLORS)]
        states.add_line_series(name=str(name), t=time, y=probability[:, k], color=color, width=1)
    panels = [views.LayoutItem(states, stretch=1, title="Probability of State")]
    if speed is not None:
        line = _line("Speed [cm/s]", speed_time, speed)
        panels.append(views.LayoutItem(line, stretch=1, title="Speed"))
    if spike_times is not None:
        rate = np.asarray(get_multiunit_firing_rate(spike_times, time))
        line = _line("Multiunit Rate [spikes/s]", time, rate)
        panels.append(views.LayoutItem(line, stretch=1, title="Multiunit"))
    return panels


def page(columns: Sequence[Sequence[Any]], height: int, label: str) -> str:
    """Return the address of a page with columns of panels."""
    views = needed("sortingview.views", "a figurl view")
    boxes = [
        views.LayoutItem(views.Box(direction="vertical", show_titles=True, items=list(panels)))
        for panels in columns
    ]
    view = views.Box(direction="horizontal", show_titles=True, height=height, items=boxes)
    return str(view.url(label=label))


def decoded(view: Any, stretch: int) -> Any:
    """Return a view of decoded positions as a panel."""
    views = needed("sortingview.views", "a figurl view")
    return views.LayoutItem(view, stretch=stretch, title="Decode")
