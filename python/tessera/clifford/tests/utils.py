"""Measurements that scripts import from flash-clifford's ``tests.utils``, with its arguments.

Times are by torch's events on a GPU and by the clock on a CPU; memory is what torch's allocator
took at most, which only a GPU has: on a CPU it is None and printed as a dash. Gradients are
compared between the two functions; the original compares each with itself.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor

from tessera import _core

__all__ = [
    "measure_memory",
    "plot_heatmap",
    "print_benchmark_results",
    "print_results_table",
    "run_benchmark",
    "run_correctness_test",
    "run_single_benchmark",
    "run_sweep",
]

_MODES: dict[str, Callable[[list[float]], float]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "min": min,
    "max": max,
}
_FORWARD, _GRADIENT = 1e-5, 1e-2  # the original's tolerances
_LEAST_CALLS = 3


@contextmanager
def measure_memory() -> Iterator[list[float | None]]:
    """Measure the most memory that torch takes on the GPU inside a ``with`` block.

    Yields
    ------
    list
        Of one entry, after the block: MiB, or None without a GPU.
    """
    peak: list[float | None] = [None]
    has_gpu = torch.cuda.is_available()
    if has_gpu:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    yield peak
    if has_gpu:
        torch.cuda.synchronize()
        peak[0] = torch.cuda.max_memory_allocated() / 2**20


def _calls_within(function: Callable[[], Any], milliseconds: float) -> int:
    """Call for a while and return how often that was."""
    n, start = 0, time.perf_counter()
    while n < _LEAST_CALLS or (time.perf_counter() - start) * 1e3 < milliseconds:
        function()
        n += 1
    return n


def _gpu_times(function: Callable[[], Any], n: int) -> list[float]:
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(n)]
    for start, end in events:
        start.record()
        function()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in events]


def _cpu_times(function: Callable[[], Any], n: int) -> list[float]:
    times = []
    for _ in range(n):
        start = time.perf_counter()
        function()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def _time(function: Callable[[], Any], warmup: float, rep: float, mode: str, on_gpu: bool) -> float:
    """Return milliseconds of a call: warmup and rep are the milliseconds to spend on each."""
    if mode not in _MODES:
        raise _core.ArgumentError(f"return_mode: {mode!r}; choose one of {', '.join(_MODES)}")
    _calls_within(function, warmup)
    if on_gpu:
        torch.cuda.synchronize()
    n = max(_LEAST_CALLS, int(rep / max(_cpu_times(function, 1)[0], 1e-3)))
    times = (_gpu_times if on_gpu else _cpu_times)(function, n)
    return float(_MODES[mode](times))


def run_benchmark(
    triton_fn: Callable[..., Tensor],
    torch_fn: Callable[..., Tensor],
    args: Sequence[Any],
    rep: float,
    warmup: float = 200,
    verbose: bool = True,
    return_mode: str = "mean",
) -> tuple[Any, ...]:
    """Measure a fused function beside a plain one, forward and with the pass backward.

    Parameters
    ----------
    triton_fn, torch_fn : callable
        The fused and the plain one.
    args : sequence of torch.Tensor
        Arguments of both.
    rep : float
        Milliseconds to measure for.
    warmup : float, default 200
        Milliseconds before that.
    verbose : bool, default True
        Print a table.
    return_mode : {'mean', 'median', 'min', 'max'}
        Of the times of single calls.

    Returns
    -------
    tuple
        Forward: milliseconds fused and plain, MiB fused and plain; then the same with backward.

    Examples
    --------
    >>> import torch
    >>> from tessera.clifford import fused_gelu_sgp_norm_2d
    >>> from tessera.clifford.tests.baselines import gelu_sgp_norm_2d_torch
    >>> from tessera.clifford.tests.utils import run_benchmark
    >>> args = (torch.randn(4, 8, 4), torch.randn(4, 8, 4), torch.randn(4, 10))
    >>> found = run_benchmark(
    ...     fused_gelu_sgp_norm_2d, gelu_sgp_norm_2d_torch, args, 2, warmup=1, verbose=False
    ... )
    >>> len(found), found[0] > 0
    (8, True)
    """
    on_gpu = args[0].is_cuda
    functions = (triton_fn, torch_fn)
    found: list[Any] = []
    given = [t.detach().clone().requires_grad_() if isinstance(t, Tensor) else t for t in args]
    leaves = [t for t in given if isinstance(t, Tensor)]

    def ahead(function: Callable[..., Tensor]) -> Any:
        return function(*args)

    def back(function: Callable[..., Tensor]) -> Any:
        return torch.autograd.grad(function(*given).sum(), leaves)

    for step, title in ((ahead, "Forward Pass"), (back, "Forward + Backward Pass")):
        row: list[Any] = [
            _time(partial(step, f), warmup, rep, return_mode, on_gpu) for f in functions
        ]
        for f in functions:
            with measure_memory() as peak:
                step(f)
            row.append(peak[0] if on_gpu else None)
        if verbose:
            print_benchmark_results(row[0], row[1], row[2], row[3], title)
        found += row
    return tuple(found)


def _ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or not b else a / b


def _shown(value: float | None, unit: str = "") -> str:
    return "-" if value is None else f"{value:.2f}{unit}"


def print_benchmark_results(
    avg_time_fused: float,
    avg_time_torch: float,
    mem_fused: float | None,
    mem_torch: float | None,
    title: str = "",
) -> None:
    """Print times and memory of a fused and a plain function.

    Parameters
    ----------
    avg_time_fused, avg_time_torch : float
        Milliseconds.
    mem_fused, mem_torch : float or None
        MiB.
    title : str
        Above the table.
    """
    print(f"\n{title}")
    print(f"  {'':10}{'fused':>10}{'torch':>10}{'ratio':>10}")
    rows = (
        ("time, ms", avg_time_fused, avg_time_torch, _ratio(avg_time_torch, avg_time_fused)),
        ("MiB", mem_fused, mem_torch, _ratio(mem_fused, mem_torch)),
    )
    for name, fused, plain, ratio in rows:
        print(f"  {name:10}{_shown(fused):>10}{_shown(plain):>10}{_shown(ratio, 'x'):>10}")


def run_correctness_test(
    triton_fn: Callable[..., Tensor], torch_fn: Callable[..., Tensor], kwargs: dict[str, Any]
) -> dict[str, float]:
    """Compare a fused function with a plain one: results, and gradients of every argument.

    Parameters
    ----------
    triton_fn, torch_fn : callable
        The fused and the plain one.
    kwargs : dict
        Arguments of both.

    Returns
    -------
    dict
        Largest differences: of the result as 'fwd', of gradients by the names of arguments.

    Examples
    --------
    >>> import torch
    >>> from tessera.clifford import fused_gelu_sgp_norm_2d
    >>> from tessera.clifford.tests.baselines import gelu_sgp_norm_2d_torch
    >>> from tessera.clifford.tests.utils import run_correctness_test
    >>> x, y, w = torch.randn(4, 8, 4), torch.randn(4, 8, 4), torch.randn(4, 10)
    >>> found = run_correctness_test(
    ...     fused_gelu_sgp_norm_2d, gelu_sgp_norm_2d_torch, {"x": x, "y": y, "weight": w}
    ... )  # doctest: +ELLIPSIS
    Max absolute difference (fwd): ...
    >>> max(found.values()) < 1e-3
    True
    """
    leaves = {
        name: value.detach().clone().requires_grad_()
        for name, value in kwargs.items()
        if isinstance(value, Tensor)
    }
    given = {**kwargs, **leaves}
    plain, fused = torch_fn(**given), triton_fn(**given)
    gz = torch.randn_like(plain).contiguous()
    slopes = [torch.autograd.grad(z, list(leaves.values()), gz) for z in (plain, fused)]
    found = {"fwd": _difference("Max absolute difference (fwd)", plain, fused, _FORWARD)}
    for name, a, b in zip(leaves, *slopes, strict=True):
        found[name] = _difference(f"grad {name} max diff", a, b, _GRADIENT)
    return found


def _difference(title: str, want: Tensor, got: Tensor, tolerance: float) -> float:
    most = float((want - got).detach().abs().max())
    is_near = torch.allclose(want, got, atol=tolerance)
    print(f"{title}: {most:.1e}{' ✔' if is_near else ' ✘'}")
    return most


def run_single_benchmark(
    triton_fn: Callable[..., Tensor],
    torch_fn: Callable[..., Tensor],
    setup_fn: Callable[[int, int], Sequence[Tensor]],
    batch_size: int,
    num_features: int,
    rep: float,
    warmup: float = 200,
    verify_correctness: bool = True,
    return_mode: str = "mean",
) -> dict[str, Any]:
    """Measure one size.

    Parameters
    ----------
    triton_fn, torch_fn, rep, warmup, return_mode
        As :func:`run_benchmark` takes them.
    setup_fn : callable
        Of batch size and number of features: the arguments.
    batch_size, num_features : int
        The size.
    verify_correctness : bool, default True
        Compare the results; else 'is_correct' is False and 'max_diff' 1e10, as in the original.

    Returns
    -------
    dict
        Times, memory and their ratios by the original's names.
    """
    args = setup_fn(batch_size, num_features)
    is_correct, max_diff = False, 1e10
    if verify_correctness:
        fused, plain = triton_fn(*args), torch_fn(*args)
        is_correct = torch.allclose(plain, fused, atol=_FORWARD)
        max_diff = float((plain - fused).detach().abs().max())
    times = run_benchmark(triton_fn, torch_fn, args, rep, warmup, False, return_mode)
    found: dict[str, Any] = {"batch_size": batch_size, "num_features": num_features}
    for part, row in (("fwd", times[:4]), ("fwd_bwd", times[4:])):
        found |= {
            f"time_{part}_fused": row[0],
            f"time_{part}_torch": row[1],
            f"speedup_{part}": _ratio(row[1], row[0]),
            f"mem_{part}_fused": row[2],
            f"mem_{part}_torch": row[3],
            f"mem_ratio_{part}": _ratio(row[2], row[3]),
        }
    return found | {"max_diff": max_diff, "is_correct": is_correct}


def run_sweep(
    triton_fn: Callable[..., Tensor],
    torch_fn: Callable[..., Tensor],
    setup_fn: Callable[[int, int], Sequence[Tensor]],
    batch_sizes: Sequence[int] = (1024, 2048, 4096, 8192),
    num_features_list: Sequence[int] = (128, 256, 512, 1024),
    rep: float = 1000,
) -> list[dict[str, Any]]:
    """Measure many sizes.

    Parameters
    ----------
    triton_fn, torch_fn, setup_fn, rep
        As :func:`run_single_benchmark` takes them.
    batch_sizes, num_features_list : sequence of int
        All pairs are measured.

    Returns
    -------
    list of dict
        Of :func:`run_single_benchmark`.
    """
    results = []
    for batch_size in batch_sizes:
        for n in num_features_list:
            result = run_single_benchmark(triton_fn, torch_fn, setup_fn, batch_size, n, rep)
            results.append(result)
            print(
                f"batch_size={batch_size}, num_features={n}: "
                f"Fwd: {_shown(result['speedup_fwd'], 'x')}, "
                f"Fwd+Bwd: {_shown(result['speedup_fwd_bwd'], 'x')}"
            )
    return results


def print_results_table(results: Sequence[dict[str, Any]], title: str) -> None:
    """Print what :func:`run_sweep` returns.

    Parameters
    ----------
    results : sequence of dict
        The rows.
    title : str
        Above the table.
    """
    for part, name in (("fwd", "forward"), ("fwd_bwd", "forward and backward")):
        print(f"\n{title}: {name}")
        heads = ("batch", "features", "fused ms", "torch ms", "speedup", "fused MiB", "torch MiB")
        print("".join(f"{head:>12}" for head in heads) + f"{'max diff':>12}")
        for r in results:
            cells = [str(r["batch_size"]), str(r["num_features"])]
            cells += [_shown(r[f"time_{part}_{which}"]) for which in ("fused", "torch")]
            cells += [_shown(r[f"speedup_{part}"], "x")]
            cells += [_shown(r[f"mem_{part}_{which}"]) for which in ("fused", "torch")]
            cells += [f"{r['max_diff']:.1e}" + (" ✔" if r["is_correct"] else " ✘")]
            print("".join(f"{cell:>12}" for cell in cells))


def plot_heatmap(
    results: Sequence[dict[str, Any]],
    metric_key: str,
    title: str,
    save_path: str | os.PathLike[str],
    cmap: str = "RdYlGn",
    invert_cmap: bool = False,
) -> None:
    """Draw one number of :func:`run_sweep` over sizes into a file.

    Parameters
    ----------
    results : sequence of dict
        The rows.
    metric_key : str
        Which number, such as 'speedup_fwd'.
    title : str
        Of the figure.
    save_path : path
        File to write; its folder is made.
    cmap : str
        Colours, a name of matplotlib's.
    invert_cmap : bool, default False
        Turn the colours round.
    """
    import matplotlib.pyplot as plt

    os.makedirs(os.path.dirname(os.path.abspath(save_path)), exist_ok=True)
    rows = sorted({r["batch_size"] for r in results})
    columns = sorted({r["num_features"] for r in results})
    values = [[float("nan")] * len(columns) for _ in rows]
    for r in results:
        if r[metric_key] is not None:
            values[rows.index(r["batch_size"])][columns.index(r["num_features"])] = r[metric_key]
    figure, ax = plt.subplots(figsize=(8, 6), layout="constrained")
    image = ax.imshow(values, cmap=f"{cmap}_r" if invert_cmap else cmap, aspect="auto")
    ax.set_xticks(range(len(columns)), [str(n) for n in columns])
    ax.set_yticks(range(len(rows)), [str(n) for n in rows])
    ax.set(xlabel="features", ylabel="batch size", title=title)
    figure.colorbar(image, ax=ax)
    for i, line in enumerate(values):
        for j, value in enumerate(line):
            ax.text(j, i, "-" if math.isnan(value) else f"{value:.2f}x", ha="center", va="center")
    figure.savefig(save_path, dpi=150)
    plt.close(figure)
