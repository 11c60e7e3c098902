"""Checks of single values of a configuration; each returns what is wrong as lines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any


def validate_file_path(
    folder: str | None, filename: str | None, *, check_folder: bool = True, check_file: bool = True
) -> list[str]:
    """Look whether a folder, and a file in it, exist.

    Parameters
    ----------
    folder, filename : str or None
        None is not looked at.
    check_folder, check_file : bool, default True
        Which of them to look at.

    Returns
    -------
    list of str
        What is wrong.
    """
    wrong = []
    if check_folder and folder and not os.path.exists(folder):
        wrong.append(f"Data folder does not exist: {folder}")
    if check_file and folder and filename:
        path = os.path.join(folder, filename)
        if not os.path.exists(path):
            wrong.append(f"Data file does not exist: {path}")
    return wrong


def validate_frame_range(
    start_frame: int | None, end_frame: int | None, *, min_frame: int = 1
) -> list[str]:
    """Look whether frames are in order.

    Parameters
    ----------
    start_frame, end_frame : int or None
        First and last; -1 is the end of the file.
    min_frame : int, default 1
        The least first frame.

    Returns
    -------
    list of str
        What is wrong.
    """
    if start_frame is None or end_frame is None:
        return []
    wrong = []
    if end_frame != -1 and start_frame >= end_frame:
        wrong.append(f"start_frame ({start_frame}) must be less than end_frame ({end_frame})")
    if start_frame < min_frame:
        wrong.append(f"start_frame ({start_frame}) must be >= {min_frame}")
    return wrong


def validate_positive_value(
    value: float | None, field_name: str, *, allow_zero: bool = False
) -> list[str]:
    """Look whether a value is above zero.

    Parameters
    ----------
    value : float or None
        None is not looked at.
    field_name : str
        Its name.
    allow_zero : bool, default False
        Zero is well, too.

    Returns
    -------
    list of str
        What is wrong.
    """
    if value is None or value > 0 or (allow_zero and value == 0):
        return []
    return [f"{field_name} ({value}) must be {'non-negative' if allow_zero else 'positive'}"]


def validate_numeric_range(
    range_dict: Mapping[str, Any] | None,
    field_name: str,
    *,
    require_positive: bool = False,
    value_bounds: tuple[float, float] | None = None,
    allow_wrapped: bool = False,
) -> list[str]:
    """Look at a range with ``min`` and ``max``.

    Parameters
    ----------
    range_dict : dict or None
        The range; None is not looked at.
    field_name : str
        Its name.
    require_positive : bool, default False
        Both ends are above zero.
    value_bounds : tuple, optional
        Between what both ends lie.
    allow_wrapped : bool, default False
        ``min`` may be above ``max``.

    Returns
    -------
    list of str
        What is wrong.
    """
    ends = {end: (range_dict or {}).get(end) for end in ("min", "max")}
    said = {end: value for end, value in ends.items() if value is not None}
    wrong = []
    if require_positive:
        wrong += [
            f"{field_name}.{end} ({value}) must be positive"
            for end, value in said.items()
            if value <= 0
        ]
    if len(said) == 2 and said["min"] >= said["max"] and not allow_wrapped:
        wrong.append(
            f"{field_name}.min ({said['min']}) must be less than {field_name}.max ({said['max']})"
        )
    if value_bounds is not None:
        low, high = value_bounds
        wrong += [
            f"{field_name}.{end} ({value}) should be in range [{low}, {high}]"
            for end, value in said.items()
            if not low <= value <= high
        ]
    return wrong


def validate_enum_value(
    value: str | None,
    field_name: str,
    allowed_values: Sequence[str],
    *,
    default: str | None = None,
) -> list[str]:
    """Look whether a word is one of a list.

    Parameters
    ----------
    value : str or None
        The word.
    field_name : str
        Of what.
    allowed_values : list of str
        The list.
    default : str, optional
        Instead of None.

    Returns
    -------
    list of str
        What is wrong.
    """
    actual = default if value is None else value
    if actual is None or actual in allowed_values:
        return []
    return [f"{field_name} must be one of: {', '.join(allowed_values)} (got: {actual})"]


def _words(default: str, *words: str) -> dict[str, Any]:
    return {"type": "enum", "allowed": list(words), "default": default}


VALIDATION_RULES: dict[str, dict[str, Any]] = {
    "combine_criteria": _words("AND", "AND", "OR"),
    "data_filtering.validation_level": _words("basic", "basic", "strict"),
    "v2_features.output_format": _words("auto", "numpy", "jax", "auto"),
    "v2_features.validation_level": _words("basic", "none", "basic", "full"),
    "v2_features.cache_strategy": _words("intelligent", "none", "simple", "intelligent"),
    "q_range": {"type": "range", "require_positive": True},
    "phi_range": {"type": "range", "value_bounds": (-360, 360)},
}


def validate_by_rules(
    config: Mapping[str, Any],
    section: str,
    rules: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[str]:
    """Look at a section with a table of rules.

    Parameters
    ----------
    config : dict
        The configuration.
    section : str
        The section.
    rules : dict, optional
        Rules by key; by default :data:`VALIDATION_RULES`.

    Returns
    -------
    list of str
        What is wrong.
    """
    wrong = []
    said = config.get(section) or {}
    for path, rule in (rules or VALIDATION_RULES).items():
        if path.startswith(f"{section}."):
            key = path.partition(".")[2]
        elif "." not in path and section == "data_filtering":
            key = path
        else:
            continue
        value = said.get(key)
        if rule["type"] == "enum":
            wrong += validate_enum_value(
                value, f"{section}.{key}", rule["allowed"], default=rule.get("default")
            )
        elif rule["type"] == "range":
            wrong += validate_numeric_range(
                value if isinstance(value, Mapping) else None,
                key,
                require_positive=rule.get("require_positive", False),
                value_bounds=rule.get("value_bounds"),
            )
    return wrong


__all__ = [
    "VALIDATION_RULES",
    "validate_by_rules",
    "validate_enum_value",
    "validate_file_path",
    "validate_frame_range",
    "validate_numeric_range",
    "validate_positive_value",
]
