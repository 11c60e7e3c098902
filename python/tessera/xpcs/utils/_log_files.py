"""Handlers of a program's log: console and file, formats and levels."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Literal

from tessera.xpcs._arguments import PathLike

ROOT = "homodyne"  # where scripts of the original look for their loggers
DETAILED = "%(asctime)s | %(levelname)-8s | %(name)s | %(message)s"
SIMPLE = "%(levelname)-8s | %(message)s"
_DATES = "%Y-%m-%d %H:%M:%S"
_QUIET = dict.fromkeys(("jax", "numpy", "numba", "h5py"), "WARNING")
_COLOURS = {"DEBUG": 36, "INFO": 32, "WARNING": 33, "ERROR": 31, "CRITICAL": 35}

Level = str | int


def resolve_level(level: Level | None) -> int | None:
    """Return the number of a level; words that are none are INFO."""
    if level is None or isinstance(level, int):
        return level
    found = getattr(logging, str(level).upper(), logging.INFO)
    return found if isinstance(found, int) else logging.INFO


class ColorFormatter(logging.Formatter):
    """Puts colours of terminals around the word of a level."""

    def __init__(self, fmt: str, datefmt: str | None, use_color: bool) -> None:
        super().__init__(fmt, datefmt)
        self.use_color = use_color

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        word = record.levelname
        if self.use_color and word in _COLOURS:
            record.levelname = f"\x1b[{_COLOURS[word]}m{word}\x1b[0m"
        try:
            return super().format(record)
        finally:
            record.levelname = word


def _stamp() -> str:
    return datetime.now().astimezone().strftime("%Y%m%d_%H%M%S")


class MinimalLogger:
    """The one who knows which handlers are ours.

    There is one in a program, whoever asks for it.
    """

    _instance: MinimalLogger | None = None
    _lock: threading.RLock
    _configured: bool

    def __new__(cls) -> MinimalLogger:
        """Return the one."""
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._instance._lock = threading.RLock()
            cls._instance._configured = False
        return cls._instance

    def configure(
        self,
        level: Level = "INFO",
        *,
        console_level: Level | Literal[False] | None = None,
        console_format: str = "detailed",
        console_colors: bool = False,
        file_path: PathLike | None = None,
        file_level: Level | Literal[False] | None = None,
        max_size_mb: int = 10,
        backup_count: int = 5,
        module_levels: Mapping[str, Level] | None = None,
        force: bool = False,
    ) -> Path | None:
        """Set handlers and levels.

        Parameters
        ----------
        level : str or int, default 'INFO'
            Of the root of loggers.
        console_level, file_level : str, int, False or None
            Of the handlers; None is that of the root, False none at all.
        console_format : {'detailed', 'simple'}
            Of lines.
        console_colors : bool, default False
            Colours of terminals.
        file_path : path, optional
            A file, rotated.
        max_size_mb, backup_count : int
            When it is rotated, and how many are kept; 0 MB is never.
        module_levels : dict, optional
            Levels of other loggers.
        force : bool, default False
            Drop the handlers set before.

        Returns
        -------
        Path or None
            The file.
        """
        with self._lock:
            root = logging.getLogger(ROOT)
            if force:
                for handler in [h for h in root.handlers if getattr(h, "tessera_owned", False)]:
                    root.removeHandler(handler)
                    handler.close()
            wanted = [level, *(x for x in (console_level, file_level) if x is not False)]
            least = min(x for x in map(resolve_level, wanted) if x is not None)
            root.setLevel(least)
            if console_level is not False:
                shown = resolve_level(console_level) or least
                self._console(root, shown, console_format, console_colors)
            made = None
            if file_path:
                made = self._file(root, Path(file_path), max_size_mb, backup_count)
                if made is not None:
                    found = None if file_level is False else resolve_level(file_level)
                    made.setLevel(found or least)
            for name, word in _QUIET.items():
                if logging.getLogger(name).level == logging.NOTSET:
                    logging.getLogger(name).setLevel(word)
            for name, other in (module_levels or {}).items():
                logging.getLogger(name).setLevel(resolve_level(other) or least)
            self._configured = True
            return None if made is None or not file_path else Path(file_path)

    @staticmethod
    def _console(root: logging.Logger, level: int, style: str, colours: bool) -> None:
        streams = [
            handler
            for handler in root.handlers
            if isinstance(handler, logging.StreamHandler)
            and not isinstance(handler, logging.FileHandler)
        ]
        if not streams:
            streams = [logging.StreamHandler()]
            streams[0].tessera_owned = True  # type: ignore[attr-defined]
            root.addHandler(streams[0])
        streams[0].setLevel(level)
        form = SIMPLE if style == "simple" else DETAILED
        streams[0].setFormatter(ColorFormatter(form, _DATES, colours))

    @staticmethod
    def _file(
        root: logging.Logger, path: Path, max_size_mb: int, backup_count: int
    ) -> logging.Handler | None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            root.warning("no log file: %s", error)
            return None
        most = int(max_size_mb * 1024 * 1024)
        handler: logging.Handler = (
            RotatingFileHandler(path, maxBytes=most, backupCount=backup_count)
            if most > 0
            else logging.FileHandler(path)
        )
        handler.tessera_owned = True  # type: ignore[attr-defined]
        handler.setFormatter(logging.Formatter(DETAILED, _DATES))
        root.addHandler(handler)
        return handler

    def configure_from_dict(
        self,
        logging_config: Mapping[str, Any] | None,
        *,
        verbose: bool = False,
        quiet: bool = False,
        output_dir: PathLike | None = None,
        run_id: str | None = None,
    ) -> Path | None:
        """Set handlers and levels as section ``logging`` of a configuration asks.

        Parameters
        ----------
        logging_config : dict or None
            ``enabled``, ``level``, ``console``, ``file`` and ``modules``.
        verbose, quiet : bool
            DEBUG or ERROR on the console, whatever the section says.
        output_dir : path, optional
            Whose folder ``logs`` gets the file if the section names none.
        run_id : str, optional
            In the file's name; by default the second.

        Returns
        -------
        Path or None
            The file.
        """
        if not logging_config or not logging_config.get("enabled", True):
            return None
        level = logging_config.get("level", "INFO")
        console = logging_config.get("console") or {}
        console_level: Any = False
        if console.get("enabled", True):
            console_level = console.get("level", level)
            if verbose or quiet:
                console_level = "ERROR" if quiet else "DEBUG"
        file = logging_config.get("file") or {}
        path = None
        if file.get("enabled", False):
            folder = Path(file.get("path") or (Path(output_dir) / "logs" if output_dir else "logs"))
            name = file.get("filename", "homodyne_analysis.log")
            run = run_id or _stamp()
            if "{run_id}" in name:
                name = name.format(run_id=run)
            else:
                name = f"{Path(name).stem}_{run}{Path(name).suffix or '.log'}"
            path = folder.resolve() / name
        return self.configure(
            level,
            console_level=console_level,
            console_format=console.get("format", "detailed"),
            console_colors=bool(console.get("colors", False)),
            file_path=path,
            file_level=file.get("level", "DEBUG"),
            max_size_mb=int(file.get("max_size_mb", 10)),
            backup_count=int(file.get("backup_count", 5)),
            module_levels=logging_config.get("modules"),
            force=True,
        )

    def get_logger(self, name: str) -> logging.Logger:
        """Return a logger below the root, which is set up if nobody did.

        Parameters
        ----------
        name : str
            Of a module.

        Returns
        -------
        logging.Logger
            The logger.
        """
        if not self._configured:
            self.configure()
        if name == "__main__":
            name = "main"
        return logging.getLogger(name if name.startswith(ROOT) else f"{ROOT}.{name}")


@dataclass
class LogConfiguration:
    """How a program logs.

    Parameters
    ----------
    console_level, file_level : str
        Of the handlers.
    console_format, file_format : {'simple', 'detailed'}
        Of lines.
    console_colors : bool
        Colours of terminals.
    file_enabled : bool
        Whether there is a file.
    file_path : path, optional
        Which; by default one named after the second.
    file_rotation_mb, file_backup_count : int
        When it is rotated, and how many are kept.
    module_overrides : dict
        Levels of other loggers.
    """

    console_level: str = "INFO"
    console_format: str = "simple"
    console_colors: bool = False
    file_enabled: bool = True
    file_path: PathLike | None = None
    file_level: str = "DEBUG"
    file_format: str = "detailed"
    file_rotation_mb: int = 10
    file_backup_count: int = 5
    module_overrides: dict[str, str] = field(default_factory=dict)

    def apply(self) -> Path | None:
        """Set handlers and levels.

        Returns
        -------
        Path or None
            The file.
        """
        path = self.file_path or f"homodyne_{_stamp()}.log"
        return MinimalLogger().configure(
            "DEBUG",
            console_level=self.console_level,
            console_format=self.console_format,
            console_colors=self.console_colors,
            file_path=path if self.file_enabled else None,
            file_level=self.file_level if self.file_enabled else False,
            max_size_mb=self.file_rotation_mb,
            backup_count=self.file_backup_count,
            module_levels={**_QUIET, **self.module_overrides},
            force=True,
        )

    @classmethod
    def from_dict(cls, config: Mapping[str, Any]) -> LogConfiguration:
        """Take the fields a dict has.

        Parameters
        ----------
        config : dict
            Fields by name; others are left.

        Returns
        -------
        LogConfiguration
            The configuration.
        """
        names = {entry.name for entry in fields(cls)}
        return cls(**{name: value for name, value in config.items() if name in names})

    @classmethod
    def from_cli_args(
        cls, verbose: bool = False, quiet: bool = False, log_file: str | None = None
    ) -> LogConfiguration:
        """Take what a command line says.

        Parameters
        ----------
        verbose, quiet : bool
            DEBUG or ERROR on the console.
        log_file : str, optional
            The file.

        Returns
        -------
        LogConfiguration
            The configuration.
        """
        level = "ERROR" if quiet else "DEBUG" if verbose else "INFO"
        return cls(level, "detailed" if verbose else "simple", file_path=log_file)
