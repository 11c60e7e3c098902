"""Paths that a program may write to."""

from __future__ import annotations

from pathlib import Path

from tessera.xpcs._arguments import PathLike

__all__ = [
    "PathValidationError",
    "get_safe_output_dir",
    "validate_plot_save_path",
    "validate_save_path",
]

_PICTURES = (".png", ".pdf", ".svg", ".eps", ".jpg", ".jpeg", ".tiff", ".tif")


class PathValidationError(ValueError):
    """A path leads where it must not."""


def _sanitize_log_path(path: str, max_length: int = 50) -> str:
    """Return a path fit for one line of a log."""
    shown = path.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"{shown[:20]}...{shown[-20:]}" if len(shown) > max_length else shown


def _refuse_climbing(path: Path, where: str) -> None:
    if ".." in {*path.parts, *str(path).replace("\\", "/").split("/")}:
        raise PathValidationError(
            f"Path traversal detected{where}: {_sanitize_log_path(str(path))} has '..' in it"
        )


def _resolved(path: Path, base_dir: PathLike | None) -> Path:
    if path.is_absolute():
        return path.resolve()
    base = Path.cwd() if base_dir is None else Path(base_dir).resolve()
    whole = (base / path).resolve()
    if not whole.is_relative_to(base):
        raise PathValidationError(
            f"Path resolves outside allowed directory: {_sanitize_log_path(str(whole))} is not "
            f"within {_sanitize_log_path(str(base))}"
        )
    return whole


def validate_save_path(
    path: PathLike | None,
    *,
    allowed_extensions: tuple[str, ...] | None = None,
    require_parent_exists: bool = True,
    allow_absolute: bool = True,
    base_dir: PathLike | None = None,
) -> Path | None:
    """Return where a file may be written, or raise.

    Parameters
    ----------
    path : path or None
        Where; None stays None.
    allowed_extensions : tuple of str, optional
        Such as ('.npz',).
    require_parent_exists : bool, default True
        The folder has to be there.
    allow_absolute : bool, default True
        Whether the path may be absolute.
    base_dir : path, optional
        What relative paths are relative to, and must stay in; by default the current folder.

    Returns
    -------
    Path or None
        Absolute.
    """
    if path is None:
        return None
    if "\0" in str(path):
        raise PathValidationError(f"Null bytes not allowed in path: {path!r}")
    own = Path(path)
    _refuse_climbing(own, "")
    if own.is_absolute() and not allow_absolute:
        raise PathValidationError(f"Absolute paths not allowed: {_sanitize_log_path(str(own))}")
    whole = _resolved(own, base_dir)
    if allowed_extensions is not None and whole.suffix.lower() not in allowed_extensions:
        raise ValueError(
            f"Invalid file extension '{whole.suffix.lower()}'. Allowed: "
            f"{', '.join(allowed_extensions)}"
        )
    if require_parent_exists and not whole.parent.is_dir():
        what = "Parent path is not a directory" if whole.parent.exists() else ""
        raise ValueError(
            f"{what or 'Parent directory does not exist'}: {_sanitize_log_path(str(whole.parent))}"
        )
    return whole


def validate_plot_save_path(
    path: PathLike | None, *, require_parent_exists: bool = True
) -> Path | None:
    """Return where a picture may be written, or raise.

    Parameters
    ----------
    path : path or None
        Where; its suffix has to be one of a picture.
    require_parent_exists : bool, default True
        The folder has to be there.

    Returns
    -------
    Path or None
        Absolute.
    """
    return validate_save_path(
        path, allowed_extensions=_PICTURES, require_parent_exists=require_parent_exists
    )


def get_safe_output_dir(
    output_dir: PathLike | None = None, default_subdir: str = "homodyne_output"
) -> Path:
    """Return a folder, made if it is not there.

    Parameters
    ----------
    output_dir : path, optional
        Which.
    default_subdir : str, default 'homodyne_output'
        Of the current folder, if none is given.

    Returns
    -------
    Path
        Absolute.
    """
    own = Path.cwd() / default_subdir if output_dir is None else Path(output_dir)
    _refuse_climbing(own, " in output directory")
    whole = own.resolve()
    if not whole.exists():
        try:
            whole.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise PermissionError(
                f"Cannot create output directory: {_sanitize_log_path(str(whole))}"
            ) from error
    if not whole.is_dir():
        raise PathValidationError(
            f"Output path exists but is not a directory: {_sanitize_log_path(str(whole))}"
        )
    return whole
