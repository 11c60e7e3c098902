"""Figures of a model's parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tessera.decode._types import Covariates
    from tessera.decode.models._detector import DetectorBase


class PlotMixin:
    """Figures; matplotlib is imported when one is drawn."""

    def plot_discrete_state_transition(
        self,
        cmap: str = "Oranges",
        ax: Axes | None = None,
        convert_to_seconds: bool = False,
        sampling_frequency: float = 1,
        covariate_data: Covariates | None = None,
    ) -> Axes | list[Axes]:
        """Draw the transition matrix of the discrete states.

        Parameters
        ----------
        cmap : str
            Colours.
        ax : matplotlib.axes.Axes, optional
            Where; default: the current axes.
        convert_to_seconds : bool
            Show expected durations instead of probabilities.
        sampling_frequency : float
            Time bins per second.
        covariate_data : mapping of str to array, optional
            Where to evaluate transitions that depend on covariates.

        Returns
        -------
        matplotlib.axes.Axes or list of them
            What was drawn on.
        """
        from tessera.decode.visualization.figures import plot_discrete_transitions

        return plot_discrete_transitions(
            cast("DetectorBase", self),
            cmap=cmap,
            ax=ax,
            convert_to_seconds=convert_to_seconds,
            sampling_frequency=sampling_frequency,
            covariate_data=covariate_data,
        )

    def plot_continuous_state_transition(
        self, figsize_scaling: float = 1.5, vmax: float = 0.3
    ) -> Figure:
        """Draw the movement between the bins of all pairs of states.

        Parameters
        ----------
        figsize_scaling : float, default 1.5
            Inches per state.
        vmax : float, default 0.3
            Probability of the darkest colour.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from tessera.decode.visualization.figures import plot_movements

        return plot_movements(
            cast("DetectorBase", self), figsize_scaling=figsize_scaling, vmax=vmax
        )

    def plot_initial_conditions(self, figsize_scaling: float = 1.5, vmax: float = 0.3) -> Figure:
        """Draw where every state begins.

        Parameters
        ----------
        figsize_scaling : float, default 1.5
            Inches per state.
        vmax : float, default 0.3
            Probability of the darkest colour.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from tessera.decode.visualization.figures import plot_initial_conditions

        return plot_initial_conditions(
            cast("DetectorBase", self), figsize_scaling=figsize_scaling, vmax=vmax
        )
