"""What is held to figures: one line each, and whether any misses."""


def torch_with_gpu():
    """Torch, where it is there and sees a GPU; else None."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def device():
    return "cuda" if torch_with_gpu() else "cpu"


def check(targets, names=()):
    """Measure every (name, how, what is asked for, whether more is better), or those whose name has
    one of the words; 1 where one misses, else 0."""
    n_missed = 0
    for name, measure, asked, more_is_better in targets:
        if names and not any(word in name for word in names):
            continue
        found = measure()
        missed = found < asked if more_is_better else found > asked
        n_missed += missed
        print(f"{name:<48} {found:9.2f}  asked {'>=' if more_is_better else '<='} {asked:g}"
              f"{'   MISSED' if missed else ''}", flush=True)
    return 1 if n_missed else 0
