"""Values that physics forbids, or that somebody should look at twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


class ConstraintSeverity:
    """How bad a value is."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass
class PhysicsViolation:
    """A value that a rule objects to.

    Parameters
    ----------
    param : str
        The parameter.
    value : float
        Its value.
    message : str
        What is wrong with it.
    severity : {'error', 'warning', 'info'}
        How bad it is.
    """

    param: str
    value: float
    message: str
    severity: str

    def format(self) -> str:
        """Return all of it as a line.

        Returns
        -------
        str
            ``D0 = -1.000e+00: ... [error]``.
        """
        return f"{self.param} = {self.value:.3e}: {self.message} [{self.severity}]"


@dataclass
class ConstraintRule:
    """A rule for the values of a parameter.

    Parameters
    ----------
    condition : callable
        True for values the rule objects to.
    message : str
        What is wrong with them.
    severity : {'error', 'warning', 'info'}
        How bad it is.
    """

    condition: Callable[[float], bool]
    message: str
    severity: str


_ERROR, _WARNING, _INFO = "error", "warning", "info"

PHYSICS_CONSTRAINTS: dict[str, list[ConstraintRule]] = {
    "D0": [
        ConstraintRule(
            lambda v: v <= 0, "non-positive diffusion coefficient (physically impossible)", _ERROR
        ),
        ConstraintRule(lambda v: v > 1e7, "extremely large: the unit is Å²/s", _WARNING),
    ],
    "alpha": [
        ConstraintRule(lambda v: v < -1.5, "very strongly subdiffusive (extremely rare)", _WARNING),
        ConstraintRule(
            lambda v: v > 1, "strongly superdiffusive (rare: ballistic or active)", _WARNING
        ),
        ConstraintRule(lambda v: -0.1 < v < 0.1, "near-normal diffusion", _INFO),
    ],
    "D_offset": [ConstraintRule(lambda v: v < 0, "negative offset: is it meant?", _WARNING)],
    "gamma_dot_t0": [
        ConstraintRule(lambda v: v < 0, "negative shear rate (physically impossible)", _ERROR),
        ConstraintRule(lambda v: v > 0.5, "very high shear rate: the unit is 1/s", _WARNING),
        ConstraintRule(lambda v: 0 < v < 1e-6, "very low shear rate (nearly quasi-static)", _INFO),
    ],
    "beta": [ConstraintRule(lambda v: not -2 <= v <= 2, "time exponent outside [-2, 2]", _WARNING)],
    "gamma_dot_t_offset": [
        ConstraintRule(lambda v: abs(v) > 0.1, "outside [-0.1, 0.1]: the unit is 1/s", _WARNING)
    ],
    "phi0": [
        ConstraintRule(
            lambda v: abs(v) > 10, "flow angle outside [-10, 10] degrees (check alignment)", _INFO
        )
    ],
    "contrast": [
        ConstraintRule(lambda v: v <= 0 or v > 1, "contrast outside physical range (0, 1]", _ERROR),
        ConstraintRule(lambda v: 0 < v < 0.1, "very low contrast", _WARNING),
    ],
    "offset": [
        ConstraintRule(lambda v: v <= 0, "non-positive baseline (physically impossible)", _ERROR)
    ],
}

SEVERITY_PRIORITY = {_ERROR: 3, _WARNING: 2, _INFO: 1}


def validate_single_parameter(
    param: str, value: float, min_severity: str = ConstraintSeverity.WARNING
) -> list[PhysicsViolation]:
    """Return what the rules of a parameter object to.

    Parameters
    ----------
    param : str
        Its name; unknown ones have no rules.
    value : float
        Its value.
    min_severity : {'error', 'warning', 'info'}
        The least severity to report.

    Returns
    -------
    list of PhysicsViolation
        Empty where all is well.
    """
    least = SEVERITY_PRIORITY.get(min_severity, 2)
    found = []
    for rule in PHYSICS_CONSTRAINTS.get(param, []):
        if SEVERITY_PRIORITY[rule.severity] < least:
            continue
        try:
            violated = rule.condition(value)
        except (TypeError, ValueError):
            continue
        if violated:
            found.append(PhysicsViolation(param, value, rule.message, rule.severity))
    return found


def validate_cross_parameter_constraints(
    params: Mapping[str, float], min_severity: str = ConstraintSeverity.WARNING
) -> list[PhysicsViolation]:
    """Return what rules about several parameters object to.

    Parameters
    ----------
    params : dict
        Values by name.
    min_severity : {'error', 'warning', 'info'}
        The least severity to report.

    Returns
    -------
    list of PhysicsViolation
        Empty where all is well.
    """
    if SEVERITY_PRIORITY.get(min_severity, 2) > SEVERITY_PRIORITY[_INFO]:
        return []
    if not {"D0", "alpha", "D_offset"} <= set(params):
        return []
    d0, offset = params["D0"], params["D_offset"]
    if not (d0 > 0 and offset > 0.5 * d0):
        return []
    message = f"offset is {offset / d0:.1%} of D0 (may indicate overfitting)"
    return [PhysicsViolation("D_offset", offset, message, _INFO)]


def validate_all_parameters(
    params: Mapping[str, float], min_severity: str = ConstraintSeverity.WARNING
) -> list[PhysicsViolation]:
    """Return what all rules object to.

    Parameters
    ----------
    params : dict
        Values by name.
    min_severity : {'error', 'warning', 'info'}
        The least severity to report.

    Returns
    -------
    list of PhysicsViolation
        Empty where all is well.
    """
    found = []
    for name, value in params.items():
        found += validate_single_parameter(name, value, min_severity)
    return found + validate_cross_parameter_constraints(params, min_severity)


def get_constraint_summary() -> dict[str, Any]:
    """Return how many rules there are.

    Returns
    -------
    dict
        ``parameters_covered``, ``total_constraints``, ``by_parameter``.
    """
    by_parameter = {name: len(rules) for name, rules in PHYSICS_CONSTRAINTS.items()}
    return {
        "parameters_covered": list(by_parameter),
        "total_constraints": sum(by_parameter.values()),
        "by_parameter": by_parameter,
    }


__all__ = [
    "PHYSICS_CONSTRAINTS",
    "SEVERITY_PRIORITY",
    "ConstraintRule",
    "ConstraintSeverity",
    "PhysicsViolation",
    "get_constraint_summary",
    "validate_all_parameters",
    "validate_cross_parameter_constraints",
    "validate_single_parameter",
]
