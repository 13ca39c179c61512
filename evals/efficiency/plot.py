"""The curves as one SVG file that needs nothing else."""

from collections.abc import Sequence
from typing import Final

from ..markup import element, escaped  # noqa: TID252  # installed, it has another name
from ..plots import log_place  # noqa: TID252  # installed, it has another name
from .curves import GREP, by_curve, means
from .measuring import Spent
from .spending import BUDGETS

_WIDTH, _HEIGHT = 900, 480
_LEFT, _TOP, _RIGHT, _BOTTOM = 60, 40, 290, 50  # the legend is on the right
_GREPS: Final = ("#8a8a8a", "#b0793a", "#c4a000", "#8f5902", "#5c5c5c")
_OURS: Final = ("#1f5fbf", "#0f8a6d", "#8e2fa8", "#c93a6b")


def drawn(questions: Sequence[Spent]) -> str:
    """Return the mean recall of each curve by tokens spent, with intervals of 95 %, as an SVG file."""
    parts = [_axes(len(questions))]
    greps, ours = iter(_GREPS), iter(_OURS)
    for row, (name, values) in enumerate(by_curve(questions).items()):
        is_grep = name.startswith(GREP)
        colour = next(greps if is_grep else ours)
        ranges = means(values)
        upper = [_point(budget, one.high) for budget, one in zip(BUDGETS, ranges, strict=True)]
        lower = [_point(budget, one.low) for budget, one in zip(BUDGETS, ranges, strict=True)]
        middle = [_point(budget, one.value) for budget, one in zip(BUDGETS, ranges, strict=True)]
        parts.append(
            element("polygon", "", points=" ".join([*upper, *reversed(lower)]), fill=colour, fill_opacity="0.08")
        )
        parts.append(_line(middle, colour, dashed=is_grep))
        parts.append(_legend(row, name, colour, dashed=is_grep))
    style = "text{font:13px system-ui,sans-serif;fill:#333}"
    content = element("style", style) + element("rect", "", width=_WIDTH, height=_HEIGHT, fill="#fff") + "".join(parts)
    view = f"0 0 {_WIDTH} {_HEIGHT}"
    return (
        element("svg", content, xmlns="http://www.w3.org/2000/svg", viewBox=view, width=_WIDTH, height=_HEIGHT) + "\n"
    )


def _axes(n: int) -> str:
    title = f"Share of the wanted lines seen, by tokens spent ({n} questions, 95 % intervals)"
    marks = [element("text", escaped(title), x=_LEFT, y=22, font_weight="bold")]
    for step in range(6):
        y = _y(step / 5)
        marks.append(element("line", "", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y, stroke="#ddd"))
        marks.append(element("text", f"{step / 5:.1f}", x=_LEFT - 10, y=y + 4, text_anchor="end"))
    for budget in BUDGETS:
        label = f"{budget:,}" if budget < 1000 else f"{budget // 1000}k"
        marks.append(element("text", label, x=_x(budget), y=_HEIGHT - _BOTTOM + 20, text_anchor="middle"))
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    return "".join([*marks, element("text", "tokens spent", x=middle, y=_HEIGHT - 8, text_anchor="middle")])


def _line(points: Sequence[str], colour: str, *, dashed: bool) -> str:
    dashes = {"stroke_dasharray": "5 4"} if dashed else {}
    return element("polyline", "", points=" ".join(points), fill="none", stroke=colour, stroke_width="2.5", **dashes)


def _legend(row: int, name: str, colour: str, *, dashed: bool) -> str:
    x, y = _WIDTH - _RIGHT + 20, _TOP + 20 + 24 * row
    sample = _line([f"{x},{y}", f"{x + 28},{y}"], colour, dashed=dashed)
    return sample + element("text", escaped(name), x=x + 36, y=y + 4)


def _point(budget: int, recall: float) -> str:
    return f"{_x(budget):.1f},{_y(recall):.1f}"


def _x(budget: int) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * log_place(budget, BUDGETS[0], BUDGETS[-1])


def _y(recall: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - recall)
