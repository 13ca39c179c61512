"""Plots as inline SVG without scripts. Positions along x are percentages, so text keeps its size at any width."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from .markup import escape_text, render_element, render_grid

Tone = Literal["plain", "gain", "loss", "unsure"]

_HEIGHT = 180  # of a plot, in pixels
_ROW = 22  # of a row with an interval
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Interval:
    """Row of an interval table: a mean with its interval.

    Attributes:
        text: Mean and interval as text.
        n: Number of values.
        tone: ``gain`` or ``loss`` if the interval excludes zero, else ``unsure``.
    """

    label: str
    mean: float
    low: float
    high: float
    text: str
    n: int
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Series:
    """Values of one run, from 0 to 1.

    Attributes:
        name: Name in the legend.
        points: ``(x, y)`` with x as a share of the width, in rising order; bars ignore x.
        spreads: Low and high ends of the intervals; empty for none.
    """

    name: str
    points: Sequence[tuple[float, float]]
    spreads: Sequence[tuple[float, float]] = ()


def render_interval_table(
    intervals: Sequence[Interval], header: Sequence[str], caption: str, *, zero: bool = False
) -> str:
    """Render a table with each mean as a dot on its interval, all on one scale.

    Args:
        intervals: The rows.
        header: Headers of the label and text columns; the last column is the number of values.
        caption: Title of the table.
        zero: Whether the values are differences around zero; otherwise they are shares of 1.
    """
    reach = max((max(abs(interval.low), abs(interval.high)) for interval in intervals), default=0.0)
    limit = _round_up(reach) if zero else 1.0
    start = -limit if zero else 0.0

    def place(value: float) -> str:
        return _format_percent((value - start) / (limit - start))

    rows = [
        (
            escape_text(interval.label),
            _draw_interval(interval, place(0.0) if zero else "", place),
            escape_text(interval.text),
            str(interval.n),
        )
        for interval in intervals
    ]
    marks = (f"{start:+.2g}", "0", f"{limit:+.2g}") if zero else ("0", "0.5", "1")
    scale = render_element("span", "".join(render_element("span", mark) for mark in marks), class_="scale")
    head = (escape_text(header[0]), scale, escape_text(header[1]), "n")
    return render_grid(head, rows, caption=caption, class_="intervals")


def draw_bars(labels: Sequence[str], series: Sequence[Series], title: str) -> str:
    """Draw grouped bars: for each label one bar per series, with heights as shares of 1."""
    slot = 1 / len(labels)
    width = 0.8 * slot / len(series)
    tallest = max((y for entry in series for _, y in entry.points), default=0.0)
    ceiling = next(share for share in _SHARES[1:] if share >= min(tallest, 1.0))
    drawn = [_draw_axis(share / ceiling, f"{share:.0%}") for share in _SHARES if share <= ceiling]
    for number, entry in enumerate(series):
        for position, (_, y) in enumerate(entry.points):
            left = position * slot + 0.1 * slot + number * width
            height = _HEIGHT * y / ceiling
            box: dict[str, str | float] = {
                "x": _format_percent(left),
                "width": _format_percent(width * 0.94),
                "y": _HEIGHT - height,
                "height": height,
            }
            about = render_element("title", escape_text(f"{labels[position]}: {y:.0%} ({entry.name})"))
            drawn.append(render_element("rect", about, class_=f"series{number}", **box))
    drawn += [_draw_x_label((position + 0.5) * slot, label) for position, label in enumerate(labels)]
    return _render_figure("".join(drawn), series, title)


def draw_curves(ticks: Iterable[tuple[float, str]], series: Sequence[Series], title: str, *, dots: bool = True) -> str:
    """Draw a line through the points of each series.

    Args:
        ticks: Labels of the x axis, each with its position as a share of the width.
        series: The lines; y values are shares of 1.
        title: Caption of the plot.
        dots: Whether to mark each point.
    """
    drawn = [_draw_axis(share, f"{share:.0%}") for share in _SHARES]
    drawn += [_draw_x_label(place, label) for place, label in ticks]
    for number, entry in enumerate(series):
        class_ = f"series{number}"
        drawn += [_draw_line(first, second, class_) for first, second in pairwise(entry.points)]
        for (x, _), (low, high) in zip(entry.points, entry.spreads, strict=False):
            drawn.append(_draw_line((x, low), (x, high), f"{class_} spread"))
        for x, y in entry.points if dots else ():
            about = render_element("title", escape_text(f"{entry.name}: {y:.1%}"))
            drawn.append(
                render_element("circle", about, class_=class_, cx=_format_percent(x), cy=_HEIGHT * (1 - y), r="4")
            )
    return _render_figure("".join(drawn), series, title)


def list_log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return the ticks of a logarithmic axis, each with its position as a share of the width."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    values = [step * 10.0**power for power in range(first, last + 1) for step in (1, 2, 5)]
    marks = [(place_on_log_axis(value, low, high), f"{value:g}") for value in values if low <= value <= high]
    return marks if len(marks) <= 7 else marks[:: math.ceil(len(marks) / 7)]


def place_on_log_axis(value: float, low: float, high: float) -> float:
    """Return the position of a value on a logarithmic axis, 0 to 1."""
    return math.log(value / low) / math.log(high / low)


def _draw_interval(interval: Interval, zero: str, place: Callable[[float], str]) -> str:
    middle = _ROW / 2
    drawn = []
    if zero:
        drawn.append(render_element("line", "", class_="zero", x1=zero, x2=zero, y1="0", y2=_ROW))
    drawn.append(
        render_element(
            "line",
            "",
            class_=f"interval {interval.tone}",
            x1=place(interval.low),
            x2=place(interval.high),
            y1=middle,
            y2=middle,
        )
    )
    drawn.append(render_element("circle", "", class_=f"dot {interval.tone}", cx=place(interval.mean), cy=middle, r="5"))
    return render_element("svg", "".join(drawn), class_="row", height=_ROW, aria_hidden="true")


def _draw_axis(share: float, label: str) -> str:
    y = _HEIGHT * (1 - share)
    line = render_element("line", "", class_="axis", x1="0", x2="100%", y1=y, y2=y)
    return line + render_element("text", escape_text(label), x="-8", y=y + 4, class_="y")


def _draw_x_label(place: float, label: str) -> str:
    return render_element("text", escape_text(label), x=_format_percent(place), y=_HEIGHT + 18, class_="x")


def _draw_line(first: tuple[float, float], second: tuple[float, float], class_: str) -> str:
    (x1, y1), (x2, y2) = first, second
    ends: dict[str, str | float] = {
        "x1": _format_percent(x1),
        "x2": _format_percent(x2),
        "y1": _HEIGHT * (1 - y1),
        "y2": _HEIGHT * (1 - y2),
    }
    return render_element("line", "", class_=class_, **ends)


def _render_figure(drawn: str, series: Sequence[Series], title: str) -> str:
    svg = render_element("svg", drawn, class_="plot", height=_HEIGHT + 26, role="img", aria_label=title)
    names = "".join(
        render_element("li", render_element("span", "", class_=f"swatch series{number}") + escape_text(entry.name))
        for number, entry in enumerate(series)
    )
    legend = render_element("ul", names, class_="legend") if len(series) > 1 else ""
    return render_element("figure", render_element("figcaption", escape_text(title)) + legend + svg)


def _format_percent(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.3f}%"


def _round_up(value: float) -> float:
    """Round up to a number that reads well on an axis."""
    steps = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    return next((step for step in steps if step >= value), math.ceil(value))
