"""Table and plots of a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from evals.markup import escape_text, render_element
from evals.plots import Series, draw_curves

from .tally import LoadTally, compute_percentile

_STYLE: Final = Path(__file__).parents[1] / "report.css"


def format_report(tally: LoadTally, comparison: LoadTally, facts: Mapping[str, Any]) -> str:
    """Format the figures of a run as text."""
    lines = ["  ".join(f"{name}: {value}" for name, value in facts.items()), ""]
    lines.append(f"{'kind':14}{'calls':>8}{'p50 ms':>10}{'p95 ms':>10}{'p99 ms':>10}")
    for kind, row in [*tally.summarize_calls().items(), *comparison.summarize_calls().items()]:
        lines.append(f"{kind:14}{row['calls']:8,.0f}{row['p50']:10,.0f}{row['p95']:10,.0f}{row['p99']:10,.0f}")
    if ratio := compute_ratio(comparison):
        lines.append(f"p95 of a search, team server / local service, in turns: {ratio:.2f}")
    lines.append("memory MB: " + ", ".join(f"{name} {size:,.0f}" for name, size in tally.summarize_memory().items()))
    lines.append(f"replies checked: {tally.checked:,}; busy replies: {dict(tally.busy) or 'none'}")
    faults = tally.faults + comparison.faults
    lines.append("faults: " + (", ".join(f"{kind} {number}" for kind, number in faults.items()) or "none"))
    return "\n".join([*lines, *(f"  {example}" for example in [*tally.examples, *comparison.examples])])


def compute_ratio(comparison: LoadTally) -> float:
    """Return the 95th percentile of the team server over that of the local service; 0 without a comparison."""
    seconds = {kind: [each for _, each in entries] for kind, entries in comparison.calls.items()}
    local = compute_percentile(seconds.get("local service", []), 95)
    return compute_percentile(seconds.get("team server", []), 95) / local if local else 0.0


def render_plots(tally: LoadTally, duration_s: float) -> str:
    """Render memory and latency over time as an HTML page."""
    most = max((size for _, size in tally.memory), default=1)
    memory = Series("memory", [(min(1.0, at / duration_s), size / most) for at, size in tally.memory])
    slices = {kind: tally.slice_latency(kind, duration_s) for kind in ("search", "context", "read")}
    slowest = max((seconds for points in slices.values() for _, seconds in points), default=1.0)
    latency = [Series(kind, [(x, seconds / slowest) for x, seconds in points]) for kind, points in slices.items()]
    ticks = [(share, f"{share * duration_s / 60:.1f} min") for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    figures = [
        draw_curves(ticks, [memory], f"Memory of the server's processes; 100% is {most / 1e6:,.0f} MB", dots=False),
        draw_curves(ticks, latency, f"95th percentile of a call; 100% is {slowest * 1_000:,.0f} ms"),
    ]
    style = render_element("style", _STYLE.read_text(encoding="utf-8"))
    title = render_element("title", escape_text("Team server under load"))
    return f'<!doctype html><meta charset="utf-8">{title}{style}{"".join(figures)}'
