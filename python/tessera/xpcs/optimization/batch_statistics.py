"""Counts of batches that went well or not."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any


class BatchStatistics:
    """Keeps the last batches and counts all."""

    def __init__(self, max_size: int = 100) -> None:
        self.buffer: deque[dict[str, Any]] = deque(maxlen=max_size)
        self.total_batches = self.total_successes = self.total_failures = 0
        self.error_counts: Counter[str] = Counter()

    def record_batch(
        self,
        batch_idx: int,
        success: bool,
        loss: float,
        iterations: int,
        recovery_actions: list[str],
        error_type: str | None = None,
    ) -> None:
        """Count a batch."""
        self.buffer.append(
            {
                "batch_idx": batch_idx,
                "success": success,
                "loss": loss,
                "iterations": iterations,
                "recovery_actions": recovery_actions,
                "error_type": error_type,
            }
        )
        self.total_batches += 1
        if success:
            self.total_successes += 1
            return
        self.total_failures += 1
        if error_type:
            self.error_counts[error_type] += 1

    def get_success_rate(self) -> float:
        """Return the share of the last batches that went well; 1 without any."""
        return (
            sum(bool(b["success"]) for b in self.buffer) / len(self.buffer) if self.buffer else 1.0
        )

    def get_average_loss(self) -> float:
        """Return the mean loss of the last batches that went well."""
        losses = [float(batch["loss"]) for batch in self.buffer if batch["success"]]
        return sum(losses) / len(losses) if losses else float("inf")

    def get_average_iterations(self) -> float:
        """Return the mean number of steps of the last batches."""
        steps = [int(batch["iterations"]) for batch in self.buffer]
        return sum(steps) / len(steps) if steps else 0.0

    def get_statistics(self) -> dict[str, Any]:
        """Return all of it."""
        return {
            "total_batches": self.total_batches,
            "total_successes": self.total_successes,
            "total_failures": self.total_failures,
            "success_rate": self.get_success_rate(),
            "average_loss": self.get_average_loss(),
            "average_iterations": self.get_average_iterations(),
            "error_distribution": dict(self.error_counts),
            "recent_batches": list(self.buffer),
        }

    def __repr__(self) -> str:
        return (
            f"BatchStatistics(total={self.total_batches}, successes={self.total_successes}, "
            f"failures={self.total_failures}, success_rate={self.get_success_rate():.2%})"
        )
