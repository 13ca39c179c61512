"""Plots as inline SVG without a script: positions along x are percent, so that text keeps its size at any width."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from .markup import element, escaped, grid

Tone = Literal["plain", "gain", "loss", "unsure"]

_HEIGHT = 180  # of a plot, in pixels
_ROW = 22  # of a row with an interval
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its interval.

    Attributes:
        text: The same in words.
        n: Number of values.
        tone: ``gain`` and ``loss`` if the interval is on one side of zero, ``unsure`` if it is not.
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
    """Values of one run, 0 to 1 each.

    Attributes:
        name: In the legend.
        points: ``(x, y)`` with x as a share of the width, in rising order; of bars, x is not used.
        spreads: Low and high ends of the intervals; empty for none.
    """

    name: str
    points: Sequence[tuple[float, float]]
    spreads: Sequence[tuple[float, float]] = ()


def interval_table(intervals: Sequence[Interval], header: Sequence[str], caption: str, *, zero: bool = False) -> str:
    """Return a table that draws each mean as a dot on its interval, on one scale.

    Args:
        intervals: The rows.
        header: What is above the labels and the words; the number of values is in the last column.
        caption: Title of the table.
        zero: Whether the values are differences, around zero; otherwise they are shares of 1.
    """
    reach = max((max(abs(one.low), abs(one.high)) for one in intervals), default=0.0)
    limit = _round_up(reach) if zero else 1.0
    start = -limit if zero else 0.0

    def place(value: float) -> str:
        return _percent((value - start) / (limit - start))

    rows = [
        (escaped(one.label), _interval(one, place(0.0) if zero else "", place), escaped(one.text), str(one.n))
        for one in intervals
    ]
    marks = (f"{start:+.2g}", "0", f"{limit:+.2g}") if zero else ("0", "0.5", "1")
    scale = element("span", "".join(element("span", mark) for mark in marks), class_="scale")
    head = (escaped(header[0]), scale, escaped(header[1]), "n")
    return grid(head, rows, caption=caption, class_="intervals")


def bars(labels: Sequence[str], series: Sequence[Series], title: str) -> str:
    """Return bars side by side, one of each series for each label; their heights are shares of 1."""
    slot = 1 / len(labels)
    width = 0.8 * slot / len(series)
    tallest = max((y for one in series for _, y in one.points), default=0.0)
    ceiling = next(share for share in _SHARES[1:] if share >= min(tallest, 1.0))
    drawn = [_axis(share / ceiling, f"{share:.0%}") for share in _SHARES if share <= ceiling]
    for number, one in enumerate(series):
        for position, (_, y) in enumerate(one.points):
            left = position * slot + 0.1 * slot + number * width
            height = _HEIGHT * y / ceiling
            box: dict[str, str | float] = {
                "x": _percent(left),
                "width": _percent(width * 0.94),
                "y": _HEIGHT - height,
                "height": height,
            }
            about = element("title", escaped(f"{labels[position]}: {y:.0%} ({one.name})"))
            drawn.append(element("rect", about, class_=f"series{number}", **box))
    drawn += [_x_label((position + 0.5) * slot, label) for position, label in enumerate(labels)]
    return _figure("".join(drawn), series, title)


def curves(ticks: Iterable[tuple[float, str]], series: Sequence[Series], title: str, *, dots: bool = True) -> str:
    """Return lines through the points of each series.

    Args:
        ticks: Labels of the x axis, each with its place as a share of the width.
        series: The lines; their y are shares of 1.
        title: What is shown.
        dots: Whether each point is one of few that were measured.
    """
    drawn = [_axis(share, f"{share:.0%}") for share in _SHARES]
    drawn += [_x_label(place, label) for place, label in ticks]
    for number, one in enumerate(series):
        class_ = f"series{number}"
        drawn += [_line(first, second, class_) for first, second in pairwise(one.points)]
        for (x, _), (low, high) in zip(one.points, one.spreads, strict=False):
            drawn.append(_line((x, low), (x, high), f"{class_} spread"))
        for x, y in one.points if dots else ():
            about = element("title", escaped(f"{one.name}: {y:.1%}"))
            drawn.append(element("circle", about, class_=class_, cx=_percent(x), cy=_HEIGHT * (1 - y), r="4"))
    return _figure("".join(drawn), series, title)


def log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return the marks of a logarithmic axis, each with its place as a share of the width."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    values = [step * 10.0**power for power in range(first, last + 1) for step in (1, 2, 5)]
    marks = [(log_place(value, low, high), f"{value:g}") for value in values if low <= value <= high]
    return marks if len(marks) <= 7 else marks[:: math.ceil(len(marks) / 7)]


def log_place(value: float, low: float, high: float) -> float:
    """Return where a value is on a logarithmic axis, 0 to 1."""
    return math.log(value / low) / math.log(high / low)


def _interval(one: Interval, zero: str, place: Callable[[float], str]) -> str:
    middle = _ROW / 2
    drawn = []
    if zero:
        drawn.append(element("line", "", class_="zero", x1=zero, x2=zero, y1="0", y2=_ROW))
    drawn.append(
        element("line", "", class_=f"interval {one.tone}", x1=place(one.low), x2=place(one.high), y1=middle, y2=middle)
    )
    drawn.append(element("circle", "", class_=f"dot {one.tone}", cx=place(one.mean), cy=middle, r="5"))
    return element("svg", "".join(drawn), class_="row", height=_ROW, aria_hidden="true")


def _axis(share: float, label: str) -> str:
    y = _HEIGHT * (1 - share)
    line = element("line", "", class_="axis", x1="0", x2="100%", y1=y, y2=y)
    return line + element("text", escaped(label), x="-8", y=y + 4, class_="y")


def _x_label(place: float, label: str) -> str:
    return element("text", escaped(label), x=_percent(place), y=_HEIGHT + 18, class_="x")


def _line(first: tuple[float, float], second: tuple[float, float], class_: str) -> str:
    (x1, y1), (x2, y2) = first, second
    ends: dict[str, str | float] = {
        "x1": _percent(x1),
        "x2": _percent(x2),
        "y1": _HEIGHT * (1 - y1),
        "y2": _HEIGHT * (1 - y2),
    }
    return element("line", "", class_=class_, **ends)


def _figure(drawn: str, series: Sequence[Series], title: str) -> str:
    svg = element("svg", drawn, class_="plot", height=_HEIGHT + 26, role="img", aria_label=title)
    names = "".join(
        element("li", element("span", "", class_=f"swatch series{number}") + escaped(one.name))
        for number, one in enumerate(series)
    )
    legend = element("ul", names, class_="legend") if len(series) > 1 else ""
    return element("figure", element("figcaption", escaped(title)) + legend + svg)


def _percent(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.3f}%"


def _round_up(value: float) -> float:
    """Return the next number that reads well on an axis."""
    steps = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    return next((step for step in steps if step >= value), math.ceil(value))
