"""Times, faults and memory of a run."""

import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_MAX_EXAMPLES: Final = 5
"""Of each kind of fault, so that a frequent one does not hide the others."""

_N_SLICES: Final = 20
_PERCENTILES: Final = (50, 95, 99)


@dataclass(slots=True)
class LoadTally:
    """Record of a run. Thread-safe.

    Attributes:
        calls: Seconds since the start and duration of each call, by kind.
        faults: Number of faults by kind: errors that no caller caused, and replies with wrong content.
        examples: The first faults of each kind.
        busy: Replies 429 and 503 with the time to wait, by kind: the server refuses instead of failing.
        memory: Seconds since the start, and resident bytes of all processes of the server.
        checked: Number of replies whose content was compared.
    """

    calls: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    faults: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    busy: Counter[str] = field(default_factory=Counter)
    memory: list[tuple[float, int]] = field(default_factory=list)
    checked: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def record_fault(self, kind: str, detail: str) -> None:
        """Record a fault."""
        with self.lock:
            self.faults[kind] += 1
            if self.faults[kind] <= _MAX_EXAMPLES:
                self.examples.append(f"{kind}: {detail}")

    def summarize_calls(self) -> dict[str, dict[str, float]]:
        """Return the number of calls and the percentiles of their milliseconds, by kind."""
        return {
            kind: {"calls": len(entries), **compute_percentiles([seconds for _, seconds in entries])}
            for kind, entries in sorted(self.calls.items())
        }

    def summarize_memory(self) -> dict[str, float]:
        """Return the median megabytes of each quarter of the run, and the maximum."""
        sizes = [size / 1e6 for _, size in self.memory]
        quarter = max(1, len(sizes) // 4)
        parts = {f"quarter {n + 1}": sizes[n * quarter : (n + 1) * quarter] for n in range(4)}
        medians = {name: compute_percentile(part, 50) for name, part in parts.items() if part}
        return {**medians, "maximum": max(sizes, default=0.0)}

    def slice_latency(self, kind: str, duration_s: float) -> list[tuple[float, float]]:
        """Return the 95th percentile of a kind in each twentieth of a run, with its position from 0 to 1."""
        slices: dict[int, list[float]] = defaultdict(list)
        for at, seconds in self.calls.get(kind, ()):
            slices[min(_N_SLICES - 1, int(at / duration_s * _N_SLICES))].append(seconds)
        return [((n + 0.5) / _N_SLICES, compute_percentile(part, 95)) for n, part in sorted(slices.items())]

    def to_json(self) -> dict[str, Any]:
        """Return the figures for a JSON file."""
        return {
            "calls": self.summarize_calls(),
            "faults": dict(self.faults),
            "examples": self.examples,
            "busy": dict(self.busy),
            "checked_replies": self.checked,
            "memory_mb": self.summarize_memory(),
            "memory_samples": self.memory,
        }


def compute_percentile(values: Sequence[float], share: int) -> float:
    """Return a percentile by the nearest-rank method; 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)] if ordered else 0.0


def compute_percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return percentiles in milliseconds."""
    return {f"p{share}": compute_percentile(seconds, share) * 1_000 for share in _PERCENTILES}
