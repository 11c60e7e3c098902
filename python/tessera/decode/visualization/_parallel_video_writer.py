"""Videos of matplotlib's figures: frames drawn by several processes, joined by ffmpeg."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tessera.decode.exceptions import TypeValidationError, ValidationError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["VideoConfig", "create_parallel_video"]

Render: TypeAlias = "Callable[[Figure, dict[str, Any], int, Any], None]"
SetUp: TypeAlias = "Callable[[], tuple[Figure, dict[str, Any]]]"

_MIN_DPI = 72
_WITHOUT_FFMPEG = (".gif", ".webp")


@dataclass(frozen=True)
class VideoConfig:
    """How a video is drawn and written.

    Parameters
    ----------
    fps : float
        Frames per second.
    dpi : int
        Dots per inch of the frames, 72 or more.
    max_workers : int, optional
        Processes that draw; default: half of the CPUs, one at least.
    bitrate_kbps : int
        Of the video; more is sharper and larger.
    ffmpeg_threads : int, optional
        Default: max_workers.
    overwrite : bool
        Replace a file of that name; else it is an error.
    verbose_ffmpeg : bool
        Show what ffmpeg says.

    Examples
    --------
    >>> from tessera.decode.visualization._parallel_video_writer import VideoConfig
    >>> VideoConfig(fps=60.0).dpi
    100
    """

    fps: float = 30.0
    dpi: int = 100
    max_workers: int | None = None
    bitrate_kbps: int = 4000
    ffmpeg_threads: int | None = None
    overwrite: bool = True
    verbose_ffmpeg: bool = False


def _check(n_frames: int, path: Path, config: VideoConfig) -> None:
    for name, value, low in (
        ("n_frames", n_frames, 1),
        ("fps", config.fps, 0),
        ("dpi", config.dpi, _MIN_DPI),
        ("bitrate_kbps", config.bitrate_kbps, 1),
        ("max_workers", 1 if config.max_workers is None else config.max_workers, 1),
    ):
        if value < low or value <= 0:
            least = "positive" if low == 0 else f"positive, {low} or more"
            raise ValidationError(f"{name}: {value} is not allowed; it must be {least}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: no such folder; make it first")
    if path.exists() and not config.overwrite:
        raise FileExistsError(f"{path} exists; choose another name or overwrite=True")
    if path.suffix.lower() not in _WITHOUT_FFMPEG and shutil.which("ffmpeg") is None:
        raise RuntimeError(
            f"{path.name}: videos need ffmpeg, which is not in the PATH; install it, or choose a "
            f"name with one of {', '.join(_WITHOUT_FFMPEG)}, which needs Pillow alone"
        )


def _check_travels(value: Any, name: str) -> None:
    try:
        ForkingPickler.dumps(value)
    except Exception as error:
        raise TypeValidationError(
            f"{name} cannot be sent to another process ({error}); functions have to be defined at "
            "the top of a module, and data be arrays and plain containers"
        ) from error


def _check_set_up(set_up: SetUp) -> None:
    import matplotlib.pyplot as plt

    made = set_up()
    if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[1], dict):
        raise TypeValidationError(
            f"setup_figure_func must return (figure, dict of artists), got {type(made).__name__}"
        )
    plt.close(made[0])


def _draw(
    first: int, last: int, folder: str, dpi: int, render: Render, set_up: SetUp, data: Any
) -> None:
    """Draw frames first..last - 1 as files."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, artists = set_up()
    for frame in range(first, last):
        render(figure, artists, frame, data)
        figure.savefig(f"{folder}/{frame:06d}.png", dpi=dpi)
    plt.close(figure)


def _join(folder: str, made: Path, config: VideoConfig, threads: int) -> None:
    """Make a video of the frames."""
    if made.suffix.lower() in _WITHOUT_FFMPEG:
        from PIL import Image

        frames = [Image.open(path) for path in sorted(Path(folder).glob("*.png"))]
        duration = max(1, round(1000 / config.fps))
        frames[0].save(made, save_all=True, append_images=frames[1:], duration=duration, loop=0)
        return
    even = "pad=ceil(iw/2)*2:ceil(ih/2)*2"  # the encoder takes no odd sizes
    command = ["ffmpeg", "-y", "-framerate", f"{config.fps}", "-i", f"{folder}/%06d.png"]
    command += ["-vf", even, "-pix_fmt", "yuv420p", "-b:v", f"{config.bitrate_kbps}k"]
    command += ["-threads", f"{threads}", os.fspath(made)]
    done = subprocess.run(command, capture_output=not config.verbose_ffmpeg, check=False)
    if done.returncode:
        said = (done.stderr or b"").decode(errors="replace")[-600:]
        raise RuntimeError(f"ffmpeg failed with status {done.returncode}: {said}")


def create_parallel_video(
    *,
    n_frames: int,
    output_path: str | os.PathLike[str],
    render_frame_func: Render,
    setup_figure_func: SetUp,
    frame_data: Any = None,
    config: VideoConfig | None = None,
) -> str:
    """Draw frames with several processes and join them to a video.

    Parameters
    ----------
    n_frames : int
        How many.
    output_path : path
        Where to. What ffmpeg writes (.mp4); .gif and .webp also without ffmpeg.
    render_frame_func : callable
        Takes the figure, its artists, the number of the frame and frame_data, and changes the
        figure. It and setup_figure_func have to be defined at the top of a module.
    setup_figure_func : callable
        Takes nothing and returns a figure and a dict of artists; called once per process.
    frame_data : object, optional
        Sent to every process.
    config : VideoConfig, optional
        Frame rate, size, processes.

    Returns
    -------
    str
        output_path.
    """
    config = config or VideoConfig()
    path = Path(output_path)
    _check(n_frames, path, config)
    _check_travels(frame_data, "frame_data")
    _check_travels(render_frame_func, "render_frame_func")
    _check_travels(setup_figure_func, "setup_figure_func")
    _check_set_up(setup_figure_func)
    workers = config.max_workers or max(1, (os.cpu_count() or 2) // 2)
    size = -(-n_frames // workers)
    parts = [(first, min(first + size, n_frames)) for first in range(0, n_frames, size)]
    with tempfile.TemporaryDirectory(prefix="tessera_frames_") as folder:
        rest: Any = (folder, config.dpi, render_frame_func, setup_figure_func, frame_data)
        if workers == 1:
            _draw(0, n_frames, *rest)
        else:
            with ProcessPoolExecutor(workers) as pool:
                for part in [pool.submit(_draw, *part, *rest) for part in parts]:
                    part.result()
        made = Path(folder) / f"video{path.suffix}"
        _join(folder, made, config, config.ffmpeg_threads or workers)
        beside = path.with_name(f".{path.name}.part")  # a half-copied video has another name
        shutil.copyfile(made, beside)
        beside.replace(path)
    return os.fspath(output_path)
