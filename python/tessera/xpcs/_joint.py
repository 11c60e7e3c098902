"""One fit of several data sets, usually several q, with parameters in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tessera import _core
from tessera._lib import Session, warn
from tessera._progress import ProgressLike, callback
from tessera._session import Lease
from tessera._tables import takes_options
from tessera.xpcs._arguments import Floats, ParamsLike, PathLike, canonical, names_of, pair
from tessera.xpcs._config import settings_of
from tessera.xpcs._data import Data, as_data
from tessera.xpcs._fit import _Request

if TYPE_CHECKING:
    from typing import Unpack

    from tessera.xpcs._config import ConfigLike
    from tessera.xpcs._keywords import FitKeywords

__all__ = ["JointResult", "fit_joint"]

_TIES = ("share", "per_q", "power")


class JointResult:
    """What a joint fit found; made by :func:`fit_joint`.

    Parameters
    ----------
    handle : tessera._core.Handle
        Of the library; :func:`fit_joint` has it.
    names : list of str
        Of the physical parameters.

    Attributes
    ----------
    names : list of str
        Physical parameters, in the order of every vector.
    q : array, shape (n_member,)
        Of the members, 1/Å.
    theta, sd : array, shape (n_member, n_param)
        Parameters of every member and their standard deviations.
    values : dict
        Value and standard deviation of every parameter that is shared, or its value at ``q_ref``
        where it is a power of q.
    exponents : dict
        Exponent and standard deviation of every power of q.
    ties : dict
        Of every parameter: ``tie`` ('shared', 'each' or 'power'); and by how much chi2 would fall
        (``gain``) if it alone were free in every member, which adds ``dof`` values, with the
        probability ``p`` of such a gain where the tie is right.
    excess, excess_dof, excess_p : float, int, float
        By how much chi2, in units of the noise, is above that of the members' own fits, for how
        many values fewer, and the probability of that where everything shared is right.
    chi2, reduced_chi2, noise : array, shape (n_member,)
        Of every member; ``noise`` is the reduced chi2 of its own fit, by which it is weighed.
    theta_alone, sd_alone, chi2_alone : array
        The members' own fits.
    phi, contrast, contrast_sd, offset, offset_sd : list of array
        By member, a value for every angle.
    unknowns : list of dict
        What was fitted, with ``name``, ``member`` (-1: of all), ``is_exponent``, ``value``, ``sd``
        and ``status``; ``covariance`` is theirs.
    convergence_status, quality_flag, message : str
        As of a :class:`Result`.
    warnings : list of str
        What to look at.
    """

    def __init__(self, handle: _core.Handle, names: list[str]) -> None:
        info = _core.xpcs_joint_info(handle)
        self._handle = handle
        self.names: list[str] = names
        self.mode: str = info["mode"]
        self.q_ref: float = info["q_ref"]
        self.q: Floats = np.asarray(info["q"])
        self.theta: Floats = np.asarray(info["theta"])
        self.sd: Floats = np.asarray(info["sd"])
        self.chi2: Floats = np.asarray(info["chi2"])
        self.reduced_chi2: Floats = np.asarray(info["reduced_chi2"])
        self.noise: Floats = np.asarray(info["noise"])
        self.covariance: Floats = np.asarray(info["covariance"])
        self.theta_alone: Floats = np.asarray(info["theta_alone"])
        self.sd_alone: Floats = np.asarray(info["sd_alone"])
        self.chi2_alone: Floats = np.asarray(info["chi2_alone"])
        cuts = np.asarray(info["first_angle"])[1:-1]
        self.phi: list[Floats] = np.split(np.asarray(info["phi"]), cuts)
        self.contrast: list[Floats] = np.split(np.asarray(info["contrast"]), cuts)
        self.contrast_sd: list[Floats] = np.split(np.asarray(info["contrast_sd"]), cuts)
        self.offset: list[Floats] = np.split(np.asarray(info["offset"]), cuts)
        self.offset_sd: list[Floats] = np.split(np.asarray(info["offset_sd"]), cuts)
        self.unknowns: list[dict[str, Any]] = info["unknowns"]
        self.ties: dict[str, dict[str, Any]] = info["ties"]
        common = [u for u in self.unknowns if u["member"] < 0]
        self.values: dict[str, tuple[float, float]] = {
            u["name"]: (u["value"], u["sd"]) for u in common if not u["is_exponent"]
        }
        self.exponents: dict[str, tuple[float, float]] = {
            u["name"]: (u["value"], u["sd"]) for u in common if u["is_exponent"]
        }
        self.excess: float = info["excess"]
        self.excess_dof: int = info["excess_dof"]
        self.excess_p: float = info["excess_p"]
        self.condition: float = info["condition"]
        self.n_evaluation: int = info["n_evaluation"]
        self.n_start: int = info["n_start"]
        self.n_checkpoint: int = info["n_checkpoint"]
        self.resumed: bool = info["resumed"]
        self.seconds: float = info["seconds"]
        self.convergence_status: str = info["convergence"]
        self.quality_flag: str = info["quality"]
        self.message: str = info["message"]
        self.warnings: list[str] = info["warnings"].splitlines()

    @property
    def success(self) -> bool:
        """Whether the fit converged."""
        return self.convergence_status == "converged"

    def save(self, folder: PathLike, *, overwrite: bool = False) -> Path:
        """Write ``joint.json``, ``joint.npz``, ``joint.csv`` and ``report.html``.

        Parameters
        ----------
        folder : path
            Where to.
        overwrite : bool, default False
            Replace files that exist.

        Returns
        -------
        Path
            The folder.
        """
        with Session() as context:
            _core.xpcs_joint_write(context, self._handle, folder, overwrite=overwrite)
        return Path(folder)

    def __repr__(self) -> str:
        return (
            f"JointResult({len(self.q)} members, {len(self.unknowns)} unknowns, "
            f"{self.convergence_status}, sharing p = {self.excess_p:.3g})"
        )


def _ties(mode: str, named: Mapping[str, Sequence[str] | str | None]) -> npt.NDArray[np.int64]:
    """Return the kind of every parameter; what is not named is shared."""
    found = np.zeros(len(names_of(mode)), np.int64)
    said: dict[int, str] = {}
    for kind, argument in enumerate(_TIES):
        names = named[argument] or ()
        for name in [names] if isinstance(names, str) else names:
            place = canonical(name, mode, argument)
            if said.setdefault(place, argument) != argument:
                raise _core.ArgumentError(
                    f"{said[place]}, {argument}: both name {name!r}; give it once"
                )
            found[place] = kind
    return found


def _members(data: Any, config: Any) -> list[Data]:
    if isinstance(data, str | Mapping | Data) or not isinstance(data, Iterable):
        raise _core.ArgumentError(
            f"data: expected a list of data sets or files, got {type(data).__name__}; "
            "Data.fit and fit() take one"
        )
    settings = None if config is None else settings_of(config)
    members = [as_data(one, settings) for one in data]
    if len(members) < 2:
        raise _core.ArgumentError(
            f"data: {len(members)} given; a joint fit needs two at least, several files or q"
        )
    return members


@takes_options("xpcs.model", "xpcs.fit")
def fit_joint(
    data: Iterable[Data | PathLike | Mapping[str, Any]],
    config: ConfigLike = None,
    *,
    share: Sequence[str] | str | None = None,
    power: Sequence[str] | str | None = None,
    per_q: Sequence[str] | str | None = None,
    q_ref: float | None = None,
    exponent_bounds: tuple[float, float] | None = None,
    start: ParamsLike | None = None,
    bounds: Mapping[str, tuple[float, float]] | tuple[ParamsLike, ParamsLike] | None = None,
    fixed: Mapping[str, float] | Iterable[str] | None = None,
    active: Iterable[str] | None = None,
    checkpoint: PathLike | None = None,
    checkpoint_every: float | None = None,
    keep_checkpoints: int | None = None,
    resume: bool | None = None,
    threads: int | None = None,
    memory_limit: int | str | None = None,
    device: str | None = None,
    progress: ProgressLike = None,
    context: _core.Context | None = None,
    **options: Unpack[FitKeywords],
) -> JointResult:
    """Fit several data sets at once, with parameters in common.

    Contrast and offset are free in every member and angle. Frames, angles and dt of members may
    differ.

    Parameters
    ----------
    data : list of Data, path or dict
        The members, each of one q; see :func:`fit`. ``load(path, q=...)`` takes one q of a file.
    config : path, dict, Settings or ConfigManager, optional
        The original's configuration, or a dict of the options below. Keywords win over it.
    share : list of names, optional
        Parameters with one value for all members: all that are not named elsewhere.
    power : list of names, optional
        Parameters that are ``value * (q / q_ref)**exponent``, both fitted.
    per_q : list of names, optional
        Parameters with a value for every member.
    q_ref : float, optional
        1/Å; by default the geometric mean of the members' q.
    exponent_bounds : (lower, upper), optional
        Of every exponent; by default -10 and 10.
    start, bounds, fixed, active
        As in :func:`fit`, for all members.
    {options}
    checkpoint : path, optional
        Folder for checkpoints: of the members' own fits that are done, and of the joint one between
        evaluations.
    checkpoint_every, keep_checkpoints, resume
        As in :func:`fit`.
    threads, memory_limit, device, progress, context
        As in :func:`fit`; the device must be the CPU.

    Returns
    -------
    JointResult
        Also where the fit did not converge, which it says and warns of.

    Examples
    --------
    >>> import tessera.xpcs as tx
    >>> truth = {"D0": 1e4, "alpha": -0.5, "D_offset": 100.0}
    >>> members = [
    ...     tx.simulate(truth, q=q, n_angle=2, n_frame=60, dt=0.1, sigma=0.01, seed=k)
    ...     for k, q in enumerate([0.004, 0.006, 0.009])
    ... ]
    >>> joint = tx.fit_joint(members, mode="static_anisotropic", power="D0", sigma=0.01)
    >>> joint.theta.shape, sorted(joint.exponents)
    ((3, 3), ['D0'])
    """
    members = _members(data, config)
    given = dict(options)
    request = _Request("fit_joint", members[0], config, options)
    for name in ("dt", "gap"):  # of each member, unless they are said
        said = None if request.settings is None else request.settings.model.get(name)
        request.model_options[name] = given.get(name) or said or 0.0
    ties = _ties(request.mode, {"share": share, "power": power, "per_q": per_q})
    vectors = request.start(start, fixed, active) | request.bounds(bounds)
    if resume and checkpoint is None:
        raise _core.ArgumentError("resume: there is nothing to go on from without checkpoint=...")
    if resume is None and checkpoint is not None:
        resume = True
    low, high = (
        (None, None) if exponent_bounds is None else pair(exponent_bounds, "exponent_bounds")
    )
    with Lease(context, threads=threads, memory_limit=memory_limit, device=device) as ctx:
        handle = _core.xpcs_fit_joint(
            ctx,
            **request.handles(),
            **vectors,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            keep_checkpoints=keep_checkpoints,
            resume=None if resume is None else int(resume),
            progress=callback(progress),
            members=[member._handle for member in members],
            ties=ties,
            q_ref=q_ref,
            exponent_lower=low,
            exponent_upper=high,
        )
    result = JointResult(handle, names_of(request.mode))
    if not result.success:
        warn(f"{result.convergence_status}: {result.message}")
    return result
