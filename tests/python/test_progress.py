"""One style of progress for all systems: who sees it, in which words, and when it is silent."""

from __future__ import annotations

import builtins
import io
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tessera
from helpers import Floats, run_python
from tessera import _bars, _progress, clifford, xpcs
from tessera.autoreject import ptp

Capture = pytest.CaptureFixture[str]
make_progress: Any = tessera.Progress  # which the library alone makes, as far as types know


def states(*steps: tuple[str, int, float]) -> Iterator[Any]:
    """States as the library reports them: stage, done of 10, seconds since the stage began."""
    for stage, done, elapsed_s in steps:
        yield make_progress((stage, "tiles", done, 10, 0, elapsed_s, 1.5, 1 << 20, "LARGE"))


@pytest.fixture
def without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "tqdm":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(style: str, *steps: tuple[str, int, float]) -> None:
    display = _bars.make(style)
    for state in states(*steps):
        display(state)


@pytest.mark.usefixtures("without_tqdm")
def test_plain_bar_is_one_line_per_stage(capsys: Capture) -> None:
    drawn("bar", ("a", 1, 0.1), ("a", 5, 0.5), ("a", 10, 1.0), ("b", 10, 0.2))
    lines = capsys.readouterr().err.split("\n")
    assert [line.rpartition("\r")[2] for line in lines] == [
        f"a: 100%|{'#' * 30}| 10/10 tiles [00:01<00:01, 10.00 tiles/s]",
        f"b: 100%|{'#' * 30}| 10/10 tiles [00:00<00:01, 50.00 tiles/s]",
        "",
    ]


@pytest.mark.parametrize("tqdm", [True, False])
def test_passes_share_a_line(tqdm: bool, capsys: Capture, request: pytest.FixtureRequest) -> None:
    if tqdm:
        pytest.importorskip("tqdm")
    else:
        request.getfixturevalue("without_tqdm")
    drawn("bar", *(("xpcs.pass", done, done / 10) for _ in range(7) for done in (2, 6, 10)))
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    last = text.rstrip().rpartition("\r")[2]
    assert last.startswith("xpcs.pass 7: 100%|")
    assert "10/10 tiles [" in last


def test_lines_come_once_a_second_and_at_the_end(capsys: Capture) -> None:
    drawn("plain", *(("a", done, done * 0.3) for done in range(1, 11)))
    shown = [int(line.split("/")[0].split()[-1]) for line in capsys.readouterr().err.splitlines()]
    assert shown == [1, 5, 9, 10]


def test_json_is_the_commands(capsys: Capture) -> None:
    drawn("json", ("a", 10, 1.0))
    assert json.loads(capsys.readouterr().err) == {
        "schema": "tessera.progress/1",
        "stage": "a",
        "unit": "tiles",
        "done": 10,
        "total": 10,
        "done_bytes": 0,
        "elapsed_s": 1.0,
        "remaining_s": 1.5,
        "memory_bytes": 1 << 20,
    }


def test_nothing_to_do_is_all_done(capsys: Capture) -> None:
    _bars.make("plain")(make_progress(("a", "tiles", 0, 0, 0, 0.0, None, 0, "STANDARD")))
    assert capsys.readouterr().err == "a: 100% | 0/0 tiles [00:00<?, ? tiles/s]\n"


def test_who_gets_what(monkeypatch: pytest.MonkeyPatch) -> None:
    def kind(progress: _progress.ProgressLike) -> str:
        return type(_progress.callback(progress)).__name__

    monkeypatch.delenv("TESSERA_PROGRESS", raising=False)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    bar = type(_bars.make("bar")).__name__
    silent, lines = "NoneType", "_Lines"
    asked: tuple[_progress.ProgressLike, ...] = (None, False, True, "auto", "bar", "plain", "none")
    assert [kind(p) for p in asked] == [silent, silent, lines, silent, bar, lines, silent]
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert [kind(p) for p in asked] == [silent, silent, bar, bar, bar, lines, silent]
    monkeypatch.setenv("TESSERA_PROGRESS", "json")
    assert [kind(p) for p in asked] == ["_Json", silent, "_Json", bar, bar, lines, silent]
    monkeypatch.setenv("TESSERA_PROGRESS", "none")
    assert [kind(p) for p in asked] == [silent, silent, bar, bar, bar, lines, silent]
    function = print
    assert _progress.callback(function) is function


def test_words_that_do_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tessera.ArgumentError, match=r"progress: 'bars' .* auto, bar, plain"):
        ptp(np.zeros((1, 1, 2)), progress="bars")  # type: ignore[call-overload]
    monkeypatch.setenv("TESSERA_PROGRESS", "loud")
    with pytest.raises(tessera.ArgumentError, match="TESSERA_PROGRESS: 'loud'"):
        ptp(np.zeros((1, 1, 2)))


def test_notebooks_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shell:
        kernel = object()

    class IPython:
        get_ipython = staticmethod(Shell)

    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not _progress.is_watched()
    monkeypatch.setitem(sys.modules, "IPython", IPython())
    assert _progress.is_watched()


@pytest.mark.parametrize("style", ["bar", "plain"])
def test_a_call_ends_its_line(style: Any, many_epochs: Floats, capsys: Capture) -> None:
    ptp(many_epochs, progress=style)
    text = capsys.readouterr().err
    assert text.endswith("\n")
    assert text.count("\n") <= 2
    assert "1000/1000 epochs [" in text
    assert "epochs/s]" in text
    assert "GB/s" not in text


def test_a_stopped_call_ends_its_line_too(many_epochs: Floats, capsys: Capture) -> None:
    drawing = [_bars.make("bar")]

    def stop(now: tessera.Progress) -> None:
        drawing[0](now)
        raise LookupError

    with pytest.raises(LookupError):
        ptp(many_epochs, tile_epochs=50, progress=stop)
    del stop
    drawing.clear()
    assert capsys.readouterr().err.endswith("\n")


def test_systems_use_the_same_words(capsys: Capture) -> None:
    xpcs.simulate(n_angle=2, n_frame=2500, dt=0.1, gap=2e6, progress="plain")
    text = capsys.readouterr().err
    assert text.startswith("xpcs.simulate: ")
    assert " leaves [00:0" in text
    with pytest.raises(tessera.ArgumentError, match="progress: 'bars'"):
        clifford.check("+", progress="bars")  # type: ignore[arg-type]


def test_silence_costs_no_import() -> None:
    code = (
        "import sys, numpy as np, tessera.autoreject as a; a.ptp(np.ones((1, 1, 2)));"
        "print('tqdm' in sys.modules, 'tessera._bars' in sys.modules)"
    )
    assert run_python(code).stdout == "False False\n"
